import inspect

import pytest

from distributedlog.log import errors

CASES = [
    (errors.OffsetOutOfRange(7, 10, 20), ["7", "10", "20"], {"requested": 7, "log_end_offset": 20}),
    (errors.RecordTooLarge(2000, 1000), ["2000", "1000", "max.message.bytes"], {"size_bytes": 2000}),
    (errors.InvalidRecord("no key", 3), ["no key", "3"], {"record_index": 3}),
    (errors.InvalidTimestamp("too late"), ["too late"], {"reason": "too late"}),
    (errors.InvalidConfig("a.b", "x", "a.b = x is not possible"), ["a.b"], {"name": "a.b", "value": "x"}),
    (errors.InvalidTopicName("a/b"), ["'a/b'", "249"], {"topic": "a/b"}),
    (
        errors.CompactionMapTooSmall("d", 100, 3),
        ["d", "100", "3 keys", "more memory"],
        {"directory": "d", "map_bytes_max": 100, "keys_max": 3},
    ),
    (errors.LogNotFound("p"), ["p", "no log"], {"path": "p"}),
    (errors.LogClosed("p"), ["p", "closed"], {"path": "p"}),
    (errors.LogOfParentProcess("p"), ["p", "forked", "LogReader"], {"path": "p"}),
    (errors.ReadOnlyLog("p"), ["p", "reading"], {"path": "p"}),
    (errors.DiskFull("p"), ["p", "space"], {"path": "p"}),
    (errors.LogDirectoryOffline("d", OSError("EIO")), ["d", "EIO", "restart"], {"directory": "d"}),
    (errors.DirectoryLocked("d", 42), ["d", "process 42"], {"pid": 42}),
    (errors.DirectoryLocked("d"), ["another process"], {"pid": None}),
    (errors.DirectoryNotWritable("d", OSError("EACCES")), ["d", "EACCES"], {"directory": "d"}),
    (errors.UnsupportedDirectoryVersion("p", "9", "1"), ["p", "9", "1"], {"version": "9"}),
    (errors.CorruptLog("p", 61, "bad CRC"), ["p", "61", "bad CRC"], {"position": 61}),
    (errors.InconsistentTopicId("p", "A", "B"), ["p", "A", "B"], {"found": "A"}),
    (errors.OutOfOrderSequence(5, 1, 9, 7), ["5", "9", "7"], {"producer_id": 5, "expected": 7}),
    (errors.InvalidProducerEpoch(5, 1, 2), ["5", "1", "2"], {"current_epoch": 2}),
    (errors.InvalidTxnState(5, 1, "no"), ["5", "no"], {"producer_epoch": 1}),
    (errors.UnknownProducer(5, 1), ["5"], {"producer_id": 5}),
    (errors.TransactionCoordinatorFenced(5, 1, 2, 3), ["5", "2", "3"], {"coordinator_epoch": 2}),
]


@pytest.mark.parametrize(("error", "words", "attributes"), CASES, ids=lambda case: type(case).__name__)
def test_error_says_what_and_keeps_the_facts(error, words, attributes):
    assert isinstance(error, errors.LogError)
    for word in words:
        assert word in str(error)
    for name, value in attributes.items():
        assert getattr(error, name) == value


def test_every_error_is_covered():
    defined = {value for _, value in inspect.getmembers(errors, inspect.isclass)}
    assert defined - {type(error) for error, _, _ in CASES} == {errors.LogError, errors.ProducerError}
