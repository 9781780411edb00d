"""Requests that arrive when their transaction is over (KAFKA-17754), with transactions v2 and v1.

With v2 none of them does anything: whatever a transaction sent carries an epoch that ended with it. With v1
the broker cannot tell one transaction of a producer from the next. Verification refuses what a partition
gets outside of a transaction; the tests whose names end in "remains" show what is left (ADR 11).
"""

import pytest
from tests.broker_fire.asking import create_topic
from tests.checkers.findings import Anomaly
from tests.server.processes import Client, dlog_start, eventually
from tests.transactions_fire.administration import describe, producers
from tests.transactions_fire.delayed import Teller
from tests.transactions_fire.raw_producer import OLD, V1, V2
from tests.transactions_fire.test_transcripts import SETTINGS

from fault_proxy import FaultProxy

PRODUCE, ADD_PARTITIONS, END_TXN = 0, 24, 26
OF_V1 = pytest.mark.parametrize("generation", [OLD, V1], ids=["old", "v1"])
OF_ALL = pytest.mark.parametrize("generation", [OLD, V1, V2], ids=["old", "v1", "v2"])


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    words = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    path = tmp_path_factory.mktemp("delayed")
    with FaultProxy() as running, dlog_start("--listen", "127.0.0.1:0", *words, cwd=path) as process:
        running.target_port = process.wait_ready().port
        yield running


@pytest.fixture
def teller(proxy, request):
    """Of the generation that the test is for, with a topic of three partitions."""
    name = request.node.name.translate(str.maketrans("[]", "--")).strip("-")
    with Client(proxy.target_port) as client:
        create_topic(client, name, 3)
    with Teller(proxy, name, request.node.callspec.params["generation"]) as made:
        yield made


def first_transaction(teller, end):
    """One record, and an end whose first copy is kept back."""
    teller.begin()
    assert teller.add(0) == teller.send("a") == "NONE"
    late = teller.hold(END_TXN)
    assert end(teller) == "NONE"
    teller.begin()
    assert teller.add(0) == teller.send("b") == "NONE"
    return late


@pytest.mark.parametrize("generation", [V2])
@pytest.mark.parametrize("late_end", [Teller.commit, Teller.abort])
@pytest.mark.parametrize("end", [Teller.commit, Teller.abort])
def test_a_late_end_does_nothing_to_the_next_transaction(teller, late_end, end, generation):
    late = first_transaction(teller, late_end)
    late()
    assert teller.read()[1] is False, "the second transaction is open"
    assert teller.send("c") == "NONE"
    assert end(teller) == "NONE"
    visible = ("a" if late_end is Teller.commit else "") + ("bc" if end is Teller.commit else "")
    assert teller.read() == ([visible], True)
    assert teller.anomalies() == set()


@OF_V1
def test_a_late_commit_makes_half_of_the_next_transaction_visible_remains(teller, generation):
    """The producer learns of it when it writes on: verification refuses what comes after the end."""
    late = first_transaction(teller, Teller.commit)
    late()
    assert teller.read() == (["ab"], True)
    assert teller.send("c") == ("TRANSACTION_ABORTABLE" if generation is V1 else "INVALID_TXN_STATE")
    assert teller.abort() == "INVALID_TXN_STATE"
    assert teller.anomalies() == {Anomaly.ABORTED_READ, Anomaly.TORN_TRANSACTION}


@OF_V1
def test_a_late_commit_before_another_partition_is_added_is_not_even_noticed_remains(teller, generation):
    late = first_transaction(teller, Teller.commit)
    late()
    assert teller.add(1) == teller.send("c", 1) == "NONE"
    assert teller.abort() == "NONE"
    assert teller.read(2) == (["ab", ""], True)
    assert teller.anomalies() == {Anomaly.ABORTED_READ, Anomaly.TORN_TRANSACTION}


