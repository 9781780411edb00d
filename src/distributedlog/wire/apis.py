"""The table of APIs: key, name, served versions, and from which version on they are flexible.

One line per API; all else follows from it by convention. Line ``0, "produce"`` says that module
``k00_produce`` declares ``ProduceRequest`` and ``ProduceResponse``. A module is imported when its
first codec is asked for, so that a broker pays at start for the APIs that it meets and no others.
"""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final

from distributedlog.wire.codec import Codec, codec_of
from distributedlog.wire.errors import UnsupportedVersionError


class Api:
    """One API of the protocol, with the codecs of its versions."""

    __slots__ = ("_codecs", "first", "flexible_from", "key", "last", "module", "name")

    def __init__(self, key: int, name: str, first: int, last: int, flexible_from: int | None) -> None:
        self.key: Final = key
        self.name: Final = name
        self.first: Final = first
        self.last: Final = last
        self.flexible_from: Final = flexible_from
        self.module: Final = f"distributedlog.wire.k{key:02d}_{name}"
        self._codecs: dict[tuple[int, str], Codec] = {}

    def __repr__(self) -> str:
        return f"Api({self.key}, {self.name!r}, versions {self.first} to {self.last})"

    @property
    def versions(self) -> range:
        """The versions that the codec serves."""
        return range(self.first, self.last + 1)

    def is_flexible(self, version: int) -> bool:
        """Whether this version has compact lengths and tagged fields (KIP-482)."""
        return self.flexible_from is not None and version >= self.flexible_from

    def message_class(self, direction: str) -> type[Any]:
        """The dataclass of ``"Request"`` or ``"Response"``; imports the API's module."""
        camel_case = "".join(word.capitalize() for word in self.name.split("_"))
        found: type[Any] = getattr(import_module(self.module), camel_case + direction)
        return found

    def request(self, version: int) -> Codec:
        """The codec of this version's requests."""
        return self._codecs.get((version, "Request")) or self._codec(version, "Request")

    def response(self, version: int) -> Codec:
        """The codec of this version's responses."""
        return self._codecs.get((version, "Response")) or self._codec(version, "Response")

    def _codec(self, version: int, direction: str) -> Codec:
        if version not in self.versions:
            raise UnsupportedVersionError(self.key, version)
        codec = codec_of(self.message_class(direction), version, self.is_flexible(version))
        self._codecs[version, direction] = codec
        return codec


_TABLE: Final = (
    # key, name, first version, last version, flexible from
    (0, "produce", 3, 13, 9),
    (1, "fetch", 4, 18, 12),
    (2, "list_offsets", 1, 11, 6),
    (3, "metadata", 0, 13, 9),
    (8, "offset_commit", 2, 10, 8),
    (9, "offset_fetch", 1, 10, 6),
    (10, "find_coordinator", 0, 6, 3),
    (11, "join_group", 0, 9, 6),
    (12, "heartbeat", 0, 4, 4),
    (13, "leave_group", 0, 5, 4),
    (14, "sync_group", 0, 5, 4),
    (15, "describe_groups", 0, 6, 5),
    (16, "list_groups", 0, 5, 3),
    (17, "sasl_handshake", 0, 1, None),
    (18, "api_versions", 0, 4, 3),
    (19, "create_topics", 2, 7, 5),
    (20, "delete_topics", 1, 6, 4),
    (21, "delete_records", 0, 2, 2),
    (22, "init_producer_id", 0, 6, 2),
    (23, "offset_for_leader_epoch", 2, 4, 4),
    (24, "add_partitions_to_txn", 0, 5, 3),
    (25, "add_offsets_to_txn", 0, 4, 3),
    (26, "end_txn", 0, 5, 3),
    (27, "write_txn_markers", 1, 2, 1),
    (28, "txn_offset_commit", 0, 5, 3),
    (29, "describe_acls", 1, 3, 2),
    (30, "create_acls", 1, 3, 2),
    (31, "delete_acls", 1, 3, 2),
    (32, "describe_configs", 1, 4, 4),
    (33, "alter_configs", 0, 2, 2),
    (34, "alter_replica_log_dirs", 1, 2, 2),
    (35, "describe_log_dirs", 1, 5, 2),
    (36, "sasl_authenticate", 0, 2, 2),
    (37, "create_partitions", 0, 3, 2),
    (42, "delete_groups", 0, 2, 2),
    (43, "elect_leaders", 0, 2, 2),
    (44, "incremental_alter_configs", 0, 1, 1),
    (45, "alter_partition_reassignments", 0, 1, 0),
    (46, "list_partition_reassignments", 0, 0, 0),
    (47, "offset_delete", 0, 0, None),
    (48, "describe_client_quotas", 0, 1, 1),
    (49, "alter_client_quotas", 0, 1, 1),
    (50, "describe_user_scram_credentials", 0, 0, 0),
    (51, "alter_user_scram_credentials", 0, 0, 0),
    (52, "vote", 0, 2, 0),
    (53, "begin_quorum_epoch", 0, 1, 1),
    (54, "end_quorum_epoch", 0, 1, 1),
    (55, "describe_quorum", 0, 2, 0),
    (56, "alter_partition", 2, 3, 0),
    (57, "update_features", 0, 2, 0),
    (59, "fetch_snapshot", 0, 1, 0),
    (60, "describe_cluster", 0, 2, 0),
    (61, "describe_producers", 0, 0, 0),
    (62, "broker_registration", 0, 4, 0),
    (63, "broker_heartbeat", 0, 2, 0),
    (64, "unregister_broker", 0, 0, 0),
    (65, "describe_transactions", 0, 0, 0),
    (66, "list_transactions", 0, 2, 0),
    (67, "allocate_producer_ids", 0, 0, 0),
    (68, "consumer_group_heartbeat", 0, 1, 0),
    (69, "consumer_group_describe", 0, 1, 0),
    (71, "get_telemetry_subscriptions", 0, 0, 0),
    (72, "push_telemetry", 0, 0, 0),
    (75, "describe_topic_partitions", 0, 0, 0),
)

#: All APIs by key.
APIS: Final[Mapping[int, Api]] = MappingProxyType({row[0]: Api(*row) for row in _TABLE})

#: What ApiVersions tells a client, by key: the first and the last version. A table of its own,
#: because Produce is advertised from 0 although it is served from 3: librdkafka takes the missing
#: old versions for a broker that knows no compression (KAFKA-18659).
ADVERTISED_VERSIONS: Final[Mapping[int, tuple[int, int]]] = MappingProxyType(
    {api.key: (0 if api.name == "produce" else api.first, api.last) for api in APIS.values()}
)


def api_of(api_key: int, version: int) -> Api:
    """The API with this key, once it is known to serve this version."""
    api = APIS.get(api_key)
    if api is None or not api.first <= version <= api.last:
        raise UnsupportedVersionError(api_key, version)
    return api
