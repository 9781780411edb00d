"""Groups of real clients: members come, go, are killed and are started again."""

import contextlib
import json
import time

import pytest
from tests.broker_fire.asking import create_topic
from tests.clients.clients import CLIENTS
from tests.clients.face import DEADLINE_SECONDS, Record, until
from tests.clients.group_kinds import (
    KINDS_OF_CLIENTS,
    MEMBERS,
    Kind,
    go_on,
    member_process,
    membership_of,
    of_every_client,
    of_every_kind,
    of_every_library,
    share_out,
)
from tests.clients.group_log import generations_of, protocol_of

from distributedlog.wire.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic

CREATE_PARTITIONS = 37
PARTITIONS = 4
#: Long enough for a busy machine, as those who live are not to be taken for dead.
CRASH_SESSION_TIMEOUT_MS = 3_000


@pytest.fixture
def partitions(ask, topic):
    create_topic(ask, topic, PARTITIONS)
    return {(topic, index) for index in range(PARTITIONS)}


def write(bootstrap, topic, name, count=3):
    """Some records to each partition; what was written, by place."""
    client = CLIENTS["confluent-kafka"]
    written = {}
    for index in range(PARTITIONS):
        values = [b"%s-%d-%d" % (name, index, number) for number in range(count)]
        offsets = client.produce(bootstrap, topic, [Record(value) for value in values], partition=index)
        written |= {(topic, index, offset): value for offset, value in zip(offsets, values, strict=True)}
    return written


def read(member):
    """The same of what a member has read; whoever reads a record twice, reads the same."""
    found = {}
    for topic, index, offset, value in member.records:
        assert found.setdefault((topic, index, offset), value) == value
    return found


@of_every_kind
def test_each_change_of_the_members_makes_one_rebalance(kind, bootstrap, ask, topic, partitions):
    membership = kind.membership(topic, topic)
    with membership_of(bootstrap, kind, membership) as first:
        share_out(partitions, first)
        go_on(first)
        assert generations_of(ask, topic) == [1]
        with membership_of(bootstrap, kind, membership) as second:
            share_out(partitions, first, second)
            assert len(first.partitions) == len(second.partitions) == PARTITIONS // 2
            go_on(first, second)
            joined = [1, 2, 3] if kind.joins_in_two_steps else [1, 2]
            assert generations_of(ask, topic) == joined
        share_out(partitions, first)
        go_on(first)
        assert generations_of(ask, topic) == [*joined, joined[-1] + 1]


@of_every_client
def test_who_takes_over_goes_on_where_the_last_commit_is(kind, bootstrap, topic, partitions):
    membership = kind.membership(topic, topic)
    old = write(bootstrap, topic, b"old")
    with membership_of(bootstrap, kind, membership) as first:
        until(lambda: len(first.records) == len(old), first)
        assert read(first) == old
        first.commit(dict.fromkeys(partitions, 3), "three")
        new = write(bootstrap, topic, b"new")
        with membership_of(bootstrap, kind, membership) as second:
            share_out(partitions, first, second)
            taken = second.partitions
            until(lambda: len(second.records) >= 3 * len(taken), second, first)
            assert read(second) == {place: value for place, value in new.items() if place[:2] in taken}
        share_out(partitions, first)
        until(lambda: read(first) == old | new, first)


