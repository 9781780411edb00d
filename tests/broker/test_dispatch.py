"""The way in: every API that is served has a handler, and a bug in one is answered as its API can."""

import importlib
import logging
import pkgutil
import random

import pytest
from tests.broker.requests import API_VERSIONS, CREATE_TOPICS, create
from tests.wire.random_messages import random_message

from distributedlog.broker import dispatch as module
from distributedlog.broker import handlers
from distributedlog.broker.context import Client, RequestContext
from distributedlog.broker.dispatch import handler_of
from distributedlog.broker.error_response import error_response
from distributedlog.broker.pending import CLOSE_CONNECTION
from distributedlog.broker.served_apis import ADVERTISED, SERVED_VERSIONS
from distributedlog.wire import APIS, ErrorCode, decode_response, encode_response
from distributedlog.wire.k18_api_versions import ApiVersionsRequest

SERVED = sorted(SERVED_VERSIONS)
#: APIs whose responses tell of errors only deep down: a bug in their handlers closes the connection.
CLOSES = {0, 2, 8, 23, 61}


def context_of(api_key, version):
    return RequestContext(Client(1, "127.0.0.1", 5000), "test", api_key, version, 0)


def test_every_api_that_is_served_has_a_handler_and_every_handler_serves_an_api():
    modules = {name for _, name, _ in pkgutil.iter_modules(handlers.__path__)}
    assert modules == {f"k{key:02d}_{APIS[key].name}" for key in SERVED}
    for key in SERVED:
        assert (
            handler_of(key)
            is importlib.import_module(f"distributedlog.broker.handlers.k{key:02d}_{APIS[key].name}").handle
        )


def test_produce_is_advertised_from_version_0_and_served_from_3():
    """KAFKA-18659."""
    assert ADVERTISED[0] == (0, SERVED_VERSIONS[0][1])
    assert SERVED_VERSIONS[0][0] == 3
    assert {key: ADVERTISED[key] for key in ADVERTISED if key} == {
        key: SERVED_VERSIONS[key] for key in SERVED if key not in (0, 71, 72)
    }


def codes_in(value):
    """Every error code anywhere in a message."""
    if isinstance(value, list):
        return [code for item in value for code in codes_in(item)]
    if hasattr(value, "__dataclass_fields__"):
        found = []
        for name in value.__dataclass_fields__:
            item = getattr(value, name)
            found += [item] if name == "error_code" else codes_in(item)
        return found
    return []


@pytest.mark.parametrize("key", SERVED)
def test_one_error_is_told_in_the_shape_of_the_api_in_every_version(key):
    """Whatever the request: the answer can be encoded, and all that it says is this error."""
    api, told = APIS[key], 0
    for version in api.versions:
        for seed in range(20):
            request = random_message(random.Random(seed), api.request(version).layout)
            response = error_response(context_of(key, version), request, ErrorCode.UNKNOWN_SERVER_ERROR)
            if response is None:
                continue
            encoded = encode_response(key, version, 1, response)
            decoded = decode_response(key, version, memoryview(encoded)[4:])[1]
            there = {field.name for field in api.response(version).layout.present}
            if "error_code" not in there and hasattr(decoded, "error_code"):
                decoded.error_code = None
            codes = set(codes_in(decoded)) - {None}
            assert codes <= {-1}, f"{api.name} in version {version}"
            told += -1 in codes
    assert (told == 0) == (key in CLOSES), f"{api.name} {told}"


@pytest.fixture
def broken(served, monkeypatch):
    """A broker whose handlers of API versions, topics and produce have a bug."""

    def handle(broker, context, request):
        raise ZeroDivisionError("a bug")

    for key in (0, API_VERSIONS, CREATE_TOPICS):
        monkeypatch.setitem(module._handlers, key, handle)
    return served


def test_a_bug_is_logged_with_its_traceback_and_answered(broken, caplog):
    with caplog.at_level(logging.ERROR):
        assert broken.ask(API_VERSIONS, ApiVersionsRequest("a", "1")).error_code == -1
    [record] = caplog.records
    assert "api_versions" in record.message
    assert record.exc_info[0] is ZeroDivisionError
    [result] = create(broken, "orders")
    assert (result.name, result.error_code) == ("orders", ErrorCode.UNKNOWN_SERVER_ERROR)


def test_a_bug_that_cannot_be_told_closes_the_connection(broken, caplog):
    request = APIS[0].message_class("Request")(acks=1)
    assert broken.send(0, request).responses == [CLOSE_CONNECTION]
