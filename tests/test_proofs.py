"""The tests that docs/broker-proofs.md names are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_test_that_a_proof_names_exists():
    named = NAMED.findall((ROOT / "docs" / "broker-proofs.md").read_text())
    assert len(named) > 60
    missing = [
        f"{path}::{name}"
        for path, name in named
        if not re.search(rf"^(async )?def {name}\(", (ROOT / path).read_text(), re.MULTILINE)
    ]
    assert missing == []
