"""Groups, as members and as administrators see them, against the embedded broker."""

import asyncio

import pytest

from distributedlog.client import BrokerError, TopicPartition
from distributedlog.client.committed import CommittedOffset, Membership, commit_offsets, committed_offsets
from distributedlog.client.group_member import GroupMember, MemberSettings
from distributedlog.client.groups import delete_group, describe_group, list_groups
from distributedlog.client.topics import create_topic

LIVELY = MemberSettings(heartbeat_interval_ms=20, session_timeout_ms=6_000)


def member(client, topic, **settings):
    chosen = MemberSettings(**settings) if settings else LIVELY
    return GroupMember(client, f"group-of-{topic}", (topic,), chosen)


def indexes(partitions):
    return [partition.partition for partition in partitions]


def test_one_member_reads_all(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic, partitions=3)
        alone = member(client, topic)
        assert indexes(await alone.join()) == [0, 1, 2]
        group = await describe_group(client, alone.group_id)
        assert (group.group_type, group.state, group.assignor) == ("classic", "Stable", "range")
        assert [indexes(each.partitions) for each in group.members] == [[0, 1, 2]]
        await alone.leave()
        assert (await describe_group(client, alone.group_id)).state == "Empty"

    run_with_client(work)


def test_members_share_and_take_over_when_one_leaves(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic, partitions=3)
        first, second = member(client, topic), member(client, topic)
        await first.join()
        joining = asyncio.create_task(second.join())
        await first.rebalance.wait()
        shares = await asyncio.gather(first.join(), joining)
        assert sorted(index for share in shares for index in indexes(share)) == [0, 1, 2]
        assert sorted(map(len, shares)) == [1, 2]
        await second.leave()
        await first.rebalance.wait()
        assert indexes(await first.join()) == [0, 1, 2]
        await first.leave()

    run_with_client(work)


def test_offsets_are_committed_by_members_only_while_there_are_members(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        place = TopicPartition(topic, 0)
        reader = member(client, topic)
        group = reader.group_id
        await reader.join()
        await commit_offsets(client, group, {place: CommittedOffset(3, "by a member")}, reader.membership)
        with pytest.raises(BrokerError, match="UNKNOWN_MEMBER_ID"):
            await commit_offsets(client, group, {place: CommittedOffset(4)})
        stale = Membership(reader.membership.generation_id - 1, reader.membership.member_id)
        with pytest.raises(BrokerError, match="ILLEGAL_GENERATION"):
            await commit_offsets(client, group, {place: CommittedOffset(4)}, stale)
        assert await committed_offsets(client, group) == {place: CommittedOffset(3, "by a member")}
        with pytest.raises(BrokerError, match="NON_EMPTY_GROUP"):
            await delete_group(client, group)
        await reader.leave()
        await commit_offsets(client, group, {place: CommittedOffset(5)})
        assert await committed_offsets(client, group) == {place: CommittedOffset(5)}
        await delete_group(client, group)
        assert await committed_offsets(client, group) == {}
        with pytest.raises(BrokerError, match="GROUP_ID_NOT_FOUND"):
            await describe_group(client, group)

    run_with_client(work)


def test_groups_are_listed_by_state_and_type(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        group = f"outside-{topic}"
        await commit_offsets(client, group, {TopicPartition(topic, 0): CommittedOffset(0)})

        async def names(**filters):
            return [each.group_id for each in await list_groups(client, **filters)]

        assert group in await names()
        assert group in await names(states=["Empty"], types=["classic"])
        assert group not in await names(states=["Stable"])
        assert group not in await names(types=["consumer"])

    run_with_client(work)


def test_a_static_member_that_comes_back_keeps_its_partitions_without_a_rebalance(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic, partitions=2)
        settings = {"group_instance_id": "i", "session_timeout_ms": 6_000, "heartbeat_interval_ms": 20}
        before = member(client, topic, **settings)
        await before.join()
        generation = before.membership.generation_id
        await before.leave()
        after = member(client, topic, **settings)
        assert indexes(await after.join()) == [0, 1]
        assert after.membership.generation_id == generation
        assert after.membership.member_id != before.membership.member_id
        await after._stop_heartbeat()

    run_with_client(work)


def test_a_member_that_the_group_has_forgotten_joins_anew(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        forgotten = member(client, topic)
        await forgotten.join()
        ghost = member(client, topic)
        ghost._member_id = forgotten.membership.member_id
        await ghost.leave()  # as if its session had run out
        await forgotten.rebalance.wait()
        assert indexes(await forgotten.join()) == [0]
        await forgotten.leave()

    run_with_client(work)


def test_a_group_that_does_not_exist_has_no_offsets(run_with_client, topic):
    async def work(client):
        assert await committed_offsets(client, f"nobody-{topic}") == {}

    run_with_client(work)
