"""`dlog consume` against a broker."""

import time

import pytest


def test_everything_is_printed_and_the_end_is_the_end(dlog, orders):
    outcome = dlog("consume", orders)
    assert (outcome.code, outcome.err) == (0, "")
    assert sorted(outcome.lines) == [str(number) for number in range(9)]
    assert dlog("consume", orders, "--from-beginning").lines == outcome.lines


def test_an_empty_topic_prints_nothing(dlog, topic):
    dlog("topic", "create", topic)
    outcome = dlog("consume", topic)
    assert (outcome.code, outcome.raw, outcome.err) == (0, b"", "")


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        (["--partition", "1"], ["1", "4", "7"]),
        (["-p", "0", "-p", "2", "--offset", "2"], ["6", "8"]),
        (["--offset", "-1"], ["6", "7", "8"]),
        (["-o", "-100", "-p", "0"], ["0", "3", "6"]),
        (["-o", "3"], []),
        (["--count", "2", "-p", "0"], ["0", "3"]),
        (["--since", "1h"], [str(number) for number in range(9)]),
        (["--until", "1h"], []),
        (["--since", "2100-01-01"], []),
        (["--until", "2100-01-01"], [str(number) for number in range(9)]),
    ],
)
def test_where_it_begins_and_ends(dlog, orders, options, printed):
    outcome = dlog("consume", orders, *options)
    assert (outcome.code, outcome.err) == (0, "")
    assert sorted(outcome.lines) == printed


def test_moments_are_exact_to_the_record(dlog, topic):
    dlog("topic", "create", topic)
    lines = "".join(f'{{"value": "{n}", "timestamp": {1_700_000_000_000 + n}}}\n' for n in range(100))
    dlog("produce", topic, "--json", stdin=lines)
    outcome = dlog("consume", topic, "--since", "1700000000042", "--until", "1700000000045")
    assert outcome.lines == ["42", "43", "44"]
    # 2023-11-14T22:13:20Z is 1,700,000,000 seconds after 1970
    outcome = dlog("consume", topic, "--since", "2023-11-14T22:13:20.098+00:00")
    assert outcome.lines == ["98", "99"]


def test_an_offset_that_no_partition_has_come_to_is_mentioned(dlog, orders):
    outcome = dlog("consume", orders, "--offset", "4")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "No partition has come to offset 4; the longest ends at 3.\n"


def test_several_topics(dlog, orders):
    dlog("produce", f"{orders}.more", "--quiet", stdin="more\n")
    outcome = dlog("consume", orders, "-n", "100", f"{orders}.more", orders)
    assert sorted(outcome.lines) == [*(str(number) for number in range(9)), "more"]


def test_formats(dlog, topic):
    dlog("topic", "create", topic)
    record = '{"key": "k", "value": "v", "headers": {"h": "1"}, "timestamp": 1700000000000}\n'
    dlog("produce", topic, "--json", stdin=record + '{"value": null}\n')

    def printed(*options):
        return dlog("consume", topic, "--partition", "0", *options).lines

    assert printed() == ["v", "null"]
    assert printed("--format", "keyed") == ["k\tv", "null\tnull"]
    assert printed("--format", "full")[0] == f"{topic}-0 @ 0  2023-11-14 22:13:20.000  k → v  {{h=1}}"
    assert printed("--format", "full")[1].endswith("  null → null")
    assert printed("--format", "json") == printed("--json")
    assert printed("--template", r"{topic}/{partition}/{offset}\t{key}={value} {headers} {timestamp} {time}")[
        0
    ] == (f"{topic}/0/0\tk=v h=1 1700000000000 2023-11-14 22:13:20.000")


def test_into_a_pipe_go_the_bytes_as_they_are(dlog, topic):
    content = bytes(range(256)).replace(b"\n", b"")
    dlog("produce", topic, "--quiet", stdin=content)
    assert dlog("consume", topic).raw == content + b"\n"
    assert dlog("consume", topic, "--template", "<{value}>").raw == b"<" + content + b">\n"


