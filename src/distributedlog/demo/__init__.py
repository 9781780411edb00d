"""`make demo`, `dlog demo`, `python -m distributedlog.demo`: the engine at work, in scenes to be watched.

Each scene is one file in `scenes`, which does something, measures it, and claims something about it. The
runner prints, counts the claims that do not hold, and ends with one table. Only the public face is used,
so that every scene is also an example of it. This module imports nothing: `dlog --help` passes by here.
"""
