"""A gate: one condition on one figure, which nothing undefined can pass."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from evalflow.numeric.sign import smallest_p
from evalflow.record import Delta, Figure, GateResult, Outcome

NAMED = 20
"""Rows that a failed gate names; the others are counted."""
Verdict = Literal["better", "non_inferior", "equivalent"]


@dataclass(frozen=True)
class Judged:
    """What came out of holding a number against a condition, before `expect` is applied."""

    outcome: Outcome
    value: float | None = None
    denominator: int | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Gate:
    """A threshold on a figure of an arm (of every arm that is no control, where none is named) or of a comparison.

    One of `floor`, `ceiling`, `equals`, `between`, `verdict`. Floors and ceilings are inclusive unless `strict`. On a
    comparison they read the delta (candidate minus reference). `count` reads the number of units instead of their
    share, `of` requires that denominator, `bound` reads an end of the interval instead of the value, or `both` ends:
    the whole interval must be so. `when` names conditions of the arm that must hold, else the gate is skipped.
    `allow_reason` names the reason of undefinedness that passes (`saturated`: every answer right, so no spread can
    show; `no disagreement`: two arms choose alike). `allow_partial` lets the gate be read on a part of the dataset,
    `allow_sessions` on times that were taken in more than one session. `coverage` is the least share of what was
    planned that must have been scored (of a comparison: paired): a score that rises as items fail is not read.
    """

    figure: str
    arm: str | None = None
    comparison: str | None = None
    where: Mapping[str, Any] = field(default_factory=dict)
    floor: float | None = None
    ceiling: float | None = None
    equals: float | None = None
    between: tuple[float, float] | None = None
    verdict: Verdict | None = None
    margin: float | None = None
    count: bool = False
    of: int | None = None
    bound: Literal["value", "lower", "upper", "both"] = "value"
    when: Mapping[str, Any] = field(default_factory=dict)
    expect: Literal["pass", "fail"] = "pass"
    report_only: bool = False
    allow_reason: Literal["saturated", "no disagreement"] | None = None
    allow_partial: bool = False
    allow_sessions: bool = False
    coverage: float = 1.0
    strict: bool = False
    on_fail: str | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("floor", "ceiling", "equals", "between", "verdict") if self._has(name)]
        if len(given) != 1:
            said = f"it has {' and '.join(given)}" if given else "it has no threshold"
            raise ValueError(f"{said}; give one of floor, ceiling, equals, between, verdict")
        if self.arm is not None and self.comparison is not None:
            raise ValueError(f"arm {self.arm} and comparison {self.comparison} are both named; name one")
        numbers = (self.floor, self.ceiling, self.equals, self.margin, *(self.between or ()))
        if any(number is not None and not math.isfinite(number) for number in numbers):
            raise ValueError("a threshold is not finite; give a number")
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError(f"between is {list(self.between)}; give the lower end first")
        self._check_combination()

    def _has(self, name: str) -> bool:
        return getattr(self, name) is not None

    def _check_combination(self) -> None:
        if self.verdict is not None and self.comparison is None:
            raise ValueError(f"verdict {self.verdict} without a comparison; name the comparison")
        if self.verdict in ("non_inferior", "equivalent") and self.margin is None:
            raise ValueError(f"verdict {self.verdict} has no margin; give margin=0.05, say")
        if self.verdict not in ("non_inferior", "equivalent") and self.margin is not None:
            raise ValueError("margin belongs to verdict non_inferior or equivalent; drop it")
        if self.margin is not None and self.margin <= 0:
            raise ValueError(f"margin is {self.margin}; give a number above 0")
        if self.strict and not (self._has("floor") or self._has("ceiling")):
            raise ValueError("strict without a floor or ceiling; drop it")
        if self.count and (self.comparison is not None or self.bound != "value"):
            raise ValueError("count reads the value of an arm's figure; drop count, or the comparison or bound")
        if self.verdict is not None and self.bound != "value":
            raise ValueError(f"bound {self.bound} with a verdict, which has bounds of its own; drop bound")
        if self.allow_reason is not None and self.comparison is not None:
            raise ValueError("allow_reason on a comparison, which has no such reason; drop it")
        if (self.where or self.when) and self.comparison is not None:
            said = "where" if self.where else "when"
            raise ValueError(f"{said} on a comparison; compare whole arms, or gate an arm's figure")
        if not 0 < self.coverage <= 1:
            raise ValueError(f"coverage is {self.coverage}; give a share above 0, at most 1")
        if self.of is not None and self.of < 1:
            raise ValueError(f"of is {self.of}; give at least 1")

    @property
    def threshold(self) -> str:
        """The condition as a reader would write it."""
        if self.verdict is not None:
            return self.verdict if self.margin is None else f"{self.verdict} within {self.margin:g}"
        if self.between is not None:
            return f"in [{self.between[0]:g}, {self.between[1]:g}]"
        if self.equals is not None:
            return f"= {self.equals:g}"
        sign, number = (">", self.floor) if self.floor is not None else ("<", self.ceiling)
        return f"{sign}{'' if self.strict else '='} {number:g}"

    def accepts(self, number: float) -> bool:
        """Whether a number meets the threshold (which is none of a verdict)."""
        return self._hold(number, 0).outcome == "pass"

    def slack(self, value: float | None) -> float:
        """How far a value is from failing, for naming the worst of several arms; the least comes first."""
        if value is not None and self.between is not None:
            return min(value - self.between[0], self.between[1] - value)
        if value is None or (self.floor is None and self.ceiling is None):
            return 0.0
        return value if self.floor is not None else -value

    def on_figure(self, figure: Figure) -> Judged:
        """Hold an arm's figure against the threshold."""
        lost = figure.n_total - figure.n_scored
        if figure.n_scored and lost > (1 - self.coverage) * figure.n_total + 1e-9:
            return Judged("unreadable", None, figure.n_scored, f"{lost} of {figure.n_total} were not scored")
        if figure.value is None:
            if self.allow_reason is not None and figure.reason == self.allow_reason:
                return Judged("pass", None, figure.n_scored, f"{figure.reason} (allowed)")
            return Judged("unreadable", None, figure.n_total, figure.reason)
        if over := self._over_sessions(figure.n_sessions):
            return Judged("unreadable", None, figure.n_scored, over)
        if self.of is not None and figure.n_scored != self.of:
            return Judged("unreadable", None, figure.n_scored, f"denominator {figure.n_scored}, not {self.of}")
        if self.count:
            count = figure.value * figure.n_scored
            if lost:  # seeds are averaged inside an item: with some missing, share times rows is no count
                return Judged("unreadable", None, figure.n_scored, f"no count, {lost} of {figure.n_total} not scored")
            return self._hold(float(round(count)), figure.n_scored)
        return self._read(figure.value, (figure.low, figure.high), figure.n_scored, "the figure")

    def on_delta(self, delta: Delta) -> Judged:
        """Hold a comparison's delta, or its conclusion, against the threshold."""
        if delta.delta is None:
            return Judged("unreadable", None, delta.n_pairs, delta.reason)
        if over := self._over_sessions(delta.n_sessions):
            return Judged("unreadable", None, delta.n_pairs, over)
        if why := unpaired_beyond(self.coverage, delta):
            return Judged("unreadable", None, delta.n_pairs, why)
        if self.of is not None and delta.n_pairs != self.of:
            return Judged("unreadable", None, delta.n_pairs, f"{delta.n_pairs} pairs, not {self.of}")
        if self.verdict is not None:
            return self._on_verdict(delta, delta.delta)
        return self._read(delta.delta, (delta.low, delta.high), delta.n_pairs, "the delta")

    def _read(self, value: float, ends: tuple[float | None, float | None], n: int, whose: str) -> Judged:
        """Hold what `bound` names of a number and its interval; of both ends, the one that is nearer to failing."""
        low, high = ends
        numbers = {"value": (value,), "lower": (low,), "upper": (high,), "both": (low, high)}[self.bound]
        held = [self._hold(number, n) for number in numbers if number is not None]
        if len(held) < len(numbers):
            return Judged("unreadable", None, n, f"{whose} has no interval")
        return min(held, key=lambda judged: (judged.outcome != "fail", self.slack(judged.value)))

    def _over_sessions(self, n: int | None) -> str | None:
        """Why a time of so many sessions is not read; None where it is, or is no time."""
        if n is None or n == 1 or self.allow_sessions:
            return None
        return f"taken in {n} sessions (allow_sessions reads it)"

    def fails(self, judged: Judged) -> bool:
        """Whether what was held comes to a failure, so that the rows that decided it are worth naming."""
        return judged.outcome == ("pass" if self.expect == "fail" else "fail")

    def result(
        self, judged: Judged, arm: str | None = None, rows: tuple[str, ...] = (), noise_floor: float | None = None
    ) -> GateResult:
        """The gate's answer: `expect: fail` turns pass and fail round, and leaves the rest."""
        outcome, reason = judged.outcome, judged.reason
        if self.expect == "fail" and outcome in ("pass", "fail"):
            outcome = "fail" if outcome == "pass" else "pass"
            reason = "failed, as it should" if outcome == "pass" else "passed, where it should have failed"
        return GateResult(
            outcome=outcome,
            expected=self.expect,
            figure=self.figure,
            value=judged.value,
            bound=self.bound,
            threshold=self.threshold,
            denominator=judged.denominator,
            arm=arm or self.arm,
            comparison=self.comparison,
            rows=rows[:NAMED] if outcome == "fail" else (),
            n_rows=len(rows) if outcome == "fail" else 0,
            reason=reason,
            report_only=self.report_only,
            on_fail=self.on_fail if outcome == "fail" else None,
            noise_floor=noise_floor,
        )

    def _hold(self, number: float, denominator: int) -> Judged:
        if not math.isfinite(number):
            return Judged("unreadable", None, denominator, "not finite")
        if self.floor is not None:
            passed = number > self.floor
        elif self.ceiling is not None:
            passed = number < self.ceiling
        elif self.between is not None:
            passed = self.between[0] < number < self.between[1]
        else:
            passed = False
        # at the threshold, rounding decides nothing: 42/60 - 33/60 is a float below 0.15
        ends = self.between or (self.floor, self.ceiling, self.equals)
        if any(end is not None and math.isclose(number, end, rel_tol=1e-12, abs_tol=1e-15) for end in ends):
            passed = not self.strict
        return Judged("pass" if passed else "fail", number, denominator)

    def _on_verdict(self, delta: Delta, value: float) -> Judged:
        if self.verdict == "better":
            if delta.conclusion == "better":
                return Judged("pass", value, delta.n_pairs)
            # were all of them to differ one way, the exact sign test would still not get there
            if smallest_p(delta.n_clusters) > 1 - delta.level:
                why = f"{delta.n_clusters} clusters can never show a difference at {1 - delta.level:.2g}"
                return Judged("unreadable", value, delta.n_pairs, why)
            return Judged("fail", value, delta.n_pairs, delta.conclusion)
        if delta.bound_low is None or delta.bound_high is None or self.margin is None:
            return Judged("unreadable", value, delta.n_pairs, "the delta has no one-sided bound")
        # a loss is negative when higher is better; turn both round otherwise
        loss, gain = delta.bound_low, delta.bound_high
        if not delta.higher_is_better:
            loss, gain = -gain, -loss
        within = loss > -self.margin and (self.verdict == "non_inferior" or gain < self.margin)
        # half the width of the one-sided interval: were the arms exactly equal, a smaller margin could not pass
        reach = (delta.bound_high - delta.bound_low) / 2
        outside = gain < -self.margin or (self.verdict == "equivalent" and loss > self.margin)
        if not within and not outside and reach >= self.margin:
            why = f"a margin of {self.margin:g} is beyond this run's reach ({reach:.3g})"
            return Judged("unreadable", value, delta.n_pairs, why)
        return Judged("pass" if within else "fail", value, delta.n_pairs)


def unpaired_beyond(coverage: float, delta: Delta) -> str | None:
    """Why a comparison is not read that paired less than this share of the items; None where it paired enough."""
    unpaired = len(delta.unpaired)
    if unpaired > (1 - coverage) * (delta.n_pairs + unpaired) + 1e-9:
        return f"{unpaired} of {delta.n_pairs + unpaired} items are unpaired"
    return None