def test_nothing_steers_a_terminal(dlog, topic, terminal):
    dlog(
        "produce",
        topic,
        "--quiet",
        "--key",
        "\x1b]0;k\x07",
        "-H",
        "\x1b=\x1b[2J",
        stdin=b"\x1b[31m\xff\x07\n",
    )
    terminal(80)
    for options in (
        [],
        ["--format", "keyed"],
        ["--format", "full"],
        ["--json"],
        ["--template", "{key}{value}"],
    ):
        printed = dlog("consume", topic, *options).raw
        assert printed.count(b"\n") == 1
        assert not set(printed) & set(b"\x1b\x07\xff"), options


def test_a_template_that_cannot_be_filled_is_a_usage_error(dlog, orders):
    for template in ("{nothing}", "{0}", "{value", "{offset.real.x}"):
        outcome = dlog("consume", orders, "--template", template)
        assert (outcome.code, outcome.out) == (2, "")
        assert "it may hold {headers} {key} {offset}" in outcome.err


@pytest.mark.parametrize(
    ("options", "code", "reason"),
    [
        (["--partition", "7"], 1, "has no partition 7, only 0 to 2"),
        (["--offset", "soon"], 2, "'soon' is no whole number"),
        (["--count", "0"], 2, "0 is too small"),
        (["--since", "yesterday"], 2, "'yesterday' is no moment"),
        (["--format", "xml"], 2, "there is no 'xml'; there are value, keyed, full, json"),
        (["--from-beginning", "--offset", "1"], 2, "not allowed with argument"),
        (["--from-begining"], 2, "did you mean '--from-beginning'?"),
        (["--group", "g", "--partition", "1"], 2, "--partition cannot be used with --group"),
    ],
)
def test_what_cannot_be_is_one_line(dlog, orders, options, code, reason):
    outcome = dlog("consume", orders, *options)
    assert (outcome.code, outcome.out) == (code, "")
    assert reason in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_topic_that_is_not_there(dlog, orders):
    alone = dlog("consume", f"{orders}s")
    as_member = dlog("consume", f"{orders}s", "--group", orders)
    assert alone.code == as_member.code == 1
    assert (
        alone.err == as_member.err == f"dlog: there is no topic {orders + 's'!r}; did you mean {orders!r}?\n"
    )


def test_a_group_goes_on_where_it_has_come_to(dlog, orders):
    group = f"{orders}-group"
    some = dlog("consume", orders, "--group", group, "--count", "4")
    rest = dlog("consume", orders, "--group", group)
    assert (some.code, rest.code) == (0, 0)
    assert len(some.lines) == 4
    assert sorted(some.lines + rest.lines) == [str(number) for number in range(9)]
    assert dlog("consume", orders, "--group", group).raw == b""


def test_without_a_commit_a_group_stays_where_it_is(dlog, orders):
    group = f"{orders}-group"
    for _ in range(2):
        assert len(dlog("consume", orders, "--group", group, "--no-commit").lines) == 9


def test_what_retention_took_is_said_and_the_rest_is_read(dlog, orders, monkeypatch):
    """Between the look at where the log begins and the first fetch its beginning is deleted."""
    from distributedlog.cli import consume_start

    async def behind_the_times(*_):
        return dict.fromkeys(await consume_start.chosen_partitions(*_), 0)

    monkeypatch.setattr(
        "distributedlog.cli.consume_command.start_offsets", lambda c, a, p: behind_the_times(c, a)
    )
    delete_records(dlog, orders, 0, 2)
    outcome = dlog("consume", orders, "-p", "0")
    assert (outcome.code, outcome.lines) == (0, ["6"])
    assert outcome.err == f"dlog: {orders}-0: offsets 0 to 1 are deleted; going on at 2\n"


def delete_records(dlog, topic, partition, offset):
    import os

    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": os.environ["DLOG_BOOTSTRAP"]})
    for future in admin.delete_records([TopicPartition(topic, partition, offset)]).values():
        future.result(30)


def test_a_bar_shows_how_far_it_is(dlog, orders, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "distributedlog.cli.progress.ProgressBar.update", lambda _, *counts: seen.append(counts[:3])
    )
    dlog("consume", orders)
    assert seen[-1] == (9, 9, 9)
    dlog("consume", orders, "--count", "5")
    assert seen[-1] == (5, 5, 5)


def test_following_ends_with_the_count(dlog, orders):
    began = time.monotonic()
    outcome = dlog("consume", orders, "--follow", "--from-beginning", "--count", "9")
    assert len(outcome.lines) == 9
    assert time.monotonic() - began < 60
