"""The click stream of the demo, from a seed: sessions of users, with events out of order, late and twice.

Every event follows from the seed, and so does the truth: what the pipeline has to count is added up here
from the same events, in plain Python, without any of what the pipeline is made of.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

WINDOW_MS: Final = 60_000
#: How far behind the newest event an event may come and still count; `within` in the specification is more.
DELAY_MS_MAX: Final = 30_000
START_MS: Final = round(datetime(2026, 6, 1, 9, tzinfo=UTC).timestamp() * 1000)
USERS: Final = 400
COUNTRIES: Final = ("de", "fr", "jp", "us")
#: For users that the table does not know, or no longer.
NOWHERE: Final = "none"
PAGES: Final = ("/", "/hats", "/hats/felt", "/shoes", "/basket", "/pay")
_DELAYED_SHARE: Final = 0.12
_DUPLICATE_SHARE: Final = 0.06
_SESSION_CLICKS_MAX: Final = 12
_PAUSE_MS_MAX: Final = 9_000
_UPDATED_EVERY: Final = 10
_DELETED_EVERY: Final = 25


@dataclass(frozen=True, slots=True)
class Click:
    number: int
    user: str
    page: str
    cents: int
    at_ms: int

    @property
    def value(self) -> bytes:
        moment = datetime.fromtimestamp(self.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
        content = {
            "id": f"click-{self.number}",
            "user": self.user,
            "page": self.page,
            "cents": self.cents,
            "at": moment.replace("+00:00", "Z"),
        }
        return json.dumps(content, separators=(",", ":")).encode()


@dataclass(slots=True)
class Day:
    """All clicks of the demo in the order in which they are sent, and what is to come out."""

    clicks: list[Click]
    duplicates: int
    delayed: int
    sessions: int
    #: (window's start in milliseconds, country) to (clicks, cents).
    truth: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)

    @property
    def end_ms(self) -> int:
        return max(click.at_ms for click in self.clicks)


def user_table() -> Iterator[tuple[bytes, bytes | None]]:
    """What is written to the topic of users: some move, some are deleted. The last word counts."""
    for number in range(USERS):
        yield _user_key(number), _user_value(number, COUNTRIES[number * 7 % len(COUNTRIES)])
    for number in range(0, USERS, _UPDATED_EVERY):
        yield _user_key(number), _user_value(number, country_of(f"user-{number}"))
    for number in range(0, USERS, _DELETED_EVERY):
        yield _user_key(number), None


def country_of(user: str) -> str:
    """What the table says in the end."""
    number = int(user.removeprefix("user-"))
    if number % _DELETED_EVERY == 0:
        return NOWHERE
    shift = 1 if number % _UPDATED_EVERY == 0 else 0
    return COUNTRIES[(number * 7 + shift) % len(COUNTRIES)]


def day(count: int, seed: int, windows: int) -> Day:
    """`count` different clicks over so many windows; what is sent is a little more, since some come twice."""
    chance = random.Random(seed)
    clicks: list[Click] = []
    sessions = 0
    span_ms = windows * WINDOW_MS
    while len(clicks) < count:
        sessions += 1
        user, at_ms = f"user-{chance.randrange(USERS)}", START_MS + chance.randrange(span_ms)
        for _ in range(chance.randint(1, _SESSION_CLICKS_MAX)):
            if at_ms >= START_MS + span_ms or len(clicks) == count:
                break
            page = chance.choice(PAGES)
            cents = chance.randrange(100, 20_000) if page == "/pay" else 0
            clicks.append(Click(len(clicks), user, page, cents, at_ms))
            at_ms += chance.randint(200, _PAUSE_MS_MAX)
    sent: list[tuple[int, Click]] = []
    delayed = duplicates = 0
    for click in clicks:
        is_delayed = chance.random() < _DELAYED_SHARE
        delay_ms = chance.randrange(DELAY_MS_MAX) if is_delayed else 0
        delayed += is_delayed
        sent.append((click.at_ms + delay_ms, click))
        if chance.random() < _DUPLICATE_SHARE:
            duplicates += 1
            sent.append((click.at_ms + chance.randrange(DELAY_MS_MAX), click))
    sent.sort(key=lambda pair: (pair[0], pair[1].number))
    return Day([click for _, click in sent], duplicates, delayed, sessions, truth_of(clicks))


def truth_of(clicks: list[Click]) -> dict[tuple[int, str], tuple[int, int]]:
    """Each click counted once, in its own window, for the country of its user."""
    counts: Counter[tuple[int, str]] = Counter()
    cents: Counter[tuple[int, str]] = Counter()
    for click in clicks:
        place = click.at_ms // WINDOW_MS * WINDOW_MS, country_of(click.user)
        counts[place] += 1
        cents[place] += click.cents
    return {place: (counts[place], cents[place]) for place in counts}


def _user_key(number: int) -> bytes:
    return f"user-{number}".encode()


def _user_value(number: int, country: str) -> bytes:
    return json.dumps({"id": f"user-{number}", "country": country}).encode()
