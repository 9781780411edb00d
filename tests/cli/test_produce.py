"""`dlog produce` against a broker."""

import base64
import json
import os

import pytest

from distributedlog.testing import EmbeddedBroker


@pytest.fixture
def made(dlog, topic):
    assert dlog("topic", "create", topic).code == 0
    return topic


def records(dlog, topic):
    return dlog("consume", topic, "--json").json


def values(dlog, topic):
    return [record["value"] for record in records(dlog, topic)]


def test_each_line_is_a_record(dlog, made):
    outcome = dlog("produce", made, stdin="one\n\n  three \nfour")
    assert outcome.code == 0
    assert outcome.out.startswith(f"Wrote 4 records, 15 B, to {made} in ")
    assert values(dlog, made) == ["one", "", "  three ", "four"]


@pytest.mark.parametrize("options", [[], ["--json"], ["--key-separator", ":"]])
def test_no_input_is_no_records(dlog, made, options):
    outcome = dlog("produce", made, *options)
    assert (outcome.code, outcome.err) == (0, "")
    assert records(dlog, made) == []


def test_files_are_read_one_after_another(dlog, made, tmp_path):
    (tmp_path / "a").write_text("1\n2")
    (tmp_path / "b").write_text("3\n")
    outcome = dlog("produce", made, tmp_path / "a", "-", tmp_path / "b", stdin="between\n")
    assert outcome.code == 0
    assert values(dlog, made) == ["1", "2", "between", "3"]


def test_a_file_may_be_one_record(dlog, made, tmp_path):
    content = bytes(range(256)) * 100
    (tmp_path / "picture").write_bytes(content)
    (tmp_path / "empty").write_bytes(b"")
    outcome = dlog("produce", made, "--input", "file", tmp_path / "picture", tmp_path / "empty")
    assert outcome.code == 0
    picture, empty = values(dlog, made)
    assert base64.b64decode(picture["base64"]) == content
    assert empty == ""
    assert dlog("consume", made, "--count", "1").raw == content + b"\n"


def test_lines_of_json_have_key_headers_and_timestamp(dlog, made):
    lines = [
        {
            "key": "k",
            "value": {"a": [1, "ü"]},
            "headers": {"h": "1", "n": None},
            "timestamp": 1_700_000_000_000,
        },
        {"key": None, "value": None, "headers": [["h", "1"], ["h", "2"]]},
        {"value": {"base64": "/wA="}},
    ]
    outcome = dlog("produce", made, "--json", stdin="\n".join(map(json.dumps, lines)) + "\n\n")
    [report] = outcome.json
    assert (report["topic"], report["records"]) == (made, 3)
    first, second, third = records(dlog, made)
    assert (first["key"], first["value"]) == ("k", '{"a":[1,"ü"]}')
    assert (first["headers"], first["timestamp"]) == ([["h", "1"], ["n", None]], 1_700_000_000_000)
    assert (second["key"], second["value"]) == (None, None)
    assert second["headers"] == [["h", "1"], ["h", "2"]]
    assert third["value"] == {"base64": "/wA="}


def test_what_consume_prints_can_be_written_again(dlog, made):
    dlog("topic", "create", f"{made}.copy")
    dlog("produce", made, "--key", "k", "-H", "h=v", stdin=b"text\n\xff\xfe\n\x1b[31m\n")
    printed = dlog("consume", made, "--json")
    assert dlog("produce", f"{made}.copy", "--json", stdin=printed.raw).code == 0
    expected = [{**record, "topic": f"{made}.copy"} for record in printed.json]
    assert records(dlog, f"{made}.copy") == expected


def test_at_a_bad_line_all_before_it_is_written(dlog, made):
    lines = b'{"value": "good"}\n\n{bad\n{"value": "after"}\n'
    outcome = dlog("produce", made, "--json", stdin=lines)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "dlog: standard input, line 3: the line is not JSON: Expecting property name enclosed in "
        "double quotes, at its column 2; 1 record had been acknowledged before that\n"
    )
    assert values(dlog, made) == ["good"]


def test_the_line_is_that_of_its_own_file(dlog, made, tmp_path):
    (tmp_path / "good").write_text('{"value": 1}\n' * 10)
    (tmp_path / "bad").write_text('{"value": 1}\n{\n')
    outcome = dlog("produce", made, "--json", tmp_path / "good", tmp_path / "bad")
    assert outcome.err.startswith(f"dlog: {tmp_path / 'bad'}, line 2: the line is not JSON")
    assert len(records(dlog, made)) == 11


def test_keys_stand_before_a_separator(dlog, made):
    assert dlog("produce", made, "--key-separator", "::", stdin="a::1\n::2\nb::x::y\n").code == 0
    assert [(record["key"], record["value"]) for record in records(dlog, made)] == [
        ("a", "1"), ("", "2"), ("b", "x::y"),
    ]  # fmt: skip
    outcome = dlog("produce", made, "--key-separator", "::", stdin="a::1\nb:2\n")
    assert "standard input, line 2: the line does not hold the key separator '::'" in outcome.err


