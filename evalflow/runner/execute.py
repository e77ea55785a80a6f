"""Running a plan: one asynchronous path for all models."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.record import Probe, Request, Row, to_json
from evalflow.runner.answer import Asked, ask, foreign, said
from evalflow.runner.arrivals import arrivals
from evalflow.runner.journal import Journal, now_iso
from evalflow.runner.parts import PlannedArm
from evalflow.runner.plan import Plan
from evalflow.runner.spending import Spending
from evalflow.runner.stop import GRACE_S, OverTimeError, Stop, Stopped, bounded
from evalflow.runner.trace import ArmTrace, Traces
from evalflow.runner.walk import Step, walk
from evalflow.runner.watch import Watch
from evalflow.strict_json import misfit

LOOK_S = 0.5
"""How often an open loop that waits for its next request looks whether it shall stop (s)."""


class Progress(Protocol):
    """Who is told about a run as it goes."""

    def arm(self, name: str, total: int, done: int) -> None:
        """An arm begins; it has `total` rows, of which `done` are there from earlier sessions."""
        ...

    def row(self, row: Row) -> None:
        """A row is done."""
        ...

    def stopping(self, finishing: bool) -> None:
        """The run was asked to stop; what is in flight is finished, or else cancelled."""
        ...


@dataclass(frozen=True)
class Before:
    """What earlier sessions left: the rows that are there, by arm as (seed, item id), and the arms' accounts."""

    answered: Mapping[str, frozenset[tuple[int, str]]] = field(default_factory=dict)
    probes: tuple[Probe, ...] = ()
    traces: Traces = field(default_factory=dict)

    def is_done(self, planned: PlannedArm, n_rows: int) -> bool:
        """Whether an arm has all its rows and came to its end; one that could not run then may run now."""
        parts = self.traces.get(planned.name, ())
        whole = len(self.answered.get(planned.name, ())) == n_rows
        return whole and bool(parts) and parts[-1].ended is not None and parts[-1].unavailable is None


async def execute(plan: Plan, journal: Journal, before: Before, stop: Stop, progress: Progress) -> bool:
    """Run what is missing of the arms, one arm after another in the plan's order; all that they give is in the journal.

    It ends early where it is asked to stop, with every row so far and how far the arm came, and where its budget is
    spent. Whether it came to an end by itself.
    """
    spending = Spending(plan.runner.budget)
    n_rows = {name: len(planned.arm.seeds) * len(plan.items) for name, planned in plan.arms.items()}
    left = {name: arm for name, arm in plan.arms.items() if not before.is_done(arm, n_rows[name])}
    probes = [probe for probe in before.probes if probe.arm not in left]
    traces = dict(before.traces)
    through = set(plan.arms) - set(left)
    for order, planned in enumerate(plan.arms.values()):
        if planned.name not in left or stop.asked:
            continue
        progress.arm(planned.name, n_rows[planned.name], len(before.answered.get(planned.name, ())))
        trace = ArmTrace(journal.session, order, now_iso(), planned.arm.concurrency)
        if spending.over:
            _note(journal, traces, planned.name, replace(trace, cut_short=spending.over))
            continue
        arm = _Arm(planned, plan, journal, stop, progress, spending, partial(_note, journal, traces))
        try:
            measured, trace = await arm.run(trace, before.answered.get(planned.name, frozenset()))
            probes += measured
        except Stopped:
            pass  # while it was started or measured: there is nothing to tell
        except ModelError as fault:  # it could not start or be measured; an answer's failure is its row's
            trace = replace(trace, unavailable=str(fault), ended=now_iso())
        finally:
            closing = await _close(planned.model, GRACE_S if stop.hurried else plan.runner.timeout_s)
        if trace.driver or trace.ended:
            journal.write_probes(probes)
            _note(journal, traces, planned.name, replace(trace, facts={**trace.facts, **closing}))
        if trace.ended:
            through.add(planned.name)
    return through == set(plan.arms) or (spending.over is not None and not stop.asked)


