"""The charts of the prepared view: first what was decided on, and over what was swept; the rest folded by group.

Left to itself MLflow draws one chart per metric in the order of the alphabet, so that a page begins with the cache.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

SECTION = "decided on"
MOST_BARS = 4
MOST_POINTS = 4
MOST_RUNS = 20
DRAWN = ("quality/", "delta/", "lat/", "tps/", "cache/", "parity/", "perplexity/")
"""The groups whose figures are worth a chart without being asked; counts and gates have columns."""


def chart_state(metrics: Sequence[str], groups: Iterable[str], axes: Sequence[str], longest: int) -> dict[str, Any]:
    """The part of a view's state that says what its charts show, in at most `longest` characters of JSON; else nothing.

    `metrics` are in the order of their weight, `axes` the params with numbers that were swept, and `groups` what the
    metrics' names begin with.
    """
    drawn = [key for key in metrics if key.startswith(DRAWN)][:MOST_BARS]
    over = [(axis, key) for key in drawn if not key.startswith("delta/") for axis in axes][:MOST_POINTS]
    charts = [{"type": "BAR", "metricKey": key, "isGenerated": True} for key in drawn]
    charts += [
        {
            "type": "SCATTER",
            "xaxis": {"key": axis, "type": "PARAM"},
            "yaxis": {"key": key, "type": "METRIC"},
            "isGenerated": False,
        }
        for axis, key in over
    ]
    sections = [_section(0, SECTION, shown=True)]
    sections += [_section(place, group, shown=False) for place, group in enumerate(dict.fromkeys(groups), start=1)]
    common = {"runsCountToCompare": MOST_RUNS, "metricSectionId": sections[0]["uuid"], "deleted": False}
    state = {
        "compareRunCharts": [{"uuid": f"evalflow{place}", **common, **chart} for place, chart in enumerate(charts)],
        "compareRunSections": sections,
        "isAccordionReordered": True,  # or MLflow puts its own order back
    }
    return state if charts and len(json.dumps(state)) <= longest else {}


def _section(place: int, name: str, shown: bool) -> dict[str, Any]:
    return {
        "uuid": f"evalflow-section{place}",
        "name": name,
        "display": shown,
        "isReordered": True,
        "deleted": False,
        "isGenerated": place > 0,
    }
