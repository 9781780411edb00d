"""Reading records: `Consumer` for threads, `AsyncConsumer` for asyncio.

Follow a record: ``fetcher`` asks a leader for bytes from a partition's position on and puts them as a
``chunk`` into the ``fetch_buffer``; whoever polls takes them out and decodes them, in its own thread
(``consumer``) or on the loop (``async_consumer``). Where a partition starts is found out by
``position_keeper``; who reads which, by ``membership_classic``, ``membership_consumer`` or
``membership_alone``, who hand what concerns the user over as ``news``.
"""
