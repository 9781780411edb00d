"""Specifications against a real broker: from topics to topics, to the lake and back."""

import asyncio
import json

import pytest

from distributedlog.client import ClusterClient, TopicPartition
from distributedlog.client.configs import ResourceType, describe_config
from distributedlog.client.fetcher import Fetcher, FetchSettings
from distributedlog.client.offsets import EARLIEST, LATEST, list_offsets_at
from distributedlog.client.producer.producer import Producer
from distributedlog.client.topics import create_topic
from distributedlog.pipelines.home import Homes
from distributedlog.pipelines.runner import run_pipeline
from distributedlog.pipelines.spec import parse_spec
from distributedlog.pipelines.state_query import look_up


class Cluster:
    """Topics of one partition on the broker, each named for the test."""

    def __init__(self, bootstrap, prefix):
        self.bootstrap = bootstrap
        self._prefix = prefix

    def name(self, topic):
        return f"{self._prefix}-{topic}"

    def make(self, topic, **configs):
        async def make():
            async with ClusterClient(self.bootstrap) as client:
                await create_topic(client, self.name(topic), partitions=1, configs=configs)

        asyncio.run(make())

    def write(self, topic, *records, timestamps=None, headers=None):
        with Producer(self.bootstrap) as producer:
            for place, (key, value) in enumerate(records):
                producer.send(
                    self.name(topic),
                    value if value is None or isinstance(value, bytes) else json.dumps(value).encode(),
                    key=key and key.encode(),
                    timestamp=timestamps and timestamps[place],
                    headers=headers,
                )
            producer.flush()

    def read(self, topic):
        """All committed records."""

        async def read():
            partition = TopicPartition(self.name(topic), 0)
            found = []
            async with ClusterClient(self.bootstrap) as client:
                positions = await list_offsets_at(client, [partition], EARLIEST)
                (end,) = (await list_offsets_at(client, [partition], LATEST, is_read_committed=True)).values()
                fetcher = Fetcher(client, positions, FetchSettings(is_read_committed=True))
                position = positions[partition]
                while position < end:
                    fetched = await fetcher.next()
                    found += fetched.records
                    position = fetched.next_offset
                await fetcher.close()
            return found

        return asyncio.run(read())


@pytest.fixture
def cluster(broker, topic):
    return Cluster(broker.bootstrap_servers, topic)


@pytest.fixture
def run(spark, cluster, tmp_path):
    """Run to the end of what is there; from where the last run of this name stopped."""

    def run(pipeline, **sections):
        name = f"test-{pipeline if isinstance(pipeline, str) else pipeline[-1]}"
        planned = parse_spec(
            {
                "name": name,
                "pipeline": pipeline,
                "bootstrap": cluster.bootstrap,
                "run": {"trigger": "available-now", "poll": "100ms"},
                **sections,
            }
        )
        status = run_pipeline(planned, Homes(tmp_path / "home").at(name), directory=tmp_path)
        assert (status.state, status.error) == ("finished", None)
        return status

    return run


def test_counts_are_upserted_to_a_compacted_topic(cluster, run):
    cluster.make("clicks")
    source = {"subscribe": cluster.name("clicks"), "value": "json", "schema": "page STRING, at TIMESTAMP"}
    sections = {
        "source": source,
        "aggregate": {"by": "page", "time": "at", "window": "1 minute"},
        "sink": {"topic": cluster.name("counts"), "partitions": 1},
    }
    cluster.write("clicks", *((None, {"page": "/", "at": f"2026-01-01T00:00:0{n}Z"}) for n in range(3)))
    assert run("aggregate", **sections).rows == 3
    cluster.write("clicks", (None, {"page": "/", "at": "2026-01-01T00:00:30Z"}))
    status = run("aggregate", **sections)
    assert (status.rows, status.lag) == (1, 0)
    first, second = cluster.read("counts")
    window = {
        "page": "/",
        "window_start": "2026-01-01T00:00:00.000Z",
        "window_end": "2026-01-01T00:01:00.000Z",
    }
    assert first.key == second.key
    assert json.loads(first.key) == window
    assert [json.loads(record.value)["count"] for record in (first, second)] == [3, 4]

    async def policy():
        async with ClusterClient(cluster.bootstrap) as client:
            keys = ["cleanup.policy"]
            (entry,) = await describe_config(client, ResourceType.TOPIC, cluster.name("counts"), keys=keys)
            return entry.value

    assert asyncio.run(policy()) == "compact"


