import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import REAL_FILES
from distributedlog.log.transaction_index import AbortedTransaction, TransactionIndex


@pytest.fixture
def path(tmp_path):
    return tmp_path / "00000000000000000000.txnindex"


def index_of(path, *entries):
    index = TransactionIndex(REAL_FILES, path)
    for entry in entries:
        index.append(AbortedTransaction(*entry))
    return index


def test_golden_bytes(path):
    index_of(path, (7, 10, 20, 21), (258, 15, 2**40, 15))
    assert path.read_bytes() == bytes.fromhex(
        "0000" "0000000000000007" "000000000000000a" "0000000000000014" "0000000000000015"
        "0000" "0000000000000102" "000000000000000f" "0000010000000000" "000000000000000f"
    )  # fmt: skip
    assert TransactionIndex(REAL_FILES, path).entries == [(7, 10, 20, 21), (258, 15, 2**40, 15)]


def test_no_file_without_an_aborted_transaction(path):
    index = TransactionIndex(REAL_FILES, path)
    assert index.collect_aborted(0, 100) == ([], False)
    index.truncate_to(0)
    index.reset()
    index.sanity_check(0)
    index.sync()
    index.close()
    assert not path.exists()


def test_reopened_index_goes_on_where_it_ended(path):
    index = index_of(path, (1, 0, 5, 6))
    index.sync()
    index.close()
    again = index_of(path, (2, 7, 9, 10))
    assert again.entries == [(1, 0, 5, 6), (2, 7, 9, 10)]
    assert path.stat().st_size == 68


def test_markers_only_rise(path):
    index = index_of(path, (1, 0, 5, 6))
    with pytest.raises(ValueError):
        index.append(AbortedTransaction(2, 1, 5, 6))
    assert path.stat().st_size == 34


def test_collect_aborted(path):
    index = index_of(path, (1, 0, 10, 11), (2, 20, 30, 25), (3, 25, 40, 41), (4, 50, 60, 61))
    assert index.collect_aborted(0, 10) == ([(1, 0, 10, 11)], True)
    assert index.collect_aborted(11, 20) == ([], True), "an entry behind the range ends the search"
    assert index.collect_aborted(0, 26) == ([(1, 0, 10, 11), (2, 20, 30, 25), (3, 25, 40, 41)], True)
    assert index.collect_aborted(30, 50) == ([(2, 20, 30, 25), (3, 25, 40, 41)], True)
    assert index.collect_aborted(31, 41) == ([(3, 25, 40, 41)], True)
    assert index.collect_aborted(61, 100) == ([], False)
    assert index.collect_aborted(0, 100) == (index.entries, False)


def kafka_search(entries, fetch_offset, upper_bound_offset):
    """The search as a plain walk over the file."""
    found = []
    for entry in entries:
        if entry.last_offset >= fetch_offset and entry.first_offset < upper_bound_offset:
            found.append(entry)
        if entry.last_stable_offset >= upper_bound_offset:
            return found, True
    return found, False


@st.composite
def histories(draw):
    """Aborted transactions as a log makes them: producers begin, end, and the stable offset follows."""
    open_since, entries = {}, []
    steps = draw(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1, max_size=40))
    for offset, (producer_id, is_abort) in enumerate(steps):
        if producer_id not in open_since:
            open_since[producer_id] = offset
            continue
        first_offset = open_since.pop(producer_id)
        if is_abort:
            stable = min(open_since.values(), default=offset + 1)
            entries.append(AbortedTransaction(producer_id, first_offset, offset, stable))
    return entries


@given(histories(), st.integers(0, 45), st.integers(1, 45))
def test_search_agrees_with_a_plain_walk(tmp_path_factory, entries, fetch_offset, size):
    path = tmp_path_factory.mktemp("t") / "x.txnindex"
    index = index_of(path, *entries)
    found = index.collect_aborted(fetch_offset, fetch_offset + size)
    assert found == kafka_search(entries, fetch_offset, fetch_offset + size)


@given(histories(), st.integers(0, 45))
def test_truncate_to(tmp_path_factory, entries, offset):
    path = tmp_path_factory.mktemp("t") / "x.txnindex"
    index = index_of(path, *entries)
    index.truncate_to(offset)
    kept = [entry for entry in entries if entry.last_offset < offset]
    assert index.entries == kept
    assert TransactionIndex(REAL_FILES, path).entries == kept
    index.append(AbortedTransaction(9, 90, 91, 92))
    assert TransactionIndex(REAL_FILES, path).entries == [*kept, (9, 90, 91, 92)]


def test_sanity_check_against_the_segment(path):
    index = index_of(path, (1, 0, 10, 11))
    index.sanity_check(10)
    with pytest.raises(CorruptLog, match="before the segment begins"):
        index.sanity_check(11)


def entry_bytes(*fields):
    return struct.pack(">hqqqq", *fields)


@pytest.mark.parametrize(
    ("data", "position"),
    [
        (entry_bytes(0, 1, 0, 10, 11)[:-1], 0),
        (entry_bytes(0, 1, 0, 10, 11) + b"\0", 34),
        (entry_bytes(1, 1, 0, 10, 11), 0),
        (entry_bytes(0, 1, 0, 10, 11) + entry_bytes(0, 1, 5, 10, 11), 34),
        (entry_bytes(0, 1, 11, 10, 11), 0),
        (entry_bytes(0, 1, -1, 10, 11), 0),
    ],
)
def test_damage_is_found_and_the_index_can_be_built_anew(path, data, position):
    path.write_bytes(data)
    index = TransactionIndex(REAL_FILES, path)
    with pytest.raises(CorruptLog) as caught:
        index.sanity_check(0)
    assert caught.value.position == position
    index.reset()
    index.append(AbortedTransaction(1, 0, 10, 11))
    index.sync()
    assert TransactionIndex(REAL_FILES, path).entries == [(1, 0, 10, 11)]
