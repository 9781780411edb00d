"""What may be wrong with record batches. Nothing else leaves this room when bytes are bad."""


class RecordsError(ValueError):
    """A record batch cannot be taken as it is."""


class CorruptBatchError(RecordsError):
    """The bytes are damaged, or are no batch of format 2: length, magic, CRC, counts or contents."""


class InvalidRecordError(RecordsError):
    """The batch is well-formed, but holds what its sender may not send or the format cannot hold."""
