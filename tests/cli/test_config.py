"""`dlog config` against a broker."""

import pytest


@pytest.fixture
def made(dlog, topic):
    assert dlog("topic", "create", topic).code == 0
    return topic


def described(dlog, *resource):
    """What was set on the resource itself; the test's broker has a setting of its own for all topics."""
    entries = dlog("config", "describe", *resource, "--json").json
    return {entry["name"]: entry["value"] for entry in entries if entry["source"] != "broker, static"}


def test_entries_are_set_shown_and_deleted(dlog, made):
    changed = dlog("config", "set", "topic", made, "retention.ms=5000", "max.message.bytes=2000")
    assert (changed.code, changed.out) == (0, f"The configuration of topic {made} changed.\n")
    titles, *rows = dlog("config", "describe", "topic", made).lines
    assert titles.split() == ["name", "value", "source"]
    assert [row.split() for row in rows if "static" not in row] == [
        ["max.message.bytes", "2000", "topic"], ["retention.ms", "5000", "topic"],
    ]  # fmt: skip
    assert dlog("config", "delete", "topic", made, "retention.ms").code == 0
    assert described(dlog, "topic", made) == {"max.message.bytes": "2000"}


def test_nothing_set_says_how_to_see_the_defaults(dlog, made):
    outcome = dlog("config", "describe", "group", made)
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == f"Nothing is set on group {made}; --all shows the defaults.\n"
    every = described(dlog, "topic", made, "--all")
    assert every["retention.ms"] == "604800000"
    assert len(every) > 20


def test_only_the_entries_that_are_named(dlog, made):
    assert described(dlog, "topic", made, "retention.ms", "cleanup.policy") == {
        "retention.ms": "604800000",
        "cleanup.policy": "delete",
    }
    outcome = dlog("config", "describe", "topic", made, "retenton.ms")
    assert outcome.code == 1
    assert outcome.err == f"dlog: topic {made} has no entry 'retenton.ms'; did you mean 'retention.ms'?\n"


def test_lists_are_added_to_and_taken_from(dlog, made):
    assert dlog("config", "set", "topic", made, "cleanup.policy=compact", "--append").code == 0
    assert described(dlog, "topic", made) == {"cleanup.policy": "delete,compact"}
    assert dlog("config", "set", "topic", made, "--subtract", "cleanup.policy=delete").code == 0
    assert described(dlog, "topic", made) == {"cleanup.policy": "compact"}


def test_a_dry_run_changes_nothing(dlog, made):
    outcome = dlog("config", "set", "topic", made, "retention.ms=1", "--dry-run", "--json")
    assert outcome.json == [{"kind": "topic", "name": made, "result": "could be changed"}]
    assert described(dlog, "topic", made) == {}


def test_brokers_one_and_all(dlog):
    assert dlog("config", "set", "broker", "default", "log.retention.ms=123456789").code == 0
    try:
        [row] = [
            line for line in dlog("config", "describe", "broker", "1").lines if "log.retention.ms" in line
        ]
        assert row.split(maxsplit=2) == ["log.retention.ms", "123456789", "all brokers, dynamic"]
    finally:
        assert dlog("config", "delete", "broker", "default", "log.retention.ms").code == 0


def test_groups(dlog, topic):
    assert dlog("config", "set", "group", topic, "consumer.session.timeout.ms=50000").code == 0
    assert described(dlog, "group", topic) == {"consumer.session.timeout.ms": "50000"}


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["describe", "tpoic", "{made}"], 2, "there is no 'tpoic'; did you mean 'topic'?"),
        (["describe", "topic", "{made}s"], 1, "there is no topic '{made}s'; did you mean '{made}'?"),
        (["set", "topic", "{made}s", "retention.ms=1"], 1, "did you mean '{made}'?"),
        (["describe", "broker", "77"], 1, "there is no broker 77; `dlog cluster info` shows"),
        (["describe", "broker", "first"], 2, "'first' is no broker's id; `dlog cluster info` shows them"),
        (["set", "topic", "{made}", "retention.ms"], 2, "'retention.ms' is not of the form name=value"),
        (["set", "topic", "{made}", "retenton.ms=1"], 1, "did you mean retention.ms?"),
        (["set", "topic", "{made}", "retention.ms=x"], 1, "INVALID_CONFIG"),
        (["set", "topic", "{made}"], 2, "required: KEY=VALUE"),
        (["delete", "topic", "{made}"], 2, "required: KEY"),
    ],
)
def test_what_cannot_be_is_one_line(dlog, made, arguments, code, reason):
    outcome = dlog("config", *(each.format(made=made) for each in arguments))
    assert (outcome.code, outcome.out) == (code, "")
    assert reason.format(made=made) in outcome.err
    assert outcome.err.count("\n") == 1
