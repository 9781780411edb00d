import pytest

from distributedlog.cluster.refused import Refused
from distributedlog.cluster.topic_names import check_collision, check_name, is_valid_name
from distributedlog.wire import ErrorCode


@pytest.mark.parametrize(
    "name",
    ["", None, ".", "..", "a/b", "../a", "a b", "a\0", "ä", "a" * 250, "a\n", "\uff21", "a\\b", "a:b", "٣"],
)
def test_names_that_no_topic_may_have(name):
    with pytest.raises(Refused) as refused:
        check_name(name)
    assert refused.value.code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert not is_valid_name(name)


@pytest.mark.parametrize("name", ["a", "...", "a.b_c-D9", "__consumer_offsets", "-", "a" * 249])
def test_names_that_a_topic_may_have(name):
    check_name(name)
    assert is_valid_name(name)


def test_a_refusal_does_not_repeat_a_long_name_whole():
    with pytest.raises(Refused) as refused:
        check_name("/" * 200)
    assert len(refused.value.message) < 600


def test_names_that_differ_only_in_dots_and_underscores_collide():
    for name, other in (("a.b", "a_b"), ("a_b", "a.b"), ("a._b", "a_.b")):
        with pytest.raises(Refused, match="collides"):
            check_collision(name, [other])


def test_other_names_do_not_collide():
    check_collision("a.b", ["a.b", "ab", "a-b", "a.bc"])
    check_collision("ab", ["a_b"])
