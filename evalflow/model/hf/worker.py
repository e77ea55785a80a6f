"""One thread that computes for one model; over all of them in a process, one computes at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

from evalflow.errors import ModelError

T = TypeVar("T")
Around = Callable[[], AbstractContextManager[None]]

_TURN = threading.Lock()
"""Held while a model computes: torch's switches are the process's, and two models on one CPU only slow each other."""


class Worker:
    """Does one piece of work after another in its own thread, `around` each whatever it needs set.

    Work that is waiting when it is closed is refused, never left waiting.
    """

    def __init__(self, name: str, around: Sequence[Around] = ()) -> None:
        self.closing = threading.Event()
        self._name = name
        self._around = tuple(around)
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def do(self, work: Callable[[], T]) -> T:
        """The result of `work`.

        Raises:
            ModelError: it raised, whatever that was, or the worker is closed.
        """
        if self.closing.is_set():
            raise self._closed()
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._run, work)

    async def close(self) -> None:
        """Refuse what comes and waits, and wait for what runs."""
        self.closing.set()
        await asyncio.to_thread(self._pool.shutdown)

    def _run(self, work: Callable[[], T]) -> T:
        with _TURN, ExitStack() as stack:
            if self.closing.is_set():
                raise self._closed()
            for enter in self._around:
                stack.enter_context(enter())
            try:
                return work()
            except ModelError:
                raise
            except MemoryError:
                raise ModelError(f"{self._name}: memory ran out; lower model.max_batch or scoring.window") from None
            except Exception as fault:
                raise ModelError(self._failed(fault)) from fault

    def _failed(self, fault: Exception) -> str:
        said = " ".join(str(fault).split())
        short = said if len(said) <= 300 else f"{said[:300]}..."
        if "deterministic" in said:
            return f"{self._name}: {short}; set model.deterministic=false to compute it all the same"
        todo = "lower model.max_batch or scoring.window" if "out of memory" in said else "see what it says"
        return f"{self._name}: computing failed ({type(fault).__name__}: {short}); {todo}"

    def _closed(self) -> ModelError:
        return ModelError(f"{self._name}: it was closed; start the model again")
