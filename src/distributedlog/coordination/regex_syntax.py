r"""Regular expressions in RE2's syntax, read into a tree.

Kafka's new protocol promises RE2: no look-around, no back-references, and a match in time linear in the
name. Python's `re` has other syntax and may take exponential time, and the expressions come from outside.

A set of characters is a number here, with a bit per character. Those of ASCII have the bits of their codes.
Of the others, each that an expression names gets a bit of its own (its `Regex.alphabet`), and all the rest
share one, which only sets that leave something out contain: they end in ones without end. Classes, properties
and (?i) know the letters of ASCII alone.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

LENGTH_MAX: Final = 4_096
#: The parser and what walks the tree are recursive.
DEPTH_MAX: Final = 50
#: RE2's own limit for {n,m}.
REPEAT_MAX: Final = 1_000

ANY: Final = -1
#: The bit of every character beyond ASCII that the expression does not name.
OTHER: Final = 128
#: Most characters beyond ASCII that an expression may name, ranges counted out.
ALPHABET_MAX: Final = 1_000


class RegexError(ValueError):
    """The expression is not one of RE2's, or larger than we accept."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One character out of a set."""

    mask: int


@dataclass(frozen=True, slots=True)
class Assertion:
    r"""A place: ``start``, ``end``, ``word`` (``\b``) or ``not word`` (``\B``)."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Choice:
    """One or the other."""

    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    """So many times; without end where ``maximum`` is None."""

    item: "Node"
    minimum: int
    maximum: int | None


Node = Chars | Assertion | Sequence | Choice | Repeat


@dataclass(frozen=True, slots=True)
class Regex:
    """An expression: its tree, and the bits of the characters beyond ASCII in it."""

    node: Node
    alphabet: Mapping[str, int]


def span(first: str, last: str) -> int:
    """All characters of ASCII from one to another."""
    return sum(1 << code for code in range(ord(first), ord(last) + 1))


def one_of(characters: str) -> int:
    """These characters of ASCII."""
    return sum(1 << ord(character) for character in set(characters))


LOWER: Final = span("a", "z")
UPPER: Final = span("A", "Z")
DIGITS: Final = span("0", "9")
WORD: Final = LOWER | UPPER | DIGITS | one_of("_")
_SPACE: Final = one_of("\t\n\f\r ")
_PUNCTUATION: Final = one_of("!\"#%&'()*,-./:;?@[\\]_{}")
_SYMBOLS: Final = one_of("$+<=>^`|~")

_CLASSES: Final = {"d": DIGITS, "w": WORD, "s": _SPACE}
_POSIX: Final = {
    "alnum": LOWER | UPPER | DIGITS,
    "alpha": LOWER | UPPER,
    "ascii": span("\0", "\x7f"),
    "blank": one_of("\t "),
    "cntrl": span("\0", "\x1f") | one_of("\x7f"),
    "digit": DIGITS,
    "graph": span("!", "~"),
    "lower": LOWER,
    "print": span(" ", "~"),
    "punct": _PUNCTUATION | _SYMBOLS,
    "space": one_of("\t\n\v\f\r "),
    "upper": UPPER,
    "word": WORD,
    "xdigit": DIGITS | span("a", "f") | span("A", "F"),
}
_UNICODE: Final = {
    "Any": ANY,
    "L": LOWER | UPPER,
    "Latin": LOWER | UPPER,
    "Ll": LOWER,
    "Lu": UPPER,
    "N": DIGITS,
    "Nd": DIGITS,
    "P": _PUNCTUATION,
    "Pc": one_of("_"),
    "Pd": one_of("-"),
    "Po": _PUNCTUATION & ~one_of("_-()[]{}"),
    "S": _SYMBOLS,
    "Z": one_of(" "),
}
_ESCAPES: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ASSERTIONS: Final = {"A": "start", "z": "end", "b": "word", "B": "not word"}
_HEX: Final = re.compile(r"x(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{2}))")
_OCTAL: Final = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_PROPERTY: Final = re.compile(r"[pP](?:\{(\^?)([A-Za-z_]+)\}|([A-Z]))")
_COUNTS: Final = re.compile(r"\{(\d+)(,?)(\d*)\}")
_GROUP_NAME: Final = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")


def parse_regex(pattern: str) -> Regex:
    """Read an expression; `RegexError` if it is none."""
    if len(pattern) > LENGTH_MAX:
        raise RegexError(f"longer than {LENGTH_MAX} characters")
    parser = _Parser(pattern)
    node = parser.choice(0)
    if parser.position < len(pattern):
        raise RegexError("unexpected )")
    return Regex(node, parser.alphabet)


class _Parser:
    __slots__ = ("alphabet", "flags", "pattern", "position")

    def __init__(self, pattern: str) -> None:
        self.alphabet: dict[str, int] = {}
        self.pattern = pattern
        self.position = 0
        self.flags = frozenset[str]()

    def peek(self) -> str:
        return self.pattern[self.position : self.position + 1]

    def take(self) -> str:
        character = self.peek()
        if not character:
            raise RegexError("unexpected end")
        self.position += 1
        return character

    def single(self, character: str) -> int:
        """The set of one character."""
        code = ord(character)
        if code >= OTHER:
            code = self.alphabet.setdefault(character, OTHER + 1 + len(self.alphabet))
            if len(self.alphabet) > ALPHABET_MAX:
                raise RegexError(f"more than {ALPHABET_MAX} characters beyond ASCII")
        return 1 << code

    def between(self, first: str, last: str) -> int:
        """All characters from one to another."""
        mask = 0
        for code in range(ord(first), ord(last) + 1):
            mask |= self.single(chr(code))
        return mask

    def take_match(self, what: "re.Pattern[str]") -> "re.Match[str] | None":
        match = what.match(self.pattern, self.position)
        if match is not None:
            self.position = match.end()
        return match

    def choice(self, depth: int) -> Node:
        if depth > DEPTH_MAX:
            raise RegexError(f"nested deeper than {DEPTH_MAX} levels")
        flags = self.flags
        items = [self.sequence(depth)]
        while self.peek() == "|":
            self.position += 1
            items.append(self.sequence(depth))
        self.flags = flags
        return items[0] if len(items) == 1 else Choice(tuple(items))

    def sequence(self, depth: int) -> Node:
        items: list[Node] = []
        while self.peek() not in ("", "|", ")"):
            items.extend(self.repeated(depth))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def repeated(self, depth: int) -> list[Node]:
        if self.pattern.startswith("\\Q", self.position):
            items = self.quoted()
        else:
            atom = self.atom(depth)
            items = [] if atom is None else [atom]
        is_repeated = False
        while (counts := self.counts()) is not None:
            if not items:
                raise RegexError("missing argument to repetition operator")
            if is_repeated:
                raise RegexError("invalid nested repetition operator")
            is_repeated = True
            items[-1] = Repeat(items[-1], *counts)
            if self.peek() == "?":
                # The lazy form; which way a match is found does not matter to whether there is one.
                self.position += 1
        return items

    def counts(self) -> tuple[int, int | None] | None:
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self.peek())
        if simple is not None:
            self.position += 1
            return simple
        match = self.take_match(_COUNTS)
        if match is None:
            return None
        minimum = int(match[1][:5])
        maximum = (int(match[3][:5]) if match[3] else None) if match[2] else minimum
        if max(minimum, maximum or 0) > REPEAT_MAX or (maximum is not None and maximum < minimum):
            raise RegexError("invalid repeat count")
        return minimum, maximum

    def quoted(self) -> list[Node]:
        end = self.pattern.find("\\E", self.position + 2)
        text = self.pattern[self.position + 2 : None if end < 0 else end]
        self.position = len(self.pattern) if end < 0 else end + 2
        return [Chars(self.folded(self.single(character))) for character in text]

    def atom(self, depth: int) -> Node | None:
        match self.peek():
            case "(":
                return self.group(depth)
            case "[":
                return Chars(self.bracket())
            case "*" | "+" | "?":
                raise RegexError("missing argument to repetition operator")
            case ".":
                self.position += 1
                return Chars(ANY if "s" in self.flags else ANY & ~one_of("\n"))
            case "^":
                self.position += 1
                return Assertion("start")
            case "$":
                self.position += 1
                return Assertion("end")
            case "\\":
                self.position += 1
                kind = _ASSERTIONS.get(self.peek())
                if kind is not None:
                    self.position += 1
                    return Assertion(kind)
                return Chars(self.folded(self.escape()[0]))
        return Chars(self.folded(self.single(self.take())))

    def group(self, depth: int) -> Node | None:
        if self.pattern.startswith("(?", self.position):
            if self.take_match(_GROUP_NAME) is None:
                flags = self.take_match(_FLAGS)
                if flags is None:
                    raise RegexError("invalid or unsupported group")
                changed = (self.flags | set(flags[1])) - set(flags[2] or "")
                if flags[3] == ")":
                    self.flags = changed
                    return None
                before, self.flags = self.flags, changed
                node = self.closed(depth)
                self.flags = before
                return node
            return self.closed(depth)
        self.position += 1
        return self.closed(depth)

    def closed(self, depth: int) -> Node:
        node = self.choice(depth + 1)
        if self.peek() != ")":
            raise RegexError("missing closing )")
        self.position += 1
        return node

    def escape(self) -> tuple[int, str | None]:
        """What follows a backslash: a set, and the character where it is a single one."""
        match = self.take_match(_PROPERTY)
        if match is not None:
            mask = _UNICODE.get(match[2] or match[3], 0)
            negated = (self.pattern[match.start()] == "P") != bool(match[1])
            return (ANY & ~mask if negated else mask), None
        for form, base in ((_HEX, 16), (_OCTAL, 8)):
            match = self.take_match(form)
            if match is not None:
                digits = next((group for group in match.groups() if group), match[0])
                code = int(digits, base)
                if code > 0x10FFFF:
                    raise RegexError("invalid escape sequence")
                return self.single(chr(code)), chr(code)
        character = self.take()
        if character.lower() in _CLASSES:
            mask = _CLASSES[character.lower()]
            return (ANY & ~mask if character.isupper() else mask), None
        if character in _ESCAPES:
            return one_of(_ESCAPES[character]), _ESCAPES[character]
        if character.isascii() and not character.isalnum():
            return one_of(character), character
        raise RegexError(f"invalid escape sequence \\{character}")

    def bracket(self) -> int:
        self.position += 1
        negated = self.peek() == "^"
        self.position += negated
        mask, is_first = 0, True
        while is_first or self.peek() != "]":
            is_first = False
            mask |= self.bracket_item()
        self.position += 1
        mask = self.folded(mask)
        return ANY & ~mask if negated else mask

    def bracket_item(self) -> int:
        if self.pattern.startswith("[:", self.position):
            end = self.pattern.find(":]", self.position)
            name = self.pattern[self.position + 2 : max(end, 0)]
            if name.removeprefix("^") not in _POSIX:
                raise RegexError("invalid character class range")
            self.position = end + 2
            mask = _POSIX[name.removeprefix("^")]
            return ANY & ~mask if name.startswith("^") else mask
        mask, first = self.bracket_character()
        following = self.pattern[self.position + 1 : self.position + 2]
        if first is None or self.peek() != "-" or following in ("", "]"):
            return mask
        self.position += 1
        last = self.bracket_character()[1]
        if last is None or ord(last) < ord(first):
            raise RegexError("invalid character class range")
        return self.between(first, last)

    def bracket_character(self) -> tuple[int, str | None]:
        character = self.take()
        if character == "\\":
            return self.escape()
        return self.single(character), character

    def folded(self, mask: int) -> int:
        if "i" in self.flags:
            mask |= (mask & UPPER) << 32 | (mask & LOWER) >> 32
        return mask
