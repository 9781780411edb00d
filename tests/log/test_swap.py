"""The swap of compacted segments: from every moment at which the writer may die, a restart ends it."""

import contextlib
import os

import pytest

from distributedlog.log.files import REAL_FILES, Files
from distributedlog.log.swap import finish_interrupted_swaps, remove_waste, swap_in

KINDS = (".log", ".index", ".timeindex", ".txnindex")


def name(base_offset, suffix):
    return f"{base_offset:020}{suffix}"


@pytest.fixture
def directory(tmp_path):
    """Segments 0, 10 and 20, of which the first two have been compacted into one; 30 is none of it."""
    for base_offset in (0, 10, 20, 30):
        for kind in KINDS:
            (tmp_path / name(base_offset, kind)).write_text(f"old {base_offset}{kind}")
    for kind in KINDS:
        (tmp_path / name(0, f"{kind}.cleaned")).write_text(f"new 0{kind}")
    return tmp_path


def contents(directory):
    return {path.name: path.read_text() for path in directory.iterdir()}


AFTER = {
    **{name(0, kind): f"new 0{kind}" for kind in KINDS},
    **{name(20, kind): f"old 20{kind}" for kind in KINDS},
    **{name(30, kind): f"old 30{kind}" for kind in KINDS},
}


def test_the_new_segment_takes_the_place_of_the_old_ones(directory):
    gone = swap_in(REAL_FILES, directory, 0, [0, 10])
    assert sorted(path.name for path in gone) == sorted(name(10, f"{kind}.deleted") for kind in KINDS)
    for path in gone:
        path.unlink()
    assert contents(directory) == AFTER


class Death(Exception):
    """The process dies here."""


class DyingFiles(Files):
    """Dies before the nth change of a name."""

    def __init__(self, changes):
        self.left = changes

    def _step(self):
        if self.left == 0:
            raise Death
        self.left -= 1

    def rename(self, old, new):
        self._step()
        super().rename(old, new)

    def unlink(self, path):
        self._step()
        super().unlink(path)


def restart(directory):
    finished = finish_interrupted_swaps(REAL_FILES, directory)
    remove_waste(REAL_FILES, directory)
    return finished


@pytest.mark.parametrize("changes", range(10))
def test_from_any_moment_a_restart_leads_to_the_old_state_or_to_the_new(directory, changes):
    """Ten changes: the intent, four files in, four out, the intent again."""
    before = {path: text for path, text in contents(directory).items() if not path.endswith(".cleaned")}
    with pytest.raises(Death):
        swap_in(DyingFiles(changes), directory, 0, [0, 10])
    assert restart(directory) == (1 if changes else 0)
    assert contents(directory) == (AFTER if changes else before)
    assert restart(directory) == 0
    assert contents(directory) == (AFTER if changes else before)


def test_ten_changes_are_all_there_are(directory):
    swap_in(DyingFiles(10), directory, 0, [0, 10])
    assert name(0, ".swapping") not in os.listdir(directory)


@pytest.mark.parametrize("changes", range(10))
def test_a_restart_may_die_as_well(directory, changes):
    with pytest.raises(Death):
        swap_in(DyingFiles(2), directory, 0, [0, 10])
    with contextlib.suppress(Death):
        finish_interrupted_swaps(DyingFiles(changes), directory)
    restart(directory)
    assert contents(directory) == AFTER


def test_no_offset_is_ever_missing_from_the_directory(directory):
    """Readers in other processes look at any time: offsets 0 to 39 are in some log file throughout."""
    seen = []

    class LookingFiles(Files):
        def _look(self):
            logs = {path.name: path.read_text() for path in directory.glob("*.log")}
            has_new = logs.get(name(0, ".log")) == "new 0.log"
            seen.append(name(0, ".log") in logs and (has_new or name(10, ".log") in logs))

        def rename(self, old, new):
            super().rename(old, new)
            self._look()

    swap_in(LookingFiles(), directory, 0, [0, 10])
    assert len(seen) == 9
    assert all(seen)


def test_waste_is_what_was_to_go_and_what_never_became_whole(tmp_path):
    keep = [name(0, ".log"), "leader-epoch-checkpoint", name(0, ".log.cut")]
    for waste in (name(0, ".log.deleted"), name(5, ".index.cleaned"), "leader-epoch-checkpoint.tmp", *keep):
        (tmp_path / waste).write_bytes(b"")
    remove_waste(REAL_FILES, tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(keep)
