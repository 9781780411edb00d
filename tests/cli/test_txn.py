"""`dlog txn` against a broker that has open transactions; tests/peers runs the same against Apache Kafka."""

import json

import pytest
from tests.broker_fire.asking import create_topic
from tests.server.processes import Client, eventually
from tests.transactions_fire import administration
from tests.transactions_fire.raw_producer import V1, V2, RawProducer, find_coordinator, patiently

from distributedlog.cli.main import main
from distributedlog.testing import EmbeddedBroker
from distributedlog.wire import ErrorCode


@pytest.fixture
def client(bootstrap):
    with Client(int(bootstrap.rpartition(":")[2])) as connected:
        yield connected


@pytest.fixture(scope="module")
def unverifying():
    """A broker without the verification of KIP-890, so that a transaction can be made to hang as it once
    could in Kafka."""
    with EmbeddedBroker({"transaction.partition.verification.enable": "false"}) as broker:
        yield broker


@pytest.fixture
def bootstrap(unverifying):
    return unverifying.bootstrap_servers


@pytest.fixture
def bank(client, topic):
    """A topic of two partitions."""
    create_topic(client, topic, 2)
    for partition in range(2):
        administration.latest(client, topic, partition)
    return topic


@pytest.fixture
def txn(bootstrap, capsys, monkeypatch):
    """Run ``dlog txn …``; the exit code, what was printed (objects for --json), and the complaint."""
    monkeypatch.setenv("DLOG_BOOTSTRAP", bootstrap)

    def run(*arguments):
        capsys.readouterr()
        code = main(["txn", *arguments])
        said = capsys.readouterr()
        lines = said.out.splitlines()
        return code, [json.loads(line) for line in lines] if "--json" in arguments else lines, said.err

    return run


@pytest.fixture
def begin(client, topic):
    """Begin a transaction with one record in some partitions."""

    def start(name, *partitions, generation=V2, timeout_ms=60_000):
        producer = RawProducer(client, f"{name}-{topic}", generation, timeout_ms)
        find_coordinator(client, producer.transactional_id)
        assert patiently(producer.init) == 0
        for partition in partitions:
            if not generation.is_v2:
                assert set(producer.add((topic, partition)).values()) == {0}
            code, _ = patiently(lambda partition=partition: producer.produce(topic, partition, b"1"))
            assert code == 0
        return producer

    return start


@pytest.fixture
def hang(client):
    """Write a record of a transaction that the coordinator knows nothing of."""

    def make(topic, partition):
        producer = RawProducer(client, f"hanging-{topic}", V1)
        find_coordinator(client, producer.transactional_id)
        assert patiently(producer.init) == 0
        code, _ = producer.produce(topic, partition, b"1")
        assert code == 0
        return producer

    return make


def test_list(txn, begin, bank):
    one, two = begin("one", 0, 1), begin("two")
    code, listed, _ = txn("list", f"*-{bank}", "--json")
    assert code == 0
    assert [(each["transactional_id"], each["state"], each["producer_id"]) for each in listed] == [
        (one.transactional_id, "Ongoing", one.producer_id),
        (two.transactional_id, "Empty", two.producer_id),
    ]
    assert [
        each["transactional_id"] for each in txn("list", f"*-{bank}", "--state", "ongoing", "--json")[1]
    ] == [one.transactional_id]
    [found] = txn("list", "--producer-id", str(two.producer_id), "--json")[1]
    assert found["transactional_id"] == two.transactional_id
    lines = txn("list", f"*-{bank}")[1]
    assert lines[0].split() == ["transactional", "id", "state", "producer", "coordinator"]
    assert [line.split()[:2] for line in lines[1:]] == [
        [one.transactional_id, "Ongoing"],
        [two.transactional_id, "Empty"],
    ]


def test_list_by_how_long_they_are_open(txn, begin, bank):
    one, _ = begin("one", 0), begin("two")
    eventually(lambda: txn("list", f"*-{bank}", "--open-for", "1ms", "--json")[1])
    [found] = txn("list", f"*-{bank}", "--open-for", "1ms", "--json")[1]
    assert found["transactional_id"] == one.transactional_id
    assert txn("list", f"*-{bank}", "--open-for", "1h") == (0, [], "")


def test_list_of_a_state_that_there_is_not(txn):
    code, _, complaint = txn("list", "--state", "Open")
    assert code == 2
    assert complaint.startswith("dlog: there is no state 'Open', only Empty, Ongoing,")


def test_describe(txn, begin, bank):
    one, two = begin("one", 1, 0), begin("two")
    code, [first, second], _ = txn("describe", one.transactional_id, two.transactional_id, "--json")
    assert code == 0
    assert first["partitions"] == [[bank, 0], [bank, 1]]
    assert (first["state"], first["timeout_ms"]) == ("Ongoing", 60_000)
    assert (first["producer_id"], first["producer_epoch"]) == (one.producer_id, one.epoch)
    assert first["start_ms"] > 1_600_000_000_000
    assert (second["state"], second["start_ms"], second["partitions"]) == ("Empty", None, [])
    lines = txn("describe", one.transactional_id)[1]
    assert lines[0].startswith(
        f"{one.transactional_id}: Ongoing, producer {one.producer_id} in epoch 0, timeout 1m, "
    )
    assert "ago)" in lines[0]
    assert [line.split() for line in lines[1:]] == [["topic", "partition"], [bank, "0"], [bank, "1"]]


