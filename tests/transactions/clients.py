"""What transactional producers ask, in a few words."""

from typing import Any

from tests.transactions.driver import Driver

from distributedlog.transactions import TopicPartition
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest
from distributedlog.wire.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from distributedlog.wire.k26_end_txn import EndTxnRequest

NONE = ErrorCode.NONE
#: The newest versions that clients of the one and of the other transactions speak.
INIT, ADD_V1, ADD_V2, END_V1, END_V2 = 5, 3, 5, 4, 5


def tp(text: str) -> TopicPartition:
    """``orders-1``."""
    topic, _, index = text.rpartition("-")
    return TopicPartition(topic, int(index))


def topics_of(*partitions: str) -> list[AddPartitionsToTxnTopic]:
    """The partitions as requests name them."""
    topics: dict[str, list[int]] = {}
    for topic, index in map(tp, partitions):
        topics.setdefault(topic, []).append(index)
    return [AddPartitionsToTxnTopic(*item) for item in topics.items()]


def init_request(transactional_id: str | None = "t", timeout_ms: int = 60_000, **fields: Any) -> Any:
    return InitProducerIdRequest(transactional_id, timeout_ms, **fields)


def add_request_v1(transactional_id: str, producer_id: int, epoch: int, *partitions: str) -> Any:
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=topics_of(*partitions),
    )


def add_request_v2(
    transactional_id: str, producer_id: int, epoch: int, *partitions: str, verify_only: bool = False
) -> Any:
    asked = AddPartitionsToTxnTransaction(
        transactional_id, producer_id, epoch, verify_only, topics_of(*partitions)
    )
    return AddPartitionsToTxnRequest([asked])


def added(response: Any) -> ErrorCode | dict[str, ErrorCode]:
    """The one error of all partitions, or each one's where they differ."""
    topics = response.results_by_topic_v3_and_below or [
        topic for each in response.results_by_transaction for topic in each.topic_results
    ]
    errors = {
        f"{topic.name}-{each.partition_index}": ErrorCode(each.partition_error_code)
        for topic in topics
        for each in topic.results_by_partition
    }
    return errors.popitem()[1] if len(set(errors.values())) == 1 else errors


class Producer:
    """A producer that keeps what it is given. ``version`` is that of its transactions."""

    def __init__(
        self, driver: Driver, version: int = 2, transactional_id: str = "t", timeout_ms: int = 60_000
    ) -> None:
        self.driver = driver
        self.version = version
        self.transactional_id = transactional_id
        self.timeout_ms = timeout_ms
        self.producer_id = self.epoch = -1

    @property
    def identity(self) -> tuple[int, int]:
        return self.producer_id, self.epoch

    def init(self, *, recovers: bool = False, api_version: int = INIT) -> ErrorCode:
        """InitProducerId; ``recovers`` names what it has, to have its epoch raised (KIP-360)."""
        fields = {"producer_id": self.producer_id, "producer_epoch": self.epoch} if recovers else {}
        request = init_request(self.transactional_id, self.timeout_ms, **fields)
        response = self.driver.ask(request, api_version)
        if not response.error_code:
            self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        return ErrorCode(response.error_code)

    def add(self, *partitions: str, epoch: int | None = None) -> Any:
        """Make partitions part of the transaction, as version 1 asks and as version 2 has leaders ask."""
        epoch = self.epoch if epoch is None else epoch
        request, api_version = (add_request_v2, ADD_V2) if self.version == 2 else (add_request_v1, ADD_V1)
        response = self.driver.ask(
            request(self.transactional_id, self.producer_id, epoch, *partitions), api_version
        )
        return added(response)

    def verify(self, *partitions: str) -> Any:
        """What a leader asks about a producer of version 1."""
        request = add_request_v2(
            self.transactional_id, self.producer_id, self.epoch, *partitions, verify_only=True
        )
        return added(self.driver.ask(request, ADD_V2))

    def end_request(self, committed: bool) -> Any:
        return EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, committed)

    @property
    def end_version(self) -> int:
        return END_V2 if self.version == 2 else END_V1

    def send_end(self, committed: bool) -> int:
        """EndTxn; the token of the reply."""
        return self.driver.send(self.end_request(committed), self.end_version)

    def end(self, committed: bool, *, keeps_epoch: bool = False) -> ErrorCode:
        """EndTxn that is answered at once. ``keeps_epoch``: as if the answer were lost."""
        response = self.driver.ask(self.end_request(committed), self.end_version)
        if not response.error_code and self.version == 2 and not keeps_epoch:
            self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        return ErrorCode(response.error_code)

    def commit(self, **options: bool) -> ErrorCode:
        return self.end(True, **options)

    def abort(self, **options: bool) -> ErrorCode:
        return self.end(False, **options)
