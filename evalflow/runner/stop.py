"""Stopping a run in order, and an event loop that no hanging model can keep from ending.

The first Ctrl-C lets what is in flight finish. A termination signal cancels it, for its sender will not wait. Any
second signal interrupts at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any, TypeVar

from evalflow.errors import ModelError

T = TypeVar("T")
TERMINATION = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
GRACE_S = 5.0
"""How long a cancelled task or thread is waited for (s); one that refuses to end is left behind."""


class Stopped(Exception):  # noqa: N818 - it is asked for, and no error
    """The run was asked to stop while something was waited for that need not be finished."""


class OverTimeError(Exception):
    """What was waited for took longer than it may."""


class Stop:
    """Whether a run was asked to stop, and whether what is in flight may finish."""

    def __init__(self, announce: Callable[[bool], None] | None = None) -> None:
        self._announce = announce
        self._loop: asyncio.AbstractEventLoop | None = None
        self._work: asyncio.Task[Any] | None = None
        self._asked = asyncio.Event()
        self._cancelled = asyncio.Event()
        self._signals = 0
        self._given_up = False

    @property
    def asked(self) -> bool:
        """Whether nothing new may be begun."""
        return self._asked.is_set()

    @property
    def hurried(self) -> bool:
        """Whether what is in flight is to be cancelled."""
        return self._cancelled.is_set()

    def finish(self) -> None:
        """Ask to stop; what is in flight may finish."""
        self._ask(cancel=False)

    def cancel(self) -> None:
        """Ask to stop; what is in flight is cancelled."""
        self._ask(cancel=True)

    async def unless_asked(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` gives, cancelled as soon as the run is asked to stop.

        Raises:
            Stopped: it was.
        """
        return await _race(work, self._asked)

    async def unless_cancelled(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` gives, cancelled if what is in flight must not finish.

        Raises:
            Stopped: it was.
        """
        return await _race(work, self._cancelled)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on an event loop of its own, the process' signals asking this stop.

        In a thread that already has a running loop (a notebook's), the work gets a thread.

        Raises:
            KeyboardInterrupt: a second signal came.
        """
        with self._listening():
            if not _has_running_loop():
                return self._turn(work)
            with ThreadPoolExecutor(1) as pool:
                turning = pool.submit(self._turn, work)
                try:
                    return turning.result()
                except KeyboardInterrupt:
                    self._from_outside(self._interrupt)
                    raise

    def _turn(self, work: Coroutine[Any, Any, T]) -> T:
        loop = asyncio.new_event_loop()
        threads = ThreadPoolExecutor(thread_name_prefix="evalflow")
        loop.set_default_executor(threads)
        task = loop.create_task(work)
        self._loop, self._work = loop, task
        try:
            return loop.run_until_complete(task)
        except asyncio.CancelledError:
            if self._given_up:
                raise KeyboardInterrupt from None
            raise ModelError("something cancelled the run's own tasks, as no model may; mend the model") from None
        finally:
            self._loop = None
            try:
                _end_tasks(loop)
            finally:
                threads.shutdown(wait=False, cancel_futures=True)
                loop.close()

    def _ask(self, cancel: bool) -> None:
        if not self.asked and self._announce is not None:
            self._announce(not cancel)
        self._asked.set()
        if cancel:
            self._cancelled.set()

    def _interrupt(self) -> None:
        self._given_up = True
        if self._work is not None:
            self._work.cancel()

    def _from_outside(self, act: Callable[[], None]) -> None:
        """Let the loop do something, from a signal handler or another thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has just been closed
                self._loop.call_soon_threadsafe(act)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self._signals > 1 or self._loop is None:
            raise KeyboardInterrupt
        self._from_outside(self.cancel if number in TERMINATION else self.finish)

    @contextlib.contextmanager
    def _listening(self) -> Iterator[None]:
        """Take the signals that would end the process, but for those that its caller chose to ignore."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        taken = {}
        for number in (signal.SIGINT, *TERMINATION):
            before = signal.getsignal(number)
            if before not in (signal.SIG_IGN, None):
                taken[number] = before
                signal.signal(number, self._on_signal)
        try:
            yield
        finally:
            for number, before in taken.items():
                signal.signal(number, before)


async def _race(work: Coroutine[Any, Any, T], event: asyncio.Event) -> T:
    if event.is_set():
        work.close()
        raise Stopped
    task, alarm = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({task, alarm}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Stopped
        return task.result()
    finally:
        alarm.cancel()
        await let_go(task)


async def bounded(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """What `work` gives within a time (s).

    It is a task of its own: nothing that it does to its own task can end or hold its caller.

    Raises:
        OverTimeError: it took longer. It is then cancelled, and left behind if it will not end.
        BaseException: whatever it raised.
    """

    async def kept() -> T | SystemExit:
        own = asyncio.current_task()
        try:
            return await work
        except SystemExit as ended:  # raised out of a task, it would end the loop
            return ended
        except GeneratorExit as ended:  # at a caller's it would read as the caller's own end
            if _current_task() is not own:
                raise  # this very coroutine is thrown away
            raise RuntimeError(f"GeneratorExit {ended}".rstrip()) from None

    task = asyncio.ensure_future(kept())
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise OverTimeError
        given = task.result()
    finally:
        await let_go(task)
    if isinstance(given, SystemExit):
        raise given
    return given


async def let_go(task: asyncio.Future[Any]) -> None:
    """Cancel a task that may not have ended, and wait for it, but not for ever."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=GRACE_S)
    if task.done() and not task.cancelled():
        task.exception()  # read, so that it is not reported as never read


def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is left on a loop and give it a moment."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left, timeout=GRACE_S))
    for task in left:
        if task.done() and not task.cancelled():
            task.exception()
    loop.run_until_complete(loop.shutdown_asyncgens())
    # a task that would not end is left behind on purpose, and its rows have said so
    loop.set_exception_handler(_unheard)


def _unheard(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Nobody is told."""


def _current_task() -> asyncio.Task[Any] | None:
    return asyncio.current_task() if _has_running_loop() else None


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
