"""[pure] Under which name an idempotent producer numbers its batches."""

from typing import Final, NamedTuple

EPOCH_MAX: Final = 2**15 - 1
SEQUENCES: Final = 2**31
NO_SEQUENCE: Final = -1


class Identity(NamedTuple):
    """A broker gives it out. A higher epoch begins all sequences anew and fences the lower ones."""

    producer_id: int
    epoch: int

    def bumped(self) -> "Identity | None":
        """The next epoch; None when there is none left, and a new producer id is needed."""
        return Identity(self.producer_id, self.epoch + 1) if self.epoch + 1 < EPOCH_MAX else None


NO_IDENTITY: Final = Identity(-1, -1)
