"""Which training step looks best on a curve, and how little that says: it is the luckiest of those that were tried."""

from __future__ import annotations

from evalflow.report.html.curve import Curve, Point
from evalflow.report.html.shown_number import Writer, tick
from evalflow.report.html.shown_text import short

MOST_NAMED = 6


def best_of(curve: Curve, higher_is_better: bool) -> Point | None:
    """The point with the best mean, the earliest of several; None of a curve that has not two to choose from."""
    known = [(point, point.mean) for point in curve.points if point.mean is not None]
    if len(known) < 2:
        return None
    values = [mean for _, mean in known]
    best = max(values) if higher_is_better else min(values)
    return next(point for point, mean in known if mean == best)


def best_in_words(curve: Curve, higher_is_better: bool, write: Writer, by: float) -> str | None:
    """Which step is best, which others are within its interval, and what the choice does to the number."""
    best = best_of(curve, higher_is_better)
    if best is None or best.mean is None:
        return None
    known = [point for point in curve.points if point.mean is not None]
    value = write(by * best.mean)
    if all(point.mean == best.mean for point in known):
        return f"{short(curve.label)}: {value} at every step that was measured"
    inside = [p for p in known if p is not best and p.mean is not None and _within(p.mean, best)]
    interval = "" if best.low is None or best.high is None else f" [{write(by * best.low)}, {write(by * best.high)}]"
    told = f"{short(curve.label)}: best at step {_step(best)}, {value}{interval}, picked from {len(known)}"
    if inside:
        named = ", ".join(_step(point) for point in inside[:MOST_NAMED])
        more = f" and {len(inside) - MOST_NAMED} more" if len(inside) > MOST_NAMED else ""
        many = len(inside) > 1
        told += f"; step{'s' * many} {named}{more} {'lie' if many else 'lies'} within its interval"
    lost = len(curve.points) - len(known)
    return told + (f"; {lost} more cannot be read" if lost else "")


def _within(mean: float, best: Point) -> bool:
    return mean == best.mean or (best.low is not None and best.high is not None and best.low <= mean <= best.high)


def _step(point: Point) -> str:
    return f"{int(point.x):,}" if point.x == int(point.x) else tick(point.x)
