"""A compacted log as a small key-value store that survives crashes: the log is the truth, the dict a view.

python examples/key_value_store.py [DIRECTORY]
"""

import sys
import tempfile
from types import TracebackType

from distributedlog import Log


class Store:
    def __init__(self, directory: str) -> None:
        self._log = Log(directory, config={"cleanup.policy": "compact"})
        self._values: dict[bytes, bytes] = {}
        for record in self._log.read():
            self._take_in(record.key, record.value)

    def _take_in(self, key: bytes | None, value: bytes | None) -> None:
        if key is None:
            return  # cannot be: a compacted log refuses records without a key
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = value

    def __getitem__(self, key: bytes) -> bytes:
        return self._values[key]

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self._log.append(key=key, value=value)
        self._take_in(key, value)

    def __delitem__(self, key: bytes) -> None:
        del self._values[key]
        self._log.append(key=key, value=None)  # a tombstone: readers see it for delete.retention.ms

    def __len__(self) -> int:
        return len(self._values)

    def compact(self) -> str:
        stats = self._log.compact()
        return f"{stats.records_read} records became {stats.records_kept}"

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._log.close()


def main(directory: str) -> None:
    with Store(directory) as store:
        for round_number in range(100):
            for name in (b"apples", b"pears", b"plums"):
                store[name] = b"%d" % round_number
        del store[b"plums"]
        print(store.compact())

    with Store(directory) as store:
        print(len(store), "keys; apples:", store[b"apples"].decode())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)
