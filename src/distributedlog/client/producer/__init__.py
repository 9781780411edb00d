"""Writing records: `Producer` for threads, `AsyncProducer` for asyncio.

Follow a record: ``async_producer`` (or ``producer``) gives it to the ``accumulator``, which puts it into an
open ``batch`` of a ``lane``; ``sender`` drains lanes into requests and deals with the answers, and
``outcome`` says what an answer means; the record's ``future`` looks at its batch.
"""
