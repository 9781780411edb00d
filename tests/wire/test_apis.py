"""The table of APIs against kio's, and what importing it costs."""

import subprocess
import sys
from importlib import import_module

import pytest

from distributedlog.wire import ADVERTISED_VERSIONS, APIS, ProtocolError, UnsupportedVersionError, api_of
from distributedlog.wire.error_codes import ErrorCode

KEYS = [0, 1, 2, 3, *range(8, 38), *range(42, 58), *range(59, 70), 71, 72, 75]
DIRECTIONS = ("Request", "Response")


def test_the_keys_are_those_that_the_project_serves():
    assert list(APIS) == KEYS
    assert all(api.key == key for key, api in APIS.items())


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_versions_and_flexibility_are_those_of_kio(kio, api):
    assert kio.versions(api.name) == {
        version: (api.key, api.is_flexible(version)) for version in api.versions
    }


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_every_api_has_its_module_with_both_messages(api):
    module = import_module(api.module)
    for direction in DIRECTIONS:
        assert api.message_class(direction).__module__ == module.__name__
        for version in api.versions:
            codec = getattr(api, direction.lower())(version)
            assert codec is getattr(api, direction.lower())(version)


def test_produce_is_advertised_from_0_although_it_is_served_from_3():
    assert ADVERTISED_VERSIONS[0] == (0, 13)
    assert APIS[0].versions == range(3, 14)
    others = {key: versions for key, versions in ADVERTISED_VERSIONS.items() if key != 0}
    assert others == {api.key: (api.first, api.last) for api in APIS.values() if api.key != 0}


@pytest.mark.parametrize(("api_key", "version"), [(0, 2), (0, 14), (4, 0), (-1, 0), (18, 5), (3, -1)])
def test_what_is_not_served_is_a_protocol_error(api_key, version):
    with pytest.raises(UnsupportedVersionError, match=f"API key {api_key} in version {version}") as caught:
        api_of(api_key, version)
    assert isinstance(caught.value, ProtocolError)
    if api_key in APIS:
        with pytest.raises(UnsupportedVersionError):
            APIS[api_key].request(version)


def test_importing_the_package_imports_neither_messages_nor_the_compiler():
    program = "import sys, distributedlog.wire; print(*(name for name in sys.modules if '.wire.' in name))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = {name.removeprefix("distributedlog.wire.") for name in run.stdout.split()}
    assert imported == {"apis", "codec", "errors", "frames", "headers", "primitives"}


def test_names_imported_on_use_are_there_and_others_are_not():
    wire = import_module("distributedlog.wire")
    assert wire.ErrorCode is ErrorCode
    assert all(hasattr(wire, name) for name in wire.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        wire.no_such_name  # noqa: B018 - the access is what is tested


def test_the_error_codes_are_those_of_kio(kio):
    ours = {int(code): (code.name, code.retriable) for code in ErrorCode}
    assert ours == kio.error_codes()


def test_every_error_code_has_words_of_its_own():
    assert len({code.message for code in ErrorCode}) == len(ErrorCode)
    assert ErrorCode(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ErrorCode.UNKNOWN_TOPIC_OR_PARTITION == 3
