"""The door to numba: how this room's kernels are compiled and cached.

A kernel is a function over numpy arrays and plain numbers that runs as machine code and without the
GIL. It is compiled once per machine, for the one signature it declares, when its module is imported:
so nothing slow hides in the first call, and an argument of another type is an error instead of a second
compilation. Machine code is kept beside the source or, where that is read-only, in the user's cache
directory (numba honours NUMBA_CACHE_DIR); where neither can be written, it is made anew in each process.

numba's cache knows a kernel by the text of its own file, not by that of the helpers it was compiled with.
So every file with kernels says in HELPERS which helpers those were; a test compares, and says what to
write there when a helper has changed. Without it, an upgrade could run new code with old helpers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from numba import njit, types

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

INT64: Final = types.int64
BYTES_IN: Final = types.Array(types.uint8, 1, "C", readonly=True)
BYTES_OUT: Final = types.Array(types.uint8, 1, "C")
INT32_IN: Final = types.Array(types.int32, 1, "C", readonly=True)
INT32_OUT: Final = types.Array(types.int32, 1, "C")
INT64_IN: Final = types.Array(types.int64, 1, "C", readonly=True)
INT64_OUT: Final = types.Array(types.int64, 1, "C")
TABLE_OUT: Final = types.Array(types.int64, 2, "C")
BOOLEAN: Final = types.boolean


def kernel(*arguments: Any) -> Callable[[Function], Function]:
    """Compile a function for exactly these argument types, GIL released, cached where that is possible."""

    def compile_now(function: Function) -> Function:
        signature = tuple(arguments)
        try:
            compiled = njit(signature, nogil=True, cache=True)(function)
        except OSError:
            compiled = njit(signature, nogil=True)(function)
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            compiled = njit(signature, nogil=True)(function)
        return cast("Function", compiled)

    return compile_now


def helper(function: Function) -> Function:
    """A function that kernels call; it becomes part of each kernel and costs no call of its own."""
    return cast("Function", njit(function, forceinline=True))
