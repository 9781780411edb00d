"""One broker: its configuration, its logs, the cluster's image, and the parts that serve requests.

A `Broker` knows no sockets and no event loop; a `Scheduler` gives it time and threads. Everything in it
runs in the scheduler's one thread. `dispatch` (broker/dispatch.py) is the way in for requests.
"""

import logging
import random
from collections.abc import Callable, Sequence

from distributedlog.broker.config import BrokerConfig
from distributedlog.broker.context import Client
from distributedlog.broker.controller import Controller
from distributedlog.broker.fetch_purgatory import FetchPurgatory
from distributedlog.broker.fetch_sessions import FetchSessions
from distributedlog.broker.group_runtime import GroupRuntime
from distributedlog.broker.log_upkeep import LogUpkeep
from distributedlog.broker.metadata_log import MetadataLog
from distributedlog.broker.partition_verification import PartitionVerifier
from distributedlog.broker.partitions import PartitionTable
from distributedlog.broker.producer_ids import ProducerIds
from distributedlog.broker.producer_turns import ProducerTurns
from distributedlog.broker.quotas import Quotas
from distributedlog.broker.scheduler import Scheduler
from distributedlog.broker.single_produce import SingleProduce
from distributedlog.broker.topic_logs import TopicLogs
from distributedlog.broker.transaction_runtime import TransactionRuntime
from distributedlog.cluster.image import EMPTY_IMAGE, ClusterImage
from distributedlog.log import LogDirectory
from distributedlog.wire.values.metadata_records import MetadataRecord

#: (listener's name, host, port), as clients are told to connect.
Advertised = tuple[str, str, int]
ImageListener = Callable[[ClusterImage, ClusterImage], None]

logger = logging.getLogger("distributedlog.broker")


class Broker:
    """Make one over an open data directory, set ``advertised``, `start` it, dispatch to it, `close` it.

    ``chance`` gives topic ids and the like; a seeded one makes a simulation repeatable.
    """

    def __init__(
        self,
        config: BrokerConfig,
        scheduler: Scheduler,
        directory: LogDirectory,
        *,
        chance: random.Random | None = None,
    ) -> None:
        #: What the node was started with; ``config`` is that with what was changed at run time.
        self.static_config = config
        self.config = config
        self.scheduler = scheduler
        self.directory = directory
        self.chance = chance if chance is not None else random.SystemRandom()
        self.node_id = directory.meta.node_id
        self.cluster_id = directory.meta.cluster_id
        self.advertised: list[Advertised] = []
        #: The cluster as it is now: replaced whole, by the controller alone.
        self.image: ClusterImage = EMPTY_IMAGE
        #: Called with the old and the new image, after the partitions have followed.
        self.on_image_changed: list[ImageListener] = []
        self.metadata_log = MetadataLog(directory, config)
        self.controller = Controller(self)
        self.topic_logs = TopicLogs(self)
        self.partitions = PartitionTable(
            directory,
            scheduler,
            verifies_transactions=config.transaction_partition_verification_enable,
        )
        self.fetch_sessions = FetchSessions(config.max_incremental_fetch_session_cache_slots, self.chance)
        self.waiting_fetches = FetchPurgatory(scheduler)
        self.producer_ids = ProducerIds(self)
        self.verifier = PartitionVerifier(self)
        #: Requests of producers that wait for the coordinator of their transaction.
        self.producer_turns = ProducerTurns()
        self.quotas = Quotas(self)
        self.groups = GroupRuntime(self)
        self.transactions = TransactionRuntime(self)
        self.single_produce = SingleProduce(self)
        self.upkeep = LogUpkeep(self)
        self.is_running = False

    def start(self) -> None:
        """Replay the metadata, open the logs, begin the work that goes on in the background."""
        image = self.metadata_log.open()
        self.controller.publish(image)
        self.controller.bootstrap()
        if image.topics_by_id or self.metadata_log.removed_topic_ids:
            self.topic_logs.clear_strays(self.metadata_log.removed_topic_ids)
        self.groups.start()
        self.transactions.start()
        self.upkeep.start()
        self.is_running = True

    def close(self) -> None:
        """Let nothing new begin, give all that waits its answer, close the logs cleanly."""
        self.is_running = False
        self.upkeep.stop()
        self.waiting_fetches.close()
        self.transactions.close()
        self.groups.close()
        self.partitions.close()
        self.controller.close()
        self.directory.close()

    def advertised_to(self, client: Client) -> Advertised | None:
        """The address of this broker for a client: that of the listener by which it came."""
        listener = getattr(client, "listener", None)
        for advertised in self.advertised:
            if advertised[0] == listener:
                return advertised
        return self.advertised[0] if self.advertised else None

    def apply_metadata(
        self,
        records: Sequence[MetadataRecord],
        done: Callable[[], None],
        failed: Callable[[BaseException], None] | None = None,
    ) -> None:
        """Write metadata records and, when they are on the disk, make them true: the image, the
        partitions, then ``done``. A decision that depends on the image goes to ``controller.submit``."""

        def decide(_: ClusterImage) -> tuple[None, Sequence[MetadataRecord]]:
            return None, records

        self.controller.submit(decide, lambda _: done(), failed)

    def create_internal_topic(self, name: str, done: Callable[[int], None]) -> None:
        """Make ``__consumer_offsets`` or its like if it is not there; ``done`` gets an error code."""
        self.topic_logs.create_internal_topic(name, done)

    def replace_config(self, config: BrokerConfig) -> None:
        """Take in what was changed at run time; topics that have no value of their own follow."""
        if config != self.config:
            self.config = config
            self.topic_logs.reconfigure_all()
            self.partitions.verify_transactions(config.transaction_partition_verification_enable)

    def __repr__(self) -> str:
        return f"Broker(node {self.node_id}, {len(self.image.topics_by_name)} topics)"
