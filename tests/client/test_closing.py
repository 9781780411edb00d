"""Nothing is left after `close`, whatever was under way: no thread, no socket, no future that never ends."""

import asyncio
import contextlib
import gc
import os
import random
import threading
import time
import warnings

import pyarrow as pa
import pytest
from tests.client.test_producing_through_faults import PARTITIONS, QUICK, disturbed_broker

from distributedlog import Admin, AsyncAdmin, AsyncProducer, Producer
from distributedlog.client.errors import (
    AuthenticationFailed,
    ClientClosed,
    ClientError,
    ClusterUnreachable,
    ConnectFailed,
    DeliveryTimedOut,
    ForkedClient,
)

PATIENCE = 60
#: `DLOG_SEEDS=50` for more: each takes a third of a second.
SEEDS = int(os.environ.get("DLOG_SEEDS", "6"))
#: Ten thousand take half a minute and hold the level too: `DLOG_CYCLES=10000`.
CYCLES = int(os.environ.get("DLOG_CYCLES", "300"))


def open_sockets():
    """How many descriptors of this process are sockets."""
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            count += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    return count


def threads_of_clients():
    of_clients = {"distributedlog-producer", "distributedlog-admin"}
    return [thread.name for thread in threading.enumerate() if thread.name in of_clients]


def resident_kilobytes():
    with open("/proc/self/status") as status:
        [line] = [line for line in status if line.startswith("VmRSS:")]
    return int(line.split()[1])


@pytest.mark.parametrize("seed", range(SEEDS))
def test_closing_in_the_middle_of_anything_ends_every_future(topic, seed):
    chance = random.Random(seed)
    with disturbed_broker(topic, seed, share=0.5, faults_max=1000) as (proxy, _):
        for _ in range(12):
            producer = Producer(f"127.0.0.1:{proxy.port}", **{**QUICK, "max_block_ms": 100})
            futures = []
            try:
                for number in range(chance.randrange(200)):
                    futures.append(producer.send(topic, b"x" * 100, partition=number % PARTITIONS))
                    if number % 50 == 49:
                        futures.append(producer.send_table(topic, pa.table({"value": [b"y"] * 100})))
            except ClientError:
                pass
            producer.close(timeout_seconds=chance.random() / 20)
            assert all(future.done() for future in futures)
            assert threads_of_clients() == []


