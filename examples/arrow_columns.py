"""A log as a table: columns for Arrow, pandas, Polars or DuckDB, millions of records a second.

pip install 'distributedlog[arrow]'
python examples/arrow_columns.py [DIRECTORY]
"""

import sys
import tempfile

import pyarrow as pa
import pyarrow.compute as pc

from distributedlog import Log

RECORDS = 50_000


def main(directory: str) -> None:
    with Log(directory, flush="os") as log:
        log.append_many((b"sensor-%d" % (number % 4), b"%d" % number) for number in range(RECORDS))

        # A column that is not asked for is not decoded. `table.to_pandas()` where pandas is installed.
        table = log.read_arrow(columns=("offset", "key", "value"))
        print(table.num_rows, "rows of", ", ".join(table.column_names))

        readings = pa.table(
            {
                "sensor": pc.cast(table["key"], pa.string()),
                "reading": pc.cast(pc.cast(table["value"], pa.string()), pa.int64()),
            }
        )
        for row in readings.group_by("sensor").aggregate([("reading", "mean")]).sort_by("sensor").to_pylist():
            print(row["sensor"], row["reading_mean"])

        # Larger than memory: one piece after another.
        pieces = log.read_arrow_batches(RECORDS // 2, columns=("timestamp",))
        print(sum(piece.num_rows for piece in pieces), "of them in the second half")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)
