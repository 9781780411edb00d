"""What the second port shows: `/metrics`, `/healthz`, `/api/metadata`."""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from distributedlog.server.exposition import CONTENT_TYPE, Page
from distributedlog.server.http_door import Answer, Pages
from distributedlog.server.process_load import LoadMeter
from distributedlog.server.request_metrics import RequestMetrics
from distributedlog.wire import APIS

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.partition import Partition


class NodePages:
    """Reads the broker as it is at the moment of the request; keeps nothing."""

    def __init__(
        self,
        broker: "Broker",
        metrics: RequestMetrics,
        load: LoadMeter,
        connections_open: Callable[[], int],
    ) -> None:
        self._broker = broker
        self._metrics = metrics
        self._load = load
        self._connections_open = connections_open

    def by_path(self) -> Pages:
        return {"/metrics": self.metrics, "/healthz": self.health, "/api/metadata": self.metadata}

    # -- /healthz -----------------------------------------------------------------------------------------

    def health(self) -> Answer:
        """200 when requests are served and every log can be written, else 503 and why not."""
        if not self._broker.is_running:
            return Answer("the broker is starting or stopping\n", status=503)
        offline = [
            f"{topic}-{index}: {log.writer.offline}"
            for (topic, index), log in self._broker.directory.logs.items()
            if log.writer.offline is not None
        ]
        if offline:
            return Answer("logs are offline\n" + "\n".join(offline) + "\n", status=503)
        return Answer("ok\n")

    # -- /metrics -----------------------------------------------------------------------------------------

    def metrics(self) -> Answer:
        page = Page()
        self._add_requests(page)
        self._add_connections(page)
        self._add_process(page)
        self._add_logs(page)
        self._add_groups(page)
        self._add_transactions(page)
        return Answer(page.text(), CONTENT_TYPE)

    def _add_requests(self, page: Page) -> None:
        metrics = self._metrics
        latency = sorted(metrics.latency.items())
        page.counter(
            "dlog_requests_total",
            "Requests answered.",
            [({"api": _api_name(key)}, each.count) for key, each in latency],
        )
        page.histogram(
            "dlog_request_seconds",
            "Time from a request's last byte to its response.",
            [({"api": _api_name(key)}, each) for key, each in latency],
        )
        page.counter(
            "dlog_request_bytes_total",
            "Bytes of requests.",
            [({"api": _api_name(key)}, count) for key, count in sorted(metrics.request_bytes.items())],
        )
        page.counter("dlog_received_bytes_total", "Bytes received.", [({}, metrics.bytes_received)])
        page.counter("dlog_sent_bytes_total", "Bytes of responses sent.", [({}, metrics.bytes_sent)])

    def _add_connections(self, page: Page) -> None:
        metrics = self._metrics
        page.gauge("dlog_connections", "Connections that are open.", [({}, self._connections_open())])
        page.counter(
            "dlog_connections_opened_total", "Connections accepted.", [({}, metrics.connections_opened)]
        )
        page.counter(
            "dlog_connections_refused_total",
            "Connections over a limit.",
            [({}, metrics.connections_refused)],
        )
        page.counter(
            "dlog_connections_idle_closed_total",
            "Connections closed for silence.",
            [({}, metrics.connections_closed_idle)],
        )

    def _add_process(self, page: Page) -> None:
        metrics = self._metrics
        load = self._load.load()
        page.histogram(
            "dlog_event_loop_delay_seconds",
            "How late the event loop calls a timer.",
            [({}, metrics.event_loop_delay)],
        )
        page.histogram("dlog_fsync_seconds", "Time of one fsync.", [({}, metrics.fsync)])
        page.gauge("dlog_processor_share", "Processor cores in use.", [({}, load.processor_share)])
        page.gauge("dlog_resident_memory_bytes", "Memory in RAM.", [({}, load.resident_memory_bytes)])
        page.gauge("dlog_disk_free_bytes", "Room on the data disk.", [({}, load.disk_free_bytes)])

    def _add_logs(self, page: Page) -> None:
        partitions = list(self._broker.partitions)
        page.gauge("dlog_partitions", "Partitions of this broker.", [({}, len(partitions))])
        page.gauge("dlog_topics", "Topics of the cluster.", [({}, len(self._broker.image.topics_by_name))])
        for name, help_text, value in _LOG_GAUGES:
            page.gauge(name, help_text, [(_place(each), value(each)) for each in partitions])
        page.counter(
            "dlog_log_appended_bytes_total",
            "Bytes of batches appended since the start.",
            [(_place(each), each.appended_bytes) for each in partitions],
        )

        page.counter(
            "dlog_fetched_bytes_total",
            "Bytes of batches sent to consumers.",
            [({"topic": name}, size) for name, size in sorted(self._fetched_bytes().items())],
        )

    def _fetched_bytes(self) -> dict[str, int]:
        """By topic name, for those that are there; newer clients fetch by id."""
        by_name: dict[str, int] = {}
        for topic, size in self._metrics.fetched_bytes.items():
            if isinstance(topic, str):
                name: str | None = topic
            else:
                image = self._broker.image.topics_by_id.get(topic)
                name = None if image is None else image.name
            if name is not None:
                by_name[name] = by_name.get(name, 0) + size
        return by_name

    def _add_groups(self, page: Page) -> None:
        ends: tuple[tuple[str, str, Callable[[Partition], int]], ...] = (
            ("dlog_group_lag", "the log's end", lambda partition: partition.log.high_watermark),
            ("dlog_group_committed_lag", "the first open transaction or the log's end",
             lambda partition: partition.log.last_stable_offset),
        )  # fmt: skip
        for name, what, end_of in ends:
            page.gauge(name, f"Records between a committed offset and {what}.", self._lags(end_of))

    def _add_transactions(self, page: Page) -> None:
        figures = self._broker.transactions.figures()
        page.gauge("dlog_transactions_open", "Transactions that have begun.", [({}, figures.open)])
        page.gauge(
            "dlog_transactions_ending",
            "Transactions that are decided and lack markers.",
            [({}, figures.ending)],
        )
        page.counter(
            "dlog_transactions_total",
            "Transactions that were decided since the start.",
            [({"result": "committed"}, figures.committed), ({"result": "aborted"}, figures.aborted)],
        )
        page.counter(
            "dlog_transactions_timed_out_total",
            "Of the aborted those that lasted too long.",
            [({}, figures.timed_out)],
        )

    def _lags(self, end_of: "Callable[[Partition], int]") -> Iterator[tuple[dict[str, object], float]]:
        for group, topic, index, offset in self._broker.groups.committed_offsets():
            partition = self._broker.partitions.get(topic, index)
            if partition is not None:
                lag = max(end_of(partition) - offset, 0)
                yield {"group": group, "topic": topic, "partition": index}, lag

    # -- /api/metadata ------------------------------------------------------------------------------------

    def metadata(self) -> Answer:
        broker = self._broker
        load = self._load.load()
        answer = {
            "cluster_id": broker.cluster_id,
            "controller": broker.node_id,
            "brokers": [
                {
                    "id": broker.node_id,
                    "listeners": [
                        {"name": name, "host": host, "port": port} for name, host, port in broker.advertised
                    ],
                    "rack": broker.config.broker_rack or None,
                    "load": {
                        "processor_share": round(load.processor_share, 4),
                        "memory_bytes": load.resident_memory_bytes,
                        "disk_total_bytes": load.disk_total_bytes,
                        "disk_free_bytes": load.disk_free_bytes,
                        "log_bytes": sum(each.log.size for each in broker.partitions),
                        "received_bytes_per_second": round(load.received_bytes_per_second, 1),
                        "sent_bytes_per_second": round(load.sent_bytes_per_second, 1),
                        "records_per_second": round(load.records_per_second, 1),
                        "connections": self._connections_open(),
                    },
                }
            ],
            "topics": [self._topic(name) for name in sorted(broker.image.topics_by_name)],
        }
        return Answer(json.dumps(answer, indent=2) + "\n", "application/json")

    def _topic(self, name: str) -> dict[str, Any]:
        topic = self._broker.image.topics_by_name[name]
        return {
            "name": name,
            "id": str(uuid.UUID(bytes=topic.topic_id)),
            "is_internal": topic.is_internal,
            "configs": dict(topic.configs),
            "partitions": [
                {
                    "partition": image.index,
                    "leader": image.leader,
                    "leader_epoch": image.leader_epoch,
                    "replicas": list(image.replicas),
                    "in_sync_replicas": list(image.isr),
                    **self._offsets(name, image.index),
                }
                for image in topic.partitions
            ],
        }

    def _offsets(self, topic: str, index: int) -> dict[str, int]:
        partition = self._broker.partitions.get(topic, index)
        if partition is None:
            return {}
        log = partition.log
        return {
            "log_start_offset": log.log_start_offset,
            "high_watermark": log.high_watermark,
            "log_end_offset": log.log_end_offset,
            "size_bytes": log.size,
        }


_LOG_GAUGES: "tuple[tuple[str, str, Callable[[Partition], float]], ...]" = (
    ("dlog_log_size_bytes", "Bytes of a partition's segments.", lambda each: each.log.size),
    ("dlog_log_segments", "Segments of a partition.", lambda each: len(each.log.segments)),
    ("dlog_log_start_offset", "The oldest offset kept.", lambda each: each.log.log_start_offset),
    (
        "dlog_log_end_offset",
        "The next record's offset; its rate is that of records in.",
        lambda each: each.log.log_end_offset,
    ),
    ("dlog_high_watermark", "The first offset not yet shown.", lambda each: each.log.high_watermark),
)


def _place(partition: "Partition") -> dict[str, object]:
    return {"topic": partition.topic, "partition": partition.index}


def _api_name(api_key: int) -> str:
    api = APIS.get(api_key)
    return str(api_key) if api is None else api.name
