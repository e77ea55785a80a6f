"""How far an arm's quality moves from seed to seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalflow.report.html.shown_number import scale, writer


@dataclass(frozen=True)
class SeedSpread:
    """One figure of one arm over its seeds: the least, the largest, and each seed's own."""

    arm: str
    name: str
    unit: str
    least: str
    largest: str
    by_seed: tuple[tuple[str, str], ...]


def seed_spreads(report: Mapping[str, Any]) -> list[SeedSpread]:
    """Quality figures of arms with several seeds, seed by seed; what is undefined says why."""
    found = []
    for arm_name, arm in report["arms"].items():
        names = [name for name in arm["figures"] if name.startswith("quality/")] if len(arm["by_seed"]) > 1 else []
        for name in names:
            told = {seed: figures[name] for seed, figures in arm["by_seed"].items() if name in figures}
            values = [figure["value"] for figure in told.values() if figure["value"] is not None]
            by, unit = scale(arm["figures"][name]["unit"], values)
            write = writer([by * value for value in values])
            each = tuple(
                (seed, f"undefined: {figure['reason']}" if figure["value"] is None else write(by * figure["value"]))
                for seed, figure in told.items()
            )
            least, largest = (write(by * end(values)) if values else "" for end in (min, max))
            found.append(SeedSpread(arm_name, name, unit, least, largest, each))
    return found
