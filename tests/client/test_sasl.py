"""The client's half of SASL."""

import base64

import pytest

from distributedlog.client.errors import AuthenticationFailed
from distributedlog.client.sasl import sasl_exchange


def test_plain_is_one_message():
    exchange = sasl_exchange("PLAIN", "ann", "secret", "")
    assert next(exchange) == b"\0ann\0secret"
    with pytest.raises(StopIteration):
        exchange.send(b"")


def test_scram_sha_256_is_the_example_of_rfc_7677():
    exchange = sasl_exchange("SCRAM-SHA-256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    assert next(exchange) == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    first = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = exchange.send(first)
    assert final == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    with pytest.raises(StopIteration):
        exchange.send(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff",
        b"r=other,s=AA==,i=4096",
        b"r=nonceX,s=AA==,i=x",
        b"r=nonceX,s=?,i=1",
        b"r=nonceX,s=AA==,i=99999999",
    ],
)
def test_nonsense_is_an_authentication_failure(answer):
    exchange = sasl_exchange("SCRAM-SHA-512", "user", "pencil", "nonce")
    next(exchange)
    with pytest.raises(AuthenticationFailed):
        exchange.send(answer)


def test_a_broker_that_does_not_know_the_password_is_found_out():
    exchange = sasl_exchange("SCRAM-SHA-256", "us=er,", "pencil", "nonce")
    assert next(exchange) == b"n,,n=us=3Der=2C,r=nonce"
    exchange.send(b"r=nonceX,s=AAAA,i=2")
    with pytest.raises(AuthenticationFailed, match="impostor"):
        exchange.send(b"v=" + base64.b64encode(b"x" * 32))
