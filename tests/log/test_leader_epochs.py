import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import REAL_FILES
from distributedlog.log.leader_epochs import EpochEntry, LeaderEpochCheckpoint, LeaderEpochFileCache


def cache_of(*entries):
    return LeaderEpochFileCache([EpochEntry(*entry) for entry in entries])


def test_assign_notes_only_what_is_new():
    cache = LeaderEpochFileCache()
    assert cache.latest_epoch == -1
    assert cache.assign(0, 0)
    assert not cache.assign(0, 10)
    assert cache.assign(2, 10)
    assert cache.latest_epoch == 2
    assert cache.entries == ((0, 0), (2, 10))


def test_assign_drops_contradicting_entries():
    cache = cache_of((1, 0), (2, 10), (3, 20), (4, 30))
    assert cache.assign(5, 15)
    assert cache.entries == ((1, 0), (2, 10), (5, 15))
    assert cache.assign(2, 12)
    assert cache.entries == ((1, 0), (2, 12))
    assert cache.assign(2, 5), "the same epoch from an earlier offset"
    assert cache.entries == ((1, 0), (2, 5))
    assert cache.assign(3, 5), "an epoch in which nothing was written"
    assert cache.entries == ((1, 0), (3, 5))


@pytest.mark.parametrize("entry", [(-1, 0), (0, -1)])
def test_assign_refuses_what_cannot_be(entry):
    cache = LeaderEpochFileCache()
    with pytest.raises(ValueError):
        cache.assign(*entry)
    assert len(cache) == 0


def test_end_offset_for():
    cache = cache_of((2, 5), (4, 20), (7, 40))
    assert cache.end_offset_for(7, 99) == (7, 99), "the latest epoch ends at the log end"
    assert cache.end_offset_for(4, 99) == (4, 40)
    assert cache.end_offset_for(5, 99) == (4, 40), "an epoch between two known ones"
    assert cache.end_offset_for(1, 99) == (1, 5), "older than all: ends where the log begins"
    assert cache.end_offset_for(8, 99) == (-1, -1), "newer than all"
    assert cache.end_offset_for(-1, 99) == (-1, -1)
    assert LeaderEpochFileCache().end_offset_for(0, 99) == (-1, -1)
    assert LeaderEpochFileCache().end_offset_for(-1, 99) == (-1, -1)


def test_epoch_for_offset():
    cache = cache_of((2, 5), (4, 20))
    assert [cache.epoch_for_offset(offset) for offset in (0, 4, 5, 19, 20, 1000)] == [None, None, 2, 2, 4, 4]


def test_truncate_from_end():
    cache = cache_of((1, 0), (2, 10), (3, 20))
    assert not cache.truncate_from_end(21)
    assert not cache.truncate_from_end(-1)
    assert cache.truncate_from_end(20)
    assert cache.entries == ((1, 0), (2, 10))
    assert cache.latest_epoch == 2
    assert cache.truncate_from_end(0)
    assert cache.entries == ()
    assert cache.latest_epoch == -1


def test_truncate_from_start():
    cache = cache_of((1, 5), (2, 10), (3, 20))
    assert not cache.truncate_from_start(4)
    assert not cache.truncate_from_start(5)
    assert cache.truncate_from_start(15)
    assert cache.entries == ((2, 15), (3, 20))
    assert cache.truncate_from_start(20)
    assert cache.entries == ((3, 20),)
    assert cache.truncate_from_start(50)
    assert cache.entries == ((3, 50),)
    assert cache.latest_epoch == 3


def test_clear():
    cache = cache_of((1, 5))
    assert cache.clear()
    assert not cache.clear()
    assert cache.latest_epoch == -1
    assert cache.assign(1, 5)


class Log:
    """The naive model: a list with the epoch of every record there is."""

    def __init__(self):
        self.start_offset = 0
        self.epochs = []

    @property
    def end_offset(self):
        return self.start_offset + len(self.epochs)

    def entries(self):
        entries = []
        for offset, epoch in enumerate(self.epochs, self.start_offset):
            if not entries or entries[-1][0] != epoch:
                entries.append((epoch, offset))
        return entries


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 2), st.integers(1, 4)),
        st.tuples(st.just("cut_end"), st.integers(0, 10), st.just(0)),
        st.tuples(st.just("cut_start"), st.integers(0, 10), st.just(0)),
    ),
    max_size=25,
)


@given(steps)
def test_the_table_agrees_with_a_log_that_remembers_every_epoch(steps):
    log, cache, epoch = Log(), LeaderEpochFileCache(), 0
    for step, number, count in steps:
        if step == "append":
            epoch += number
            cache.assign(epoch, log.end_offset)
            log.epochs += [epoch] * count
        elif step == "cut_end":
            end_offset = max(log.start_offset, log.end_offset - number)
            log.epochs = log.epochs[: end_offset - log.start_offset]
            before = cache.entries
            assert cache.truncate_from_end(end_offset) == (cache.entries != before)
        else:
            start_offset = min(log.start_offset + number, log.end_offset)
            if start_offset == log.end_offset:
                continue  # an empty log keeps the last epoch, of which the model knows nothing
            log.epochs = log.epochs[start_offset - log.start_offset :]
            log.start_offset = start_offset
            cache.truncate_from_start(start_offset)
        assert list(cache.entries) == log.entries()
        for offset in range(log.start_offset, log.end_offset):
            assert cache.epoch_for_offset(offset) == log.epochs[offset - log.start_offset]
        for known, _ in log.entries():
            end = max(o for o, e in enumerate(log.epochs, log.start_offset) if e == known) + 1
            assert cache.end_offset_for(known, log.end_offset) == (known, end)


@pytest.fixture
def checkpoint(tmp_path):
    return LeaderEpochCheckpoint(REAL_FILES, tmp_path / "leader-epoch-checkpoint")


def test_golden_bytes(checkpoint):
    assert checkpoint.read().entries == ()
    checkpoint.write(cache_of((0, 0), (3, 1571)))
    assert checkpoint.path.read_bytes() == b"0\n2\n0 0\n3 1571\n"
    assert checkpoint.read().entries == ((0, 0), (3, 1571))
    assert checkpoint.read().latest_epoch == 3


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"0\n1\n1 2 3\n", "line 3, '1 2 3': 2 fields"),
        (b"0\n1\n-1 0\n", "line 3.*'-1'"),
        (b"0\n1\n0 -1\n", "line 3.*'-1'"),
        (b"0\n2\n1 0\n1 5\n", "line 4.*rise"),
        (b"0\n2\n1 5\n2 5\n", "line 4.*rise"),
        (b"0\n2\n2 0\n1 5\n", "line 4.*rise"),
    ],
)
def test_damage_is_named(checkpoint, data, words):
    checkpoint.path.write_bytes(data)
    with pytest.raises(CorruptLog, match=words):
        checkpoint.read()
