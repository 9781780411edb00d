import pytest
from tests.cluster.support import decided

from distributedlog.cluster.alter_configs import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    ConfigChange,
    ResourceChanges,
    alter_configs,
)
from distributedlog.cluster.image import EMPTY_IMAGE
from distributedlog.cluster.refused import Refused
from distributedlog.wire import ErrorCode

TOPIC = (2, "a")


class Rules:
    """Keys that begin with "list" are lists with the default x,y; the value "bad" is refused."""

    def list_default(self, resource, name):
        return ("x", "y") if name.startswith("list") else None

    def check(self, image, resource, changed, configs):
        if "bad" in configs.values():
            raise Refused(ErrorCode.INVALID_CONFIG, "bad")


def alter(image, *changes, resource=TOPIC, replaces_all=False, validate_only=False):
    wanted = ResourceChanges(resource, [ConfigChange(*change) for change in changes], replaces_all)
    return alter_configs(image, [wanted], Rules(), validate_only=validate_only)


def after(image, *changes, **options):
    made, [result] = decided(image, alter(image, *changes, **options))
    assert result.error_code == 0
    return made.configs_of(*TOPIC)


def refusal(image, *changes, **options):
    [result], records = alter(image, *changes, **options)
    assert records == []
    return ErrorCode(result.error_code)


@pytest.fixture
def image():
    made, _ = decided(EMPTY_IMAGE, alter(EMPTY_IMAGE, ("k", SET, "1"), ("list", SET, "p, q")))
    return made


def test_set_and_delete(image):
    assert after(image, ("k", SET, "2"), ("m", SET, "")) == {"k": "2", "m": "", "list": "p, q"}
    assert after(image, ("k", DELETE, None), ("m", DELETE, "whatever")) == {"list": "p, q"}


def test_append_adds_what_is_not_there(image):
    assert after(image, ("list", APPEND, "q,r, r"))["list"] == "p,q,r"


def test_append_to_what_was_not_set_goes_on_from_the_default(image):
    assert after(image, ("list2", APPEND, "z"))["list2"] == "x,y,z"


def test_subtract_takes_what_is_there(image):
    assert after(image, ("list", SUBTRACT, "q,z"))["list"] == "p"
    assert after(image, ("list2", SUBTRACT, "x"))["list2"] == "y"
    assert after(image, ("list", SUBTRACT, "p,q"))["list"] == ""


@pytest.mark.parametrize("operation", [APPEND, SUBTRACT])
def test_append_and_subtract_are_for_lists(image, operation):
    assert refusal(image, ("k", operation, "1")) is ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize("operation", [SET, APPEND, SUBTRACT])
def test_a_value_is_needed(image, operation):
    assert refusal(image, ("list", operation, None)) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("operation", [4, -1, 127])
def test_operations_that_there_are_not(image, operation):
    assert refusal(image, ("k", operation, "1")) is ErrorCode.INVALID_REQUEST


def test_a_key_that_is_named_twice(image):
    assert refusal(image, ("k", SET, "1"), ("k", DELETE, None)) is ErrorCode.INVALID_REQUEST


def test_all_or_nothing(image):
    assert refusal(image, ("m", SET, "1"), ("k", SET, "bad")) is ErrorCode.INVALID_CONFIG


def test_what_does_not_change_is_not_recorded(image):
    [result], records = alter(image, ("k", SET, "1"), ("none", DELETE, None))
    assert (result.error_code, records) == (0, [])


def test_replacing_all_deletes_what_is_not_named(image):
    assert after(image, ("m", SET, "1"), replaces_all=True) == {"m": "1"}
    assert after(image, replaces_all=True) == {}


def test_validate_only(image):
    [result], records = alter(image, ("m", SET, "1"), validate_only=True)
    assert (result.error_code, records) == (0, [])
    assert refusal(image, ("m", SET, "bad"), validate_only=True) is ErrorCode.INVALID_CONFIG


def test_a_resource_that_is_named_twice(image):
    wanted = ResourceChanges(TOPIC, [ConfigChange("m", SET, "1")])
    results, records = alter_configs(image, [wanted, wanted], Rules(), validate_only=False)
    assert [result.error_code for result in results] == [ErrorCode.INVALID_REQUEST]
    assert records == []
