"""[pure] The records of a fetch that a reader of committed data may see.

A broker names with each fetch the transactions that were aborted in what it sends: producer and first
offset. Between that offset and the producer's abort marker nothing of this producer counts.
"""

from collections.abc import Iterable, Iterator

from distributedlog.records import ControlType, Record, decode_batch, iterate_batches, parse_control_record


def readable_batches(
    data: bytes, aborted_transactions: Iterable[tuple[int, int]]
) -> Iterator[tuple[list[Record], int]]:
    """Each whole batch as (its records, the offset behind it); aborted and control batches have none.

    Pass no aborted transactions to read uncommitted data.
    """
    waiting = sorted(aborted_transactions, key=lambda transaction: transaction[1])
    waiting.reverse()
    aborted_producers: set[int] = set()
    for position, header in iterate_batches(data):
        while waiting and waiting[-1][1] <= header.last_offset:
            aborted_producers.add(waiting.pop()[0])
        if header.is_control:
            if header.producer_id in aborted_producers and _is_abort(data, position):
                aborted_producers.discard(header.producer_id)
            yield [], header.next_offset
        elif header.is_transactional and header.producer_id in aborted_producers:
            yield [], header.next_offset
        else:
            yield decode_batch(data, position), header.next_offset


def _is_abort(data: bytes, position: int) -> bool:
    return any(
        parse_control_record(record).control_type is ControlType.ABORT
        for record in decode_batch(data, position)
    )
