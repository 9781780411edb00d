import pytest
from tests.groups.driver import image, topic

from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_member import ConsumerMember, MemberState
from distributedlog.groups.errors import GroupError
from distributedlog.groups.reconciliation import reconcile
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k68_consumer_group_heartbeat import ConsumerGroupTopicPartitions

TOPICS = image(t=6, u=6)
T, U = topic("t", 0).topic_id, topic("u", 0).topic_id
STABLE, UNREVOKED, UNRELEASED = (
    MemberState.STABLE,
    MemberState.UNREVOKED_PARTITIONS,
    MemberState.UNRELEASED_PARTITIONS,
)


def member(
    epoch=5, state=STABLE, assigned=None, revoking=None, names=("t", "u"), member_id="a"
) -> ConsumerMember:
    return ConsumerMember(
        member_id,
        epoch,
        epoch - 1,
        subscribed_topic_names=frozenset(names),
        state=state,
        assigned=assigned or {},
        pending_revocation=revoking or {},
    )


def step(m: ConsumerMember, epoch=6, target=None, owned=None, changed=False, others=()) -> ConsumerMember:
    group = ConsumerGroup("g")
    for other in (m, *others):
        group.put_member(other)
    reported = None if owned is None else [ConsumerGroupTopicPartitions(t, i) for t, i in owned.items()]
    wanted = {t: frozenset(i) for t, i in (target or {}).items()}
    return reconcile(group, m, TOPICS, epoch, wanted, changed, reported)


def test_a_member_at_its_target_stays_the_same():
    m = member(assigned={T: {0: 5}})
    assert step(m, epoch=5, target={T: [0]}) is m


def test_new_partitions_come_with_the_epoch_in_which_they_are_given():
    moved = step(member(assigned={T: {0: 3}}), target={T: [0, 1]})
    assert (moved.state, moved.member_epoch, moved.previous_member_epoch) == (STABLE, 6, 5)
    assert moved.assigned == {T: {0: 3, 1: 6}}


def test_what_is_taken_away_is_waited_for_in_the_old_epoch():
    m = member(assigned={T: {0: 3, 1: 4}})
    moved = step(m, target={T: [0], U: [2]})
    assert (moved.state, moved.member_epoch) == (UNREVOKED, 5)
    assert (moved.assigned, moved.pending_revocation) == ({T: {0: 3}}, {T: {1: 4}})
    assert step(moved, target={T: [0], U: [2]}) is moved, "it does not say what it owns"
    assert step(moved, target={T: [0], U: [2]}, owned={T: [0, 1]}) is moved
    done = step(moved, target={T: [0], U: [2]}, owned={T: [0]})
    assert (done.state, done.member_epoch) == (STABLE, 6)
    assert (done.assigned, done.pending_revocation) == ({T: {0: 3}, U: {2: 6}}, {})


def test_what_the_member_has_let_go_already_is_not_waited_for():
    moved = step(member(assigned={T: {0: 3, 1: 4}}), target={T: [0]}, owned={T: [0]})
    assert (moved.state, moved.member_epoch, moved.assigned) == (STABLE, 6, {T: {0: 3}})


def test_what_others_hold_or_still_have_to_let_go_is_waited_for_in_the_new_epoch():
    others = (
        member(member_id="b", assigned={T: {1: 2}}),
        member(member_id="c", state=UNREVOKED, revoking={T: {2: 2}}),
    )
    moved = step(member(), target={T: [0, 1, 2]}, others=others)
    assert (moved.state, moved.member_epoch, moved.assigned) == (UNRELEASED, 6, {T: {0: 6}})
    later = step(moved, target={T: [0, 1, 2]}, others=others[:1])
    assert (later.state, later.assigned) == (UNRELEASED, {T: {0: 6, 2: 6}})
    assert step(later, target={T: [0, 1, 2]}).state is STABLE


def test_a_partition_that_the_member_itself_was_to_let_go_may_come_back_to_it():
    m = member(state=UNREVOKED, assigned={T: {0: 3}}, revoking={T: {1: 4}})
    moved = step(m, target={T: [0, 1]}, owned={T: [0]})
    assert (moved.state, moved.assigned) == (STABLE, {T: {0: 3, 1: 6}})


def test_a_topic_that_is_not_subscribed_any_more_goes_without_a_new_target():
    m = member(assigned={T: {0: 3}, U: {0: 3}}, names=("u",))
    assert step(m, epoch=5, target={T: [0], U: [0]}) is m
    moved = step(m, epoch=5, target={T: [0], U: [0]}, changed=True)
    assert (moved.state, moved.member_epoch) == (UNREVOKED, 5)
    assert (moved.assigned, moved.pending_revocation) == ({U: {0: 3}}, {T: {0: 3}})
    gone = step(m, epoch=5, target={T: [0], U: [0]}, changed=True, owned={U: [0]})
    assert (gone.state, gone.assigned, gone.pending_revocation) == (STABLE, {U: {0: 3}}, {})


def test_a_topic_may_go_while_others_are_let_go():
    m = member(state=UNREVOKED, assigned={T: {0: 3}, U: {0: 3}}, revoking={T: {1: 4}}, names=("u",))
    moved = step(m, epoch=6, target={U: [0]}, changed=True)
    assert (moved.state, moved.assigned, moved.pending_revocation) == (
        UNREVOKED,
        {U: {0: 3}},
        {T: {0: 3, 1: 4}},
    )


def test_a_target_of_a_topic_that_is_not_subscribed_is_not_given():
    assert step(member(names=("u",)), target={T: [0], U: [0]}).assigned == {U: {0: 6}}


def test_a_state_from_the_future_begins_from_nothing():
    m = member(state=MemberState.UNKNOWN, assigned={T: {0: 3}})
    with pytest.raises(GroupError) as refused:
        step(m, target={T: [0]}, owned={T: [0]})
    assert refused.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    assert step(m, target={T: [0, 1]}, owned={}).state is STABLE


def test_of_two_owners_the_later_one_is_believed():
    group = ConsumerGroup("g")
    group.put_member(member(7, member_id="b", assigned={T: {0: 7}}))
    group.put_member(member(5, member_id="a", assigned={T: {0: 5}}))
    assert group.partition_epoch(T, 0) == 7
    group.put_member(member(7, member_id="a"))
    assert group.partition_epoch(T, 0) == 7
    group.remove_member("b")
    assert (group.partition_epoch(T, 0), group.partition_epochs) == (-1, {})
