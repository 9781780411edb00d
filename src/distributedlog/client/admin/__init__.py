"""What administrators do: `Admin` for programs that block, `AsyncAdmin` for asyncio.

``async_admin`` is the face: one method for each thing, typed results, errors with what to do about them
(``errors``). The requests are made by the modules that the commands use too (``client.topics``, ``configs``,
``groups``, ``committed``, ``offsets``, ``transactions``) and by those of this folder.
"""
