import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import functions
from tests.spark.filling import NOW_MS, texts

ALL = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]


@pytest.fixture
def filled(topics, topic):
    """300 records, of which partition 0 has the first 200."""
    topics.create(topic, 2)
    values = texts(300)
    topics.fill(topic, values[:200], headers=[("h", b"x"), ("empty", None)])
    topics.fill(topic, values[200:], partition=1, first_timestamp=NOW_MS + 200, **{"compression.type": "lz4"})
    return topic


def values_of(frame):
    return sorted(int(bytes(row["value"])[1:]) for row in frame.collect())


def test_rows_have_the_columns_of_sparks_own_source(source, filled):
    frame = source.batch(filled, includeHeaders="true")
    assert frame.columns == [*ALL, "headers"]
    row = frame.where("partition = 0 and offset = 3").collect()[0]
    assert (bytes(row.key), bytes(row.value), row.topic) == (b"k3", b"v3", filled)
    assert (row.partition, row.offset, row.timestampType) == (0, 3, 0)
    assert row.timestamp.timestamp() * 1000 == pytest.approx(NOW_MS + 3)
    assert [(header.key, header.value) for header in row.headers] == [("h", bytearray(b"x")), ("empty", None)]
    assert frame.where("partition = 1").select("key", "headers").collect()[1] == (None, None)
    assert source.batch(filled).columns == ALL


def test_splits_cut_partitions_and_lose_nothing(source, filled):
    frame = source.batch(filled, minPartitions="7")
    assert frame.rdd.getNumPartitions() >= 7
    assert values_of(frame) == list(range(300))
    assert source.batch(filled, maxRecordsPerPartition="50").rdd.getNumPartitions() == 6


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"startingOffsets": '{"T": {"0": 150, "1": -2}}'}, range(150, 300)),
        ({"endingOffsets": '{"T": {"0": 150, "1": 0}}'}, range(150)),
        ({"startingTimestamp": str(NOW_MS + 180)}, range(180, 300)),
        ({"endingTimestamp": str(NOW_MS + 20)}, range(20)),
        ({"startingOffsetsByTimestamp": f'{{"T": {{"0": {NOW_MS + 190}, "1": {NOW_MS + 290}}}}}'},
         [*range(190, 200), *range(290, 300)]),
    ],
)  # fmt: skip
def test_options_say_where_to_start_and_end(source, filled, options, wanted):
    options = {name: text.replace("T", filled) if "{" in text else text for name, text in options.items()}
    assert values_of(source.batch(filled, **options)) == [*wanted]


def test_only_wanted_columns_are_read(source, spark, filled):
    pruned = source.batch(filled, columns="offset,timestamp")
    assert pruned.columns == ["offset", "timestamp"]
    assert pruned.agg({"offset": "sum"}).collect()[0][0] == sum(range(200)) + sum(range(100))
    by_schema = (
        spark.read.format("distributedlog")
        .schema("partition INT, value BINARY")
        .option("kafka.bootstrap.servers", source.bootstrap)
        .option("assign", f'{{"{filled}": [1]}}')
        .load()
    )
    assert by_schema.columns == ["partition", "value"]
    assert values_of(by_schema) == list(range(200, 300))


def test_filters_narrow_what_is_read(source, filled):
    frame = source.batch(filled, timestampDisorder="0ms")
    bound = functions.timestamp_millis(functions.lit(NOW_MS + 195))
    late = frame.where(functions.col("timestamp") >= bound)
    assert values_of(late) == list(range(195, 300))
    assert late.rdd.getNumPartitions() == 2
    assert values_of(frame.where("offset between 10 and 12 and partition = 1")) == [210, 211, 212]
    assert frame.where("partition = 1").rdd.getNumPartitions() == 1
    window = frame.where((functions.col("timestamp") >= bound) & (functions.col("timestamp") < "2020-01-01"))
    assert window.count() == 0
    assert frame.where(f"topic = '{filled}' and timestamp is not null").count() == 300


def test_out_of_order_timestamps_lose_nothing_to_a_filter(source, topics, topic):
    topics.create(topic)
    topics.fill(topic, texts(10), first_timestamp=NOW_MS + 1000)
    topics.fill(topic, texts(5, "w"), first_timestamp=NOW_MS)  # late, and behind the others
    bound = functions.timestamp_millis(functions.lit(NOW_MS + 500))
    frame = source.batch(topic)
    assert frame.where(functions.col("timestamp") < bound).count() == 5
    assert frame.where(functions.col("timestamp") > bound).count() == 10


