"""Whether something can be read.

`select.select` refuses descriptors from 1024 on, and a process of many tests has that many open at times.
"""

import select


def is_readable(source, timeout_seconds):
    """Wait for bytes, or an end, of a file or socket; False when there were none in time."""
    watched = select.poll()
    watched.register(source, select.POLLIN)
    return bool(watched.poll(timeout_seconds * 1000))
