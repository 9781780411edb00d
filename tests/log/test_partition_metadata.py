import contextlib
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.log.errors import CorruptLog, InconsistentTopicId, LogError, UnsupportedDirectoryVersion
from distributedlog.log.files import REAL_FILES
from distributedlog.log.partition_metadata import (
    MetaProperties,
    MetaPropertiesFile,
    PartitionMetadata,
    format_id,
    parse_id,
)

TOPIC_ID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
TOPIC_ID_TEXT = "ABEiM0RVZneImaq7zN3u_w"


def test_ids_are_base64_for_urls_without_padding():
    assert format_id(TOPIC_ID) == TOPIC_ID_TEXT
    assert parse_id(TOPIC_ID_TEXT) == TOPIC_ID
    assert format_id(uuid.UUID(int=2**128 - 1)) == "_____________________w"


@given(st.uuids())
def test_id_round_trip(value):
    assert parse_id(format_id(value)) == value


@pytest.mark.parametrize(
    "text", ["", "ABEiM0RVZneImaq7zN3u_", TOPIC_ID_TEXT + "==", "ABEiM0RVZneImaq7zN3u/w", "x" * 22]
)
def test_no_id(text):
    with pytest.raises(ValueError):
        parse_id(text)


@pytest.fixture
def metadata(tmp_path):
    return PartitionMetadata(REAL_FILES, tmp_path / "partition.metadata")


def test_partition_metadata_golden_bytes(metadata):
    assert metadata.read() is None
    metadata.write(TOPIC_ID)
    assert metadata.path.read_bytes() == b"version: 0\ntopic_id: ABEiM0RVZneImaq7zN3u_w"
    assert metadata.read() == TOPIC_ID


def test_a_directory_belongs_to_one_topic_id(metadata):
    metadata.claim(TOPIC_ID)
    metadata.claim(TOPIC_ID)
    with pytest.raises(InconsistentTopicId) as caught:
        metadata.claim(uuid.UUID(int=1))
    assert caught.value.found == TOPIC_ID_TEXT
    assert metadata.read() == TOPIC_ID


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"", CorruptLog, "line 1, '': expected 'version'"),
        (b"version: 0\n", CorruptLog, "line 2, '': expected 'topic_id'"),
        (b"version: 0\ntopic_id: x", CorruptLog, "at byte 11.*'x' is no id"),
        (b"topic_id: x\nversion: 0", CorruptLog, "line 1"),
        (b"version: 1\ntopic_id: ABEiM0RVZneImaq7zN3u_w", UnsupportedDirectoryVersion, "version '1'"),
        (b"version: \xff", CorruptLog, "at byte 9.*UTF-8"),
    ],
)
def test_damaged_partition_metadata(metadata, data, error, words):
    metadata.path.write_bytes(data)
    with pytest.raises(error, match=words):
        metadata.read()


@pytest.fixture
def properties_file(tmp_path):
    return MetaPropertiesFile(REAL_FILES, tmp_path / "meta.properties")


def test_meta_properties_golden_bytes(properties_file):
    assert properties_file.read() is None
    written = MetaProperties("MkU3OEVBNTcwNTJENDM2Qg", 3, TOPIC_ID)
    properties_file.write(written)
    assert properties_file.path.read_bytes() == (
        b"cluster.id=MkU3OEVBNTcwNTJENDM2Qg\nnode.id=3\ndirectory.id=ABEiM0RVZneImaq7zN3u_w\nversion=1\n"
    )
    assert properties_file.read() == written


def test_directory_id_may_be_missing(properties_file):
    properties_file.write(MetaProperties("c", 0))
    assert properties_file.path.read_bytes() == b"cluster.id=c\nnode.id=0\nversion=1\n"
    assert properties_file.read() == MetaProperties("c", 0)


def test_reads_what_kafkas_tools_write(properties_file):
    properties_file.path.write_bytes(
        b"#\n#Mon Jan 06 12:00:00 UTC 2025\r\ncluster.id=a\\=b\\:c\r\n  node.id : 7\n"
        b"! more\n\nversion 1\nunknown.property=x\n"
    )
    assert properties_file.read() == MetaProperties("a=b:c", 7)


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (b"broker.id=1\n", UnsupportedDirectoryVersion, "version '0'"),
        (b"version=2\nnode.id=1\ncluster.id=c\n", UnsupportedDirectoryVersion, "version '2'.*nothing was"),
        (b"version=1\nnode.id=1\n", CorruptLog, "no cluster.id"),
        (b"version=1\ncluster.id=c\n", CorruptLog, "no node.id"),
        (b"version=1\ncluster.id=\nnode.id=1\n", CorruptLog, "no cluster.id"),
        (b"version=1\ncluster.id=c\nnode.id=x\n", CorruptLog, "node.id 'x'"),
        (b"version=1\ncluster.id=c\nnode.id=-1\n", CorruptLog, "node.id '-1'"),
        (b"version=1\ncluster.id=c\nnode.id=2147483648\n", CorruptLog, "node.id '2147483648'"),
        (b"version=1\ncluster.id=c\nnode.id=1\ndirectory.id=x\n", CorruptLog, "directory.id"),
        (b"version=1\ngarbage\n", CorruptLog, "at byte 10: 'garbage'"),
        (b"\xff", CorruptLog, "UTF-8"),
    ],
)
def test_damaged_meta_properties(properties_file, data, error, words):
    properties_file.path.write_bytes(data)
    with pytest.raises(error, match=words):
        properties_file.read()


@pytest.mark.parametrize(
    "properties",
    [MetaProperties("", 1), MetaProperties("a b", 1), MetaProperties("a\nb", 1), MetaProperties("c", -1)],
)
def test_what_could_not_be_read_back_is_not_written(properties_file, properties):
    with pytest.raises(ValueError):
        properties_file.write(properties)
    assert not properties_file.path.exists()


@given(st.one_of(st.binary(max_size=80), st.text("version=1:\n\\ #ab", max_size=60).map(str.encode)))
def test_any_bytes_give_a_value_or_a_log_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any-properties"
    path.write_bytes(data)
    for file in (MetaPropertiesFile(REAL_FILES, path), PartitionMetadata(REAL_FILES, path)):
        with contextlib.suppress(LogError):
            assert isinstance(file.read(), MetaProperties | uuid.UUID)