def test_what_all_records_share(dlog, made):
    outcome = dlog(
        "produce", made, "--key", "k", "-H", "a=1", "-H", "b=x=y", "--null", "NULL", stdin="v\nNULL\n"
    )
    assert outcome.code == 0
    first, second = records(dlog, made)
    assert (first["key"], first["value"], first["headers"]) == ("k", "v", [["a", "1"], ["b", "x=y"]])
    assert (second["key"], second["value"]) == ("k", None)


def test_equal_keys_go_to_one_partition(dlog, topic):
    dlog("topic", "create", topic, "-p", "8")
    dlog("produce", topic, "--key-separator", ":", stdin="".join(f"{n % 5}:{n}\n" for n in range(50)))
    places = {(record["key"], record["partition"]) for record in records(dlog, topic)}
    assert len(places) == 5


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_comes_back(dlog, made, codec):
    lines = "".join(f"line {number} of some text\n" for number in range(2000))
    assert dlog("produce", made, "--compression", codec, "--batch-size", "5000", stdin=lines).code == 0
    assert dlog("consume", made).out == lines


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_every_kind_of_acknowledgement(dlog, made, acks):
    assert dlog("produce", made, "--acks", acks, stdin="one\n").code == 0
    assert values(dlog, made) == ["one"]


def test_a_topic_that_is_made_by_writing_is_mentioned(dlog, made):
    outcome = dlog("produce", f"{made}s", stdin="one\n")
    assert outcome.code == 0
    assert outcome.err == f"There was no topic {made + 's'!r}: it was made; did you mean {made!r}?\n"
    again = dlog("produce", f"{made}s", stdin="two\n")
    assert again.err == ""
    quiet = dlog("produce", f"{made}.quiet", "--quiet", stdin="one\n")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")


def test_a_cluster_that_makes_no_topics_says_what_to_do(run, monkeypatch):
    monkeypatch.setattr("distributedlog.cli.produce_command.CREATION_SECONDS_MAX", 0.2)
    with EmbeddedBroker({"auto.create.topics.enable": "false"}) as broker:
        outcome = run("produce", "absent", "--bootstrap", broker.bootstrap_servers, stdin="one\n")
    assert outcome.code == 1
    assert "there is no topic 'absent'" in outcome.err
    assert "`dlog topic create absent`" in outcome.err


def test_a_partition_that_is_not_there(dlog, made):
    outcome = dlog("produce", made, "--partition", "5", stdin="x\n")
    assert (outcome.code, outcome.err) == (1, f"dlog: topic {made} has no partition 5, only 0 to 0\n")


def test_files_that_cannot_be_read(dlog, made, tmp_path):
    absent = dlog("produce", made, tmp_path / "absent")
    assert absent.err == f"dlog: {tmp_path / 'absent'} cannot be read: No such file or directory\n"
    directory = dlog("produce", made, tmp_path)
    assert directory.err == f"dlog: {tmp_path} cannot be read: Is a directory\n"
    assert (absent.code, directory.code) == (1, 1)


def test_what_the_broker_refuses(dlog, topic):
    dlog("topic", "create", topic, "-c", "max.message.bytes=1000", "-c", "cleanup.policy=compact")
    large = dlog("produce", topic, "--key", "k", stdin="x" * 2000)
    assert large.code == 1
    assert "MESSAGE_TOO_LARGE" in large.err
    assert "max.message.bytes" in large.err
    keyless = dlog("produce", topic, stdin="x\n")
    assert keyless.code == 1
    assert "a record without a key, which a compacted topic cannot keep (INVALID_RECORD)" in keyless.err


def test_a_line_without_end_is_refused(dlog, made, monkeypatch):
    monkeypatch.setattr("distributedlog.cli.input_records.LINE_SIZE_MAX", 300_000)
    outcome = dlog("produce", made, stdin="short\n" + "x" * 1_000_000)
    assert outcome.code == 1
    assert "standard input, line 2: the line is longer than 300,000 bytes" in outcome.err


def test_much_input_is_sent_while_it_is_read(dlog, made, monkeypatch):
    """Acknowledgements come in before the last line is read: memory stays bounded, the bar moves."""
    seen = []

    def update(bar, done, total, records_count, size):
        seen.append((done, total, records_count))

    monkeypatch.setattr("distributedlog.cli.progress.ProgressBar.update", update)
    lines = b"x" * 99 + b"\n"
    outcome = dlog("produce", made, "--batch-size", "10000", stdin=lines * 30_000)
    assert outcome.code == 0
    assert ", 30,000 records, " not in outcome.out
    assert "a second." in outcome.out
    assert seen[-1][0] == 3_000_000
    assert any(0 < count < 30_000 for _, _, count in seen)


def test_typed_lines_are_invited(dlog, made, monkeypatch, capsysbinary):
    """On a terminal: a real one, with Ctrl-D at the end."""
    from distributedlog.cli.main import main

    master, slave = os.openpty()
    os.write(master, b"typed\n\x04")
    with os.fdopen(slave) as keyboard:
        monkeypatch.setattr("sys.stdin", keyboard)
        assert main(["produce", made]) == 0
    os.close(master)
    captured = capsysbinary.readouterr()
    assert captured.err == b"Each line is a record; Ctrl-D ends.\n"
    assert values(dlog, made) == ["typed"]
