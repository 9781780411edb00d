"""Golden transcripts: commands, and what they make the coordinator answer and write.

A file is a list of blocks: command lines, a line of four dashes, the expected trace, an empty line. Lines
that begin with # are comments. ``python -m tests.groups.transcript FILE…`` writes the traces anew, for a
reader to check the difference.

::

    config initial_rebalance_delay_ms=0     topics t=4
    join a protocols=range,sticky           sync a a:t=0,1 b:t=2,3      heartbeat a     leave a b
    beat c topics=t regex=t.* instance=i    hold c / release c          bye c epoch=-2
    commit a t 0 5   fetch g t 0 stable     txn g t 0 5 producer=7      end 7 commit
    advance 3000     restart                fail NOT_COORDINATOR        show g          delete g
"""

import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tests.groups.clients import (
    ClassicClient,
    ConsumerClient,
    assigned_partitions,
    assignment,
    fetch,
    txn_commit_request,
)
from tests.groups.driver import Driver, image

from distributedlog.groups import GroupConfig, MigrationPolicy
from distributedlog.groups.classic_group import ClassicGroup
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k11_join_group import JoinGroupResponse
from distributedlog.wire.k12_heartbeat import HeartbeatResponse
from distributedlog.wire.k13_leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from distributedlog.wire.k14_sync_group import SyncGroupRequestAssignment, SyncGroupResponse
from distributedlog.wire.k42_delete_groups import DeleteGroupsRequest
from distributedlog.wire.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from distributedlog.wire.values import decode_offsets_key, decode_offsets_value
from distributedlog.wire.values.group_records import GroupMetadataValue, OffsetCommitValue

_RULER = "----"


