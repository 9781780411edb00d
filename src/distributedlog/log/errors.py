"""Everything the log refuses or cannot do. Each error says what was wrong, where, and what to do about it,
and keeps the facts as attributes, so that a broker can map it to an error code without parsing text."""


class LogError(Exception):
    """Base of all errors of the log."""


# What a caller asked for and cannot have.


class OffsetOutOfRange(LogError):
    """A read below the log start offset or beyond the log end offset."""

    def __init__(self, requested: int, log_start_offset: int, log_end_offset: int) -> None:
        super().__init__(
            f"offset {requested} is outside the log, which holds offsets {log_start_offset} to "
            f"{log_end_offset} (the end exclusive); start from one of these two"
        )
        self.requested = requested
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset


class RecordTooLarge(LogError):
    """A batch of more bytes than max.message.bytes."""

    def __init__(self, size_bytes: int, max_message_bytes: int) -> None:
        super().__init__(
            f"the batch has {size_bytes} bytes, the log accepts {max_message_bytes}; "
            "send smaller batches or raise max.message.bytes"
        )
        self.size_bytes = size_bytes
        self.max_message_bytes = max_message_bytes


class InvalidRecord(LogError):
    """Well-formed bytes that this log must refuse, such as a record without a key on a compacted topic."""

    def __init__(self, reason: str, record_index: int | None = None) -> None:
        where = "" if record_index is None else f"record {record_index} of the batch: "
        super().__init__(f"{where}{reason}")
        self.reason = reason
        self.record_index = record_index


class InvalidTimestamp(InvalidRecord):
    """A create time further from the clock than message.timestamp.before/after.max.ms allow."""


class InvalidConfig(LogError, ValueError):
    """A configuration that has no such key, or a value the key does not take."""

    def __init__(self, name: str, value: object, reason: str) -> None:
        super().__init__(reason)
        self.name = name
        self.value = value
        self.reason = reason


class InvalidTopicName(LogError, ValueError):
    """A name that Kafka does not allow: it also names a directory."""

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"{topic!r} is no topic name: take 1 to 249 of the characters a-z, A-Z, 0-9, '.', '_' and '-', "
            "and neither '.' nor '..'"
        )
        self.topic = topic


class LogNotFound(LogError):
    """There is no log to read in the directory."""

    def __init__(self, path: str) -> None:
        super().__init__(f"there is no log in {path}; Log({path!r}) makes one")
        self.path = path


class LogClosed(LogError):
    """Use of a log, or of a file of it, after close()."""

    def __init__(self, path: str) -> None:
        super().__init__(self._sentence(path))
        self.path = path

    def _sentence(self, path: str) -> str:
        return f"{path} is closed; open it again to use it"


class LogOfParentProcess(LogClosed):
    """Use, in a forked process, of a log that its parent has open for writing."""

    def _sentence(self, path: str) -> str:
        return (
            f"{path} was opened for writing before this process was forked, and belongs to its parent; read "
            "it here with a LogReader of your own"
        )


class ReadOnlyLog(LogError):
    """A change asked of a handle that was opened for reading."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} was opened for reading only; open it for writing to change it")
        self.path = path


# What the disk and the directory do not allow.


class DiskFull(LogError):
    """No room for a write. The write was cut back, what was acknowledged is kept, reads go on."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"no space left on the device of {path}; nothing acknowledged is lost and reads go on: "
            "free some space or lower the retention, then append again"
        )
        self.path = path


class CompactionMapTooSmall(LogError):
    """A single batch has more keys than the compaction's map may hold."""

    def __init__(self, directory: str, map_bytes_max: int, keys_max: int) -> None:
        super().__init__(
            f"the {map_bytes_max} bytes for the compaction of {directory} hold {keys_max} keys, "
            "fewer than one batch has; give the compaction more memory"
        )
        self.directory = directory
        self.map_bytes_max = map_bytes_max
        self.keys_max = keys_max


class LogDirectoryOffline(LogError):
    """A write or fsync failed, so that what the page cache holds can no longer be believed."""

    def __init__(self, directory: str, cause: BaseException | None = None) -> None:
        why = "" if cause is None else f" after: {cause}"
        super().__init__(
            f"log directory {directory} is offline{why}; check the disk and restart to recover its logs"
        )
        self.directory = directory
        self.cause = cause


