"""[pure] The records of a fetch that a reader of committed data may see.

A broker names with each fetch the transactions that were aborted in what it sends: producer and first
offset. Between that offset and the producer's abort marker nothing of this producer counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from distributedlog.records import (
    BatchHeader,
    ControlType,
    Record,
    decode_batch,
    iterate_batches,
    parse_control_record,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from distributedlog.records.header import Buffer


def wanted_batches(
    data: Buffer, aborted_transactions: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, BatchHeader, bool]]:
    """Each whole batch as (position, header, whether its records are for readers).

    Control batches never are. Pass no aborted transactions to read uncommitted data.
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
            yield position, header, False
        else:
            is_aborted = header.is_transactional and header.producer_id in aborted_producers
            yield position, header, not is_aborted


def readable_batches(
    data: bytes, aborted_transactions: Iterable[tuple[int, int]]
) -> Iterator[tuple[list[Record], int]]:
    """Each whole batch as (its records, the offset behind it); aborted and control batches have none."""
    for position, header, is_wanted in wanted_batches(data, aborted_transactions):
        yield decode_batch(data, position) if is_wanted else [], header.next_offset


def _is_abort(data: Buffer, position: int) -> bool:
    return any(
        parse_control_record(record).control_type is ControlType.ABORT
        for record in decode_batch(data, position)
    )
