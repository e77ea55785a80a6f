"""What the site takes from the code: a page says `<!-- made here: configs -->`, and the build puts it there.

Nothing of it is stored, so nothing of it can be stale; what is wrong in it is mended in a docstring or a YAML file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from made_here.commands import commands
from made_here.configs import configs, root_keys
from made_here.experiments import experiment, experiment_table
from made_here.metrics import metrics
from made_here.report_schema import report_schema

MAKERS: Mapping[str, Callable[..., str]] = {
    "commands": commands,
    "configs": configs,
    "root keys": root_keys,
    "experiment": experiment,
    "experiments": experiment_table,
    "metrics": metrics,
    "report schema": report_schema,
}
PLACE = re.compile(r"^<!-- made here: (?P<what>[a-z ]+?)(?: of (?P<named>\w+))? -->$", re.M)


def filled_in(source: str) -> str:
    """A page with what is made in its places.

    Raises:
        KeyError: a place asks for something that nobody makes.
    """

    def made(place: re.Match[str]) -> str:
        maker = MAKERS[place["what"]]
        return maker(place["named"]) if place["named"] else maker()

    return PLACE.sub(made, source)


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""

    def read(_app: Any, _docname: str, source: list[str]) -> None:
        source[0] = filled_in(source[0])

    app.connect("source-read", read)
    return {"parallel_read_safe": True, "version": "1"}
