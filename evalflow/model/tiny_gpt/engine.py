"""The engine: requests come from the event loop; one worker thread computes all in flight, step by step.

A request joins at the next step and leaves when it is done; nobody waits for a batch to fill or to finish.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch

from evalflow.errors import ModelError
from evalflow.model.tiny_gpt import vocabulary
from evalflow.model.tiny_gpt.job import Job
from evalflow.model.tiny_gpt.pinned import torch_threads
from evalflow.model.tiny_gpt.prefix import PrefixStore
from evalflow.model.tiny_gpt.sampling import Logits
from evalflow.model.tiny_gpt.shape import SLOTS
from evalflow.model.tiny_gpt.tile import Tile
from evalflow.record import Completion, Decoding

T = TypeVar("T")


@dataclass(eq=False)
class Errand:
    """Work that needs the tile to itself: it waits for all in flight, and who comes later waits for it."""

    work: Callable[[Tile], Any]
    future: Future[Any] = field(default_factory=Future)


class Engine:
    """Continuous batching over one tile. Closed or broken, it refuses; it never leaves a request waiting."""

    def __init__(self, tile: Tile, slots: int = SLOTS, threads: int = 1) -> None:
        assert 1 <= slots <= SLOTS, "the model checks its settings"
        self._tile = tile
        self._threads = threads
        self._changed = threading.Condition()  # guards the next two
        self._waiting: deque[Job | Errand] = deque()
        self._refusal: str | None = None  # why no request is taken any more
        # the worker's own
        self._free = list(range(slots))
        self._running: dict[int, Job] = {}
        self._tokens_b = np.full(SLOTS, vocabulary.END)
        self._positions_b = np.zeros(SLOTS, dtype=np.int64)
        self._prefixes = PrefixStore()
        self._steps = self._stepped = self._most = 0
        self._worker = threading.Thread(target=self._work, name="tiny_gpt", daemon=True)
        self._worker.start()

    async def generate(self, prompt: str, decoding: Decoding, seed: int, salt: str = "") -> Completion:
        """Answer one prompt. Cancelling it frees its slot at the next step; only one `salt` shares prefixes.

        Raises:
            ModelError: this prompt cannot be answered, or the engine is broken or closed.
        """
        job = Job.of(prompt, decoding, seed, salt)
        self._submit(job)
        return await asyncio.wrap_future(job.future)

    async def alone(self, work: Callable[[Tile], T]) -> T:
        """The result of `work`, run in the worker thread while nothing else is in flight.

        Raises:
            ModelError: the engine is broken or closed.
        """
        errand = Errand(work)
        self._submit(errand)
        result: T = await asyncio.wrap_future(errand.future)
        return result

    def facts(self) -> Mapping[str, Any]:
        """Steps, the mean number of sequences in one (None before the first) and the most; blocks of prefixes."""
        mean = self._stepped / self._steps if self._steps else None
        return {
            "batch_mean": mean,
            "batch_max": self._most,
            "steps": self._steps,
            "prefix_lookups": self._prefixes.lookups,
            "prefix_hits": self._prefixes.hits,
        }

    async def close(self) -> None:
        """Refuse what comes, end what is in flight, and wait for the worker to stop."""
        self._refuse("tiny_gpt: its engine was closed; start the model again")
        await asyncio.to_thread(self._worker.join)

    def _submit(self, task: Job | Errand) -> None:
        with self._changed:
            if self._refusal is not None:
                raise ModelError(self._refusal)
            self._waiting.append(task)
            self._changed.notify()

    def _refuse(self, why: str) -> None:
        with self._changed:
            self._refusal = self._refusal or why
            self._changed.notify()

    def _work(self) -> None:
        """The worker thread: admit, step, until closed; whatever happens, everyone who waits hears of it."""
        try:
            with torch_threads(self._threads), torch.inference_mode():
                while self._admit():
                    self._step()
        except Exception as fault:  # noqa: BLE001 (a thread has no caller: who waits is told)
            what = f"{type(fault).__name__}: {fault}"
            self._refuse(f"tiny_gpt: its engine failed ({what}); start the model again")
        self._fail_all()

    def _admit(self) -> bool:
        """Let in whoever can join, waiting where there is nothing to do; False once the engine refuses."""
        while True:
            with self._changed:
                while not (self._waiting or self._running or self._refusal):
                    self._changed.wait()
                if self._refusal:
                    return False
                if not self._can_join():
                    return True
                task = self._waiting.popleft()
            if task.future.cancelled():
                continue
            if isinstance(task, Errand):
                self._run(task)
            else:
                self._join(task)

    def _can_join(self) -> bool:
        if not self._waiting:
            return False
        return not self._running if isinstance(self._waiting[0], Errand) else bool(self._free)

    def _run(self, errand: Errand) -> None:
        """Do an errand; one that fails breaks the engine, for who knows what it left behind."""
        try:
            result = errand.work(self._tile)
        except Exception as fault:
            self._settle(errand.future, ModelError(f"tiny_gpt: a measurement failed ({fault}); report it"))
            raise
        self._settle(errand.future, result)

    def _join(self, job: Job) -> None:
        """Read a job's prompt into a free slot and draw its first token."""
        slot = self._free.pop()
        self._running[slot] = job
        self._positions_b[slot] = len(job.prompt) - 1
        logits_v, job.cached = self._prefixes.prefill(self._tile, slot, job.prompt, job.salt)
        self._advance(slot, job, logits_v)

    def _step(self) -> None:
        """One token for everyone in flight."""
        for slot, job in list(self._running.items()):
            if job.future.cancelled():
                self._leave(slot)
        if not self._running:
            return
        self._steps += 1
        self._stepped += len(self._running)
        self._most = max(self._most, len(self._running))
        logits_bv = self._tile.step(self._tokens_b, self._positions_b)
        for slot, job in list(self._running.items()):
            self._advance(slot, job, logits_bv[slot])

    def _advance(self, slot: int, job: Job, logits_v: Logits) -> None:
        """Give a job its next logits (V,); it stays in its slot unless they end it."""
        try:
            token, reason = job.draw(logits_v)
        except ModelError as fault:
            self._leave(slot)
            self._settle(job.future, fault)
            return
        if reason is None:
            self._tokens_b[slot] = token
            self._positions_b[slot] += 1
        else:
            self._leave(slot)
            self._settle(job.future, job.completion(reason))

    def _leave(self, slot: int) -> None:
        del self._running[slot]
        self._free.append(slot)
        self._positions_b[slot] = 0

    def _fail_all(self) -> None:
        with self._changed:
            assert self._refusal is not None, "the worker ends only where the engine refuses"
            futures = [task.future for task in (*self._running.values(), *self._waiting)]
            self._running.clear()
            self._waiting.clear()
        for future in futures:
            self._settle(future, ModelError(self._refusal))

    @staticmethod
    def _settle(future: Future[Any], result: Any) -> None:
        """Hand over a result or a fault, unless whoever asked has gone."""
        if not future.set_running_or_notify_cancel():
            return
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