@of_every_library
def test_a_member_that_is_killed_is_taken_out_when_its_session_ends(kind, bootstrap, ask, topic, partitions):
    membership = kind.membership(topic, topic, session_timeout_ms=CRASH_SESSION_TIMEOUT_MS)
    with (
        membership_of(bootstrap, kind, membership) as survivor,
        member_process(bootstrap, kind, membership) as process,
    ):
        half = until_told(process, PARTITIONS // 2, survivor)
        until(lambda: survivor.partitions == partitions - half, survivor)
        before = generations_of(ask, topic)
        process.kill()
        share_out(partitions, survivor)
        go_on(survivor)
        assert generations_of(ask, topic) == [*before, before[-1] + 1]


def until_told(process, count, member):
    """Until the process says that it has so many partitions, and which."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        assert process.poll() is None, "the member's process has ended"
        assert time.monotonic() < deadline, "the member's process got no partitions"
        member.turn()
        for line in process.stdout.readlines():
            if len(found := json.loads(line)) == count:
                return {tuple(place) for place in found}


@of_every_client
def test_a_static_member_that_is_started_again_has_its_partitions_without_a_rebalance(
    kind, bootstrap, ask, topic, partitions
):
    static = kind.membership(topic, topic, instance_id="one")
    with membership_of(bootstrap, kind, kind.membership(topic, topic, instance_id="two")) as other:
        with membership_of(bootstrap, kind, static) as first_life:
            share_out(partitions, other, first_life)
            go_on(other, first_life)
            had = first_life.partitions
            before = generations_of(ask, topic), other.assignments, other.partitions
        go_on(other)
        with membership_of(bootstrap, kind, static) as second_life:
            until(lambda: second_life.partitions == had, second_life, other)
            go_on(other, second_life)
            assert second_life.partitions == had
            assert (generations_of(ask, topic), other.assignments, other.partitions) == before


def test_members_of_all_libraries_share_one_group(bootstrap, ask, topic, partitions):
    """Whoever is the leader assigns for the others; its words are those of another library."""
    written = write(bootstrap, topic, b"all")
    kinds = [Kind(library, "range") for library in MEMBERS]
    for leader in range(len(kinds)):
        group = f"{topic}-{kinds[leader].library}"
        with contextlib.ExitStack() as stack:
            members = []
            for kind in kinds[leader:] + kinds[:leader]:
                membership = kind.membership(group, topic)
                members.append(stack.enter_context(membership_of(bootstrap, kind, membership)))
                share_out(partitions, *members)
            until(
                lambda members=members: len({place for m in members for place in read(m)}) == len(written),
                *members,
            )
            go_on(*members)
            assert generations_of(ask, group) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("cooperative-sticky", "confluent-kafka"),
        ("cooperative-sticky", "kafka-python"),
        ("sticky", "aiokafka"),
    ],
)
def test_sticky_members_of_different_libraries_keep_what_they_have(
    ours, theirs, bootstrap, ask, topic, partitions
):
    """Whoever leads must read in the other's words what it has had; one after the other leads."""
    kinds = [Kind("distributedlog", ours), Kind(theirs, ours)]
    for first, second in (kinds, kinds[::-1]):
        group = f"{topic}-{first.library}"
        with contextlib.ExitStack() as stack:
            one = stack.enter_context(membership_of(bootstrap, first, first.membership(group, topic)))
            share_out(partitions, one)
            two = stack.enter_context(membership_of(bootstrap, second, second.membership(group, topic)))
            share_out(partitions, one, two)
            had = one.partitions, two.partitions
            with membership_of(bootstrap, first, first.membership(group, topic)) as third:
                share_out(partitions, one, two, third)
                assert one.partitions <= had[0]
                assert two.partitions <= had[1]
            share_out(partitions, one, two)


def test_a_group_moves_to_the_new_protocol_and_back_while_its_members_are_at_work(
    bootstrap, ask, topic, partitions
):
    """KIP-848: the first member of the new protocol takes the classic ones with it; the last leaves them."""
    newcomer = Kind("confluent-kafka", "uniform", is_new_protocol=True)
    classic = [Kind("confluent-kafka", "range"), Kind("aiokafka", "range"), Kind("kafka-python", "range")]
    with contextlib.ExitStack() as stack:
        members = [
            stack.enter_context(membership_of(bootstrap, kind, kind.membership(topic, topic)))
            for kind in classic
        ]
        share_out(partitions, *members)
        assert protocol_of(ask, topic) == "classic"
        with membership_of(bootstrap, newcomer, newcomer.membership(topic, topic)) as new:
            share_out(partitions, *members, new)
            assert protocol_of(ask, topic) == "consumer"
            assert all(len(member.partitions) == 1 for member in (*members, new))
        share_out(partitions, *members)
        assert protocol_of(ask, topic) == "classic"


@of_every_client
def test_a_pattern_finds_topics_and_no_others(kind, bootstrap, ask, topic):
    names = [f"{topic}-{name}" for name in ("matching-a", "matching-b", "other")]
    for name in names:
        create_topic(ask, name)
    membership = kind.membership(topic, pattern=pattern_of(topic))
    with membership_of(bootstrap, kind, membership) as member:
        share_out({(names[0], 0), (names[1], 0)}, member)


def pattern_of(topic):
    return f"{topic.replace('.', '[.]')}-matching-.*"


@pytest.mark.parametrize("kind", [each for each in KINDS_OF_CLIENTS if not each.is_new_protocol], ids=str)
def test_a_pattern_finds_topics_that_are_made_later(kind, bootstrap, ask, topic):
    """In the new protocol the broker looks for them, and that not more often than every ten seconds."""
    create_topic(ask, f"{topic}-matching-a")
    membership = kind.membership(topic, pattern=pattern_of(topic))
    with membership_of(bootstrap, kind, membership) as member:
        share_out({(f"{topic}-matching-a", 0)}, member)
        create_topic(ask, f"{topic}-matching-b")
        share_out({(f"{topic}-matching-a", 0), (f"{topic}-matching-b", 0)}, member)


@of_every_client
def test_a_group_that_grows_by_new_partitions_reads_them(kind, bootstrap, topic, ask, partitions):
    with membership_of(bootstrap, kind, kind.membership(topic, topic)) as member:
        share_out(partitions, member)
        request = CreatePartitionsRequest([CreatePartitionsTopic(topic, PARTITIONS + 1, None)], 30_000, False)
        assert ask.ask(CREATE_PARTITIONS, 3, request).results[0].error_code == 0
        share_out(partitions | {(topic, PARTITIONS)}, member)
