"""Figures as the cases write them: a value, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evalflow.numeric.interval import Interval
from evalflow.numeric.undefined import Undefined
from evalflow.numeric.value import told


def shown(value: Any) -> Any:
    """An interval by its ends, an undefined figure by its reason, anything else as it is."""
    if isinstance(value, Undefined):
        return {"undefined": value.reason}
    return [value.low, value.high] if isinstance(value, Interval) else value


def figure(compute: Callable[[], Any]) -> Any:
    """A figure, or why it has no value; inputs that are refused are refused as a whole."""
    return shown(told(compute))


def answered(figures: Mapping[str, Callable[[], Any]], **counts: int) -> dict[str, Any]:
    """Every figure, and counts beside them; where no figure has a value, the case as a whole has none either."""
    answer = {name: figure(compute) for name, compute in figures.items()}
    undefined = [value for value in answer.values() if isinstance(value, dict)]
    return {**answer, **counts, **(undefined[0] if len(undefined) == len(answer) else {})}
