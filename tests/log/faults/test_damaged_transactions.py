"""Damage in what a partition keeps about producers and transactions is made good from its batches."""

import pytest
from tests.log.crash.test_power_loss_partition import CONFIG, batches_of, check, open_directory, run
from tests.log.faults.test_bad_input import GARBAGE

from distributedlog.log import REAL_FILES


def broken_open(root, pattern, damage):
    """The damage may happen to be none: half of an index of whole entries is one as well."""
    count = 0
    for path in (root / "data" / "t-0").glob(pattern):
        path.write_bytes(GARBAGE[damage](path.read_bytes()))
        count += 1
    assert count
    return open_directory(root, REAL_FILES)


@pytest.mark.parametrize("clean", [True, False], ids=["closed", "killed"])
@pytest.mark.parametrize(
    ("pattern", "damage"),
    [("*.txnindex", damage) for damage in ("odd", "zeroed", "ones", "noise", "text")]
    + [("*.snapshot", damage) for damage in GARBAGE],
)
def test_transactions_and_producers_are_known_again(memory_path, pattern, damage, clean):
    run(memory_path / "work", "damaged")
    root = memory_path / "work"
    if not clean:
        (root / "data" / ".kafka_cleanshutdown").unlink()
    with broken_open(root, pattern, damage) as directory:
        check(directory.open_log("t", 0, CONFIG), [everything(directory)])
    with open_directory(root, REAL_FILES) as directory:
        log = directory.open_log("t", 0, CONFIG)
        assert directory.reports["t", 0].was_clean
        check(log, [everything(directory)])


def everything(directory):
    return tuple(batches_of(directory.open_log("t", 0, CONFIG)))
