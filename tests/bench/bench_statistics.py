"""What resampling costs beside scipy, in the same run.

Paired bootstraps of a mean difference with 10,000 resamples. Contenders take turns; a figure is the median over rounds
of thread CPU seconds, and a ratio the median of scipy's over ours, round by round. scipy gets batches of two million
draws, as its default would hold all of them in memory at once (8 GB at 100,000 rows); its BCa leaves each unit out in
fact, so that it is shown at 10,000 rows and 100 resamples.

Ends with 1 where a ratio is below its target. Without the extra `fast` (numba) its row is left out, and says so.
"""

from __future__ import annotations

import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy import stats

from evalflow.numeric import bootstrap, fast_bootstrap
from evalflow.numeric.bca import bca_mean
from evalflow.numeric.bootstrap import bootstrap_mean

SAY = Console(highlight=False, soft_wrap=True).print
RESAMPLES = 10_000
BATCH = 2_000_000  # draws

Column = NDArray[np.float64]
Work = Callable[[], object]


@dataclass(frozen=True)
class Race:
    """Ours against scipy's on the same differences, and how many times faster ours has to be."""

    name: str
    ours: Work
    scipys: Work
    target: float
    rounds: int


def scipys(column: Column, method: str = "percentile", n_resamples: int = RESAMPLES) -> Work:
    """scipy's bootstrap of the mean."""
    generator = np.random.default_rng(0)
    batch = max(1, BATCH // column.size)
    return lambda: stats.bootstrap(
        (column,), np.mean, n_resamples=n_resamples, method=method, batch=batch, rng=generator
    )


def by_numpy(work: Work) -> Work:
    """The same without numba, installed or not."""

    def slow() -> object:
        with patch.object(fast_bootstrap, "available", return_value=False):
            return work()

    return slow


def races() -> list[Race]:
    """All that are run."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 0.0, 1.0], 1000, p=[0.08, 0.8, 0.12])
    small, middle, large = (rng.gamma(2.0, size=n) - 1.9 for n in (1000, 10_000, 100_000))
    found = [
        Race("percentile, n 1,000, differences of 0/1", lambda: bootstrap_mean(signs, 0), scipys(signs), 20.0, 9),
        Race("percentile, n 1,000, real", by_numpy(lambda: bootstrap_mean(small, 0)), scipys(small), 1.0, 9),
        Race("percentile, n 100,000, real, numpy", by_numpy(lambda: bootstrap_mean(large, 0)), scipys(large), 1.0, 3),
        Race("BCa, n 1,000, real", by_numpy(lambda: bca_mean(small, 0)), scipys(small, "BCa"), 1.0, 9),
        Race(
            "BCa, n 10,000, real, 100 resamples",
            by_numpy(lambda: bca_mean(middle, 0, 100)),
            scipys(middle, "BCa", 100),
            20.0,
            3,
        ),
    ]
    if fast_bootstrap.available():
        bootstrap_mean(large, 0)  # compiles
        found += [
            Race("percentile, n 100,000, real, numba", lambda: bootstrap_mean(large, 0), scipys(large), 5.0, 3),
            Race(
                "BCa, n 100,000, real, numba, beside scipy's percentile",
                lambda: bca_mean(large, 0),
                scipys(large),
                5.0,
                3,
            ),
        ]
    else:
        SAY("numba is not installed: the extra `fast` is not measured")
    return found


def cpu(work: Work) -> float:
    """Thread CPU (s) of one call."""
    began = time.thread_time()
    work()
    return time.thread_time() - began


def run(race: Race) -> bool:
    """Print one race; whether the target is met."""
    rounds = [(cpu(race.ours), cpu(race.scipys)) for _ in range(race.rounds)]
    ratio = statistics.median(theirs / ours for ours, theirs in rounds)
    mine, other = (statistics.median(side) for side in zip(*rounds, strict=True))
    met = ratio >= race.target
    SAY(
        f"{race.name:56}  {1e3 * mine:9.2f} ms  scipy {1e3 * other:9.2f} ms  {ratio:7.1f} x "
        f"(target {race.target:g}: {'met' if met else 'MISSED'})"
    )
    return met


def memory() -> None:
    """Print the most that numpy holds at once while 100,000 units are resampled."""
    column = np.random.default_rng(1).normal(size=100_000)
    tracemalloc.start()
    with patch.object(bootstrap, "_FAST_FROM", 1 << 62):
        bootstrap_mean(column, 0, 20)
    most = tracemalloc.get_traced_memory()[1] / 2**20
    SAY(f"at n 100,000 numpy holds {most:.1f} MiB at once, at any number of resamples")
    tracemalloc.stop()


def main() -> int:
    """All races; 1 where a target is missed."""
    met = [run(race) for race in races()]
    memory()
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
