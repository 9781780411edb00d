"""The short way of the commonest request: one batch, in no transaction, to one partition, answered at once.

The long way (`handlers/k00_produce`) decodes a message, fills rows and encodes a response, which for a batch
of a record is half of the work. Here the few fields are read where they stand, and the response is a copy of
one that the codec made before, with other numbers in it. Whatever is not plain (an error, a quota, another
version, several partitions, a wait for the disk, tagged fields) is left to the long way: then the answer is
None, and nothing has happened. So there is nothing that only this module decides; what it appends goes
through `Partition.append` as everything does (docs/adr/0019).
"""

from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Final

from distributedlog.cluster.image import INTERNAL_TOPICS
from distributedlog.records import HEADER_SIZE
from distributedlog.wire import encode_response
from distributedlog.wire.k00_produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.partition import Partition

PRODUCE: Final = 0
#: Those with compact lengths; from 13 on topics have ids in place of names.
VERSION_MIN: Final = 9
VERSION_MAX: Final = 13
TOPIC_ID_VERSION_MIN: Final = 13

#: Templates that are kept: about as many partitions as one broker has clients for.
TEMPLATES_MAX: Final = 4096
#: One more than the name has, in a varint of one byte.
_NAME_LENGTH_MAX: Final = 127
_ID_SIZE: Final = 16
#: A compact array says one more than it has; a longer length goes on in bytes of seven bits.
_ONE: Final = 2
_SHIFTS: Final = (7, 14, 21, 28)
_ENDS: Final = b"\0\0\0"
ACKS_ALL: Final = -1
_ACKS: Final = (1, ACKS_ALL)
_ATTRIBUTES_LOW_BYTE: Final = 22
_TRANSACTIONAL_BIT: Final = 0x10
_IN_SYNC_REPLICAS: Final = 1

#: No transactional id, acks, timeout, one topic.
_BEGIN: Final = Struct(">BhiB")
#: One partition, its index, and the first byte of the batch's length.
_PARTITION: Final = Struct(">BiB")
#: Of a request without its size, and of a response with it: both have four bytes before it.
_CORRELATION_ID: Final = slice(4, 8)
_OFFSETS: Final = Struct(">qqq")
#: From the end of a response: behind the three offsets there are two empty lists or texts, the ends of
#: partition and topic, the throttle time, and the end of the message.
_OFFSETS_FROM_END: Final = 9 + _OFFSETS.size


class SingleProduce:
    """Keeps the templates of one broker's responses."""

    __slots__ = ("_broker", "_templates")

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._templates: dict[tuple[int, bytes, int], bytes] = {}

    def answer(self, frame: bytearray, position: int, version: int, now_ms: int) -> bytes | None:
        """The whole response to the request whose body begins at ``position``; None when it is not plain."""
        if not VERSION_MIN <= version <= VERSION_MAX or self._broker.image.client_quotas:
            return None
        try:
            found = _parse(frame, position, version)
        except (struct_error, IndexError):
            return None
        if found is None:
            return None
        acks, name, index, start, end = found
        partition = self._find(version, name, index)
        if partition is None:
            return None
        records = memoryview(frame)[start:end]
        if not _is_plain(partition, acks, records):
            return None
        header = bytes(records[:HEADER_SIZE])
        try:
            result = partition.append(records, now_ms=now_ms)
        except Exception:  # noqa: BLE001 - the log is as it was; the long way meets the same, and tells of it
            if len(header) == HEADER_SIZE:
                records[:HEADER_SIZE] = header  # the log writes a batch's place into it
            return None
        response = bytearray(self._template(version, name, partition))
        response[_CORRELATION_ID] = frame[_CORRELATION_ID]
        _OFFSETS.pack_into(
            response,
            len(response) - _OFFSETS_FROM_END,
            result.first_offset,
            result.log_append_time_ms,
            result.log_start_offset,
        )
        return bytes(response)

    def _find(self, version: int, name: bytes, index: int) -> "Partition | None":
        if version >= TOPIC_ID_VERSION_MIN:
            return self._broker.partitions.get_by_id(name, index)
        try:
            return self._broker.partitions.get(name.decode(), index)
        except UnicodeDecodeError:
            return None

    def _template(self, version: int, name: bytes, partition: "Partition") -> bytes:
        key = (version, name, partition.index)
        template = self._templates.get(key)
        if template is None:
            if len(self._templates) >= TEMPLATES_MAX:
                self._templates.clear()
            row = PartitionProduceResponse(partition.index, 0, 0, 0, 0)
            by_id = version >= TOPIC_ID_VERSION_MIN
            topic = TopicProduceResponse(
                "" if by_id else partition.topic, partition.topic_id if by_id else bytes(16), [row]
            )
            template = encode_response(PRODUCE, version, 0, ProduceResponse([topic]))
            self._templates[key] = template
        return template


def _parse(frame: bytearray, position: int, version: int) -> tuple[int, bytes, int, int, int] | None:
    """acks, the topic's name or id, the partition's index, and where its batch begins and ends."""
    no_transaction, acks, _, topics = _BEGIN.unpack_from(frame, position)
    if no_transaction or topics != _ONE or acks not in _ACKS:
        return None
    position += _BEGIN.size
    if version >= TOPIC_ID_VERSION_MIN:
        end_of_name = position + _ID_SIZE
    else:
        length = frame[position]
        if not 1 < length <= _NAME_LENGTH_MAX:
            return None
        end_of_name = position + length
        position += 1
    name = bytes(frame[position:end_of_name])
    partitions, index, length = _PARTITION.unpack_from(frame, end_of_name)
    if partitions != _ONE:
        return None
    position = end_of_name + _PARTITION.size
    if length >= 0x80:
        length &= 0x7F
        for shift in _SHIFTS:
            byte = frame[position]
            position += 1
            length |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            return None
    end = position + length - 1
    # No tagged fields, and behind the batch nothing but the ends of partition, topic and request.
    if end + len(_ENDS) != len(frame) or frame[end:] != _ENDS or end <= position:
        return None
    return acks, name, index, position, end


def _is_plain(partition: "Partition", acks: int, records: memoryview) -> bool:
    return not (
        partition.flushes_at_ack
        or partition.takes_turns
        or partition.topic in INTERNAL_TOPICS
        or len(records) <= _ATTRIBUTES_LOW_BYTE
        or records[_ATTRIBUTES_LOW_BYTE] & _TRANSACTIONAL_BIT
        or (acks == ACKS_ALL and partition.log.config.min_insync_replicas > _IN_SYNC_REPLICAS)
        or partition.prepares_in_thread(records)
    )
