"""`dlog group` against a broker."""

import contextlib

import pytest


@pytest.fixture
def group(dlog, orders):
    """A group that has read all of `orders` (three partitions, nine records), and left."""
    name = f"{orders}-group"
    assert dlog("consume", orders, "--group", name).code == 0
    return name


@contextlib.contextmanager
def member(broker, group, topic, **settings):
    """A consumer of another library: here when it has its first partitions, gone after the block."""
    from confluent_kafka import Consumer

    assigned = []
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "client.id": "reader",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
    )
    try:
        consumer.subscribe([topic], on_assign=lambda _, partitions: assigned.extend(partitions))
        while not assigned:
            consumer.poll(0.05)
        yield consumer
    finally:
        consumer.close()


def committed(dlog, group):
    [described] = dlog("group", "describe", group, "--json").json
    return {each["partition"]: each["committed"] for each in described["offsets"]}


def test_groups_are_listed(dlog, group):
    title, row = dlog("group", "list", group).lines
    assert title.split() == ["group", "type", "state", "protocol"]
    assert row.split() == [group, "classic", "Empty", "consumer"]
    assert dlog("group", "list", group, "--json").json == [
        {"group": group, "type": "classic", "state": "Empty", "protocol_type": "consumer"}
    ]


@pytest.mark.parametrize(
    ("filters", "is_listed"),
    [
        (["--state", "Empty"], True),
        (["--state", "Stable"], False),
        (["--type", "classic"], True),
        (["--type", "consumer"], False),
        (["--state", "Stable", "--state", "Empty"], True),
    ],
)
def test_filters(dlog, group, filters, is_listed):
    outcome = dlog("group", "list", group, *filters)
    assert outcome.code == 0
    assert (group in outcome.out) == is_listed
    assert outcome.err == ("" if is_listed else "There are no groups like that.\n")


def test_an_empty_group_is_described(dlog, orders, group):
    dlog("produce", orders, "-p", "1", "--quiet", stdin="more\nand more\n")
    first, titles, *rows = dlog("group", "describe", group).lines
    assert first == f"{group}: Empty, classic protocol, 0 members, lag 2"
    assert titles.split() == ["topic", "partition", "committed", "end", "lag"]
    assert [row.split() for row in rows] == [
        [orders, "0", "3", "3", "0"], [orders, "1", "3", "5", "2"], [orders, "2", "3", "3", "0"],
    ]  # fmt: skip


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_are_described(dlog, broker, orders, protocol):
    name = f"{orders}-group"
    with member(broker, name, orders, group_protocol=protocol):
        [described] = dlog("group", "describe", name, "--json").json
        assert (described["type"], described["state"]) == (protocol, "Stable")
        [found] = described["members"]
        assert found["client_id"] == "reader"
        assert found["partitions"] == [[orders, index] for index in range(3)]
        assert [each["member_id"] for each in described["offsets"]] == [found["member_id"]] * 3

        first, titles, *rows = dlog("group", "describe", name).lines
        assert f"{protocol} protocol" in first
        assert "1 member, lag" in first
        assert titles.split()[-3:] == ["client", "host", "member"]
        assert all(found["member_id"] in row for row in rows)
        [row] = dlog("group", "describe", name, "--members").lines[2:]
        assert row.split()[-3:] == [f"{orders}-{index}" for index in range(3)]


def test_offsets_of_a_group_with_members_stay(dlog, broker, orders):
    name = f"{orders}-group"
    with member(broker, name, orders):
        outcome = dlog("group", "reset-offsets", name, "--topic", orders, "--to-latest")
        assert outcome.code == 1
        assert f"group {name} has 1 member, and its offsets can be reset only when it has none" in outcome.err
        outcome = dlog("group", "delete", name)
        assert outcome.code == 1
        assert "NON_EMPTY_GROUP" in outcome.err
        assert "stop its consumers first" in outcome.err