def test_describe_of_what_there_is_not_goes_on_with_the_rest(txn, begin, bank):
    one = begin("one", 0)
    code, [found], complaint = txn("describe", f"nobody-{bank}", one.transactional_id, "--json")
    assert code == 1
    assert found["transactional_id"] == one.transactional_id
    assert "TRANSACTIONAL_ID_NOT_FOUND" in complaint
    assert "`dlog txn list` shows those that there are" in complaint


def test_producers(txn, begin, bank, client):
    one, two = begin("one", 0), begin("two", 0, 1)
    assert patiently(lambda: two.end(committed=True)) == 0
    eventually(lambda: administration.state_of(client, two.transactional_id) == "CompleteCommit")
    found = txn("producers", bank, "--json")[1]
    assert [(each["partition"], each["producer_id"], each["start_offset"]) for each in found] == [
        (0, one.producer_id, 0),
        (0, two.producer_id, None),
        (1, two.producer_id, None),
    ]
    assert len(txn("producers", f"{bank}:1", "--json")[1]) == 1
    assert txn("producers", f"{bank}:0")[1][0].split()[:3] == ["topic", "partition", "producer"]


@pytest.mark.parametrize(
    ("partitions", "complaint"),
    [(":7", "has no partition 7, only 0 to 1"), (":x", "is not of the form TOPIC:0,1,2")],
)
def test_producers_of_partitions_that_there_are_not(txn, bank, partitions, complaint):
    code, _, said = txn("producers", bank + partitions)
    assert code in (1, 2)
    assert complaint in said


def test_abort_by_the_coordinator(txn, begin, bank, client):
    one = begin("one", 0, 1)
    code, [told], _ = txn("abort", one.transactional_id, "--json")
    assert code == 0
    assert told == {
        "transactional_id": one.transactional_id,
        "producer_id": one.producer_id,
        "producer_epoch": 0,
        "result": "aborted",
    }
    assert administration.state_of(client, one.transactional_id) == "Empty"
    assert administration.read_committed(client, bank, 0) == ([], 2, 2)
    assert one.end(committed=True) == ErrorCode.PRODUCER_FENCED
    code, _, complaint = txn("abort", one.transactional_id)
    assert code == 1
    assert "there is none open, the state is Empty" in complaint


def test_abort_in_a_partition(txn, begin, bank, client):
    begin("one", 0, 1)
    code, lines, _ = txn("abort", "--partition", f"{bank}:0", "--start-offset", "0")
    assert code == 0
    assert lines[0].endswith(f"from offset 0 on aborted in {bank}-0.")
    assert administration.latest(client, bank, 0, is_read_committed=True) == 2
    assert administration.latest(client, bank, 1, is_read_committed=True) == 0


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--partition", "{bank}:0"], 2, "--partition needs --start-offset"),
        (["--partition", "{bank}", "--start-offset", "0"], 2, "is not of the form TOPIC:0"),
        (
            ["--partition", "{bank}:0", "--start-offset", "3"],
            1,
            "from offset 3 on; those that are begin at 0",
        ),
        (["--partition", "{bank}:1", "--start-offset", "0"], 1, "from offset 0 on; there is none at all"),
        (["nobody-{bank}"], 1, "TRANSACTIONAL_ID_NOT_FOUND"),
        (["nobody-{bank}", "--start-offset", "0"], 2, "--start-offset goes with --partition"),
    ],
)
def test_abort_of_what_there_is_not(txn, begin, bank, arguments, code, complaint):
    begin("one", 0)
    got, _, said = txn("abort", *(argument.format(bank=bank) for argument in arguments))
    assert got == code
    assert complaint in said


def test_nothing_hangs_that_a_coordinator_will_end(txn, begin, bank):
    begin("one", 0, 1)
    begin("two", 1, generation=V1)
    code, lines, _ = txn("find-hanging", bank, "--older-than", "0ms")
    assert (code, lines) == (0, ["No hanging transaction in 2 partitions."])


def test_find_a_hanging_transaction_and_abort_it(txn, hang, bank, client):
    producer = hang(bank, 1)
    assert administration.latest(client, bank, 1, is_read_committed=True) == 0
    assert txn("find-hanging", bank)[0] == 0, "it is not old yet"
    code, found, _ = txn("find-hanging", "--older-than", "0ms", "--json")
    found = [each for each in found if each["topic"] == bank]
    assert code == 1
    [each] = found
    assert (each["partition"], each["start_offset"], each["producer_id"]) == (1, 0, producer.producer_id)
    assert each["transactional_id"] == producer.transactional_id
    assert each["reason"] == f"{producer.transactional_id} has no open transaction"
    code, lines, _ = txn("find-hanging", bank, "--older-than", "0ms")
    assert lines[1].split()[:4] == [bank, "1", "0", str(producer.producer_id)]
    assert txn("abort", "--partition", f"{bank}:1", "--start-offset", "0")[0] == 0
    assert txn("find-hanging", bank, "--older-than", "0ms")[0] == 0
    assert administration.latest(client, bank, 1, is_read_committed=True) == 2
