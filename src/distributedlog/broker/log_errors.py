"""What the log's errors are called on the wire."""

from typing import Final

from distributedlog.broker.flush_runner import FlushTimeout
from distributedlog.broker.partition import PartitionDeleted
from distributedlog.broker.recompression import RefusedRecords
from distributedlog.log import errors
from distributedlog.records import CorruptBatchError, RecordsError
from distributedlog.wire import ErrorCode

_CODES: Final[dict[type[BaseException], ErrorCode]] = {
    CorruptBatchError: ErrorCode.CORRUPT_MESSAGE,
    RecordsError: ErrorCode.INVALID_RECORD,
    errors.InvalidTimestamp: ErrorCode.INVALID_TIMESTAMP,
    errors.InvalidRecord: ErrorCode.INVALID_RECORD,
    errors.RecordTooLarge: ErrorCode.MESSAGE_TOO_LARGE,
    errors.OffsetOutOfRange: ErrorCode.OFFSET_OUT_OF_RANGE,
    errors.OutOfOrderSequence: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    errors.InvalidProducerEpoch: ErrorCode.INVALID_PRODUCER_EPOCH,
    errors.InvalidTxnState: ErrorCode.INVALID_TXN_STATE,
    errors.UnknownProducer: ErrorCode.UNKNOWN_PRODUCER_ID,
    errors.TransactionCoordinatorFenced: ErrorCode.TRANSACTION_COORDINATOR_FENCED,
    errors.InvalidConfig: ErrorCode.INVALID_CONFIG,
    errors.InvalidTopicName: ErrorCode.INVALID_TOPIC_EXCEPTION,
    FlushTimeout: ErrorCode.REQUEST_TIMED_OUT,
    PartitionDeleted: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    # Whatever else a log cannot do: a full or broken disk, damaged files, a log that was closed.
    errors.LogError: ErrorCode.KAFKA_STORAGE_ERROR,
    OSError: ErrorCode.KAFKA_STORAGE_ERROR,
}


def code_of(error: BaseException) -> ErrorCode:
    """The code of an error of the log, by its nearest ancestor; UNKNOWN_SERVER_ERROR of a bug."""
    if isinstance(error, RefusedRecords):
        return ErrorCode.INVALID_TIMESTAMP if error.is_about_timestamps else ErrorCode.INVALID_RECORD
    for ancestor in type(error).__mro__:
        code = _CODES.get(ancestor)
        if code is not None:
            return code
    return ErrorCode.UNKNOWN_SERVER_ERROR
