"""[pure] From bytes of input to records."""

import pytest

from distributedlog.cli import input_records
from distributedlog.cli.input_records import (
    InputRecord,
    InvalidInput,
    LineFormat,
    LineSplitter,
    record_of_line,
    records_of_json_line,
)

PLAIN = LineFormat()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("text", [b"", b"\n", b"a\n\nb", b"one\ntwo\n", b"\r\n\x00\xff\n\n\n"])
def test_lines_do_not_depend_on_the_chunks_they_come_in(text, size):
    splitter = LineSplitter()
    lines = [line for at in range(0, len(text), size) for line in splitter.feed(text[at : at + size])]
    lines += splitter.rest()
    assert lines == text.split(b"\n")[: None if text and not text.endswith(b"\n") else -1]
    assert splitter.rest() == []


def test_a_line_has_a_limit(monkeypatch):
    monkeypatch.setattr(input_records, "LINE_SIZE_MAX", 10)
    splitter = LineSplitter()
    assert splitter.feed(b"x" * 10) == []
    with pytest.raises(InvalidInput, match="the line is longer than 10 bytes"):
        splitter.feed(b"x")


def test_a_line_takes_what_all_records_share():
    form = LineFormat(key=b"k", headers=(("h", b"v"),), null=b"-", partition=3)
    assert record_of_line(b"x", form) == InputRecord(b"x", b"k", (("h", b"v"),), None, 3)
    assert record_of_line(b"-", form).value is None


def test_a_separator_that_is_no_text_is_shown():
    with pytest.raises(InvalidInput, match=r"does not hold the key separator '\\xff'"):
        record_of_line(b"x", LineFormat(key_separator=b"\xff"))


def test_what_a_line_of_json_says_counts_more_than_the_command_line():
    form = LineFormat(key=b"k", headers=(("h", b"v"),))
    [bare] = records_of_json_line(b'{"value": 1.5}', form)
    assert (bare.key, bare.headers, bare.value, bare.timestamp) == (b"k", (("h", b"v"),), b"1.5", None)
    [own] = records_of_json_line(b'{"value": [], "key": null, "headers": {}, "timestamp": 5}', form)
    assert (own.key, own.headers, own.value, own.timestamp) == (None, (), b"[]", 5)


def test_where_a_record_was_is_ignored():
    [record] = records_of_json_line(b'{"topic": "t", "partition": 7, "offset": 9, "value": "v"}', PLAIN)
    assert record == InputRecord(b"v")


def test_letters_stand_as_they_are():
    [record] = records_of_json_line('{"value": {"ü": "→"}, "key": "ü"}'.encode(), PLAIN)
    assert (record.key, record.value) == ("ü".encode(), '{"ü":"→"}'.encode())


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{bad", "the line is not JSON: Expecting property name enclosed in double quotes, at its column 2"),
        (b'{"value": "\xff"}', "the line is not JSON: "),
        (b"[" * 100_000, "the line is not JSON: "),
        (b"[1]", "the line is JSON, but no object"),
        (b'{"key": "k"}', 'the record has no "value"; a deletion has the value null'),
        (b'{"value": 1, "vlaue": 2}', "a record has no 'vlaue'; it may have headers, key"),
        (b'{"value": 1, "timestamp": "now"}', 'timestamp must be milliseconds since 1970, but it is "now"'),
        (b'{"value": 1, "timestamp": -5}', "timestamp must be milliseconds since 1970, but it is -5"),
        (b'{"value": 1, "timestamp": true}', "timestamp must be milliseconds since 1970, but it is true"),
        (b'{"value": 1, "timestamp": 9223372036854775808}', "timestamp must be milliseconds since 1970"),
        (b'{"value": 1, "headers": 3}', "headers must be an object or a list of [name, value] pairs"),
        (b'{"value": 1, "headers": [["a"]]}', "each header must be a [name, value] pair"),
        (b'{"value": 1, "headers": [[1, "a"]]}', "each header must be a [name, value] pair"),
        (b'{"value": {"base64": "x"}}', "'x' is not base64"),
        (b'{"value": "\\ud800"}', r"'\ud800' alone is no character"),
        (b'{"value": 1, "key": {"k": "\\ud800"}}', r"'\ud800' alone is no character"),
    ],
)
def test_what_is_no_record_says_why(line, reason):
    with pytest.raises(InvalidInput) as refused:
        list(records_of_json_line(line, PLAIN))
    assert str(refused.value).startswith(reason)
