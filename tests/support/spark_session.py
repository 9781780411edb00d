"""The session of Spark that all tests of a process share: to start Java takes seconds."""

import contextlib

from distributedlog.spark.local_session import local_session


@contextlib.contextmanager
def session_of_tests():
    """A session on two cores, as `local_session` makes them."""
    session = local_session(
        "local[2]",
        name="tests",
        settings={
            "spark.log.level": "ERROR",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.streaming.metricsEnabled": "false",
        },
        fast_checkpoints=True,
    )
    try:
        yield session
    finally:
        session.stop()
