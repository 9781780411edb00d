"""A broker's storage side without its metadata: partitions made by hand, requests through the codec."""

import random
from types import SimpleNamespace

from tests.broker.fake_scheduler import FakeScheduler
from tests.broker.scripted_transactions import ScriptedTransactions

from distributedlog.broker.config import BrokerConfig
from distributedlog.broker.context import Client, RequestContext
from distributedlog.broker.fetch_purgatory import FetchPurgatory
from distributedlog.broker.fetch_sessions import FetchSessions
from distributedlog.broker.partition_verification import PartitionVerifier
from distributedlog.broker.partitions import PartitionTable
from distributedlog.broker.pending import Pending
from distributedlog.broker.producer_ids import ProducerIds
from distributedlog.broker.producer_turns import ProducerTurns
from distributedlog.broker.quotas import Quotas
from distributedlog.log import AppendOrigin, FlushPolicy, LogConfig, LogDirectory
from distributedlog.log.files import REAL_FILES
from distributedlog.records import encode_batch, iterate_records, parse_header
from distributedlog.wire import decode_request, decode_response, encode_request, encode_response_pieces

NOW_MS = 1_700_000_000_000


class Stage:
    """Has the attributes of `Broker` that handlers of records use."""

    def __init__(self, path, *, flush="os", config=None, files=REAL_FILES, chance=None, slots=1000):
        self.scheduler = FakeScheduler(NOW_MS, chance)
        self.config = BrokerConfig.from_kafka(config or {})
        self.node_id = 1
        self.directory = LogDirectory(path, clock_ms=self.scheduler.now_ms, files=files)
        self.partitions = PartitionTable(self.directory, self.scheduler)
        self.fetch_sessions = FetchSessions(slots, random.Random(1))
        self.waiting_fetches = FetchPurgatory(self.scheduler)
        self.image = SimpleNamespace(next_producer_id=0, client_quotas={})
        self.quotas = Quotas(self)
        self.metadata_records = []
        self.metadata_error = None
        self.producer_ids = ProducerIds(self)
        self.transactions = ScriptedTransactions()
        self.verifier = PartitionVerifier(self)
        self.producer_turns = ProducerTurns()
        self.flush = flush

    def apply_metadata(self, records, done, failed=None):
        def replay():
            if self.metadata_error is not None:
                failed(self.metadata_error)
                return
            self.metadata_records += records
            self.image.next_producer_id = records[-1].next_producer_id
            done()

        self.scheduler.call_soon(replay)

    def add(self, topic="orders", partitions=1, *, flush=None, leader_epoch=0, **configs):
        """Make a topic; returns its first partition."""
        config = LogConfig.from_kafka({name.replace("_", "."): str(value) for name, value in configs.items()})
        policy = flush if isinstance(flush, FlushPolicy) else FlushPolicy(flush or self.flush)
        topic_id = id_of(topic)
        for index in range(partitions):
            self.partitions.open(topic, index, topic_id, config, policy, leader_epoch=leader_epoch)
        return self.partitions.get(topic, 0)

    def delete(self, topic):
        for partition in self.partitions.forget(topic):
            self.directory.delete_log(topic, partition.index)

    def close(self):
        self.waiting_fetches.close()
        self.partitions.close()
        self.directory.close()


def id_of(topic):
    return random.Random(topic).randbytes(16)


def context_of(stage, key, version, client_id="test"):
    return RequestContext(Client(1, "127.0.0.1", 50000), client_id, key, version, stage.scheduler.now_ms())


def send(stage, handler, key, version, request, client_id="test"):
    """Encode and decode the request as the wire would, handle it; the response or a Pending."""
    frame = bytearray(encode_request(key, version, 7, client_id, request)[4:])
    _, decoded = decode_request(frame)
    return handler.handle(stage, context_of(stage, key, version, client_id), decoded)


def over_the_wire(key, version, response):
    """The response as a client of this version decodes it."""
    pieces = encode_response_pieces(key, version, 7, response)
    frame = b"".join(piece if isinstance(piece, bytes) else piece.read() for piece in map(_readable, pieces))
    return decode_response(key, version, frame[4:])[1]


def _readable(piece):
    return piece if hasattr(piece, "read") else bytes(piece)


def call(stage, handler, key, version, request, client_id="test"):
    """Send, let everything happen that happens without time passing, and decode the response."""
    response = send(stage, handler, key, version, request, client_id)
    if isinstance(response, Pending):
        stage.scheduler.run()
        response = answer_of(response)
    return over_the_wire(key, version, response)


class Unanswered(AssertionError):
    pass


def answer_of(pending):
    """The response of a pending that is done."""
    answers = []
    pending.when_done(answers.append)
    if not answers:
        raise Unanswered("the request still waits")
    return answers[0]


def batch_of(*values, timestamp=NOW_MS, key=None, **fields):
    """A batch with these values."""
    return encode_batch([(timestamp, key, value, ()) for value in values], **fields)


def append_in_transaction(partition, batch, origin=AppendOrigin.CLIENT):
    """Append a batch; where it is one of a transaction, as when its coordinator has been asked."""
    header = parse_header(batch)
    if not header.is_transactional:
        return partition.append(batch, now_ms=NOW_MS, origin=origin)
    guard = partition.log.producer_states.start_verification(
        header.producer_id, header.producer_epoch, header.base_sequence, bumps_epoch=False, now_ms=NOW_MS
    )
    return partition.append(batch, now_ms=NOW_MS, origin=origin, guard=guard)


def values_of(records):
    return [record.value for record in iterate_records(bytes(records))]
