from pathlib import Path

import pytest
from tests.transactions.transcript import run

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(path):
    text = path.read_text()
    assert run(text) == text


def test_there_are_transcripts():
    assert len(TRANSCRIPTS) >= 8
