"""A `Scheduler` whose time stands still until a test moves it, and whose threads work when told to."""

import heapq
import itertools
import random
from collections import deque


class FakeTimer:
    def __init__(self, callback):
        self.callback = callback

    def cancel(self):
        self.callback = None


class FakeScheduler:
    """``run`` does everything that is due now; ``advance`` lets time pass. With ``holds_threads`` the work
    of threads waits for `run_threads`; with ``chance`` what is ready at once runs in a random order."""

    def __init__(self, now_ms=1_700_000_000_000, chance=None):
        self.time_ms = now_ms
        self.chance: random.Random | None = chance
        self.holds_threads = False
        self.soon = deque()
        self.work = deque()
        self.timers = []
        self._count = itertools.count()

    def now_ms(self):
        return self.time_ms

    def call_later(self, delay_ms, callback):
        timer = FakeTimer(callback)
        heapq.heappush(self.timers, (self.time_ms + max(delay_ms, 0), next(self._count), timer))
        return timer

    def call_soon(self, callback):
        self.soon.append(callback)

    def run_in_thread(self, work, done, failed):
        self.work.append((work, done, failed))

    @property
    def live_timers(self):
        return sum(timer.callback is not None for _, _, timer in self.timers)

    def run_soon(self):
        """One turn of the loop: what was scheduled before it."""
        callbacks, self.soon = list(self.soon), deque()
        for callback in callbacks:
            callback()

    def run_threads(self, count=None):
        """Do the work of threads: all there is, or as many pieces."""
        for _ in range(len(self.work) if count is None else count):
            if self.chance is not None:
                self.work.rotate(self.chance.randrange(len(self.work)))
            work, done, failed = self.work.popleft()
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001
                failed(error)
            else:
                done(result)

    def run(self):
        """Until nothing is due."""
        while self.soon or (self.work and not self.holds_threads):
            self.run_soon()
            if not self.holds_threads:
                self.run_threads()

    def advance(self, delay_ms):
        """Let time pass, timer by timer."""
        end_ms = self.time_ms + delay_ms
        self.run()
        while self.timers and self.timers[0][0] <= end_ms:
            due_ms, _, timer = heapq.heappop(self.timers)
            self.time_ms = max(self.time_ms, due_ms)
            if timer.callback is not None:
                timer.callback()
            self.run()
        self.time_ms = end_ms
