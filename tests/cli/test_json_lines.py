"""What `--json` prints, and what is read back."""

import io
import json

import pytest

from distributedlog.cli.json_lines import bytes_of_json, json_of_bytes, json_text, print_json


@pytest.mark.parametrize(
    "data", [None, b"", b"text", "ü→😀".encode(), b"\xff\x00", b"\xed\xa0\x80", bytes(range(256))]
)
def test_bytes_come_back(data):
    assert bytes_of_json(json.loads(json.dumps(json_of_bytes(data)))) == data


@pytest.mark.parametrize(
    ("content", "data"),
    [(1.5, b"1.5"), (True, b"true"), ([1, 2], b"[1,2]"), ({"base64": 1}, b'{"base64":1}'), ({}, b"{}")],
)
def test_other_json_stands_for_its_text(content, data):
    assert bytes_of_json(content) == data


def test_letters_stand_as_they_are_unless_the_line_steers_the_terminal():
    assert json_text({"a": "ü→😀"}) == '{"a": "ü→😀"}'
    for hostile in ("\x1b[31m", "\x9b2J", "\u202e", "\x7f", "\u2028"):
        text = json_text({"a": hostile + "ü"})
        assert text.isprintable()
        assert json.loads(text) == {"a": hostile + "ü"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8", "UTF8"])
def test_any_output_gets_json(monkeypatch, encoding):
    written = io.BytesIO()
    with io.TextIOWrapper(written, encoding, errors="backslashreplace") as output:
        monkeypatch.setattr("sys.stdout", output)
        print_json(a="ü→")
        output.flush()
        assert json.loads(written.getvalue().decode(encoding)) == {"a": "ü→"}
        monkeypatch.undo()
