"""A comparison in lines, as the console and the page tell it: what is alike is told once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

CONCLUSIONS = ("worse", "better", "not shown", "identical")
"""In the order in which they are counted."""
MOST_IDENTICAL = 8
"""Of more figures that are the same on every pair, each in a line of its own says less than all in one."""
Told = Mapping[str, Any]


class DifferenceLine(NamedTuple):
    """A field of the instrument in words, and what it makes incomparable."""

    field: str
    reference: str
    candidate: str
    figures: str
    why: str


def difference_lines(candidate: Told) -> list[DifferenceLine]:
    """A line per field and pair of values, with the arms that have it; one where no field differs."""
    grouped: dict[DifferenceLine, list[str]] = {}
    for one in candidate["differences"]:
        values = (_brief(one["reference"]), _brief(one["candidate"]))
        line = DifferenceLine(one["field"], *values, few(one["figures"]) or "nothing", one["why"])
        grouped.setdefault(line, []).extend([] if one["arms"] is None else [arms_in_words(one["arms"])])
    if not grouped:
        return [DifferenceLine("no field", "", "", "nothing", "it is one instrument")]
    return [line._replace(field=f"{line.field} of {few(arms)}") if arms else line for line, arms in grouped.items()]


def not_compared_lines(told: Told, candidate: Told) -> Iterator[tuple[str, str]]:
    """(figures or arms, why) of what a candidate could not be compared in."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for one in candidate["figures"]:
        if one["kind"] in ("refused", "undefined"):
            why = f"{'undefined: ' if one['kind'] == 'undefined' else ''}{'; '.join(one['reasons'])}"
            reasons.setdefault(why, {}).setdefault(arms_in_words(one["arms"]), []).append(one["figure"])
    for why, by_arm in reasons.items():
        for figures, arms in _by_figures(by_arm).items():
            yield f"{few(figures)} of {few(arms)}", why
    labels = (told["reference"]["label"], candidate["run"]["label"])
    for side, label in zip(("only_reference", "only_candidate"), labels, strict=True):
        if candidate["arms"][side]:
            yield f"arm {few(candidate['arms'][side])}", f"only {label} has it"


def alike_lines(told: Told) -> Iterator[str]:
    """Figures that stand beside each other and are alike, by candidate."""
    for candidate in told["candidates"]:
        by_arm: dict[str, list[str]] = {}
        for one in candidate["figures"]:
            if one["kind"] == "beside" and is_alike(one):
                by_arm.setdefault(arms_in_words(one["arms"]), []).append(one["figure"])
        labels = f"{told['reference']['label']} and {candidate['run']['label']}"
        for figures, arms in _by_figures(by_arm).items():
            yield f"the same in {labels}: {', '.join(figures)} of {few(arms)}"


def identical_lines(told: Told) -> Iterator[str]:
    """Figures that are the same on every pair, where there are too many to tell one by one."""
    for candidate in told["candidates"]:
        by_arm: dict[str, list[str]] = {}
        for one in candidate["figures"]:
            if is_folded(candidate, one):
                by_arm.setdefault(arms_in_words(one["arms"]), []).append(one["figure"])
        labels = f"{told['reference']['label']} and {candidate['run']['label']}"
        for figures, arms in _by_figures(by_arm).items():
            yield f"identical on every pair in {labels}: {', '.join(figures)} of {few(arms)}"


def is_folded(candidate: Told, one: Told) -> bool:
    """Whether a figure is one of many that are the same on every pair."""
    same = sum(
        other["delta"] is not None and other["delta"]["conclusion"] == "identical" for other in candidate["figures"]
    )
    return same > MOST_IDENTICAL and one["delta"] is not None and one["delta"]["conclusion"] == "identical"


def is_alike(one: Told) -> bool:
    """Whether both runs have the same figure, interval and counts."""
    reference, candidate = one["beside"]
    return bool(reference == candidate)


def answer_line(told: Told) -> tuple[str, str]:
    """What decided and what it came to: of a gate its outcome first."""
    code = f"(exit code {told['exit_code']})"
    gate = told["gate"]
    if gate is None:
        found = [one["delta"]["conclusion"] for c in told["candidates"] for one in c["figures"] if one["delta"]]
        counted = Counter(found)
        said = ", ".join(f"{counted[conclusion]} {conclusion}" for conclusion in CONCLUSIONS if counted[conclusion])
        what = f"{len(found)} figures" if len(found) != 1 else "1 figure"
        return "Compared", f"{what}{': ' if said else ''}{said} {code}"
    held = gate["held"]
    passed = sum(one["outcome"] == "pass" for one in held)
    what = f"{passed} of {len(held)} figures of quality are so" if held else "no figure of quality was there to be held"
    return "Gate", f"{gate['outcome']} {code}; wanted against {told['reference']['label']}: {gate['wanted']}; {what}"


def missed_lines(told: Told) -> list[tuple[str, str]]:
    """(outcome, what and why) of each figure that the gate did not pass, failures first."""
    if told["gate"] is None:
        return []
    missed = [one for one in told["gate"]["held"] if one["outcome"] != "pass"]
    lines = []
    for one in sorted(missed, key=lambda one: one["outcome"] != "fail"):
        arms = arms_in_words(one["arms"])
        what = f"{one['figure']} of {arms}" if one["figure"] else f"arm {arms}"
        lines.append((one["outcome"], f"{one['candidate']}: {what}: {one['reason']}"))
    return lines


def arms_in_words(arms: Sequence[str]) -> str:
    """The arm's name, or both where they differ."""
    return arms[0] if arms[0] == arms[1] else f"{arms[0]} → {arms[1]}"


def few(names: Iterable[str], most: int = 4) -> str:
    """The first of them, and how many more there are."""
    listed = list(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most} more" if len(listed) > most else "")


def _by_figures(by_arm: Mapping[str, Sequence[str]]) -> dict[tuple[str, ...], list[str]]:
    """The same figures -> the arms that have them."""
    found: dict[tuple[str, ...], list[str]] = {}
    for arm, figures in by_arm.items():
        found.setdefault(tuple(figures), []).append(arm)
    return found


def _brief(text: str, most: int = 30) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
