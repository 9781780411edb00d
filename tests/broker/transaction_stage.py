"""A whole broker with topics, and transactional producers on it in a few words."""

from tests.broker.group_stage import GroupStage
from tests.transactions.clients import Producer
from tests.transactions.driver import api_key_of

from distributedlog.broker.coordinator_log import partition_for
from distributedlog.records import decode_batch, iterate_batches, parse_control_record
from distributedlog.wire.k65_describe_transactions import DescribeTransactionsRequest
from distributedlog.wire.k66_list_transactions import ListTransactionsRequest

STATE_TOPIC = "__transaction_state"


class TransactionStage(GroupStage):
    """``__transaction_state`` has three partitions, and is there when ``prepared``. Topics have two."""

    def __init__(self, path, *, prepared=True, configs=None, **options):
        configs = {"transaction.state.log.num.partitions": "3", **(configs or {})}
        super().__init__(path, prepared=False, configs=configs, **options)
        if prepared:
            self.find("t", key_type=1)

    def producer(self, version=2, transactional_id="t", timeout_ms=60_000, **options):
        """A producer that has its id."""
        made = Producer(_Asking(self), version, transactional_id, timeout_ms)
        assert made.init(**options) == 0
        return made

    def state_partition(self, transactional_id="t"):
        """The log that the id's state is in."""
        index = partition_for(transactional_id, len(self.image.topics_by_name[STATE_TOPIC].partitions))
        return self.broker.partitions.get(STATE_TOPIC, index)

    def describe(self, *names):
        return self.ask(65, DescribeTransactionsRequest(list(names))).transaction_states

    def state(self, name="t"):
        (row,) = self.describe(name)
        return row.transaction_state

    def listed(self, **filters):
        response = self.ask(66, ListTransactionsRequest(**filters))
        assert response.error_code == 0
        return {row.transactional_id: row.transaction_state for row in response.transaction_states}

    def markers(self, topic="orders", index=0):
        """(producer id, epoch, COMMIT or ABORT) of each marker in a partition."""
        log = self.broker.partitions.get(topic, index).log
        found, offset = [], log.log_start_offset
        while offset < log.log_end_offset:
            data = log.read(offset, 1 << 20).read()
            for position, header in iterate_batches(data):
                offset = header.next_offset
                if header.is_control:
                    (record,) = decode_batch(data, position)
                    control = parse_control_record(record).control_type
                    found.append((header.producer_id, header.producer_epoch, control.name))
        return found


class _Asking:
    """What a `Producer` needs of a driver."""

    def __init__(self, stage):
        self.stage = stage

    def ask(self, request, version):
        return self.stage.ask(api_key_of(request), request, version)

    def send(self, request, version):
        return self.stage.send(api_key_of(request), request, version)
