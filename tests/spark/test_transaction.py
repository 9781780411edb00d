"""The driver's transactions at a real coordinator: once, whole, and never by two."""

import asyncio

import pytest
from tests.spark.sink_tools import SETTINGS, batch_of, committed_records, values

from distributedlog.client import BrokerError, ClientSettings, ClusterClient
from distributedlog.client.committed import committed_offsets
from distributedlog.client.topics import create_topic
from distributedlog.spark.commit_protocol import Batch, CheckpointSetBack, DriverSuperseded
from distributedlog.spark.sending import SenderSettings
from distributedlog.spark.transaction import QueryTransactions, TransactionRefused
from distributedlog.testing import EmbeddedBroker
from distributedlog.wire import ErrorCode
from fault_proxy import Fault, FaultProxy

RUN, OTHER = "11111111-run", "22222222-other"
TRANSACTIONS = (0, 9, 22, 24, 25, 26, 28)


def run(bootstrap, story):
    async def play():
        async with ClusterClient(bootstrap, ClientSettings(retry_backoff_ms=1)) as client:
            return await story(client)

    return asyncio.run(play())


def transactions(client, query, *, timeout_ms=30_000):
    return QueryTransactions(client, query, timeout_ms, SETTINGS)


def content(topic, *numbers):
    return lambda: [batch_of(topic, number % 2, b"%d" % number) for number in numbers]


def test_batches_are_visible_once_with_their_record(bootstrap, topic):
    async def story(client):
        await create_topic(client, topic, partitions=2)
        query = transactions(client, topic)
        assert await query.commit(Batch(0, RUN), content(topic, 0, 1))
        assert await query.commit(Batch(1, RUN), content(topic, 2, 3))
        assert not await query.commit(Batch(1, RUN), content(topic, 2, 3))
        # Another process of the same run, which knows nothing.
        other = transactions(client, topic)
        assert not await other.commit(Batch(1, RUN), content(topic, 2, 3))
        assert await other.commit(Batch(2, RUN), content(topic, 4))
        # The first, whose epoch is over, finds itself again.
        assert await query.commit(Batch(3, RUN), content(topic, 5))
        found = await committed_records(client, topic)
        offsets = await committed_offsets(client, topic)
        return values(found), {place.topic: offset.offset for place, offset in offsets.items()}

    found, offsets = run(bootstrap, story)
    assert found == {b"%d" % number: 1 for number in range(6)}
    assert offsets == {topic: 3}


def test_a_superseded_run_is_stopped(bootstrap, topic):
    async def story(client):
        await create_topic(client, topic, partitions=2)
        first, second = transactions(client, topic), transactions(client, topic)
        await first.commit(Batch(0, RUN), content(topic, 0))
        await second.commit(Batch(1, OTHER), content(topic, 1))
        with pytest.raises(DriverSuperseded):
            await first.commit(Batch(2, RUN), content(topic, 2))
        with pytest.raises(CheckpointSetBack):
            await second.commit(Batch(0, OTHER), content(topic, 0))
        return values(await committed_records(client, topic))

    assert run(bootstrap, story) == {b"0": 1, b"1": 1}


def test_the_newest_record_is_found_when_batches_go_to_different_topics(bootstrap, topic):
    async def story(client):
        for name in (f"{topic}-a", f"{topic}-b"):
            await create_topic(client, name, partitions=2)
        query = transactions(client, topic)
        await query.commit(Batch(0, RUN), content(f"{topic}-a", 0))
        await query.commit(Batch(1, RUN), content(f"{topic}-b", 1))
        return await transactions(client, topic).commit(Batch(1, RUN), content(f"{topic}-b", 1))

    assert run(bootstrap, story) is False


def test_a_transaction_that_the_coordinator_has_aborted_is_done_again(bootstrap, topic):
    async def story(client):
        await create_topic(client, topic, partitions=2)
        query = transactions(client, topic)
        other = transactions(client, topic)
        calls = []

        def interrupted():
            calls.append(1)
            return content(topic, 0, 1)()

        await query.commit(Batch(0, RUN), interrupted)
        await other._claim()  # as a time-out does: the epoch of the first is over
        await query.commit(Batch(1, RUN), content(topic, 2))
        return values(await committed_records(client, topic))

    assert run(bootstrap, story) == {b"0": 1, b"1": 1, b"2": 1}


@pytest.mark.parametrize("seed", range(4))
def test_once_and_whole_through_faults(seed, topic):
    async def story(client):
        await create_topic(client, topic, partitions=2)
        for number in range(6):
            query = transactions(client, topic)  # a process for each batch: as much uncertainty as can be
            await query.commit(Batch(number, RUN), content(topic, 2 * number, 2 * number + 1))
        return values(await committed_records(client, topic))

    faults = (Fault.LOSE_REQUEST, Fault.LOSE_RESPONSE, Fault.HALF_RESPONSE, Fault.DELAY)
    with FaultProxy(seed=seed, faults=faults, share=0.15, faults_max=12, api_keys=TRANSACTIONS) as proxy:
        with EmbeddedBroker({"advertised.listeners": f"127.0.0.1:{proxy.port}"}) as broker:
            proxy.target_port = int(broker.bootstrap_servers.rpartition(":")[2])
            found = run(f"127.0.0.1:{proxy.port}", story)
        assert proxy.met
    assert found == {b"%d" % number: 1 for number in range(12)}


def test_a_time_out_that_is_too_long_is_told_with_the_option(bootstrap, topic):
    async def story(client):
        await create_topic(client, topic, partitions=2)
        await transactions(client, topic, timeout_ms=10**9).commit(Batch(0, RUN), content(topic, 0))

    with pytest.raises(TransactionRefused, match=r"transaction\.max\.timeout\.ms"):
        run(bootstrap, story)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "may not write as transactional id 'mine'"),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, "may not use group 'mine'"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "add x-0"),
    ],
)
def test_what_a_user_may_not_is_told_with_what_it_takes(code, words):
    query = QueryTransactions(ClusterClient("localhost:1"), "mine", 1, SETTINGS)
    assert words in str(query._refusal(BrokerError(code, "add x-0 to the transaction")))


def test_a_batch_that_is_refused_holds_no_reader_back(bootstrap, topic):
    """A record that the topic does not take: the transaction is aborted at once, not by its time-out."""

    async def story(client):
        await create_topic(client, topic, partitions=2, configs={"max.message.bytes": "300"})
        query = transactions(client, topic)
        too_large = [batch_of(topic, 0, b"small"), batch_of(topic, 1, b"x" * 1000)]
        with pytest.raises(BrokerError, match=r"max\.message\.bytes"):
            await query.commit(Batch(0, RUN), lambda: too_large)
        assert not await committed_records(client, topic)
        await query.commit(Batch(0, RUN), content(topic, 0))
        return values(await committed_records(client, topic))

    assert run(bootstrap, story) == {b"0": 1}


def test_a_coordinator_that_stays_away_is_told(topic):
    from distributedlog.spark.shared_client import ClusterAway

    async def story():
        with EmbeddedBroker() as broker:
            client = ClusterClient(broker.bootstrap_servers, ClientSettings(retry_backoff_ms=1))
            await client.refresh(())
        query = QueryTransactions(client, topic, 1_000, SenderSettings(1 << 20, 500, 300))
        await query.commit(Batch(5, RUN), content(topic, 0))

    with pytest.raises(ClusterAway, match="commit batch 5"):
        asyncio.run(story())