def _note(journal: Journal, traces: dict[str, tuple[ArmTrace, ...]], name: str, trace: ArmTrace) -> None:
    """Keep an arm's account of this session in place of an earlier one of the same session."""
    others = tuple(part for part in traces.get(name, ()) if part.session != trace.session)
    traces[name] = (*others, trace)
    journal.write_traces(traces)


@dataclass(frozen=True)
class _Arm:
    """One arm in one session, from its start to its last answer."""

    planned: PlannedArm
    plan: Plan
    journal: Journal
    stop: Stop
    progress: Progress
    spending: Spending
    note: Callable[[str, ArmTrace], None]

    async def run(self, trace: ArmTrace, answered: frozenset[tuple[int, str]]) -> tuple[list[Probe], ArmTrace]:
        """What was measured, and the arm's account.

        Raises:
            ModelError: the model could not be started or measured.
            Stopped: the run was asked to stop before the first answer.
        """
        await self.stop.unless_asked(self._start())
        measured = await self.stop.unless_asked(self._measure())
        driver, n_answered = await self._answer(trace, answered)
        whole = len(answered) + n_answered == len(self.planned.arm.seeds) * len(self.plan.items)
        settled = await self._settle()  # first: what the model sees then is among its facts
        facts = {**_facts(self.planned.model), **settled}
        ended, cut_short = (now_iso(), None) if whole else (None, self.spending.over)
        return measured, replace(trace, driver=driver, facts=facts, ended=ended, cut_short=cut_short)

    async def _start(self) -> None:
        limit = self.plan.runner.start_timeout_s
        try:
            await bounded(self._begin(), limit)
        except OverTimeError:
            raise ModelError(f"it did not start within {limit:g} s (runner.start_timeout_s)") from None
        except BaseException as fault:
            if not foreign(fault):
                raise
            raise ModelError(said(fault)) from fault

    async def _begin(self) -> None:
        planned = self.planned
        await planned.model.start()
        await planned.model.prove(planned.decoding, planned.arm.cache)

    async def _settle(self) -> dict[str, Any]:
        """Let the model look at itself once more; that it could not is a fact too, and costs no answer."""
        limit = GRACE_S if self.stop.asked else self.plan.runner.timeout_s
        try:
            await bounded(self.planned.model.settle(), limit)
        except OverTimeError:
            return {"settle_failed": f"no end within {limit:g} s"}
        except BaseException as fault:
            if not foreign(fault):
                raise
            return {"settle_failed": said(fault)}
        return {}

    async def _measure(self) -> list[Probe]:
        """The measurements that some metric reads, taken before the arm's answers and apart from them."""
        planned, limit = self.planned, self.plan.runner.start_timeout_s
        wanted = {metric.probe: None for metric in self.plan.metrics.values() if metric.grain == "probe"}
        measured = []
        for name in wanted:
            try:
                taken = await bounded(planned.model.measure(name), limit)
                found = [Probe(planned.name, name, dict(v), self.journal.session) for v in taken or ()]
                for probe in found:
                    to_json(probe)  # what cannot be stored was not measured
                    if misfit(probe):
                        raise ModelError(f"{misfit(probe)}, not numbers by name")
            except OverTimeError:
                raise ModelError(f"measuring {name}: no end within {limit:g} s (runner.start_timeout_s)") from None
            except BaseException as fault:
                if not foreign(fault):
                    raise
                raise ModelError(f"measuring {name}: {said(fault)}") from fault
            measured += found
        return measured

    async def _answer(self, trace: ArmTrace, answered: frozenset[tuple[int, str]]) -> tuple[dict[str, Any], int]:
        """Ask what is missing, `concurrency` at a time; what the driver saw of itself, and how many rows there are."""
        planned, plan, journal = self.planned, self.plan, self.journal
        warmed = {"warm_calls": 0, "warm_errors": 0}
        n_rows = 0

        def seen(at_the_end: bool) -> dict[str, Any]:
            summary = watch.summary()
            lag = summary["loop_lag_p99_s"]
            # an arm that was over before the first look cannot have been late by more; of one that goes on nobody knows
            late = (False if at_the_end else None) if lag is None else lag > plan.runner.lag_limit_s
            return {**summary, **warmed, "saturated": late}

        def done(row: Row) -> None:
            nonlocal n_rows
            n_rows += 1
            if journal.append(row):  # what is known of driver and model lasts as the rows do, if the process is killed
                self.note(planned.name, replace(trace, driver=seen(at_the_end=False), facts=_facts(planned.model)))
            self.progress.row(row)

        async with Watch() as watch:
            asked = Asked(journal.run_id, journal.session, planned.name, plan.runner.timeout_s)
            asker = _Asker(planned, asked, watch, self.stop, self.spending, done)
            salt = f"{journal.run_id}/{journal.session}"
            for block in walk(planned, plan.items, plan.seed, salt, answered):
                try:
                    if block.warm is not None and not self.stop.asked:
                        warmed["warm_calls"] += 1
                        warmed["warm_errors"] += not await self.stop.unless_asked(asker.warm(block.warm))
                    work = asker.block if planned.arm.rate is None else partial(asker.stream, plan.seed)
                    await self.stop.unless_cancelled(work(iter(block.steps)))
                except Stopped:
                    pass
                if asker.ended:
                    break
        return seen(at_the_end=True), n_rows


