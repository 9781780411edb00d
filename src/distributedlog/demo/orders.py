"""The records of the demo: orders of a shop, each a hundred bytes that follow from its number alone.

So whoever reads one, in whatever process and after whatever accident, can tell whether it is what was
written, and whether it is the one that was asked for.
"""

from collections.abc import Iterable
from typing import Final

from distributedlog import Entry

VALUE_BYTES: Final = 100
CUSTOMERS: Final = 10_000
#: 2025-01-01, and an order every ten milliseconds from then on.
FIRST_TIMESTAMP: Final = 1_735_689_600_000
INTERVAL_MS: Final = 10
_MIXER: Final = 0x9E3779B97F4A7C15F39CC0605CEDC835
_PROOF_MASK: Final = (1 << 128) - 1


def order(number: int) -> Entry:
    customer = number * 7919 % CUSTOMERS
    proof = (number + 1) * _MIXER & _PROOF_MASK
    return Entry(
        b"customer-%04d" % customer,
        b'{"order":%12d,"customer":%6d,"cents":%8d,"proof":"%032x"}'
        % (number, customer, proof % 99_991, proof),
        (),
        FIRST_TIMESTAMP + number * INTERVAL_MS,
    )


def orders(numbers: Iterable[int]) -> list[Entry]:
    return [order(number) for number in numbers]


def orders_as_read(offsets: Iterable[int]) -> list[tuple[object, ...]]:
    """Orders whose numbers are their offsets, as a reader has to get them: a record equals its tuple."""
    return [
        (offset, made.timestamp, made.key, made.value, ())
        for offset, made in ((n, order(n)) for n in offsets)
    ]