def test_aborted_records_and_markers_are_left_out(source, topics, topic):
    topics.create(topic)
    topics.transaction(topic, texts(20, "a"), commit=False)
    topics.transaction(topic, texts(10, "c"), commit=True)
    topics.transaction(topic, texts(20, "a"), commit=False)
    got = sorted(bytes(row["value"]) for row in source.batch(topic).collect())
    assert got == sorted(texts(10, "c"))
    everything = source.batch(topic, kafka__isolation__level="read_uncommitted")
    assert everything.count() == 50


def test_the_brokers_files_give_the_same(source, spark_broker, topics, topic):
    topics.create(topic, 1, segment_bytes="20000")
    topics.fill(topic, texts(2000), **{"batch.num.messages": 50, "compression.type": "zstd"})
    topics.transaction(topic, texts(30, "a"), commit=False)
    topics.transaction(topic, texts(30, "c"), commit=True)
    topics.transaction(topic, texts(30, "a"), commit=False)
    over_wire = source.batch(topic).orderBy("offset").collect()
    local = source.batch(topic, localDataDirectory=spark_broker.directory, minPartitions="3")
    assert local.orderBy("offset").collect() == over_wire
    assert len(over_wire) == 2030
    elsewhere = source.batch(topic, localDataDirectory="/nowhere")
    assert elsewhere.count() == 2030


def test_a_pattern_takes_the_topics_that_match(source, topics, topic):
    for name in ("-one", "-two", "-other"):
        topics.create(topic + name)
        topics.fill(topic + name, texts(3))
    frame = source.batch(None, subscribePattern=f"{topic}-(one|two)")
    assert sorted(row.topic for row in frame.select("topic").distinct().collect()) == [
        topic + "-one",
        topic + "-two",
    ]


def test_an_empty_topic_has_no_rows(source, topics, topic):
    topics.create(topic, 3)
    assert source.batch(topic).collect() == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"startingOfsets": "earliest"}, "did you mean 'startingOffsets'"),
        ({"kafka__securty__protocol": "SSL"}, "did you mean 'kafka.security.protocol'"),
        ({"kafka__auto__offset__reset": "earliest"}, "use the option 'startingOffsets'"),
        ({"startingOffsets": "latest"}, "a batch would read nothing"),
        ({"startingOffsets": "[1]"}, "no JSON object"),
        ({"minPartitions": "many"}, "must be a whole number"),
        ({"failOnDataLoss": "maybe"}, "must be true or false"),
        ({"subscribePattern": "x"}, "only one of 'subscribe' and 'subscribePattern'"),
        ({"columns": "offset,valu"}, "did you mean 'value'"),
        ({"kafka__request__timeout__ms": "-1"}, "the least is 1"),
    ],
)
def test_a_wrong_option_is_named(source, options, words):
    with pytest.raises((AnalysisException, PythonException)) as caught:
        source.batch("orders", **options).collect()
    assert words in str(caught.value)


def test_a_missing_topic_is_named_with_its_neighbour(source, filled):
    with pytest.raises((AnalysisException, PythonException)) as caught:
        source.batch(filled[:-1]).collect()
    assert f"there is no topic {filled[:-1]!r}" in str(caught.value)
    assert f"did you mean {filled!r}" in str(caught.value)


def test_no_broker_is_said_at_once(spark, free_address):
    reader = spark.read.format("distributedlog").option("kafka.bootstrap.servers", free_address)
    with pytest.raises((AnalysisException, PythonException)) as caught:
        reader.option("subscribe", "orders").load().collect()
    assert "no broker answers" in str(caught.value)


def test_offsets_that_are_not_there_are_data_loss(source, filled):
    beyond = f'{{"{filled}": {{"0": 9999, "1": -1}}}}'
    with pytest.raises((AnalysisException, PythonException)) as caught:
        source.batch(filled, endingOffsets=beyond).collect()
    assert "failOnDataLoss" in str(caught.value)
    assert source.batch(filled, endingOffsets=beyond, failOnDataLoss="false").count() == 300
