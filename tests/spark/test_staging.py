"""What a task stages is what the driver finds: in the message, in a file, and nothing of lost attempts."""

import os
import pickle

import pytest

from distributedlog.client import TopicPartition
from distributedlog.spark import staging
from distributedlog.spark.output_batches import OutputBatch
from distributedlog.spark.staging import MESSAGE_BYTES_MAX, Stage, StagingFailed, StagingPlace

SMALL = [
    OutputBatch(TopicPartition("a", 0), memoryview(b"first")),
    OutputBatch(TopicPartition("b", 1), memoryview(b"2")),
]
LARGE = [OutputBatch(TopicPartition("a", 0), memoryview(b"x" * MESSAGE_BYTES_MAX)), *SMALL]


def staged(place, batches, batch_id=3):
    stage = Stage(place, "query", "run", batch_id)
    for batch in batches:
        stage.add([batch])
    return pickle.loads(pickle.dumps(stage.finish()))


def content(output):
    return [(batch.partition, bytes(batch.data)) for batch in output.batches()]


def files(directory):
    return [os.path.join(base, name) for base, _, names in os.walk(directory) for name in names]


def test_small_output_travels_in_the_message(tmp_path):
    output = staged(StagingPlace(str(tmp_path), None, None), SMALL)
    assert output.path is None
    assert content(output) == [(batch.partition, bytes(batch.data)) for batch in SMALL]
    assert not files(tmp_path)


def test_large_output_lies_in_a_file_and_can_be_changed_without_changing_it(tmp_path):
    place = StagingPlace(str(tmp_path), None, None)
    output = staged(place, LARGE)
    assert not output.data
    for batch in output.batches():
        batch.data[:1] = b"!"
    assert content(output) == [(batch.partition, bytes(batch.data)) for batch in LARGE]
    place.remove("query", "run", 3)
    assert not list(tmp_path.iterdir())


def test_large_output_travels_in_the_message_where_driver_and_task_share_nothing(tmp_path):
    output = staged(StagingPlace(str(tmp_path), "another kernel", (1, 1)), LARGE)
    assert output.path is None
    assert content(output) == [(batch.partition, bytes(batch.data)) for batch in LARGE]


def test_a_directory_for_temporary_files_is_seen_by_tasks_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(staging.tempfile, "gettempdir", lambda: str(tmp_path))
    assert StagingPlace.of_driver(None).is_here()


def test_what_lost_attempts_left_goes_with_the_batch_and_nothing_of_later_ones(tmp_path):
    place = StagingPlace(str(tmp_path), None, None)
    staged(place, LARGE, batch_id=2)
    staged(place, LARGE, batch_id=3)
    later = staged(place, LARGE, batch_id=4)
    place.remove("query", "run", 3)
    assert files(tmp_path) == [later.path]


def test_a_discarded_stage_leaves_no_file(tmp_path):
    stage = Stage(StagingPlace(str(tmp_path), None, None), "query", "run", 1)
    stage.add(LARGE)
    stage.discard()
    assert not files(tmp_path)


def test_a_file_that_is_not_there_is_told(tmp_path):
    output = staged(StagingPlace(str(tmp_path), None, None), LARGE)
    os.unlink(output.path)
    with pytest.raises(StagingFailed, match="share"):
        content(output)


def test_a_directory_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StagingFailed, match="cannot stage"):
        staged(StagingPlace(str(tmp_path / "file"), None, None), LARGE)
