"""A review as tables of texts, for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalflow.report.console import number

Told = Mapping[str, Any]
OF_ARMS = "answers (a text counts for each arm that gave it)"
"""Of texts, which are rated once, there may be fewer."""


@dataclass(frozen=True)
class Lines:
    """One table: its title, its heads, of which `numbers` stand over numbers, and its lines."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    numbers: tuple[str, ...] = ("rated", "of", "comments", "won", "lost", "tied", "on", "items", OF_ARMS)


def review_tables(told: Told) -> list[Lines]:
    """Who rated how much, every pair of arms, every arm, how far raters agree; what there is none of is left out."""
    found = [
        Lines("Raters", ("rater", "rated", "of", "comments"), tuple(_raters(told))),
        Lines("Choices", _PREFERENCE, tuple(_preferences(told))),
    ]
    if told["ratings"]:
        found.append(Lines("Ratings", ("arm", "mean rating", "items", "given"), tuple(_arms(told["ratings"]))))
        found.append(Lines("Severity", ("rater", "mean rating", OF_ARMS), tuple(_severity(told["ratings"]))))
    found.append(Lines("Agreement of raters", ("about", "figure", "value", "on"), tuple(_agreement(told))))
    return [one for one in found if one.lines]


def review_answers(told: Told) -> Iterator[tuple[str, str]]:
    """(conclusion, words) of every pair of arms."""
    for one in told["preferences"]:
        yield one["conclusion"], one["words"]
    for one in told["ratings"]["differences"] if told["ratings"] else ():
        yield one["delta"]["conclusion"], one["delta"]["words"]


_PREFERENCE = (
    "candidate against reference",
    "by",
    "won",
    "lost",
    "tied",
    "share, ties as half",
    "without ties",
    "left",
)


def _raters(told: Told) -> Iterator[tuple[str, ...]]:
    for one in told["raters"]:
        of = "-" if one["n_shown"] is None else str(one["n_shown"])
        yield one["rater"], str(one["n_rated"]), of, str(one["n_comments"])


def _preferences(told: Told) -> Iterator[tuple[str, ...]]:
    for one in told["preferences"]:
        name = f"{one['candidate']} against {one['reference']}"
        for own in one["by_rater"]:
            by = f"{own['rater']} ({_choices(own['counts'])})"
            yield name, by, *_counts(own["counts"]), _share(own["share"]), "", ""
            name = ""
        design = f", {one['n_identical']} of them ties by design" if one["n_identical"] else ""
        of = f"all ({_choices(one['choices'])}; shares over {one['share']['n_scored']} items{design})"
        yield name, of, *_counts(one["choices"]), _share(one["share"]), _share(one["decided"]), _share(one["left"])


def _choices(counts: Told) -> str:
    n = counts["won"] + counts["lost"] + counts["tied"]
    return "1 choice" if n == 1 else f"{n} choices"


def _counts(counts: Told) -> tuple[str, str, str]:
    return str(counts["won"]), str(counts["lost"]), str(counts["tied"])


def _arms(ratings: Told) -> Iterator[tuple[str, ...]]:
    for one in ratings["arms"]:
        given = ", ".join(f"{number(told['rating'])}: {told['n']}" for told in one["counts"])
        yield one["arm"], _plain(one["mean"]), str(one["mean"]["n_scored"]), given


def _severity(ratings: Told) -> Iterator[tuple[str, ...]]:
    for one in ratings["by_rater"]:
        yield one["rater"], f"{one['mean']:.2f}", str(one["n"])


def _agreement(told: Told) -> Iterator[tuple[str, ...]]:
    of = [(f"{one['candidate']} against {one['reference']}", one["agreement"]) for one in told["preferences"]]
    if told["ratings"]:
        of.append(("ratings", told["ratings"]["agreement"]))
    for name, agreement in of:
        alpha = agreement["alpha"]
        yield name, f"alpha ({agreement['level']})", _plain(alpha), f"{alpha['n_scored']} of {alpha['n_total']}"
        for one in agreement["kappas"]:
            yield "", f"kappa {' | '.join(one['raters'])}", _plain(one), f"{one['n_scored']} of {one['n_total']}"


def _share(figure: Told) -> str:
    return _shown(figure, lambda value: f"{100 * value:.0f}", " %")


def _plain(figure: Told) -> str:
    return _shown(figure, lambda value: f"{value:.2f}", "")


def _shown(figure: Told, write: Callable[[float], str], unit: str) -> str:
    """A figure with its interval; an undefined one says why."""
    if figure["value"] is None:
        return f"undefined: {figure['reason']}"
    interval = "" if figure["low"] is None else f" [{write(figure['low'])}, {write(figure['high'])}]"
    return f"{write(figure['value'])}{unit}{interval}"


def without_names(told: Told) -> dict[str, Any]:
    """The document with `rater 1` and so on in place of people's names."""
    names = {one["rater"]: f"rater {place}" for place, one in enumerate(told["raters"], start=1)}

    def renamed(value: Any, key: str = "") -> Any:
        if isinstance(value, Mapping):
            return {name: renamed(part, name) for name, part in value.items()}
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [renamed(part, key) for part in value]
        return names.get(value, value) if key in ("rater", "raters") and isinstance(value, str) else value

    made: dict[str, Any] = renamed(told)
    return made
