"""[io] The administrator's client for asyncio, and the core of the other one."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from distributedlog.client import committed, configs, groups, hanging_transactions, topics, transactions
from distributedlog.client.admin import acls, cluster, group_offsets, partitions, quotas, scram_users
from distributedlog.client.admin.errors import admin_error
from distributedlog.client.background import watch_forks
from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.committed import CommittedOffset
from distributedlog.client.configs import ConfigChange, ConfigOperation, ConfigSource, ResourceType
from distributedlog.client.errors import BrokerError, ClientClosed, ClientError, ConnectFailed, InvalidOption
from distributedlog.client.metadata import TopicMetadata, TopicPartition
from distributedlog.client.offsets import EARLIEST, LATEST, MAX_TIMESTAMP, OffsetAndTimestamp, list_offsets
from distributedlog.client.options import split_options
from distributedlog.client.settings import ClientSettings
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence

    from distributedlog.client.addresses import Address
    from distributedlog.client.errors import ForkedClient

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_OFFSETS = {"earliest": EARLIEST, "latest": LATEST, "max_timestamp": MAX_TIMESTAMP}
_ASK_ANOTHER = frozenset({ErrorCode.NOT_CONTROLLER, ErrorCode.BROKER_NOT_AVAILABLE})
HANGING_AGE_MIN_MS = 15 * 60 * 1000
"""The longest that a transaction may take by default (transaction.max.timeout.ms)."""


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """``partitions`` and ``replication_factor`` are -1 where the broker does not say."""

    name: str
    topic_id: bytes
    partitions: int
    replication_factor: int


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """``value`` is None where it is secret."""

    value: str | None
    source: ConfigSource
    is_read_only: bool
    is_sensitive: bool

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


@dataclass(frozen=True, slots=True)
class GroupListing:
    """``state`` and ``group_type`` are empty where the brokers are too old to say."""

    group_id: str
    protocol_type: str
    state: str
    group_type: str


def _told(
    method: Callable[Concatenate[AsyncAdmin, Parameters], Awaitable[Result]],
) -> Callable[Concatenate[AsyncAdmin, Parameters], Coroutine[Any, Any, Result]]:
    """Raise errors with advice; and not at all where the client is closed or in a forked child."""

    @functools.wraps(method)
    async def call(self: AsyncAdmin, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if self._refusal is not None:
            raise self._refusal
        try:
            return await method(self, *args, **kwargs)
        except BrokerError as error:
            told = admin_error(error)
            if told is error:
                raise
            raise told from error

    return call


class AsyncAdmin:
    """What administrators do; an async context manager, to be made in a running event loop.

        async with AsyncAdmin("localhost:9092") as admin:
            await admin.create_topic("orders", partitions=6)

    Options are those of `ClientSettings`. What the cluster refuses is a subclass of `AdminError` that says
    what to do, or a plain `BrokerError`; what it does not know is `UnsupportedByBroker`. Connections are made
    when the first thing is asked.
    """

    def __init__(self, bootstrap: str | Sequence[Address], **options: Any) -> None:
        (settings,) = split_options(options, ClientSettings)
        self._client = ClusterClient(bootstrap, settings)
        self._refusal: ClientClosed | ForkedClient | None = None
        watch_forks(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; whoever still waits for an answer gets an error."""
        if self._refusal is None:
            self._refusal = ClientClosed("the client is closed")
            await self._client.close()

    def forked(self, error: ForkedClient) -> None:
        """Called in the child of a fork."""
        self._refusal = error

    # Topics

    @_told
    async def create_topic(
        self,
        name: str,
        *,
        partitions: int = topics.BROKERS_DEFAULT,
        replication_factor: int = topics.BROKERS_DEFAULT,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> CreatedTopic:
        """Create one topic, and wait until it has leaders. Numbers left out are the cluster's defaults."""
        made = await self._once(
            lambda: topics.create_topic(
                self._client,
                name,
                partitions=partitions,
                replication_factor=replication_factor,
                configs=configs,
                validate_only=validate_only,
            )
        )
        if not validate_only:
            await self._client.topics([name], may_create=True)
        return CreatedTopic(name, made.topic_id, made.num_partitions, made.replication_factor)

    @_told
    async def delete_topic(self, name: str) -> None:
        """Delete one topic and all that is in it."""
        await self._once(lambda: topics.delete_topic(self._client, name))

    @_told
    async def list_topics(self, *, include_internal: bool = False) -> list[TopicMetadata]:
        """Every topic that this client may see, in the order of their names."""
        found = await self._client.all_topics()
        return [topic for topic in found if include_internal or not topic.is_internal]

    @_told
    async def describe_topic(self, name: str) -> TopicMetadata:
        """Its partitions with their leaders and replicas."""
        (topic,) = await self._client.topics([name])
        return topic

    @_told
    async def create_partitions(self, topic: str, total: int, *, validate_only: bool = False) -> None:
        """Raise the number of a topic's partitions to `total`."""
        await self._once(
            lambda: topics.create_partitions(self._client, topic, total, validate_only=validate_only)
        )

    # Partitions

    @_told
    async def list_offsets(
        self, moments: Mapping[TopicPartition, int | str], *, is_read_committed: bool = False
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """The first offset at or after each moment: milliseconds, "earliest", "latest" or "max_timestamp"."""
        numbers = {place: _moment(moment) for place, moment in moments.items()}
        return await list_offsets(self._client, numbers, is_read_committed=is_read_committed)

    @_told
    async def delete_records(self, before: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Delete what lies before an offset, all of it with -1; where each partition begins then."""
        return await partitions.delete_records(self._client, before)

    @_told
    async def elect_leaders(
        self, places: Sequence[TopicPartition] | None = None, *, is_unclean: bool = False
    ) -> list[TopicPartition]:
        """Elect the preferred replicas, of all partitions without `places`; those that got another leader.

        An unclean election takes a replica that is not in sync, and loses what it does not have.
        """
        return await self._once(lambda: partitions.elect_leaders(self._client, places, is_unclean=is_unclean))

    @_told
    async def reassign_partitions(self, replicas: Mapping[TopicPartition, Sequence[int] | None]) -> None:
        """Start to move partitions to these brokers, the preferred leader first; None stops a move."""
        await self._once(lambda: partitions.reassign_partitions(self._client, replicas))

    @_told
    async def list_reassignments(self) -> list[partitions.Reassignment]:
        """The moves that are under way."""
        return await partitions.list_reassignments(self._client)

    # Configurations

    @_told
    async def describe_config(
        self, kind: ResourceType | str, name: str = "", *, keys: Sequence[str] | None = None
    ) -> dict[str, ConfigEntry]:
        """The configuration of a ``topic``, a ``broker`` (its id as text) or a ``group``, by name."""
        entries = await configs.describe_config(self._client, _resource(kind), name, keys=keys)
        return {
            entry.name: ConfigEntry(
                entry.value, ConfigSource(max(entry.config_source, 0)), entry.read_only, entry.is_sensitive
            )
            for entry in entries
        }

    @_told
    async def alter_config(
        self,
        kind: ResourceType | str,
        name: str,
        values: Mapping[str, str | None] | None = None,
        *,
        append: Mapping[str, str] | None = None,
        subtract: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Set values, None for the default; append to and subtract from lists. All or none is done."""
        changes = [
            ConfigChange(key, ConfigOperation.DELETE if value is None else ConfigOperation.SET, value)
            for key, value in (values or {}).items()
        ]
        changes += (ConfigChange(key, ConfigOperation.APPEND, v) for key, v in (append or {}).items())
        changes += (ConfigChange(key, ConfigOperation.SUBTRACT, v) for key, v in (subtract or {}).items())
        resource = _resource(kind)
        await self._once(
            lambda: configs.alter_config(self._client, resource, name, changes, validate_only=validate_only)
        )

    # Groups

    @_told
    async def list_groups(
        self, *, states: Sequence[str] = (), types: Sequence[str] = ()
    ) -> list[GroupListing]:
        """All groups of the cluster, in the order of their names."""
        found = await groups.list_groups(self._client, states=states, types=types)
        return [
            GroupListing(each.group_id, each.protocol_type, each.group_state, each.group_type)
            for each in found
        ]

    @_told
    async def describe_group(self, group_id: str) -> groups.GroupDescription:
        """State, members, and what each of them reads."""
        return await groups.describe_group(self._client, group_id)

    @_told
    async def delete_group(self, group_id: str) -> None:
        """Delete a group without members, and its committed offsets."""
        await groups.delete_group(self._client, group_id)

    @_told
    async def committed_offsets(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        """All that the group has committed; nothing for one that does not exist."""
        return await committed.committed_offsets(self._client, group_id)

    @_told
    async def alter_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int | CommittedOffset]
    ) -> None:
        """Commit in the name of a group without members."""
        wanted = {
            place: CommittedOffset(offset) if isinstance(offset, int) else offset
            for place, offset in offsets.items()
        }
        await committed.commit_offsets(self._client, group_id, wanted)

    @_told
    async def delete_offsets(self, group_id: str, places: Iterable[TopicPartition]) -> None:
        """Forget what the group has committed for some partitions that it does not read."""
        await group_offsets.delete_offsets(self._client, group_id, places)

    # Transactions

    @_told
    async def list_transactions(
        self,
        *,
        states: Sequence[str] = (),
        producer_ids: Sequence[int] = (),
        open_longer_than_ms: int | None = None,
    ) -> list[transactions.TransactionListing]:
        """All transactional ids of the cluster, in their order."""
        return await transactions.list_transactions(
            self._client, states=states, producer_ids=producer_ids, open_longer_than_ms=open_longer_than_ms
        )

    @_told
    async def describe_transaction(self, transactional_id: str) -> transactions.TransactionDescription:
        """State, producer, and the partitions of the transaction that is open."""
        return await transactions.describe_transaction(self._client, transactional_id)

    @_told
    async def describe_producers(
        self, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, list[transactions.ProducerState]]:
        """The producers that the leaders of partitions remember."""
        return await transactions.describe_producers(self._client, places)

    @_told
    async def abort_transaction(self, transactional_id: str) -> transactions.TransactionDescription:
        """Abort the open transaction of an id and fence its producer; what was there before is returned."""
        return await transactions.abort_by_coordinator(self._client, transactional_id)

    @_told
    async def find_hanging_transactions(
        self, places: Iterable[TopicPartition], *, age_min_ms: int = HANGING_AGE_MIN_MS
    ) -> list[hanging_transactions.HangingTransaction]:
        """Those that no coordinator will ever end, among these partitions."""
        return await hanging_transactions.find_hanging(
            self._client, places, now_ms=time.time_ns() // 1_000_000, age_min_ms=age_min_ms
        )

    @_told
    async def abort_hanging_transaction(
        self, place: TopicPartition, producer: transactions.ProducerState
    ) -> None:
        """Abort in one partition what `find_hanging_transactions` found; one that is alive is torn by it."""
        await transactions.abort_in_partition(self._client, place, producer)

    # Users

    @_told
    async def describe_acls(self, wanted: acls.AclFilter = acls.ALL_ACLS) -> list[acls.Acl]:
        """The access rules that a filter finds, all of them by default."""
        return await acls.describe_acls(self._client, wanted)

    @_told
    async def create_acls(self, rules: Sequence[acls.Acl]) -> None:
        """Add access rules."""
        await self._once(lambda: acls.create_acls(self._client, rules))

    @_told
    async def delete_acls(self, filters: Sequence[acls.AclFilter]) -> list[acls.Acl]:
        """Delete every access rule that one of the filters finds; those are returned."""
        return await self._once(lambda: acls.delete_acls(self._client, filters))

    @_told
    async def describe_scram_users(self, users: Sequence[str] = ()) -> list[scram_users.ScramUser]:
        """Those of these users, or of all, whose passwords the cluster knows."""
        return await scram_users.describe_scram_users(self._client, users)

    @_told
    async def set_scram_password(
        self,
        user: str,
        password: str,
        *,
        mechanism: str = "SCRAM-SHA-512",
        iterations: int = scram_users.ITERATIONS,
    ) -> None:
        """Make a user, or give it another password, which is hashed here and never sent."""
        await self._once(
            lambda: scram_users.set_scram_password(self._client, user, password, mechanism, iterations)
        )

    @_told
    async def delete_scram_user(self, user: str, *, mechanism: str = "SCRAM-SHA-512") -> None:
        """Take a user's password of one mechanism away."""
        await self._once(lambda: scram_users.delete_scram_user(self._client, user, mechanism))

    @_told
    async def describe_quotas(
        self, entity: Mapping[str, str | None] | None = None, *, is_strict: bool = False
    ) -> list[quotas.Quota]:
        """Of entities with these components, ``{"user": "ann"}``: ``*`` is any name, None the default.

        A strict search finds none that have others besides.
        """
        return await quotas.describe_quotas(self._client, entity or {}, is_strict=is_strict)

    @_told
    async def alter_quota(
        self,
        entity: Mapping[str, str | None],
        values: Mapping[str, float | None],
        *,
        validate_only: bool = False,
    ) -> None:
        """Set some quotas of one entity, as ``producer_byte_rate``; None takes one away."""
        await self._once(
            lambda: quotas.alter_quota(self._client, entity, values, validate_only=validate_only)
        )

    # The cluster

    @_told
    async def describe_cluster(self) -> cluster.ClusterDescription:
        """Its id, its brokers, its controller, and the features that it has."""
        return await cluster.describe_cluster(self._client)

    @_told
    async def describe_log_dirs(self, brokers: Sequence[int] = ()) -> list[cluster.LogDir]:
        """What lies in the data directories of these brokers, or of all."""
        return await cluster.describe_log_dirs(self._client, brokers)

    @_told
    async def describe_quorum(self) -> cluster.QuorumDescription:
        """Who keeps the cluster's metadata, and how far each of them is."""
        return await cluster.describe_quorum(self._client)

    async def _once(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Do what must not be done twice: again only where it cannot have been done."""

        async def careful() -> Result:
            try:
                return await attempt()
            except ClientError as error:
                is_elsewhere = isinstance(error, BrokerError) and error.code in _ASK_ANOTHER
                if not is_elsewhere and not isinstance(error, ConnectFailed):
                    error.is_retriable = False
                raise

        return await self._client.retrying(careful)


def _moment(given: int | str) -> int:
    if isinstance(given, int):
        return given
    if given not in _OFFSETS:
        raise InvalidOption(f"{given!r} is no moment; write milliseconds, or one of {', '.join(_OFFSETS)}")
    return _OFFSETS[given]


def _resource(kind: ResourceType | str) -> ResourceType:
    if isinstance(kind, ResourceType):
        return kind
    names = {each.name.lower(): each for each in ResourceType}
    if kind not in names:
        raise InvalidOption(f"{kind!r} has no configuration; there are {', '.join(names)}")
    return names[kind]