@pytest.mark.parametrize(
    ("where", "offsets"),
    [
        (["--to-earliest"], [0, 0, 0]),
        (["--to-latest"], [3, 3, 3]),
        (["--to-offset", "1"], [1, 1, 1]),
        (["--to-offset", "99"], [3, 3, 3]),
        (["--shift-by", "-2"], [1, 1, 1]),
        (["--shift-by", "-100"], [0, 0, 0]),
        (["--to-time", "1h"], [0, 0, 0]),
        (["--to-time", "2100-01-01T00:00"], [3, 3, 3]),
        (["--to-current"], [3, 3, 3]),
    ],
)
def test_offsets_are_reset(dlog, group, where, offsets):
    outcome = dlog("group", "reset-offsets", group, "--all-topics", *where, "--json")
    assert outcome.code == 0
    assert [(each["before"], each["after"]) for each in outcome.json] == [(3, offset) for offset in offsets]
    assert committed(dlog, group) == dict(enumerate(offsets))


def test_only_the_partitions_that_are_named(dlog, orders, group):
    outcome = dlog("group", "reset-offsets", group, "--topic", f"{orders}:0,2", "--to-offset", "1")
    first, _, *rows = outcome.lines
    assert first == f"Group {group} goes on from:"
    assert [row.split() for row in rows] == [[orders, "0", "3", "1"], [orders, "2", "3", "1"]]
    assert committed(dlog, group) == {0: 1, 1: 3, 2: 1}
    assert sorted(dlog("consume", orders, "--group", group).lines) == ["3", "5", "6", "8"]


def test_a_dry_run_resets_nothing(dlog, group):
    outcome = dlog("group", "reset-offsets", group, "--all-topics", "--to-earliest", "--dry-run")
    assert outcome.lines[0] == f"Group {group} would go on from:"
    assert committed(dlog, group) == {0: 3, 1: 3, 2: 3}


def test_a_group_can_be_given_offsets_before_it_exists(dlog, orders):
    name = f"{orders}-new"
    outcome = dlog("group", "reset-offsets", name, "--topic", f"{orders}:1", "--to-offset", "2")
    assert outcome.code == 0
    assert outcome.lines[2].split() == [orders, "1", "none", "2"]
    assert committed(dlog, name) == {1: 2}


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["--topic", "{orders}:9", "--to-latest"], 1, "has no partition 9, only 0 to 2"),
        (["--topic", "{orders}:x", "--to-latest"], 2, "is not of the form TOPIC:0,1,2"),
        (
            ["--topic", "{orders}s", "--to-latest"],
            1,
            "there is no topic '{orders}s'; did you mean '{orders}'?",
        ),
        (["--to-latest"], 2, "one of the arguments --topic --all-topics is required"),
        (["--all-topics"], 2, "one of the arguments --to-earliest"),
        (["--all-topics", "--to-offset", "x"], 2, "'x' is no whole number"),
    ],
)
def test_what_cannot_be_reset(dlog, orders, group, arguments, code, reason):
    outcome = dlog("group", "reset-offsets", group, *(each.format(orders=orders) for each in arguments))
    assert (outcome.code, outcome.out) == (code, "")
    assert reason.format(orders=orders) in outcome.err
    assert committed(dlog, group) == {0: 3, 1: 3, 2: 3}


def test_a_group_without_offsets_has_none_to_reset(dlog):
    outcome = dlog("group", "reset-offsets", "nobody-here", "--all-topics", "--to-latest")
    assert outcome.code == 1
    assert outcome.err == "dlog: group nobody-here has no committed offsets that could be reset\n"


def test_groups_are_deleted_and_the_missing_are_named(dlog, orders, group):
    outcome = dlog("group", "delete", group, "nobody-here")
    assert (outcome.code, outcome.out) == (1, f"Group {group} deleted.\n")
    assert "GROUP_ID_NOT_FOUND" in outcome.err
    assert "`dlog group list` shows the groups that there are" in outcome.err
    assert dlog("group", "list", group).out == ""
    assert len(dlog("consume", orders, "--group", group).lines) == 9


def test_a_group_whose_topic_is_gone_can_still_be_described(dlog, orders, group):
    dlog("topic", "create", f"{orders}.other")
    dlog("group", "reset-offsets", group, "--topic", f"{orders}.other", "--to-latest")
    dlog("topic", "delete", orders)
    [described] = dlog("group", "describe", group, "--json").json
    assert [(each["topic"], each["lag"]) for each in described["offsets"] if each["topic"] != orders] == [
        (f"{orders}.other", 0)
    ]
    assert all(each["lag"] is None for each in described["offsets"] if each["topic"] == orders)