@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_async_producer_ends_all_that_waits_when_it_is_closed(topic, seed):
    chance = random.Random(seed)

    async def one(port):
        producer = AsyncProducer(f"127.0.0.1:{port}", **{**QUICK, "buffer_memory": 5000})

        async def send(number):
            future = await producer.send(topic, b"x" * 100, partition=number % PARTITIONS)
            return await future

        tasks = [asyncio.create_task(send(number)) for number in range(chance.randrange(150))]
        for task in chance.sample(tasks, len(tasks) // 5):
            task.cancel()
        for _ in range(chance.randrange(30)):
            await asyncio.sleep(0)
        await producer.close(timeout_seconds=chance.random() / 20)
        async with asyncio.timeout(PATIENCE):
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        for task, outcome in zip(tasks, outcomes, strict=True):
            if isinstance(outcome, asyncio.CancelledError):
                assert task.cancelling(), "nobody but the test cancels"
            else:
                assert isinstance(outcome, tuple | ClientError)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    async def main(port):
        for _ in range(8):
            await one(port)

    with disturbed_broker(topic, seed, share=0.5, faults_max=1000) as (proxy, _):
        asyncio.run(main(proxy.port))


def test_making_and_closing_over_and_over_holds_memory_and_sockets_level(broker, topic):
    """A tenth of the cycles first, for what is made once; what is left then must not grow with the rest."""

    def cycle():
        with Producer(broker.bootstrap_servers) as producer:
            producer.send(topic, b"x" * 1000).result(PATIENCE)

    sockets = open_sockets()
    for _ in range(max(CYCLES // 10, 30)):
        cycle()
    gc.collect()
    memory = resident_kilobytes()
    for _ in range(CYCLES):
        cycle()
    gc.collect()
    assert threads_of_clients() == []
    deadline = time.monotonic() + PATIENCE
    while open_sockets() > sockets:  # the broker's ends are closed a little later than ours
        assert time.monotonic() < deadline, f"{open_sockets()} sockets, and there were {sockets}"
    assert resident_kilobytes() - memory < 4_096 + 2 * CYCLES, (
        "kilobytes; a producer that leaks has 30 or more"
    )


def test_closing_while_others_send_and_wait(broker, topic):
    producer = Producer(broker.bootstrap_servers, linger_ms=60_000)
    outcomes = []

    def work():
        try:
            while True:
                producer.send(topic, b"x" * 100)
        except ClientError as error:
            outcomes.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    last = producer.send(topic, b"last")
    producer.close()
    for thread in threads:
        thread.join(PATIENCE)
    assert [type(error) for error in outcomes] == [ClientClosed] * 3
    assert last.result(0).topic == topic


def test_where_nobody_listens_sending_fails_and_closing_does_not_wait():
    with (
        pytest.raises(ClusterUnreachable, match="no broker answers"),
        Producer("127.0.0.1:1", max_block_ms=50, retry_backoff_ms=5) as producer,
    ):
        producer.send("orders", b"")
    with Admin("127.0.0.1:1") as admin, pytest.raises((ClusterUnreachable, ConnectFailed)):
        admin.list_topics()


def test_a_broker_that_is_gone_for_good(broker_of_ones_own, topic):
    with Producer(
        broker_of_ones_own.bootstrap_servers, delivery_timeout_ms=200, retry_backoff_ms=5
    ) as producer:
        producer.send(topic, b"").result(PATIENCE)
        broker_of_ones_own.stop()
        with pytest.raises(DeliveryTimedOut, match="the last error was"):
            producer.send(topic, b"").result(PATIENCE)
        with pytest.raises(DeliveryTimedOut):
            producer.send_table(topic, pa.table({"value": [b"x"]})).result(PATIENCE)


@pytest.fixture
def broker_of_ones_own():
    from distributedlog.testing import EmbeddedBroker

    with EmbeddedBroker() as running:
        yield running


def test_in_a_forked_child_every_call_says_so(broker, topic):
    with Producer(broker.bootstrap_servers) as producer:
        producer.send(topic, b"before").result(PATIENCE)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of forks with threads
            child = os.fork()
        if child == 0:
            told = 0
            for call in (
                lambda: producer.send(topic, b""),
                lambda: producer.send_table(topic, pa.table({"value": [b""]})),
                producer.flush,
            ):
                try:
                    call()
                except ForkedClient:
                    told += 1
            producer.close()
            os._exit(told)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        assert producer.send(topic, b"after").result(PATIENCE).offset == 1


def test_a_refused_password_is_said_at_once_and_closing_does_not_wait():
    """Not by timeout: nothing that waits would help."""
    from tests.client.scripted_broker import scripted_broker

    from distributedlog.wire.k17_sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
    from distributedlog.wire.k36_sasl_authenticate import (
        SaslAuthenticateRequest,
        SaslAuthenticateResponse,
    )

    answers = {
        SaslHandshakeRequest: lambda _: SaslHandshakeResponse(0, ["PLAIN"]),
        SaslAuthenticateRequest: lambda _: SaslAuthenticateResponse(58, "wrong password"),
    }
    options = {"security_protocol": "SASL_PLAINTEXT", "sasl_username": "ann", "sasl_password": "guess"}

    async def main():
        async with scripted_broker(answers) as broker:
            async with AsyncProducer(str(broker.address), **options) as producer:
                with pytest.raises(AuthenticationFailed, match="Check sasl_username and sasl_password"):
                    await producer.send("orders", b"")
            async with AsyncAdmin(str(broker.address), **options) as admin:
                with pytest.raises(AuthenticationFailed, match="refused user 'ann': wrong password"):
                    await admin.list_topics()

    asyncio.run(main())
