"""Timers and threads of the asyncio scheduler."""

import asyncio
import threading

import pytest
from tests.server.harness import run, until

from distributedlog.server.asyncio_scheduler import AsyncioScheduler
from distributedlog.server.event_loop import DelayProbe, new_event_loop

both_loops = pytest.mark.parametrize("loop", ["asyncio", "uvloop"])


@both_loops
def test_work_is_done_elsewhere_and_its_result_comes_home(loop):
    async def scenario():
        scheduler = AsyncioScheduler(asyncio.get_running_loop())
        here = threading.get_ident()
        told = []
        scheduler.run_in_thread(
            threading.get_ident, lambda r: told.append((r, threading.get_ident())), told.append
        )
        await until(lambda: told)
        [(worked_in, told_in)] = told
        assert worked_in != here
        assert told_in == here
        scheduler.close()

    run(scenario(), loop)


def test_an_error_comes_home_too():
    async def scenario():
        scheduler = AsyncioScheduler(asyncio.get_running_loop())
        errors = []
        scheduler.run_in_thread(lambda: 1 // 0, pytest.fail, errors.append)
        await until(lambda: errors)
        assert isinstance(errors[0], ZeroDivisionError)
        scheduler.close()

    run(scenario())


def test_a_job_that_blocks_does_not_hold_up_the_others():
    async def scenario():
        scheduler = AsyncioScheduler(asyncio.get_running_loop())
        gate = threading.Event()
        done = []
        for _ in range(7):
            scheduler.run_in_thread(gate.wait, done.append, done.append)
        for n in range(50):
            scheduler.run_in_thread(lambda n=n: n, done.append, done.append)
        await until(lambda: len(done) == 50)
        assert done == list(range(50))
        gate.set()
        await until(lambda: len(done) == 57)
        scheduler.close()

    run(scenario())


def test_finish_waits_for_what_was_given_and_for_what_that_gives():
    async def scenario():
        scheduler = AsyncioScheduler(asyncio.get_running_loop())
        gate = threading.Event()
        done = []

        def more(_):
            scheduler.run_in_thread(lambda: "second", done.append, done.append)

        scheduler.run_in_thread(gate.wait, more, done.append)
        scheduler.call_soon(gate.set)
        await scheduler.finish(10)
        assert done == ["second"]
        await scheduler.finish(10)
        scheduler.close()

    run(scenario())


def test_finish_does_not_wait_for_ever():
    async def scenario():
        scheduler = AsyncioScheduler(asyncio.get_running_loop())
        gate = threading.Event()
        scheduler.run_in_thread(gate.wait, lambda _: None, pytest.fail)
        await scheduler.finish(0.01)
        gate.set()
        scheduler.close()
        with pytest.raises(RuntimeError, match="closed"):
            scheduler.run_in_thread(gate.wait, lambda _: None, pytest.fail)

    run(scenario())


@both_loops
def test_timers(loop):
    async def scenario():
        scheduler = AsyncioScheduler(asyncio.get_running_loop())
        called = []
        scheduler.call_later(10, lambda: called.append("later"))
        scheduler.call_later(1, lambda: called.append("never")).cancel()
        scheduler.call_soon(lambda: called.append("soon"))
        await until(lambda: len(called) == 2)
        assert called == ["soon", "later"]
        assert scheduler.now_ms() > 1_600_000_000_000
        scheduler.close()

    run(scenario(), loop)


def test_the_delay_of_the_loop_is_observed():
    async def scenario():
        observed = []
        probe = DelayProbe(asyncio.get_running_loop(), observed.append)
        probe.start()
        await until(lambda: len(observed) == 2)
        probe.stop()
        assert min(observed) >= 0

    run(scenario())


def test_without_uvloop_the_standard_loop_serves(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "uvloop", None)
    loop = new_event_loop()
    assert type(loop).__module__.startswith("asyncio")
    loop.close()
