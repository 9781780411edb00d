"""What Spark's workers need not search again and again; other processes are left as they are."""

import gc

import pyarrow as pa

from distributedlog.spark.worker_memory import is_worker, settle


def test_only_a_worker_is_settled():
    before = gc.get_freeze_count()
    settle()
    assert not is_worker()
    assert gc.get_freeze_count() == before


def test_a_worker_of_spark_is_settled_once(spark):
    def settled(batches):
        from distributedlog.spark.worker_memory import is_worker, settle

        list(batches)
        settle()
        frozen = gc.get_freeze_count()
        settle()
        yield pa.record_batch({"n": [int(is_worker()), frozen, gc.get_freeze_count()]})

    rows = spark.range(1, numPartitions=1).mapInArrow(settled, "n long").collect()
    is_one, frozen, again = (row.n for row in rows)
    assert is_one == 1
    assert frozen == again > 1000
