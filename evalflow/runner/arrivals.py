"""When the requests of an open loop are due."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from evalflow.numeric.seed import derive_seed
from evalflow.runner.parts import PlannedArm
from evalflow.runner.walk import Step

STEPS = 2**31


def arrivals(planned: PlannedArm, steps: Iterable[Step], root_seed: int) -> Iterator[tuple[float, Step]]:
    """Each step and when it is due (s after the first): gaps of 1/rate, or exponential ones with that mean.

    A gap is drawn from the root seed, the item and the arm's seed, so that the schedule of an item list is one and the
    same whenever it is walked.
    """
    rate = planned.arm.rate
    assert rate is not None, "a closed loop has no arrivals"
    due = 0.0
    for place, step in enumerate(steps):
        if place:
            due += _gap(planned, step, root_seed) / rate
        yield due, step


def _gap(planned: PlannedArm, step: Step, root_seed: int) -> float:
    """The gap before a step, in mean gaps."""
    if planned.arm.arrivals == "constant":
        return 1.0
    drawn = derive_seed(root_seed, f"arrival of {step.item.id}", step.seed)
    return -math.log1p(-(drawn + 0.5) / STEPS)  # by inversion; the half keeps it inside (0, 1)