def test_records_are_sorted_out_and_joined_with_a_table(cluster, run):
    for name in ("orders", "users"):
        cluster.make(name)
    cluster.write("users", ("ann", {"id": "ann", "city": "Bonn"}), ("bob", {"id": "bob", "city": "Ulm"}))
    cluster.write("users", ("ann", {"id": "ann", "city": "Kiel"}), ("bob", None))
    cluster.write("orders", ("k", {"user": "ann", "n": 1}), ("k", b"no json"), headers=[("trace", b"7")])
    run(
        "validate",
        source={"subscribe": cluster.name("orders"), "includeHeaders": True},
        validate={
            "schema": "user STRING, n INT",
            "topic": cluster.name("good"),
            "dead_letter_topic": cluster.name("bad"),
        },
        sink={"partitions": 1},
    )
    (bad,) = cluster.read("bad")
    assert (bad.key, bad.value) == (b"k", b"no json")
    assert dict(bad.headers)["trace"] == b"7"
    assert dict(bad.headers)["dlog.error.reason"] == b"the value does not fit the schema"
    cluster.write("good", ("k", {"user": "bob", "n": 2}))
    run(
        "join",
        source={"subscribe": cluster.name("good"), "value": "json", "schema": "user STRING, n INT"},
        join={
            "on": {"user": "id"},
            "how": "left",
            "source": {
                "subscribe": cluster.name("users"),
                "value": "json",
                "schema": "id STRING, city STRING",
            },
        },
        sink={"topic": cluster.name("joined"), "key": "user", "partitions": 1},
    )
    joined = {record.key: json.loads(record.value) for record in cluster.read("joined")}
    assert {key: value.get("city") for key, value in joined.items()} == {b"ann": "Kiel", b"bob": None}


def test_to_the_lake_and_back_with_all_that_a_record_has(cluster, run, tmp_path):
    cluster.make("clicks", **{"retention.ms": "-1"})
    cluster.make("again", **{"retention.ms": "-1"})
    records = [("a", b"1"), ("b", None), ("a", b"\xff\x00")]
    times = [1_767_225_600_000 + hour * 3_600_000 for hour in (0, 1, 30)]
    cluster.write("clicks", *records, timestamps=times, headers=[("trace", b"7"), ("trace", b"8")])
    source = {"subscribe": cluster.name("clicks"), "includeHeaders": True}
    lake = str(tmp_path / "lake")
    assert run("archive", source=source, archive={"path": lake}).rows == 3
    assert run("archive", source=source, archive={"path": lake}).rows == 0
    run("replay", replay={"path": lake}, sink={"topic": cluster.name("again")})
    assert [tuple(record)[1:] for record in cluster.read("again")] == [
        tuple(record)[1:] for record in cluster.read("clicks")
    ]


def test_a_changelog_is_a_table(spark, cluster, run, tmp_path):
    cluster.make("users")
    cluster.write("users", ("ann", {"city": "Bonn"}), ("bob", {"city": "Ulm"}), ("ann", {"city": "Kiel"}))
    run("materialize", source={"subscribe": cluster.name("users")})
    checkpoint = Homes(tmp_path / "home").at("test-materialize").checkpoint
    found = look_up(spark, checkpoint, "ann")
    assert json.loads(found.value) == {"city": "Kiel"}
    assert (found.fields["topic"], found.fields["offset"]) == (cluster.name("users"), 2)
    cluster.write("users", ("ann", None))
    run("materialize", source={"subscribe": cluster.name("users")})
    assert look_up(spark, checkpoint, "ann") is None
    assert json.loads(look_up(spark, checkpoint, b"bob").value) == {"city": "Ulm"}