def _facts(model: Model) -> dict[str, Any]:
    """What the model says about itself; that it cannot say so is a fact too, and costs no answer."""
    try:
        facts: dict[str, Any] = json.loads(json.dumps(dict(model.facts()), allow_nan=False))
    except BaseException as fault:
        if not foreign(fault):
            raise
        return {"facts_failed": said(fault)}
    return facts


async def _close(model: Model, timeout_s: float) -> dict[str, Any]:
    try:
        await bounded(model.close(), timeout_s)
    except OverTimeError:
        return {"close_failed": f"no end within {timeout_s:g} s"}
    except BaseException as fault:  # its answers are in the journal
        if not foreign(fault):
            raise
        return {"close_failed": said(fault)}
    return {}


@dataclass(frozen=True)
class _Asker:
    """Asks one arm's requests and hands on each finished row."""

    planned: PlannedArm
    asked: Asked
    watch: Watch
    stop: Stop
    spending: Spending
    done: Callable[[Row], None]

    @property
    def ended(self) -> bool:
        """Whether nothing new may be asked."""
        return self.stop.asked or self.spending.over is not None

    async def block(self, steps: Iterator[Step]) -> None:
        """Ask the steps, as many at once as the arm's concurrency; no worker begins without a step."""
        try:
            async with asyncio.TaskGroup() as group:
                for _, first in zip(range(self.planned.arm.concurrency), steps, strict=False):
                    group.create_task(self._worker(first, steps))
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None  # the others were cancelled by this one

    async def stream(self, root_seed: int, steps: Iterator[Step]) -> None:
        """Send each step when it is due, whatever is still in flight; its times count from then."""
        began = time.monotonic()
        try:
            async with asyncio.TaskGroup() as group:
                for after_s, step in arrivals(self.planned, steps, root_seed):
                    due = began + after_s
                    while (left_s := due - time.monotonic()) > 0 and not self.ended:
                        await asyncio.sleep(min(left_s, LOOK_S))
                    if self.ended:
                        break
                    group.create_task(self._one(step, due))
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None

    async def warm(self, request: Request) -> bool:
        """Warm a group's prefix; whether that worked. It is never fatal: the hit share will tell."""
        self.spending.warmed()
        try:
            await bounded(self.planned.model.warm(request), self.asked.timeout_s)
        except BaseException as fault:  # counted by the caller
            if not foreign(fault):
                raise
            return False
        return True

    async def _worker(self, first: Step, steps: Iterator[Step]) -> None:
        """Take the next step until there is none: never more in memory than is in flight."""
        for step in itertools.chain([first], steps):
            if self.ended:
                return
            await self._one(step)

    async def _one(self, step: Step, due: float | None = None) -> None:
        with self.watch.flight():
            row, completion = await ask(step, self.planned.model, self.asked, due)
        self.spending.add(row, self.planned.model, completion)
        self.done(row)
