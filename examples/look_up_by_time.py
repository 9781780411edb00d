"""What happened from one moment to another: timestamps are looked up in the time index, exact to the record.

python examples/look_up_by_time.py [DIRECTORY]
"""

import sys
import tempfile
from datetime import UTC, datetime, timedelta

from distributedlog import Entry, Log


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def main(directory: str) -> None:
    midnight = datetime(2025, 1, 1, tzinfo=UTC)
    with Log(directory) as log:
        log.append_many(
            Entry(
                value=f"reading {minute}".encode(),
                timestamp=milliseconds(midnight + timedelta(minutes=minute)),
            )
            for minute in range(24 * 60)
        )

        begin = log.offset_for_time(milliseconds(midnight + timedelta(hours=9, minutes=29, seconds=30)))
        end = log.offset_for_time(milliseconds(midnight + timedelta(hours=9, minutes=33)))
        print("from", begin, "to", end)
        for record in log.read(begin, end):
            moment = datetime.fromtimestamp(record.timestamp / 1000, UTC)
            print(f"{moment:%H:%M}", (record.value or b"").decode())

        print("after the last there is", log.offset_for_time(milliseconds(midnight + timedelta(days=1))))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)
