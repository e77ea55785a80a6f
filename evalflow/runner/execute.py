"""Running a plan: one asynchronous path for all models."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace
from typing import Any, Protocol

from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.record import Completion, Probe, Request, Row, RowError, Status, Times, to_json
from evalflow.runner.journal import ArmTrace, Journal, now_iso
from evalflow.runner.parts import PlannedArm
from evalflow.runner.plan import Plan
from evalflow.runner.walk import Step, walk
from evalflow.runner.watch import Watch
from evalflow.strict_json import misfit


class Progress(Protocol):
    """Who is told about a run as it goes."""

    def arm(self, name: str, total: int) -> None:
        """An arm begins; it has `total` rows."""
        ...

    def row(self, row: Row) -> None:
        """A row is done."""
        ...


async def execute(plan: Plan, journal: Journal, progress: Progress) -> None:
    """Run the arms one after another in the plan's order; all that they give is in the journal."""
    probes: list[Probe] = []
    traces: dict[str, ArmTrace] = {}
    for order, planned in enumerate(plan.arms.values()):
        progress.arm(planned.name, len(planned.arm.seeds) * len(plan.items))
        trace = ArmTrace(order, now_iso())
        try:
            measured, driver = await _run(planned, plan, journal, progress)
            probes += measured
            trace = replace(trace, driver=driver, facts=_facts(planned.model))
        except ModelError as fault:  # it could not start or be measured; an answer's failure is its row's
            trace = replace(trace, unavailable=str(fault))
        finally:
            closing = await _close(planned.model)
        traces[planned.name] = replace(trace, facts={**trace.facts, **closing})
        journal.write_probes(probes)
        journal.write_traces(traces)


async def _run(
    planned: PlannedArm, plan: Plan, journal: Journal, progress: Progress
) -> tuple[list[Probe], dict[str, Any]]:
    """One arm from its start to its last answer: what was measured, and what the driver saw of itself."""
    try:
        await planned.model.start()
    except BaseException as fault:
        if not _foreign(fault):
            raise
        raise ModelError(_said(fault)) from fault
    return await _measure(planned, plan), await _answer(planned, plan, journal, progress)


async def _measure(planned: PlannedArm, plan: Plan) -> list[Probe]:
    """The measurements that some metric reads, taken before the arm's answers and apart from them."""
    wanted = {metric.probe: None for metric in plan.metrics.values() if metric.grain == "probe"}
    measured = []
    for name in wanted:
        try:
            found = [Probe(planned.name, name, dict(v)) for v in await planned.model.measure(name) or ()]
            for probe in found:
                to_json(probe)  # what cannot be stored was not measured
                if misfit(probe):
                    raise ModelError(f"{misfit(probe)}, not numbers by name")
        except BaseException as fault:
            if not _foreign(fault):
                raise
            raise ModelError(f"measuring {name}: {_said(fault)}") from fault
        measured += found
    return measured


def _facts(model: Model) -> dict[str, Any]:
    """What the model says about itself; that it cannot say so is a fact too, and costs no answer."""
    try:
        facts: dict[str, Any] = json.loads(json.dumps(dict(model.facts()), allow_nan=False))
    except BaseException as fault:
        if not _foreign(fault):
            raise
        return {"facts_failed": _said(fault)}
    return facts


async def _close(model: Model) -> dict[str, Any]:
    try:
        await model.close()
    except BaseException as fault:  # its answers are in the journal
        if not _foreign(fault):
            raise
        return {"close_failed": _said(fault)}
    return {}