class DirectoryLocked(LogError):
    """Another process writes to the directory (or file); a log has one writer."""

    def __init__(self, directory: str, pid: int | None = None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(f"{directory} is locked by {who}; stop it, or open the log for reading only")
        self.directory = directory
        self.pid = pid


class DirectoryNotWritable(LogError):
    """The directory cannot be created or written to."""

    def __init__(self, directory: str, cause: BaseException | None = None) -> None:
        why = "" if cause is None else f": {cause}"
        advice = "check its owner, its mode and the mount"
        if isinstance(cause, FileExistsError | NotADirectoryError):
            advice = "a file is in the way: name a directory"
        super().__init__(f"cannot write to {directory}{why}; {advice}")
        self.directory = directory
        self.cause = cause


class UnsupportedDirectoryVersion(LogError):
    """A directory or file whose format has a version this program does not know. It is left untouched."""

    def __init__(self, path: str, version: str, supported: str) -> None:
        super().__init__(
            f"{path} has version {version!r}, this program knows version {supported}; "
            "use the program that wrote it, nothing was changed"
        )
        self.path = path
        self.version = version
        self.supported = supported


class CorruptLog(LogError):
    """Bytes on disk that are not what was written there. `position` is in bytes from the file's start."""

    def __init__(self, path: str, position: int, reason: str) -> None:
        super().__init__(f"{path} is damaged at byte {position}: {reason}")
        self.path = path
        self.position = position
        self.reason = reason


class InconsistentTopicId(LogError):
    """The directory belongs to another topic of the same name, one that was deleted and created again."""

    def __init__(self, path: str, found: str, expected: str) -> None:
        super().__init__(f"{path} belongs to topic id {found}, not {expected}; move the old directory away")
        self.path = path
        self.found = found
        self.expected = expected


# What a producer may not do.


class ProducerError(LogError):
    """An append that the state of its producer forbids."""

    def __init__(self, message: str, producer_id: int, producer_epoch: int) -> None:
        super().__init__(message)
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch


class OutOfOrderSequence(ProducerError):
    """A gap in the sequence numbers of an idempotent producer: a batch before this one was lost."""

    def __init__(self, producer_id: int, producer_epoch: int, sequence: int, expected: int) -> None:
        super().__init__(
            f"producer {producer_id} in epoch {producer_epoch} sent sequence {sequence} "
            f"where {expected} was due; send the missing batch first",
            producer_id,
            producer_epoch,
        )
        self.sequence = sequence
        self.expected = expected


class InvalidProducerEpoch(ProducerError):
    """The producer was fenced: a newer instance with a higher epoch has written since."""

    def __init__(self, producer_id: int, producer_epoch: int, current_epoch: int) -> None:
        super().__init__(
            f"producer {producer_id} wrote with epoch {producer_epoch}, its current one is {current_epoch}; "
            "this instance was replaced and must begin again with InitProducerId",
            producer_id,
            producer_epoch,
        )
        self.current_epoch = current_epoch


class InvalidTxnState(ProducerError):
    """A write that does not fit the producer's transaction, such as a plain batch inside an open one."""

    def __init__(self, producer_id: int, producer_epoch: int, reason: str) -> None:
        super().__init__(
            f"producer {producer_id} in epoch {producer_epoch}: {reason}", producer_id, producer_epoch
        )
        self.reason = reason


class UnknownProducer(ProducerError):
    """Nothing is known of the producer: it expired, or all it wrote was deleted."""

    def __init__(self, producer_id: int, producer_epoch: int) -> None:
        super().__init__(
            f"nothing is known of producer {producer_id}; begin again with InitProducerId",
            producer_id,
            producer_epoch,
        )


class TransactionCoordinatorFenced(ProducerError):
    """A transaction marker from a coordinator that has been replaced."""

    def __init__(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, current_coordinator_epoch: int
    ) -> None:
        super().__init__(
            f"the marker for producer {producer_id} comes from coordinator epoch {coordinator_epoch}, "
            f"the current one is {current_coordinator_epoch}; the old coordinator must stand back",
            producer_id,
            producer_epoch,
        )
        self.coordinator_epoch = coordinator_epoch
        self.current_coordinator_epoch = current_coordinator_epoch
