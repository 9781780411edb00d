"""`dlog topic` against a broker."""

import pytest


def test_a_topic_is_created_listed_described_and_deleted(dlog, topic):
    made = dlog("topic", "create", topic, "--partitions", "3", "--config", "retention.ms=86400000")
    assert (made.code, made.out, made.err) == (0, f"Topic {topic} created, 3 partitions.\n", "")

    title, *rows = dlog("topic", "list").lines
    assert title.split() == ["topic", "partitions", "replicas", "id"]
    [row] = [row.split() for row in rows if row.split()[0] == topic]
    assert row[1:3] == ["3", "1"]

    first, config, titles, *partitions = dlog("topic", "describe", topic).lines
    assert first == f"{topic}: 3 partitions, id {row[3]}"
    assert config == "  retention.ms=86400000"
    assert titles.split() == ["partition", "leader", "replicas", "in", "sync", "start", "end", "offsets"]
    assert [line.split() for line in partitions] == [
        [str(index), "1", "1", "1", "0", "0", "0"] for index in range(3)
    ]

    gone = dlog("topic", "delete", topic)
    assert (gone.code, gone.out) == (0, f"Topic {topic} deleted.\n")
    assert topic not in dlog("topic", "list").out


def test_as_json(dlog, topic):
    [made] = dlog("topic", "create", topic, "-p", "2", "-c", "cleanup.policy=compact", "--json").json
    topic_id = made.pop("topic_id")
    assert made == {"topic": topic, "result": "created", "partitions": 2, "replication_factor": 1}
    dlog("produce", topic, "-p", "1", "--key", "k", stdin="one\ntwo\n")

    [listed] = dlog("topic", "list", topic, "--json").json
    assert listed == {
        "topic": topic, "topic_id": topic_id, "partitions": 2, "replication_factor": 1, "internal": False,
    }  # fmt: skip
    [described] = dlog("topic", "describe", topic, "--json").json
    assert described["configs"] == {"cleanup.policy": "compact"}
    assert described["partitions"][1] == {
        "partition": 1, "leader": 1, "leader_epoch": 0, "replicas": [1], "isr": [1],
        "offline_replicas": [], "start_offset": 0, "end_offset": 2,
    }  # fmt: skip
    assert dlog("topic", "delete", topic, "--json").json == [{"topic": topic, "result": "deleted"}]


def test_what_is_there_already_is_an_error_or_not(dlog, topic):
    assert dlog("topic", "create", topic).code == 0
    again = dlog("topic", "create", topic)
    assert again.code == 1
    assert "TOPIC_ALREADY_EXISTS" in again.err
    assert "--if-not-exists" in again.err
    tolerated = dlog("topic", "create", topic, "--if-not-exists")
    assert (tolerated.code, tolerated.out) == (0, f"Topic {topic} is there already.\n")


def test_what_is_not_there_is_an_error_or_not(dlog, topic):
    absent = dlog("topic", "delete", topic)
    assert absent.code == 1
    assert f"there is no topic {topic!r}" in absent.err
    tolerated = dlog("topic", "delete", topic, "--if-exists")
    assert (tolerated.code, tolerated.out) == (0, f"There is no topic {topic}.\n")


@pytest.mark.parametrize(
    "command",
    [["describe"], ["delete"], ["add-partitions", "--more", "1"], ["add-partitions", "--total", "9"]],
)
def test_a_misspelt_name_is_answered_with_the_nearest(dlog, topic, command):
    dlog("topic", "create", topic)
    command, *options = command
    outcome = dlog("topic", command, topic + "s", *options)
    assert outcome.code == 1
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1
    if "--total" not in options:  # then it is for the broker to know
        assert outcome.err == f"dlog: there is no topic {topic + 's'!r}; did you mean {topic!r}?\n"


