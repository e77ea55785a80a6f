"""Signals, and work that will not end: what stops a run, what may finish, and what is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from evalflow.runner import stop as module
from evalflow.runner.stop import OverTimeError, Stop, Stopped, bounded

SOON_S = 0.05
"""How long these tests let anything wait that will not end by itself."""
LONG_S = 30.0


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Whatever a test does, the process answers signals afterwards as it did before."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    after = {number: signal.getsignal(number) for number in numbers}
    for number, handler in before.items():
        signal.signal(number, handler)
    assert after == before


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that refuses to end is waited for long."""
    monkeypatch.setattr(module, "GRACE_S", SOON_S)


def send(number: int) -> None:
    os.kill(os.getpid(), number)


async def given(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


async def raising(fault: BaseException) -> Any:
    await asyncio.sleep(0)
    raise fault


async def stubborn() -> Any:
    """Takes no cancellation for an answer."""
    while True:
        try:
            await asyncio.sleep(LONG_S)
        except asyncio.CancelledError:
            await asyncio.sleep(0)


def took(act: Callable[[], Any]) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def test_what_the_work_gives_is_given() -> None:
    """Its value, or what it raises, comes through as it is, and nobody asked it to stop."""
    stop = Stop()
    assert stop.run(given(5)) == 5
    assert not stop.asked
    with pytest.raises(LookupError, match="here"):
        Stop().run(raising(LookupError("here")))
    with pytest.raises(SystemExit):
        Stop().run(raising(SystemExit(3)))


def test_the_first_interrupt_lets_what_is_in_flight_finish() -> None:
    """Ctrl-C is told once, nothing new may begin, and the work goes on to its own end."""
    told: list[bool] = []
    stop = Stop(told.append)

    async def work() -> str:
        assert not stop.asked
        send(signal.SIGINT)
        inner = await stop.unless_cancelled(given("in flight"))
        assert stop.asked
        with pytest.raises(Stopped):
            await stop.unless_asked(given("new"))
        return str(inner)

    assert stop.run(work()) == "in flight"
    assert told == [True]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_termination_cancels_what_is_in_flight(number: int) -> None:
    """Its sender will not wait: what is in flight is cancelled, its own clean-up runs, and the work ends in order."""
    told: list[bool] = []
    cleaned: list[bool] = []
    stop = Stop(told.append)

    async def flight() -> None:
        try:
            send(number)
            await asyncio.sleep(LONG_S)
        finally:
            cleaned.append(True)

    async def work() -> str:
        with pytest.raises(Stopped):
            await stop.unless_cancelled(flight())
        return "in order"

    assert stop.run(work()) == "in order"
    assert (told, cleaned) == ([False], [True])


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_interrupts_at_once(first: int, second: int) -> None:
    """Whatever the first was: the work is cancelled where it stands."""
    cleaned: list[bool] = []

    async def work() -> None:
        try:
            send(first)
            await asyncio.sleep(0.01)
            send(second)
            await asyncio.sleep(LONG_S)
        finally:
            cleaned.append(True)

    def interrupted() -> None:
        with pytest.raises(KeyboardInterrupt):
            Stop().run(work())

    assert took(interrupted) < LONG_S / 2
    assert cleaned == [True]


def test_a_signal_that_was_ignored_stays_ignored() -> None:
    """A process started with nohup, or in the background, is not ended by what it was told not to hear."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = Stop()

    async def work() -> bool:
        send(signal.SIGHUP)
        await asyncio.sleep(0.01)
        return stop.asked

    try:
        assert stop.run(work()) is False
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("end", [None, LookupError("x"), SystemExit(1)])
def test_signals_are_answered_as_before_once_the_work_ended(end: BaseException | None) -> None:
    """However it ended, the handlers of whoever called are back."""
    heard: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        if end is None:
            Stop().run(given(1))
        else:
            with pytest.raises(type(end)):
                Stop().run(raising(end))
        send(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]


def test_a_run_that_was_asked_before_it_began_begins_nothing() -> None:
    """The coroutine is closed, and not left behind as never awaited."""
    stop = Stop()
    stop.finish()

    async def work() -> str:
        with pytest.raises(Stopped):
            await stop.unless_asked(stubborn())
        return str(await stop.unless_cancelled(given("may finish")))

    assert stop.run(work()) == "may finish"


@pytest.mark.parametrize("race", [Stop.unless_asked, Stop.unless_cancelled])
def test_a_race_gives_what_its_work_gives(race: Callable[[Stop, Coroutine[Any, Any, Any]], Any]) -> None:
    """Nobody asked: the value or the error is the work's own, whatever kind of error it is."""
    stop = Stop()

    async def work() -> Any:
        for fault in (LookupError("mine"), OverTimeError(), asyncio.CancelledError("its own")):
            with pytest.raises(type(fault)):
                await race(stop, raising(fault))
        return await race(stop, given(7))

    assert stop.run(work()) == 7


@pytest.mark.usefixtures("hasty")
def test_a_stop_waits_for_nobody_that_will_not_end() -> None:
    """Work that swallows its cancellation is left behind: the run goes on to its end without it."""
    stop = Stop()

    async def work() -> str:
        asyncio.get_running_loop().call_later(SOON_S, stop.cancel)
        with pytest.raises(Stopped):
            await stop.unless_cancelled(stubborn())
        return "gone on"

    assert took(lambda: stop.run(work())) < LONG_S / 2


def test_bounded_work_gives_what_it_gives() -> None:
    """In time, its value (None too) or its error is its own, an attempt to end the process included."""

    async def work() -> list[Any]:
        for fault in (LookupError("mine"), SystemExit(3), KeyError("k"), asyncio.CancelledError()):
            with pytest.raises(type(fault)):
                await bounded(raising(fault), LONG_S)
        return [await bounded(given(value), LONG_S) for value in (1, None)]

    assert Stop().run(work()) == [1, None]


def test_bounded_work_that_takes_too_long_is_cancelled() -> None:
    """It is told so, and what it says to that is nobody's answer."""
    heard: list[str] = []

    async def slow() -> str:
        try:
            await asyncio.sleep(LONG_S)
        except asyncio.CancelledError:
            heard.append("cancelled")
        return "late"

    async def work() -> None:
        with pytest.raises(OverTimeError):
            await bounded(slow(), SOON_S)

    Stop().run(work())
    assert heard == ["cancelled"]


@pytest.mark.usefixtures("hasty")
def test_bounded_work_that_will_not_be_cancelled_is_left_behind() -> None:
    """Its caller goes on after the time and the grace, and the loop can end although it never does."""

    async def work() -> str:
        with pytest.raises(OverTimeError):
            await bounded(stubborn(), SOON_S)
        return "on"

    results: list[str] = []
    assert took(lambda: results.append(Stop().run(work()))) < LONG_S / 2
    assert results == ["on"]


def test_work_that_cancels_its_own_task_ends_nobody_elses() -> None:
    """It is a task of its own: its caller sees the cancellation as an error, and is not cancelled itself."""

    async def cancelling_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(LONG_S)

    async def work() -> str:
        with pytest.raises(asyncio.CancelledError):
            await bounded(cancelling_itself(), LONG_S)
        task = asyncio.current_task()
        assert task is not None and not task.cancelling()
        return "whole"

    assert Stop().run(work()) == "whole"


def test_the_caller_of_bounded_work_can_be_cancelled() -> None:
    """The cancellation goes through to the work, and up."""
    heard: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(LONG_S)
        finally:
            heard.append("ended")

    async def work() -> None:
        outer = asyncio.ensure_future(bounded(slow(), LONG_S))
        await asyncio.sleep(SOON_S)
        outer.cancel()
        with pytest.raises(asyncio.CancelledError):
            await outer

    Stop().run(work())
    assert heard == ["ended"]


@pytest.mark.parametrize("waited", [True, False])
def test_a_thread_that_does_not_return_does_not_hold_the_end(waited: bool) -> None:
    """A model that blocks in a thread is given up like any other, and the loop ends without its thread."""
    free = threading.Event()

    async def work() -> str:
        blocked = asyncio.to_thread(free.wait, LONG_S)
        if not waited:
            task = asyncio.ensure_future(blocked)
            await asyncio.sleep(SOON_S)
            assert not task.done()
            return "on"
        with pytest.raises(OverTimeError):
            await bounded(blocked, SOON_S)
        return "on"

    results: list[str] = []
    try:
        assert took(lambda: results.append(Stop().run(work()))) < LONG_S / 2
    finally:
        free.set()
    assert results == ["on"]


def test_what_is_left_on_the_loop_is_ended_with_it() -> None:
    """Tasks that nobody awaited are cancelled and their errors read; open generators are closed."""
    ends: list[str] = []

    async def left() -> None:
        try:
            await asyncio.sleep(LONG_S)
        finally:
            ends.append("task")

    async def failing() -> None:
        try:
            await asyncio.sleep(LONG_S)
        finally:
            raise LookupError("nobody hears")

    async def endless() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            ends.append("generator")

    opened: list[AsyncIterator[int]] = []  # kept, so that nobody but the loop closes it

    async def work() -> int:
        tasks = [asyncio.ensure_future(left()), asyncio.ensure_future(failing())]
        opened.append(endless())
        first = await anext(opened[0])
        await asyncio.sleep(0)
        return first + len(tasks)

    assert Stop().run(work()) == 3
    assert sorted(ends) == ["generator", "task"]


@pytest.mark.usefixtures("hasty")
def test_an_interrupt_ends_although_something_will_not() -> None:
    """Two signals end a run in which a task swallows its cancellation."""

    async def work() -> None:
        keep = asyncio.ensure_future(stubborn())
        await asyncio.sleep(0)
        send(signal.SIGINT)
        send(signal.SIGINT)
        await keep

    def interrupted() -> None:
        with pytest.raises(KeyboardInterrupt):
            Stop().run(work())

    assert took(interrupted) < LONG_S / 2


def test_a_run_inside_a_running_loop_works() -> None:
    """As in a notebook, whose own loop goes on afterwards: the work has a loop of its own, and its error comes back."""
    loops: set[int] = set()

    async def work() -> int:
        loops.add(id(asyncio.get_running_loop()))
        return int(await given(5))

    async def notebook() -> int:
        loops.add(id(asyncio.get_running_loop()))
        result = Stop().run(work())
        with pytest.raises(LookupError, match="mine"):
            Stop().run(raising(LookupError("mine")))
        await asyncio.sleep(0)
        return result

    assert asyncio.run(notebook()) == 5
    assert len(loops) == 2


@pytest.mark.parametrize(("signals", "ends"), [(1, "finished"), (2, "interrupted")])
def test_a_run_inside_a_running_loop_hears_signals(signals: int, ends: str) -> None:
    """The first lets it finish, the second cancels it and interrupts whoever called."""
    stop = Stop()
    heard: list[str] = []

    async def work() -> str:
        try:
            send(signal.SIGINT)
            while not stop.asked:  # the main thread hears it, this one does not wait for that
                await asyncio.sleep(0.001)
            if signals > 1:
                send(signal.SIGINT)
                await asyncio.sleep(LONG_S)
            return "finished"
        except asyncio.CancelledError:
            heard.append("interrupted")
            raise

    async def notebook() -> str:
        try:
            return stop.run(work())
        except KeyboardInterrupt:
            return heard[0]

    assert asyncio.run(notebook()) == ends


def test_a_run_in_another_thread_works_without_signals() -> None:
    """Only the main thread may listen; the work is the same, and can be asked to stop from within."""
    stop = Stop()

    async def work() -> str:
        stop.finish()
        return str(await stop.unless_cancelled(given("done")))

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(stop.run, work()).result(timeout=LONG_S) == "done"
    assert stop.asked
