"""[io] The driver's half of exactly-once: what the tasks have staged becomes one transaction."""

from collections.abc import Iterable, Iterator, Sequence

from pyspark.sql.datasource import WriterCommitMessage

from distributedlog.spark.commit_protocol import Batch
from distributedlog.spark.output_batches import OutputBatch
from distributedlog.spark.row_writing import sender_settings
from distributedlog.spark.shared_client import shared_client
from distributedlog.spark.staging import StagedOutput, StagingPlace
from distributedlog.spark.transaction import QueryTransactions
from distributedlog.spark.write_options import WriteOptions


def commit_staged(
    messages: Iterable[WriterCommitMessage | None],
    batch_id: int,
    options: WriteOptions,
    place: StagingPlace,
    *,
    is_last: bool = False,
) -> None:
    """Make the batch visible, whole and once, then clear away what was staged for it.

    After the last batch of a query there is nothing more to remember.
    """
    outputs = _outputs(messages)
    if not outputs:
        return
    query, run = outputs[0].query, outputs[0].run
    if any(output.sizes for output in outputs):  # a batch without rows needs no record: again it has none
        client = shared_client(options.client)
        transactional_id = options.transactional_id_prefix + query
        key = QueryTransactions, transactional_id
        transactions: QueryTransactions = client.keep(
            key,
            lambda: QueryTransactions(
                client.cluster, transactional_id, options.transaction_timeout_ms, sender_settings(options)
            ),
        )
        staged = [list(output.batches()) for output in outputs]

        def batches() -> Iterator[OutputBatch]:
            return (batch for output in staged for batch in output)

        client.run(transactions.commit(Batch(batch_id, run), batches))
        if is_last:
            client.run(transactions.forget())
            client.kept.pop(key)
    place.remove(query, run, batch_id)


def discard_staged(
    messages: Iterable[WriterCommitMessage | None], batch_id: int, place: StagingPlace
) -> None:
    """Clear away what was staged. Spark calls this after a failed commit, too: nothing is undone here."""
    outputs = _outputs(messages)
    if outputs:
        place.remove(outputs[0].query, outputs[0].run, batch_id)


def _outputs(messages: Iterable[WriterCommitMessage | None]) -> Sequence[StagedOutput]:
    return [message for message in messages if isinstance(message, StagedOutput)]
