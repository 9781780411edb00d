"""The result of reading the key of a record that this version does not know."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key of a record type from another version of the software.

    A replay steps over such a record and goes on; it must not stop, nor throw the record away.
    """

    record_type: int
    data: bytes
