"""The smallest use: append records, read them, and find them again the next time.

python examples/embedded_log.py [DIRECTORY]
"""

import sys
import tempfile

from distributedlog import Entry, Log


def main(directory: str) -> None:
    # Made when it is not there. flush="ack" is the default: an append returns when it is on the disk.
    with Log(directory) as log:
        offset = log.append(key=b"user-1", value=b"signed in", headers=(("from", b"web"),))
        print("the first record got offset", offset)

        # Many at once share one trip to the disk: entries, (key, value) pairs, or just values.
        offsets = log.append_many([Entry(b"user-2", b"signed in"), (b"user-1", b"bought a hat"), b"a value"])
        print("then", list(offsets))

    with Log(directory) as log:
        print("there are", log.start_offset, "to", log.end_offset - 1)
        for record in log.read(offset):
            print(record.offset, record.key, record.value, record.headers)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)
