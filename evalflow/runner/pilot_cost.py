"""What a row of a pilot's arm cost, and what so many more of them would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from evalflow.metric.cost import Price
from evalflow.numeric.moments import listed_mean
from evalflow.numeric.undefined import Undefined
from evalflow.price import Prices
from evalflow.record import Row
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.units import ArmScores
from evalflow.runner.walk import reachable


@dataclass(frozen=True)
class ArmCost:
    """What a row of an arm took in the pilot, on average; `undefined` says why a number is None.

    `requests` are the calls that a row took, retries and its share of the warm calls with it. `seconds` are of the
    arm's wall time, with `in_flight` requests at a time (None: at a rate), without what comes before the first.
    """

    arm: str
    seeds: tuple[int, ...]
    concurrency: int
    in_flight: int | None
    rate: float | None
    n_planned: int
    n_rows: int
    n_error: int
    requests: float
    tokens_in: float | None
    tokens_out: float | None
    seconds: float | None
    price: float | None
    undefined: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """What rows of several arms would take together; None where one of the arms does not say."""

    rows: int
    requests: int
    tokens_in: float | None
    tokens_out: float | None
    minutes: float | None
    price: float | None


def arm_cost(run: ComparedRun, name: str) -> ArmCost:
    """What a row of an arm took.

    An arm without rows has no comparison, and nobody asks what it cost.
    """
    arm = run.scores.arms[name]
    rows = list(arm.rows.values())
    answered = [row for row in rows if row.status != "error"]
    driver = arm.trace.driver if arm.trace else {}
    undefined: dict[str, str] = {}

    def known(what: str, of: Callable[[], float]) -> float | None:
        try:
            return of()
        except Undefined as why:
            undefined[what] = why.reason
            return None

    prices = _prices(run, arm)
    n_warm = float(driver.get("warm_calls") or 0)
    return ArmCost(
        arm=name,
        seeds=tuple(arm.planned.arm.seeds),
        concurrency=arm.planned.arm.concurrency,
        in_flight=reachable(arm.planned, arm.items),
        rate=arm.planned.arm.rate,
        n_planned=arm.n_planned,
        n_rows=len(rows),
        n_error=len(rows) - len(answered),
        requests=(sum(row.attempts for row in rows) + n_warm) / len(rows) if rows else 1.0,
        tokens_in=known("tokens_in", lambda: _mean([row.tokens_in for row in answered], "a count of tokens")),
        tokens_out=known("tokens_out", lambda: _mean([row.tokens_out for row in answered], "a count of tokens")),
        seconds=known("seconds", lambda: _seconds(run, arm, driver)),
        price=known("price", lambda: _price(prices, answered)),
        undefined=undefined,
    )


def cost_of(costs: Mapping[str, ArmCost], rows: Mapping[str, int]) -> Cost:
    """What so many rows of each arm would take, the arms one after another, as a run has them."""

    def total(each: Callable[[ArmCost], float | None]) -> float | None:
        parts = [(each(costs[arm]), n) for arm, n in rows.items()]
        known = [one * n for one, n in parts if one is not None]
        return sum(known) if len(known) == len(parts) else None

    seconds, requests = total(lambda arm: arm.seconds), total(lambda arm: arm.requests)
    assert requests is not None, "every arm has made requests"
    return Cost(
        rows=sum(rows.values()),
        requests=round(requests),
        tokens_in=total(lambda arm: arm.tokens_in),
        tokens_out=total(lambda arm: arm.tokens_out),
        minutes=None if seconds is None else seconds / 60,
        price=total(lambda arm: arm.price),
    )


def _mean(counts: Sequence[float | None], what: str) -> float:
    known = [float(count) for count in counts if count is not None]
    if not counts:
        raise Undefined("it has no answer")
    if len(known) < len(counts):
        raise Undefined(f"{len(counts) - len(known)} of {len(counts)} answers lack {what}")
    return listed_mean(known)


def _seconds(run: ComparedRun, arm: ArmScores, driver: Mapping[str, float | bool | None]) -> float:
    """Wall time per row, where it is a time of this arm's model under one load."""
    if getattr(arm.planned.model, "recorded", False):
        raise Undefined("its answers were recorded, and took no time")
    if len(arm.sessions) > 1:
        raise Undefined(f"its times were taken in {len(arm.sessions)} sessions")
    if run.stored.state["shared"]:
        raise Undefined("other jobs of its sweep ran at the same time")
    if arm.untimed:
        raise Undefined(arm.untimed)
    wall_s, requests = driver.get("wall_s"), driver.get("requests")
    if not wall_s or not requests:
        raise Undefined("its wall time is not known")
    return float(wall_s) / float(requests)


def _prices(run: ComparedRun, arm: ArmScores) -> Prices | None:
    """The prices of the arm's model, or else those that a metric of the run adds up by."""
    own = getattr(arm.planned.model, "prices", None)
    told = [own, *(metric.prices for metric in run.plan.metrics.values() if isinstance(metric, Price))]
    return next((one for one in told if isinstance(one, Prices) and one.input_per_million is not None), None)


def _price(prices: Prices | None, answered: Sequence[Row]) -> float:
    if prices is None:
        raise Undefined("the run has no prices")
    return _mean([prices.of(row) for row in answered], "a count of tokens")
