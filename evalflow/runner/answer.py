"""One request and the row that comes of it: an answer, or why there is none."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field, replace
from typing import Any

from evalflow.errors import ModelError
from evalflow.record import Completion, Row, RowError, Status, Times
from evalflow.runner.stop import OverTimeError, bounded
from evalflow.runner.walk import Step
from evalflow.strict_json import misfit


@dataclass(frozen=True)
class Asked:
    """Who asks: what the rows of one arm in one session have in common, and how long an answer may take (s)."""

    run_id: str
    session: str
    arm: str
    timeout_s: float


@dataclass
class _Spell:
    """When a request began and ended (s, monotonic); `due` is when it was to be sent, in an open loop."""

    due: float | None
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None


async def ask(step: Step, model: Any, asked: Asked, due: float | None = None) -> tuple[Row, Completion | None]:
    """The row of one request, and the completion where there was one; whatever goes wrong is a row too."""
    spell = _Spell(due)

    async def complete() -> object:
        try:
            return await model.complete(step.request)
        finally:
            spell.ended = time.monotonic()  # here, not when the loop comes round to us again

    try:
        completion = _checked(await bounded(complete(), asked.timeout_s))
    except OverTimeError:
        error = RowError("timeout", f"no answer in {asked.timeout_s:g} s")
    except BaseException as fault:  # its failure is a row, not the run's end
        if not foreign(fault):
            raise
        error = _error(fault)
    else:
        return _answered(step, asked, completion, spell, model), completion
    times = Times(scheduled=due, sent=spell.began, end=time.monotonic())
    known = {"error": error, "times": times, "attempts": error.attempts, "detail": _about(model, step)}
    return _row(step, asked, "error", None, **known), None


def _error(fault: BaseException) -> RowError:
    if not isinstance(fault, ModelError):
        return RowError(type(fault).__name__, words(fault))
    kind, attempts = getattr(fault, "kind", None), getattr(fault, "attempts", 1)  # a subclass may set neither
    named = kind if isinstance(kind, str) and kind else type(fault).__name__
    return RowError(named, words(fault), attempts if type(attempts) is int and attempts > 0 else 1)


def _about(model: Any, step: Step) -> dict[str, Any]:
    """What the model tells of a request beside its answer; that it could not is told too, and costs no answer."""
    if not hasattr(model, "about"):
        return {}
    try:
        told = model.about(step.request)
        if told:
            told = json.loads(json.dumps(dict(told), allow_nan=False))
    except BaseException as fault:
        if not foreign(fault):
            raise
        told = {"failed": said(fault)}
    return {"about": told} if told else {}


def _checked(completion: object) -> Completion:
    """Refuse what is no completion, or could not be stored."""
    if not isinstance(completion, Completion) or not isinstance(completion.text, str):
        what = type(getattr(completion, "text", completion)).__name__
        raise ModelError(f"the model returned {what}, not a Completion with a text; mend the model")
    wrong = misfit(completion)
    if wrong is not None:
        raise ModelError(f"the completion cannot be stored ({wrong}); mend the model")
    return completion


def _row(step: Step, asked: Asked, status: Status, draft: str | None = None, **known: Any) -> Row:
    item = step.item
    return Row(
        run_id=asked.run_id,
        session=asked.session,
        arm=asked.arm,
        seed=step.seed,
        item_id=item.id,
        status=status,
        draft=draft,
        served=draft,
        prefix_group=item.prefix_group,
        cluster=item.cluster,
        kind=item.kind,
        seed_sent=step.request.seed,
        **known,
    )


def _answered(step: Step, asked: Asked, completion: Completion, spell: _Spell, model: Any) -> Row:
    status: Status = "ok"
    if completion.finish_reason == "length":
        status = "truncated"
    elif not completion.text.strip() and completion.columns is None:
        status = "empty"
    times, gaps, chunk_tokens = completion.times, completion.gaps, completion.chunk_tokens
    detail = _about(model, step)
    assert spell.ended is not None, "it has answered"
    if any(stamp is not None and not spell.began <= stamp <= spell.ended for stamp in vars(times).values()):
        times, gaps, chunk_tokens = Times(), None, None
        detail["times"] = {"dropped": "the model's stamps are of another clock"}
    # a model that waits before it sends (for a rate limit) says when it did; the rest is ours to say
    paced = getattr(model, "paced", False)
    sent = times.sent if paced and times.sent is not None else spell.began
    times = replace(times, scheduled=spell.due, sent=sent, end=spell.ended)
    if getattr(model, "recorded", False):  # how long it takes to look an answer up is no time of a model's
        times = Times()
    return _row(
        step,
        asked,
        status,
        completion.text,
        finish_reason=completion.finish_reason,
        tokens_in=completion.tokens_in,
        tokens_out=completion.tokens_out,
        tokens_source=completion.tokens_source,
        cached_tokens=completion.cached_tokens,
        cached_source=completion.cached_source,
        times=times,
        gaps=gaps,
        chunk_tokens=chunk_tokens,
        reasoning_tokens=completion.reasoning_tokens,
        tokens=completion.tokens,
        columns=completion.columns,
        given=completion.given,
        attempts=completion.attempts,
        detail=detail,
    )


def foreign(fault: BaseException) -> bool:
    """Whether a model's own code raised it: it may raise anything, and only Ctrl-C and our own cancelling are ours."""
    if isinstance(fault, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or not task.cancelling()
    return not isinstance(fault, KeyboardInterrupt | GeneratorExit)


def said(fault: BaseException) -> str:
    """What a model's error says, and of which class it is where it is no ModelError."""
    return words(fault) if isinstance(fault, ModelError) else f"{type(fault).__name__}: {words(fault)}"


def words(fault: BaseException) -> str:
    """An error's message, which is the model's own code too and may raise."""
    try:
        return str(fault) or "no message"
    except Exception:  # noqa: BLE001 - an exception is the model's code too
        return "no message that can be read"
