"""Bootstrap lists."""

import pytest

from distributedlog.client import Address, InvalidBootstrap, parse_bootstrap


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost", [("localhost", 9092)]),
        ("a:1,b:2", [("a", 1), ("b", 2)]),
        (" a:1 , ,b ", [("a", 1), ("b", 9092)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[fe80::2]", [("fe80::2", 9092)]),
        ("PLAINTEXT://broker:9092", [("broker", 9092)]),
    ],
)
def test_addresses_are_read_as_kafkas_clients_read_them(text, expected):
    assert [tuple(address) for address in parse_bootstrap(text)] == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no address"),
        (",", "no address"),
        (":9092", "no host"),
        ("a:b", "port"),
        ("a:0", "port"),
        ("a:65536", "port"),
        ("a:-1", "port"),
        ("a:٣", "port"),
        ("::1:9092", "brackets"),
        ("[::1", "brackets"),
        ("[::1]9092", "brackets"),
    ],
)
def test_what_is_no_address_is_refused_with_the_reason(text, complaint):
    expected = {"brackets": r"\[number\]:port"}.get(complaint, complaint)
    with pytest.raises(InvalidBootstrap, match=expected):
        parse_bootstrap(text)


def test_an_address_is_shown_as_it_would_be_written():
    assert str(Address("broker", 9092)) == "broker:9092"
    assert str(Address("::1", 9092)) == "[::1]:9092"
