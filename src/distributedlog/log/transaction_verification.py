"""Whether a producer's first batch of a transaction may enter a partition (KIP-890) [pure].

A partition asks the transaction's coordinator before it takes that batch. Between the answer and the append
the transaction may end, and another begin that the partition is no part of: the answer then speaks of the
past, and what is appended on its strength belongs to no transaction that anybody will ever end. So every
question has a guard, one that no other question shares. It stays until the first batch of the transaction,
or a marker, takes it away; and a batch enters only with the guard that is there.

Of the batches that wait for the answer the lowest sequence is remembered: when one of them fails and those
behind it do not, they must not be appended in its place, or it could never be sent again.
"""


class VerificationGuard:
    """One question to the coordinator. Only identity counts."""

    __slots__ = ()


class Verification:
    """What is under way, or done and not yet used, for one producer."""

    __slots__ = ("bumps_epoch", "guard", "lowest_sequence", "producer_epoch", "started_ms")

    def __init__(self, sequence: int, producer_epoch: int, *, bumps_epoch: bool, now_ms: int) -> None:
        self.guard = VerificationGuard()
        self.started_ms = now_ms
        self.lowest_sequence = sequence
        self.producer_epoch = producer_epoch
        #: The producer has a new epoch for every transaction, as those of transaction version 2 do.
        self.bumps_epoch = bumps_epoch

    def include(self, sequence: int, producer_epoch: int) -> None:
        """Another batch asks too; a later epoch begins its sequences anew."""
        if producer_epoch > self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.lowest_sequence = sequence
        elif producer_epoch == self.producer_epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class Verifications:
    """All that a partition waits for, by producer id."""

    __slots__ = ("_by_producer",)

    def __init__(self) -> None:
        self._by_producer: dict[int, Verification] = {}

    def __len__(self) -> int:
        return len(self._by_producer)

    def get(self, producer_id: int) -> Verification | None:
        return self._by_producer.get(producer_id)

    def begin(
        self, producer_id: int, producer_epoch: int, sequence: int, *, bumps_epoch: bool, now_ms: int
    ) -> VerificationGuard:
        """The guard of the question for this producer; the same one until it is taken away."""
        verification = self._by_producer.get(producer_id)
        if verification is None:
            verification = Verification(sequence, producer_epoch, bumps_epoch=bumps_epoch, now_ms=now_ms)
            self._by_producer[producer_id] = verification
        else:
            verification.include(sequence, producer_epoch)
        return verification.guard

    def end(self, producer_id: int) -> None:
        """The transaction has its first batch here: the partition knows from itself that it is open."""
        self._by_producer.pop(producer_id, None)

    def end_by_marker(self, producer_id: int, producer_epoch: int) -> None:
        """A transaction has ended. With version 2 its marker has the epoch of the next one, which the
        producer may have asked about already: that question stands."""
        verification = self._by_producer.get(producer_id)
        if verification is None:
            return
        is_of_the_next = verification.bumps_epoch and verification.producer_epoch == producer_epoch
        if not is_of_the_next:
            del self._by_producer[producer_id]

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Forget questions whose batch never came."""
        expired = [
            producer_id
            for producer_id, verification in self._by_producer.items()
            if now_ms - verification.started_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self._by_producer[producer_id]

    def clear(self) -> None:
        self._by_producer.clear()
