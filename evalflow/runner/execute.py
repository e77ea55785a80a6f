"""Running a plan: one asynchronous path for all models."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.record import Completion, Probe, Request, Row, RowError, Status, Times, to_json
from evalflow.runner.journal import Journal, now_iso
from evalflow.runner.parts import PlannedArm
from evalflow.runner.plan import Plan
from evalflow.runner.stop import GRACE_S, OverTimeError, Stop, Stopped, bounded
from evalflow.runner.trace import ArmTrace, Traces
from evalflow.runner.walk import Step, walk
from evalflow.runner.watch import Watch
from evalflow.strict_json import misfit


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

    It ends early where it is asked to stop, with every row so far and how far the arm came. Whether it went through.
    """
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
        arm = _Arm(planned, plan, journal, stop, progress, partial(_note, journal, traces))
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
    return through == set(plan.arms)


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
        ended = now_iso() if whole else None
        return measured, replace(trace, driver=driver, facts=_facts(self.planned.model), ended=ended)

    async def _start(self) -> None:
        limit = self.plan.runner.start_timeout_s
        try:
            await bounded(self.planned.model.start(), limit)
        except OverTimeError:
            raise ModelError(f"it did not start within {limit:g} s (runner.start_timeout_s)") from None
        except BaseException as fault:
            if not _foreign(fault):
                raise
            raise ModelError(_said(fault)) from fault

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
                if not _foreign(fault):
                    raise
                raise ModelError(f"measuring {name}: {_said(fault)}") from fault
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
            if journal.append(row):  # what is known of the driver lasts as the rows do, if the process is killed
                self.note(planned.name, replace(trace, driver=seen(at_the_end=False)))
            self.progress.row(row)

        async with Watch() as watch:
            asker = _Asker(planned, plan.runner.timeout_s, watch, journal, self.stop, done)
            salt = f"{journal.run_id}/{journal.session}"
            for block in walk(planned, plan.items, plan.seed, salt, answered):
                try:
                    if block.warm is not None and not self.stop.asked:
                        warmed["warm_calls"] += 1
                        warmed["warm_errors"] += not await self.stop.unless_asked(asker.warm(block.warm))
                    await self.stop.unless_cancelled(asker.block(iter(block.steps)))
                except Stopped:
                    pass
                if self.stop.asked:
                    break
        return seen(at_the_end=True), n_rows


def _facts(model: Model) -> dict[str, Any]:
    """What the model says about itself; that it cannot say so is a fact too, and costs no answer."""
    try:
        facts: dict[str, Any] = json.loads(json.dumps(dict(model.facts()), allow_nan=False))
    except BaseException as fault:
        if not _foreign(fault):
            raise
        return {"facts_failed": _said(fault)}
    return facts


async def _close(model: Model, timeout_s: float) -> dict[str, Any]:
    try:
        await bounded(model.close(), timeout_s)
    except OverTimeError:
        return {"close_failed": f"no end within {timeout_s:g} s"}
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


@dataclass(frozen=True)
class _Asker:
    """Asks one arm's requests and hands on each finished row."""

    planned: PlannedArm
    timeout_s: float
    watch: Watch
    journal: Journal
    stop: Stop
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
            await bounded(self.planned.model.complete(request), self.timeout_s)
        except BaseException as fault:  # counted by the caller
            if not _foreign(fault):
                raise
            return False
        return True

    async def _worker(self, first: Step, steps: Iterator[Step]) -> None:
        """Take the next step until there is none: never more in memory than is in flight."""
        for step in itertools.chain([first], steps):
            if self.stop.asked:
                return
            with self.watch.flight():
                row = await _ask(step, self.planned, _blank(step, self.planned, self.journal), self.timeout_s)
            self.done(row)


async def _ask(step: Step, planned: PlannedArm, blank: Row, timeout_s: float) -> Row:
    sent = time.monotonic()
    ended: list[float] = []

    async def complete() -> object:
        try:
            return await planned.model.complete(step.request)
        finally:
            ended.append(time.monotonic())  # here, not when the loop comes round to us again

    try:
        completion = _checked(await bounded(complete(), timeout_s))
    except OverTimeError:
        return _failed(blank, "timeout", f"no answer in {timeout_s:g} s", sent)
    except BaseException as fault:  # its failure is a row, not the run's end
        if not _foreign(fault):
            raise
        return _failed(blank, type(fault).__name__, _words(fault), sent)
    return _answered(blank, completion, sent, ended[0])


def _checked(completion: object) -> Completion:
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
    return completion


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
