"""A driver that may be killed: one exactly-once query, started again in this process whenever it fails.

Run as ``python query.py BOOTSTRAP CHECKPOINT TOPIC ROWS_PER_BATCH``. Each batch holds the next numbers, in
two tasks after a shuffle; what the numbers are, the checkpoint says. Starts and failures are printed.
"""

import sys

#: What is said to one of two drivers on a checkpoint: by the sink, and by Spark's own log of offsets.
TWO_DRIVERS = ("DriverSuperseded", "CheckpointSetBack", "CONCURRENT_STREAM_LOG_UPDATE", "concurrently using")


def main(bootstrap, checkpoint, topic, rows_per_batch):
    from distributedlog.spark import register
    from distributedlog.spark.local_session import local_session

    # Four failures of a task are allowed, as on a cluster: in plain local mode the first is the last.
    spark = local_session("local[2,4]", settings={"spark.log.level": "OFF"}, fast_checkpoints=True)
    register(spark)
    while True:
        numbers = (
            spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows_per_batch).load()
        ).selectExpr("cast(value as string) as key", "cast(value as string) as value")
        query = (
            numbers.repartition(2, "key")
            .writeStream.format("distributedlog")
            .option("kafka.bootstrap.servers", bootstrap)
            .option("kafka.transaction.timeout.ms", "20000")
            .option("kafka.request.timeout.ms", "5000")
            .option("topic", topic)
            .option("exactlyOnce", "true")
            .option("checkpointLocation", checkpoint)
            .start()
        )
        print("STARTED", query.id, flush=True)
        try:
            query.awaitTermination()
        except Exception as error:  # noqa: BLE001  (whatever ends the query, the next one has to cope)
            print("FAILED", str(error).replace("\n", " ")[:20_000], flush=True)
            if any(word in str(error) for word in TWO_DRIVERS):
                return  # with a new run it would take the query over, and both would go on for ever


if __name__ == "__main__":
    main(*sys.argv[1:])