def blocks(text: str) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Comments, commands and expected trace of each block."""
    for block in text.strip().split("\n\n"):
        lines = block.split("\n")
        comments = [line for line in lines if line.startswith("#")]
        rest = [line for line in lines if not line.startswith("#")]
        cut = rest.index(_RULER) if _RULER in rest else len(rest)
        yield comments, rest[:cut], rest[cut + 1 :]


def run(text: str) -> str:
    """The transcript with the traces as they are."""
    play = Play()
    written: list[str] = []
    for comments, commands, _ in blocks(text):
        trace = [line for command in commands for line in play.command(command)]
        written.append("\n".join([*comments, *commands, *([_RULER, *trace] if commands else [])]))
    return "\n\n".join(written) + "\n"


class Play:
    """The state between the commands of one transcript."""

    def __init__(self) -> None:
        self.config = GroupConfig()
        self.driver = Driver(self.config)
        self.classic: dict[str, ClassicClient] = {}
        self.consumers: dict[str, ConsumerClient] = {}
        self.asked: dict[int, str] = {}
        self.seen_replies = 0
        self.seen_records = 0

    def command(self, line: str) -> list[str]:
        """Do one command; what came of it."""
        name, *words = line.split()
        options = dict(word.split("=", 1) for word in words if "=" in word and ":" not in word)
        plain = [word for word in words if "=" not in word or ":" in word]
        told = list(getattr(self, f"do_{name}")(plain, options) or ())
        return [*self._records(), *self._replies(), *told]

    # surroundings

    def do_config(self, _: list[str], options: dict[str, str]) -> None:
        kinds = {field.name: field.type for field in fields(GroupConfig)}
        changes: dict[str, Any] = {}
        for name, value in options.items():
            known = name if name in kinds else f"group_{name}"
            changes[known] = MigrationPolicy(value) if "policy" in known else int(value)
        self.config = replace(self.config, **changes)
        self.driver = Driver(self.config, self.driver.topics)

    def do_topics(self, _: list[str], options: dict[str, str]) -> None:
        sizes = {name: int(size) for name, size in options.items()}
        self.driver.change_topics(image(self.driver.topics.version + 1, **sizes))

    def do_advance(self, words: list[str], _: dict[str, str]) -> None:
        self.driver.advance(int(words[0]))

    def do_restart(self, _: list[str], __: dict[str, str]) -> None:
        self.driver.restart()

    def do_fail(self, words: list[str], _: dict[str, str]) -> None:
        self.driver.append_errors.append(ErrorCode[words[0]])

    # classic members

    def _classic(self, name: str, options: dict[str, str]) -> ClassicClient:
        client = self.classic.setdefault(name, ClassicClient(self.driver, name))
        for option, value in options.items():
            match option:
                case "topics" | "protocols":
                    setattr(client, option, tuple(value.split(",")))
                case "instance":
                    client.instance_id = value
                case "type":
                    client.protocol_type = value
                case "id":
                    client.member_id = value.strip("-")
                case "session" | "rebalance":
                    setattr(client, f"{option}_ms", int(value))
                case "group":
                    client.group = value
                case _:
                    setattr(client, option, int(value))
        return client

    def do_join(self, words: list[str], options: dict[str, str]) -> None:
        for name in words:
            client = self._classic(name, options)
            self.asked[client.join()] = name

    def do_sync(self, words: list[str], options: dict[str, str]) -> None:
        client = self._classic(words[0], options)
        given: list[SyncGroupRequestAssignment] = []
        for word in words[1:]:
            name, _, partitions = word.partition(":")
            topics: dict[str, list[int]] = {}
            for part in partitions.split("+"):
                topic, _, indexes = part.partition("=")
                topics[topic] = [int(index) for index in indexes.split(",")]
            given.append(SyncGroupRequestAssignment(self.classic[name].member_id, assignment(**topics)))
        self.asked[client.sync_with(given)] = words[0]

    def do_heartbeat(self, words: list[str], options: dict[str, str]) -> None:
        for name in words:
            self._classic(name, options).heartbeat()
            self.asked[self.driver.reply_order[-1]] = name

    def do_leave(self, words: list[str], options: dict[str, str]) -> None:
        clients = [self._classic(name, options) for name in words]
        members = [MemberIdentity(client.member_id, client.instance_id) for client in clients]
        request = LeaveGroupRequest(clients[0].group, members=members)
        self.asked[self.driver.send(request, 5)] = "+".join(words)

    # members of the new protocol

    def _consumer(self, name: str, options: dict[str, str]) -> ConsumerClient:
        client = self.consumers.setdefault(name, ConsumerClient(self.driver, name))
        for option, value in options.items():
            match option:
                case "topics":
                    client.topics = tuple(value.split(",")) if value else None
                case "instance":
                    client.instance_id = value
                case "rebalance":
                    client.rebalance_ms = int(value)
                case "epoch":
                    client.epoch = int(value)
                case _:
                    setattr(client, option, value)
        return client

    def do_beat(self, words: list[str], options: dict[str, str]) -> None:
        for name in words:
            self._consumer(name, options).beat()
            self.asked[self.driver.reply_order[-1]] = name

    def do_bye(self, words: list[str], options: dict[str, str]) -> None:
        client = self.consumers[words[0]]
        client.leave(int(options.get("epoch", "-1")))
        self.asked[self.driver.reply_order[-1]] = words[0]

    def do_hold(self, words: list[str], _: dict[str, str]) -> None:
        for name in words:
            self.consumers[name].holds = True

    def do_release(self, words: list[str], _: dict[str, str]) -> None:
        """Let go of everything that the coordinator does not give the member any more."""
        for name in words:
            client = self.consumers[name]
            client.holds = False
            member = self.driver.groups[client.group].members[client.member_id]
            client.owned = {topic: set(indexes) for topic, indexes in member.assigned.items()}

    # offsets and administration

    def do_commit(self, words: list[str], _: dict[str, str]) -> list[str]:
        name, topic, partition, offset = words
        client = self.classic.get(name) or self.consumers[name]
        return [f"{name} <- {client.commit(topic, int(partition), int(offset)).name}"]

    def do_txn(self, words: list[str], options: dict[str, str]) -> list[str]:
        group, topic, partition, offset = words
        request = txn_commit_request(group, topic, int(partition), int(offset), int(options["producer"]))
        reply = self.driver.ask(request, 5)
        return [f"<- {ErrorCode(reply.topics[0].partitions[0].error_code).name}"]

    def do_end(self, words: list[str], _: dict[str, str]) -> None:
        self.driver.end_transaction(int(words[0]), words[1] == "commit")

    def do_fetch(self, words: list[str], _: dict[str, str]) -> list[str]:
        group, topic, partition, *stable = words
        offset, error = fetch(self.driver, group, topic, int(partition), bool(stable))
        return [f"<- {offset} {error.name}"]

    def do_delete(self, words: list[str], _: dict[str, str]) -> list[str]:
        results = self.driver.ask(DeleteGroupsRequest(words), 2).results
        return [f"<- {result.group_id} {ErrorCode(result.error_code).name}" for result in results]

    def do_show(self, words: list[str], _: dict[str, str]) -> list[str]:
        group = self.driver.groups.get(words[0])
        if group is None:
            return [f"{words[0]}: none"]
        if isinstance(group, ClassicGroup):
            members = " ".join(group.members)
            return [f"{words[0]}: {group.state.value} generation={group.generation} members=[{members}]"]
        members = " ".join(f"{m.member_id}@{m.member_epoch}" for m in group.members.values())
        return [
            f"{words[0]}: {group.state} epoch={group.epoch} assignment={group.assignment_epoch} "
            f"members=[{members}]"
        ]

    # the trace

    def _records(self) -> list[str]:
        entries = self.driver.log[self.seen_records :]
        self.seen_records = len(self.driver.log)
        return [f"+ {_record(*entry[:2])}" for entry in entries if len(entry) == 3]

    def _replies(self) -> list[str]:
        lines: list[str] = []
        for token in self.driver.reply_order[self.seen_replies :]:
            name = self.asked.get(token)
            if name is not None:
                response = self.driver.replies[token]
                if isinstance(response, JoinGroupResponse):
                    self.classic[name].take(token)
                lines.append(f"{name} <- {self._response(response)}")
        self.seen_replies = len(self.driver.reply_order)
        return lines

    def _response(self, response: Any) -> str:
        error = ErrorCode(getattr(response, "error_code", 0)).name
        match response:
            case JoinGroupResponse() if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                return f"JoinGroup {error} id={response.member_id}"
            case JoinGroupResponse() if response.error_code:
                return f"JoinGroup {error}"
            case JoinGroupResponse():
                members = " ".join(member.member_id for member in response.members)
                skip = " skip_assignment" if response.skip_assignment else ""
                return (
                    f"JoinGroup generation={response.generation_id} protocol={response.protocol_name} "
                    f"id={response.member_id} leader={response.leader} members=[{members}]{skip}"
                )
            case SyncGroupResponse() if response.error_code:
                return f"SyncGroup {error}"
            case SyncGroupResponse():
                given = " ".join(
                    f"{t}-{index}" for t, index in sorted(assigned_partitions(response.assignment))
                )
                return f"SyncGroup [{given}]"
            case HeartbeatResponse():
                return f"Heartbeat {error}"
            case LeaveGroupResponse():
                errors = " ".join(ErrorCode(member.error_code).name for member in response.members)
                return f"LeaveGroup {error} [{errors}]"
            case ConsumerGroupHeartbeatResponse() if response.error_code:
                return f"ConsumerGroupHeartbeat {error}"
            case ConsumerGroupHeartbeatResponse():
                given = "as before" if response.assignment is None else self._topics(response.assignment)
                return f"ConsumerGroupHeartbeat epoch={response.member_epoch} {given}"
        raise AssertionError(f"no words for {response}")

    def _topics(self, given: Any) -> str:
        names = {t.topic_id: self.driver.topics.by_id(t.topic_id).name for t in given.topic_partitions}
        parts = [f"{names[t.topic_id]}-{index}" for t in given.topic_partitions for index in t.partitions]
        return f"[{' '.join(sorted(parts))}]"


def _record(key: bytes, value: bytes | None) -> str:
    decoded = decode_offsets_key(key)
    kind = type(decoded).__name__.removesuffix("Key")
    ids = " ".join(str(getattr(decoded, field.name)) for field in fields(decoded))
    content = decode_offsets_value(decoded, value)
    match content:
        case None:
            return f"{kind} {ids} deleted"
        case GroupMetadataValue():
            members = " ".join(member.member_id for member in content.members)
            return f"{kind} {ids} generation={content.generation} members=[{members}]"
        case OffsetCommitValue():
            return f"{kind} {ids} offset={content.offset}"
    for name in ("epoch", "assignment_epoch", "member_epoch"):
        if hasattr(content, name):
            return f"{kind} {ids} {name}={getattr(content, name)}"
    return f"{kind} {ids}"


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        file.write_text(run(file.read_text()))
