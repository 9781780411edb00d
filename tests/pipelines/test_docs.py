"""The pages of the pipelines: each has a picture, and every specification on them is right."""

import re
import tomllib
from pathlib import Path

import pytest

from distributedlog.pipelines.catalog import STEPS
from distributedlog.pipelines.spec import parse_spec

DIRECTORY = Path(__file__).parents[2] / "docs" / "pipelines"
BLOCK = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)


def specifications():
    for page in sorted(DIRECTORY.glob("*.md")):
        for number, block in enumerate(BLOCK.findall(page.read_text())):
            yield pytest.param(block, id=f"{page.stem}-{number}")


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_every_pipeline_has_a_page_with_a_picture_and_a_specification(step):
    page = (DIRECTORY / f"{step.name}.md").read_text()
    assert "```mermaid\n" in page
    assert BLOCK.search(page)
    assert f"]({step.name}.md)" in (DIRECTORY / "README.md").read_text()


@pytest.mark.parametrize("block", list(specifications()))
def test_specifications_on_the_pages_are_right(block):
    given = tomllib.loads(block)
    if "name" in given:
        parse_spec(given)
        return
    # A section alone, to be put in the place of the one above it.
    (kind,) = given
    source = {"subscribe": "b", "value": "json", "schema": "buyer STRING, ordered TIMESTAMP"}
    section = {**given[kind], "source": source} if kind == "join" else given[kind]
    whole = {
        "name": "x",
        "pipeline": kind,
        "source": {"subscribe": "a"},
        "sink": {"topic": "c"},
        kind: section,
    }
    parse_spec(whole)
