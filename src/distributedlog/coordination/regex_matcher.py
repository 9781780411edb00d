"""Matching a name against an expression, in time linear in the name.

The tree becomes a nondeterministic automaton, whose sets of states are stepped through together; sets
that have been seen are remembered with where they lead, so that matching many names is a walk through a
table.
"""

from functools import lru_cache
from typing import Final

from distributedlog.coordination.regex_syntax import (
    OTHER,
    WORD,
    Assertion,
    Chars,
    Choice,
    Node,
    Regex,
    RegexError,
    Repeat,
    Sequence,
    parse_regex,
)

#: The automaton's largest size. RE2 limits memory in a like manner.
STATES_MAX: Final = 10_000
#: How many sets of states are remembered before the memory is wiped.
_TABLE_MAX: Final = 2_000

_CHARS, _SPLIT, _ASSERT, _MATCH = range(4)
_EDGE: Final = -1


@lru_cache(maxsize=256)
def compile_regex(pattern: str) -> "Matcher":
    """The matcher of an expression; `RegexError` if it is none."""
    return Matcher(parse_regex(pattern))


class Matcher:
    """A compiled expression."""

    __slots__ = ("_alphabet", "_program", "_start", "_table")

    def __init__(self, regex: Regex) -> None:
        if _size(regex.node) > STATES_MAX:
            raise RegexError("expression is too large")
        self._alphabet = regex.alphabet
        self._program: list[tuple[int, int, int, str]] = []
        match = self._add(_MATCH)
        self._start = self._compile(regex.node, match)
        self._table: dict[tuple[frozenset[int], int, int], frozenset[int]] = {}

    def matches(self, name: str) -> bool:
        """Whether the whole name matches."""
        codes = [self._bit_of(character) for character in name]
        states = frozenset((self._start,))
        before = _EDGE
        for code in [*codes, _EDGE]:
            key = (states, before, code)
            following = self._table.get(key)
            if following is None:
                if len(self._table) >= _TABLE_MAX:
                    self._table.clear()
                following = self._table[key] = self._step(states, before, code)
            if not following:
                return False
            states, before = following, code
        return True

    def _bit_of(self, character: str) -> int:
        code = ord(character)
        return code if code < OTHER else self._alphabet.get(character, OTHER)

    def _step(self, states: frozenset[int], before: int, code: int) -> frozenset[int]:
        """The states after one character; at the end of the name, the match if it is among them."""
        reached: set[int] = set()
        following: set[int] = set()
        todo = list(states)
        while todo:
            state = todo.pop()
            if state in reached:
                continue
            reached.add(state)
            kind, first, second, assertion = self._program[state]
            if kind == _SPLIT:
                todo += (first, second)
            elif kind == _ASSERT:
                if _holds(assertion, before, code):
                    todo.append(first)
            elif kind == _MATCH:
                if code == _EDGE:
                    following.add(state)
            elif code != _EDGE and second >> code & 1:
                following.add(first)
        return frozenset(following)

    def _add(self, kind: int, first: int = 0, second: int = 0, assertion: str = "") -> int:
        self._program.append((kind, first, second, assertion))
        return len(self._program) - 1

    def _compile(self, node: Node, after: int) -> int:
        """The state from which ``node`` is matched and then ``after``."""
        match node:
            case Chars(mask):
                return self._add(_CHARS, after, mask)
            case Assertion(kind):
                return self._add(_ASSERT, after, 0, kind)
            case Sequence(items):
                for item in reversed(items):
                    after = self._compile(item, after)
                return after
            case Choice(items):
                start = self._compile(items[-1], after)
                for item in reversed(items[:-1]):
                    start = self._add(_SPLIT, self._compile(item, after), start)
                return start
            case Repeat(item, minimum, maximum):
                if maximum is None:
                    loop = self._add(_SPLIT)
                    self._program[loop] = (_SPLIT, self._compile(item, loop), after, "")
                    start = loop
                else:
                    start = after
                    for _ in range(maximum - minimum):
                        start = self._add(_SPLIT, self._compile(item, start), after)
                for _ in range(minimum):
                    start = self._compile(item, start)
                return start


def _holds(assertion: str, before: int, code: int) -> bool:
    if assertion == "start":
        return before == _EDGE
    if assertion == "end":
        return code == _EDGE
    is_boundary = _is_word(before) != _is_word(code)
    return is_boundary == (assertion == "word")


def _is_word(code: int) -> bool:
    return 0 <= code < 128 and bool(WORD >> code & 1)


def _size(node: Node) -> int:
    """How many states a node makes, known before they are made."""
    match node:
        case Sequence(items) | Choice(items):
            return 1 + sum(_size(item) for item in items)
        case Repeat(item, minimum, maximum):
            return 1 + (_size(item) + 1) * max(minimum + 1, maximum or 0)
    return 1