@OF_V1
def test_a_late_abort_loses_the_next_transaction_and_the_producer_hears_of_it(teller, generation):
    late = first_transaction(teller, Teller.abort)
    late()
    assert teller.commit() == "INVALID_TXN_STATE"
    assert teller.read() == ([""], True)
    assert teller.anomalies() == set()


@OF_ALL
def test_a_late_record_after_the_end_is_refused_and_nothing_hangs(teller, generation):
    teller.begin()
    assert teller.add(0) == teller.send("a") == "NONE"
    late = teller.hold(PRODUCE)
    teller.send_and_give_up("b")
    assert teller.abort() == "NONE"
    late()
    assert teller.read() == ([""], True)
    [state] = producers(teller.client, teller.topic, 0)
    assert state.current_txn_start_offset == -1
    teller.begin()
    teller.producer.sequences.clear()
    assert patient_init(teller) == 0
    assert teller.add(0) == teller.send("c") == teller.commit() == "NONE"
    assert teller.read() == (["c"], True)
    assert teller.anomalies() == set()


def patient_init(teller):
    """A producer that lost track of a record takes a new epoch before it goes on (KIP-360)."""
    return teller.producer.init(keep=True)


def given_up_and_late_in_the_next(teller, renew):
    """A record that was given up arrives when the next transaction has its partition."""
    teller.begin()
    assert teller.add(0) == "NONE"
    late = teller.hold(PRODUCE)
    teller.send_and_give_up("a")
    assert teller.abort() == "NONE"
    renew(teller)
    teller.begin()
    assert teller.add(0) == "NONE"
    late()
    assert teller.send("b") == "NONE"
    assert teller.commit() == "NONE"


@OF_V1
def test_a_late_record_in_the_next_transaction_is_taken_for_its_own_remains(teller, generation):
    """Where a client goes on with the same epoch after it gave up a record, which real ones do not."""
    given_up_and_late_in_the_next(teller, renew=lambda _: None)
    assert teller.read() == (["a"], True)
    assert {Anomaly.ABORTED_READ} <= teller.anomalies()


@OF_ALL
def test_a_late_record_of_an_older_epoch_is_refused(teller, generation):
    given_up_and_late_in_the_next(teller, renew=lambda teller: assert_renewed(teller, generation))
    assert teller.read() == (["b"], True)
    assert teller.anomalies() == set()


def assert_renewed(teller, generation):
    if not generation.is_v2:
        assert patient_init(teller) == 0


@pytest.mark.parametrize("generation", [V2])
def test_a_late_adding_does_nothing_with_transactions_v2(teller, generation):
    """Clients of v2 do not send it; one that does, late or not, changes no transaction but its own."""
    teller.begin()
    late = teller.hold(ADD_PARTITIONS)
    assert set(teller.producer.add((teller.topic, 0)).values()) == {0}
    assert teller.send("a") == teller.commit() == "NONE"
    late()
    assert describe(teller.client, teller.topic).transaction_state == "CompleteCommit"
    teller.begin()
    assert teller.send("b", 1) == teller.commit() == "NONE"
    assert teller.read(2) == (["a", "b"], True)
    assert teller.anomalies() == set()


@OF_V1
def test_a_late_adding_begins_a_transaction_that_holds_up_nobody_but_its_producer_remains(proxy, generation):
    """Readers do not wait for it, since nothing is written. When it times out, the producer is fenced."""
    name = f"late-adding-{generation.produce}"
    with Client(proxy.target_port) as client:
        create_topic(client, name, 1)
    with Teller(proxy, name, generation, timeout_ms=200) as teller:
        teller.begin()
        late = teller.hold(ADD_PARTITIONS)
        assert teller.add(0) == teller.send("a") == teller.commit() == "NONE"
        late()
        assert describe(teller.client, name).transaction_state == "Ongoing"
        assert teller.read() == (["a"], True)
        eventually(lambda: describe(teller.client, name).transaction_state == "CompleteAbort")
        teller.begin()
        assert teller.add(0) in ("PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
        assert teller.read() == (["a"], True)
        assert teller.anomalies() == set()
