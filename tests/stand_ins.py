"""Small models, metrics and a dataset that misbehave on purpose, or stand in for parts that are not shipped yet."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from evalflow.errors import ModelError
from evalflow.metric.protocol import Answer, Grain, Metric, Repeats
from evalflow.metric.rate import Rate
from evalflow.model.protocol import Model
from evalflow.numeric.seed import derive_seed
from evalflow.record import Completion, Item, Request, Times


@dataclass(frozen=True)
class ShortFacts:
    """41 questions that the page answers, 21 that it does not, and 2 controls; its bank holds proposed floors."""

    bank: str
    name: str = "short_facts"

    def items(self) -> tuple[Item, ...]:
        kinds = ["on-page"] * 41 + ["off-page"] * 21 + ["control"] * 2
        return tuple(Item(f"q{i}", f"question {i}", "fact", kind) for i, kind in enumerate(kinds))


@dataclass(frozen=True)
class Seat(Model):
    """A seat that caches prompts, as far as a plan can tell."""

    regimes: ClassVar[tuple[str, ...]] = ("cold", "isolated", "warm")
    base_url: str
    note: str

    def identity(self) -> Mapping[str, Any]:
        return {"model": "seat", "base_url": self.base_url}


@dataclass(frozen=True)
class Warmed(Model):
    """Can be warmed, or breaks at it; counts what it was asked."""

    regimes: ClassVar[tuple[str, ...]] = ("cold", "isolated", "warm")
    breaks: bool = False
    prompts: list[str] = field(default_factory=list, init=False, compare=False)

    def identity(self) -> Mapping[str, Any]:
        return {"model": "warmed"}

    async def complete(self, request: Request) -> Completion:
        self.prompts.append(request.prompt)
        if self.breaks and request.decoding.max_tokens == 1:
            raise RuntimeError("cannot warm")
        return Completion("right", "stop")

    def facts(self) -> Mapping[str, Any]:
        return {"prompts": list(self.prompts)}


@dataclass(frozen=True)
class Fixed(Model):
    """Answers `right` to the items named and `wrong` to the others; some of its answers are cut."""

    right: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()

    def identity(self) -> Mapping[str, Any]:
        return {"model": "fixed", "right": list(self.right), "cut": list(self.cut)}

    async def complete(self, request: Request) -> Completion:
        text = "right" if request.item_id in self.right else "wrong"
        return Completion(text, "length" if request.item_id in self.cut else "stop")


@dataclass(frozen=True)
class Raising(Model):
    """Raises `error` for the items in `fails`; every other answer is right."""

    fails: tuple[str, ...] = ()
    error: str = "RuntimeError"

    def identity(self) -> Mapping[str, Any]:
        return {"model": "raising"}

    async def complete(self, request: Request) -> Completion:
        if request.item_id in self.fails:
            kinds = {"RuntimeError": RuntimeError, "ModelError": ModelError, "TimeoutError": TimeoutError}
            raise kinds[self.error](f"no luck with {request.item_id}")
        return Completion("right", "stop")


@dataclass(frozen=True)
class Garbage(Model):
    """Answers item `of` with something that is no completion, or with one that cannot be stored."""

    kind: str
    of: str = "b"

    def identity(self) -> Mapping[str, Any]:
        return {"model": "garbage", "kind": self.kind}

    async def complete(self, request: Request) -> Any:
        sound = Completion("right", "stop")
        odd = {
            "text": "just text",
            "none": None,
            "no_text": Completion(None, "stop"),  # type: ignore[arg-type]
            "bytes": Completion(b"right", "stop"),  # type: ignore[arg-type]
            "nan_time": Completion("right", "stop", times=Times(first_token=math.nan)),
            "object": Completion("right", "stop", tokens_in=object()),  # type: ignore[arg-type]
        }
        return odd[self.kind] if request.item_id == self.of else sound


@dataclass(frozen=True)
class Unstartable(Model):
    """Cannot be started."""

    error: str = "ModelError"
    base: str = ""

    def identity(self) -> Mapping[str, Any]:
        return {"model": "unstartable"}

    async def start(self) -> None:
        raise {"ModelError": ModelError, "OSError": OSError}[self.error]("no such device")

    async def complete(self, request: Request) -> Completion:
        raise AssertionError("asked although it never started")


@dataclass(frozen=True)
class Hanging(Model):
    """Never answers the items in `hangs`."""

    hangs: tuple[str, ...] = ()

    def identity(self) -> Mapping[str, Any]:
        return {"model": "hanging"}

    async def complete(self, request: Request) -> Completion:
        if request.item_id in self.hangs:
            await asyncio.Event().wait()
        return Completion("right", "stop")


@dataclass(frozen=True)
class Interrupting(Model):
    """Has the process sent a signal, `times` times, when item c is asked for the first time, and then takes a while."""

    number: int
    times: int = 1

    def identity(self) -> Mapping[str, Any]:
        return {"model": "interrupting"}

    async def complete(self, request: Request) -> Completion:
        heard = Path("heard")
        if request.item_id == "c" and not heard.exists():
            heard.touch()
            for _ in range(self.times):
                os.kill(os.getpid(), self.number)
                await asyncio.sleep(0.05)
        return Completion("right", "stop")


@dataclass(frozen=True)
class Blocked(Model):
    """Blocks for ever, in a thread, over item b."""

    def identity(self) -> Mapping[str, Any]:
        return {"model": "blocked"}

    async def complete(self, request: Request) -> Completion:
        if request.item_id == "b":
            await asyncio.to_thread(threading.Event().wait)
        return Completion("right", "stop")


@dataclass(frozen=True)
class Blocking(Model):
    """Holds the event loop while it answers, as a careless model does."""

    seconds: float = 0.15

    def identity(self) -> Mapping[str, Any]:
        return {"model": "blocking"}

    async def complete(self, request: Request) -> Completion:
        sent = time.perf_counter()
        time.sleep(self.seconds)
        now = time.perf_counter()
        return Completion("right", "stop", times=Times(sent=sent, first_token=now, end=now))


@dataclass(frozen=True)
class Measured(Model):
    """Can be measured apart from its answers, or fails at it."""

    fails: bool = False

    def identity(self) -> Mapping[str, Any]:
        return {"model": "measured"}

    async def complete(self, request: Request) -> Completion:
        return Completion("right", "stop")

    async def measure(self, probe: str) -> Sequence[Mapping[str, float]] | None:
        if self.fails:
            raise ModelError("the measurement broke")
        return [{"param_bytes": 12.0}] if probe == "memory" else None


@dataclass(frozen=True)
class Holed(Rate):
    """Scores like exact match, but gives NaN for the items in `holes`."""

    holes: tuple[str, ...] = ()

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        if unit.row.draft is None:
            return None
        return (math.nan,) if unit.item.id in self.holes else (float(unit.row.draft == unit.item.target),)


@dataclass(frozen=True)
class NotANumber(Metric):
    """Sound statistics, a value that is none."""

    gives: str = "nan"

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        return (1.0,)

    def value(self, stack: Any) -> float:
        return float(self.gives)


@dataclass(frozen=True)
class Broken(Metric):
    """Raises on every row."""

    notes: Mapping[str, str] = field(default_factory=dict)

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        raise KeyError("score")


@dataclass(frozen=True)
class Notebook:
    """Tracking that notes what it is given, or raises."""

    path: str
    raises: bool = False
    flatters: bool = False

    def log(self, run: Any, outputs: Any) -> None:
        if self.raises:
            raise ValueError("no such notebook")
        if self.flatters:
            run.report.update(verdict="pass", exit_code=0)
        with open(self.path, "a", encoding="utf-8") as notes:  # noqa: PTH123 - one line
            notes.write(f"{run.run_id} {run.sweep_id} {dict(run.swept)}\n")


@dataclass(frozen=True)
class Holding(Rate):
    """Holds a set, which JSON has no form for."""

    names: Any = field(default_factory=lambda: {"a"}, init=False)

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        return (1.0,)


@dataclass(frozen=True)
class Itemless:
    """A dataset whose items cannot be had."""

    name: str = "itemless"

    def items(self) -> tuple[Item, ...]:
        raise RuntimeError("no shelf")


@dataclass(frozen=True)
class Nameless(Model):
    """A model whose identity is no plain value."""

    def identity(self) -> Mapping[str, Any]:
        return {"size": math.nan}

    async def complete(self, request: Request) -> Completion:
        return Completion("right", "stop")


class Odd(BaseException):
    """What no `except Exception` sees."""


@dataclass(frozen=True)
class Stamping(Model):
    """Takes 50 ms and says that it took none; or raises what no `except Exception` sees."""

    odd: bool = False

    def identity(self) -> Mapping[str, Any]:
        return {"model": "stamping", "odd": self.odd}

    async def complete(self, request: Request) -> Completion:
        if self.odd:
            raise Odd("away")
        await asyncio.sleep(0.05)
        now = time.monotonic()
        return Completion("right", "stop", times=Times(sent=now, first_token=now, end=now))


@dataclass(frozen=True)
class Drawn(Model):
    """An answer that depends on the item and the sampling seed alone, some of them late; two in three are right."""

    concurrency_free: ClassVar[bool] = True
    delays: Mapping[str, float] = field(default_factory=dict)

    def identity(self) -> Mapping[str, Any]:
        return {"model": "drawn"}

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(self.delays.get(request.item_id, 0.0))
        turn = request.seed % 7 if not request.decoding.greedy else int(request.item_id[1:])
        return Completion("right" if turn % 3 else f"wrong{'!' * (turn % 5)}", "stop")


@dataclass(frozen=True)
class Length(Metric):
    """Characters of the answer, over seven: a mean whose last digit depends on the order of summation if any does."""

    def stats(self, unit: Answer) -> tuple[float, ...] | None:
        return None if unit.row.draft is None else (len(unit.row.draft) / 7 + 0.1,)


@dataclass(frozen=True)
class Stuck(Model):
    """Hangs in a way that cannot be cancelled: swallowing it, in a thread, at the start, or at the end."""

    where: str = "answer"
    of: str = "b"

    def identity(self) -> Mapping[str, Any]:
        return {"model": "stuck"}

    async def start(self) -> None:
        if self.where == "start":
            await self._deaf()

    async def complete(self, request: Request) -> Completion:
        if request.item_id == self.of and self.where == "answer":
            await self._deaf()
        if request.item_id == self.of and self.where in ("thread", "close and thread"):
            await asyncio.to_thread(time.sleep, 120)
        return Completion("right", "stop")

    async def close(self) -> None:
        if self.where in ("close", "close and thread"):
            await self._deaf()

    async def _deaf(self) -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(end - time.monotonic())


@dataclass(frozen=True)
class WrongOnce(Model):
    """Wrong for twelve answers after the first `after`, counted over processes in the file `path`."""

    path: str
    after: int

    def identity(self) -> Mapping[str, Any]:
        return {"model": "wrong once"}

    async def complete(self, request: Request) -> Completion:
        counter = Path(self.path)
        before = counter.stat().st_size if counter.exists() else 0
        with counter.open("a", encoding="utf-8") as count:
            count.write(".")
        return Completion("wrong" if self.after <= before < self.after + 12 else "right", "stop")


@dataclass(frozen=True)
class Exiting(Model):
    """Calls exit in one answer."""

    of: str

    def identity(self) -> Mapping[str, Any]:
        return {"model": "exiting", "of": self.of}

    async def complete(self, request: Request) -> Completion:
        if request.item_id == self.of:
            raise SystemExit(7)
        return Completion("right", "stop")


@dataclass(frozen=True)
class Dying(Model):
    """Kills its process in one answer under one root seed, until the file `cure` is there."""

    seed: int
    cure: str

    def identity(self) -> Mapping[str, Any]:
        return {"model": "dying"}

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(0.02)
        if request.seed == derive_seed(self.seed, "q05", 0) and not Path(self.cure).exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return Completion("right", "stop")


@dataclass(frozen=True)
class Unfair(Model):
    """Does to the run what no model may: cancels its tasks, or raises what ends a coroutine, at item `of`."""

    how: str
    of: str = "b"

    def identity(self) -> Mapping[str, Any]:
        return {"model": "unfair", "how": self.how}

    async def complete(self, request: Request) -> Completion:
        if request.item_id == self.of and self.how == "cancel":
            for task in asyncio.all_tasks():
                task.cancel()
        if request.item_id == self.of and self.how == "generator exit":
            raise GeneratorExit
        return Completion("right", "stop")


@dataclass(frozen=True)
class ItemTime(Metric):
    """The mean time of an item's answers (s): of grain item, and timed."""

    grain: ClassVar[Grain] = "item"
    figure: ClassVar[str | None] = "lat/item_s"
    timed: ClassVar[bool] = True

    def stats(self, unit: Repeats) -> tuple[float, ...] | None:
        taken = [row.times.end - row.times.sent for row in unit.rows if row and row.times.end and row.times.sent]
        return (sum(taken) / len(taken),) if taken else None


@dataclass(frozen=True)
class Text:
    """A tracker that answers with a text."""

    def log(self, run: Any, outputs: Any) -> str:
        return "logged it"


@dataclass(frozen=True)
class Removing(Model):
    """Removes files while it answers."""

    pattern: str

    def identity(self) -> Mapping[str, Any]:
        return {"model": "removing"}

    async def complete(self, request: Request) -> Completion:
        for path in Path().glob(self.pattern):
            path.unlink()
        return Completion("right", "stop")