def _foreign(fault: BaseException) -> bool:
    """Whether a model's own code raised it: it may raise anything, and only Ctrl-C and our own cancelling are ours."""
    if isinstance(fault, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or not task.cancelling()
    return not isinstance(fault, KeyboardInterrupt | GeneratorExit)


async def _answer(planned: PlannedArm, plan: Plan, journal: Journal, progress: Progress) -> dict[str, Any]:
    """Ask everything of one arm, `concurrency` at a time; returns what the driver saw of itself."""

    def done(row: Row) -> None:
        journal.append(row)
        progress.row(row)

    warmed = {"warm_calls": 0, "warm_errors": 0}
    async with Watch() as watch:
        asker = _Asker(planned, plan.runner.timeout_s, watch, journal, done)
        for block in walk(planned, plan.items, plan.seed, journal.run_id):
            if block.warm is not None:
                warmed["warm_calls"] += 1
                warmed["warm_errors"] += not await asker.warm(block.warm)
            await asker.block(iter(block.steps))
    summary = watch.summary()
    lag = summary["loop_lag_p99_s"]
    return {**summary, **warmed, "saturated": lag is not None and lag > plan.runner.lag_limit_s}


@dataclass(frozen=True)
class _Asker:
    """Asks one arm's requests and hands on each finished row."""

    planned: PlannedArm
    timeout_s: float
    watch: Watch
    journal: Journal
    done: Callable[[Row], None]

    async def block(self, steps: Iterator[Step]) -> None:
        """Ask the steps, as many at once as the arm's concurrency; no worker begins without a step."""
        try:
            async with asyncio.TaskGroup() as group:
                for _, first in zip(range(self.planned.arm.concurrency), steps, strict=False):
                    group.create_task(self._worker(first, steps))
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None  # the others were cancelled by this one

    async def warm(self, request: Request) -> bool:
        """Warm a group's prefix; whether that worked. It is never fatal: the hit share will tell."""
        try:
            async with asyncio.timeout(self.timeout_s):
                await self.planned.model.complete(request)
        except BaseException as fault:  # counted by the caller
            if not _foreign(fault):
                raise
            return False
        return True

    async def _worker(self, first: Step, steps: Iterator[Step]) -> None:
        """Take the next step until there is none: never more in memory than is in flight."""
        for step in itertools.chain([first], steps):
            with self.watch.flight():
                row = await _ask(step, self.planned, _blank(step, self.planned, self.journal), self.timeout_s)
            self.done(row)


async def _ask(step: Step, planned: PlannedArm, blank: Row, timeout_s: float) -> Row:
    sent = time.monotonic()
    limit = asyncio.timeout(timeout_s)
    try:
        async with limit:
            completion = await planned.model.complete(step.request)
        end = time.monotonic()
        _check(completion)
    except BaseException as fault:  # its failure is a row, not the run's end
        if not _foreign(fault):
            raise
        if limit.expired():
            return _failed(blank, "timeout", f"no answer in {timeout_s:g} s", sent)
        return _failed(blank, type(fault).__name__, _words(fault), sent)
    return _answered(blank, completion, sent, end)


def _check(completion: object) -> None:
    """Refuse what is no completion, or could not be stored."""
    if not isinstance(completion, Completion) or not isinstance(completion.text, str):
        what = type(getattr(completion, "text", completion)).__name__
        raise ModelError(f"the model returned {what}, not a Completion with a text; mend the model")
    try:
        to_json(completion)
    except (TypeError, ValueError, RecursionError) as fault:
        raise ModelError(f"the completion cannot be stored ({fault}); mend the model") from None
    wrong = misfit(completion)
    if wrong is not None:
        raise ModelError(f"the completion cannot be stored ({wrong}); mend the model")


def _said(fault: BaseException) -> str:
    return _words(fault) if isinstance(fault, ModelError) else f"{type(fault).__name__}: {_words(fault)}"


def _words(fault: BaseException) -> str:
    try:
        return str(fault) or "no message"
    except Exception:  # noqa: BLE001 - an exception is the model's code too
        return "no message that can be read"


def _blank(step: Step, planned: PlannedArm, journal: Journal) -> Row:
    return Row(
        run_id=journal.run_id,
        session=journal.session,
        arm=planned.name,
        seed=step.seed,
        item_id=step.item.id,
        status="unscored",
        draft=None,
        served=None,
        prefix_group=step.item.prefix_group,
        cluster=step.item.cluster,
        kind=step.item.kind,
        seed_sent=step.request.seed,
    )


def _failed(blank: Row, kind: str, message: str, sent: float) -> Row:
    times = Times(sent=sent, end=time.monotonic())
    return replace(blank, status="error", error=RowError(kind, message), times=times)


def _answered(blank: Row, completion: Completion, sent: float, end: float) -> Row:
    status: Status = "ok"
    if completion.finish_reason == "length":
        status = "truncated"
    elif not completion.text.strip():
        status = "empty"
    times, gaps, detail = completion.times, completion.gaps, blank.detail
    if not all(sent <= stamp <= end for stamp in astuple(times) if stamp is not None):
        times, gaps, detail = Times(), None, {"times": {"dropped": "the model's stamps are of another clock"}}
    stamped = replace(times, sent=sent, end=end)  # when the driver asked and had its answer, whatever a model says
    return replace(
        blank,
        status=status,
        draft=completion.text,
        served=completion.text,
        finish_reason=completion.finish_reason,
        tokens_in=completion.tokens_in,
        tokens_out=completion.tokens_out,
        tokens_source=completion.tokens_source,
        cached_tokens=completion.cached_tokens,
        cached_source=completion.cached_source,
        times=stamped,
        gaps=gaps,
        attempts=completion.attempts,
        detail=detail,
    )