def test_one_bad_name_among_good_ones_spoils_only_the_exit_code(dlog, topic):
    outcome = dlog("topic", "create", f"{topic}.a", "bad/name", f"{topic}.b")
    assert outcome.code == 1
    assert outcome.lines == [f"Topic {topic}.{name} created, 1 partition." for name in "ab"]
    assert outcome.err.count("\n") == 1
    assert "INVALID_TOPIC_EXCEPTION" in outcome.err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--config", "retentoin.ms=1"], "did you mean retention.ms?"),
        (["--config", "retention.ms=soon"], "retention.ms = 'soon'"),
        (["--replication-factor", "3"], "INVALID_REPLICATION_FACTOR"),
    ],
)
def test_what_the_cluster_refuses_is_one_line(dlog, topic, options, reason):
    outcome = dlog("topic", "create", topic, *options)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"dlog: create topic {topic}: ")
    assert outcome.err.count("\n") == 1
    assert reason in outcome.err
    assert topic not in dlog("topic", "list").out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--partitions", "many"], "'many' is no whole number"),
        (["--partitions", "0"], "0 is too small"),
        (["--partitions", "9" * 30], "is too large"),
        (["--config", "retention.ms"], "'retention.ms' is not of the form name=value"),
        (["--config", "=1"], "'=1' is not of the form name=value"),
    ],
)
def test_a_wrong_option_is_a_usage_error(dlog, topic, options, reason):
    outcome = dlog("topic", "create", topic, *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("dlog topic create: argument ")
    assert reason in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_dry_run_creates_nothing(dlog, topic):
    outcome = dlog("topic", "create", topic, "-p", "4", "--dry-run")
    assert (outcome.code, outcome.out) == (0, f"Topic {topic} would be created, 4 partitions.\n")
    assert topic not in dlog("topic", "list").out


def test_configuration_is_set_and_unset(dlog, topic):
    dlog("topic", "create", topic)
    changed = dlog("topic", "alter", topic, "--set", "retention.ms=1000", "--set", "max.message.bytes=5000")
    assert (changed.code, changed.out) == (0, f"Topic {topic} altered.\n")
    [described] = dlog("topic", "describe", topic, "--json").json
    assert described["configs"] == {"max.message.bytes": "5000", "retention.ms": "1000"}
    assert dlog("topic", "alter", topic, "--unset", "retention.ms").code == 0
    [described] = dlog("topic", "describe", topic, "--json").json
    assert described["configs"] == {"max.message.bytes": "5000"}


def test_altering_nothing_is_a_usage_error(dlog, topic):
    dlog("topic", "create", topic)
    outcome = dlog("topic", "alter", topic)
    assert outcome.code == 2
    assert "--set NAME=VALUE" in outcome.err


def test_partitions_are_added_by_number_or_by_total(dlog, topic):
    dlog("topic", "create", topic)
    more = dlog("topic", "add-partitions", topic, "--more", "2")
    assert (more.code, more.out) == (0, f"Topic {topic} has 3 partitions now.\n")
    [total] = dlog("topic", "add-partitions", topic, "--total", "5", "--json").json
    assert total == {"topic": topic, "result": "altered", "partitions": 5}
    fewer = dlog("topic", "add-partitions", topic, "--total", "2")
    assert fewer.code == 1
    assert "INVALID_PARTITIONS" in fewer.err


def test_names_may_stand_on_both_sides_of_an_option(dlog, topic):
    names = [f"{topic}.{name}" for name in "abc"]
    assert dlog("topic", "create", names[0], "-p", "2", *names[1:]).code == 0
    outcome = dlog("topic", "add-partitions", names[0], "--more", "1", *names[1:])
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.lines == [f"Topic {name} has 3 partitions now." for name in names]


def test_listing_takes_a_pattern(dlog, topic):
    dlog("topic", "create", f"{topic}.one", f"{topic}.two")
    names = [listed["topic"] for listed in dlog("topic", "list", f"{topic}.t*", "--json").json]
    assert names == [f"{topic}.two"]
    nothing = dlog("topic", "list", f"{topic}.x*")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == f"No topic has a name like '{topic}.x*'.\n"
    assert dlog("topic", "list", f"{topic}.x*", "--json").err == ""


def test_internal_topics_are_shown_when_asked_for(dlog, orders):
    assert dlog("consume", orders, "--group", orders).code == 0  # a commit makes the topic of offsets
    listed = {each["topic"]: each["internal"] for each in dlog("topic", "list", "--internal", "--json").json}
    assert listed["__consumer_offsets"] is True
    assert "__consumer_offsets" not in dlog("topic", "list").out
    assert (
        dlog("topic", "describe", "__consumer_offsets")
        .lines[0]
        .startswith("__consumer_offsets: 1 partition, internal, id ")
    )


def test_several_topics_are_described_apart(dlog, topic):
    dlog("topic", "create", f"{topic}.a", f"{topic}.b")
    outcome = dlog("topic", "describe", f"{topic}.a", "absent-from-here", f"{topic}.b")
    assert outcome.code == 1
    first, second = outcome.out.split("\n\n")
    assert first.startswith(f"{topic}.a: ")
    assert second.startswith(f"{topic}.b: ")
    assert "there is no topic 'absent-from-here'" in outcome.err
