"""The next run's size on one screen. Colour only on a terminal; plain text when piped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from evalflow.report.aligned import print_hanging
from evalflow.report.console import number, printable
from evalflow.report.quantity import digits

NAMED = 5
"""Unpaired items that are named; the others are counted."""
COSTS = {
    "requests": "requests",
    "tokens_in": "tokens in",
    "tokens_out": "tokens out",
    "minutes": "time",
    "price": "price",
}
"""What a cost is called in the document, and how it is headed."""
ENOUGH = 110
"""Columns of a terminal that whole tables take; where there are fewer, tokens and what an arm was go without."""
ANY_WIDTH = 10_000
Told = Mapping[str, Any]


def print_sizes(document: Told, console: Console) -> None:
    """The pilot, each comparison's sizes and seeds, the gates' sizes, what a row cost, and the notes."""
    told = printable(document)
    part = f" ({told['part']})" if told["part"] else ", all of it"
    pilot = f"pilot {told['run_id']}: {told['n_items']} items of {told['dataset']}{part}"
    print_hanging(Text(f"{told['experiment']} · {pilot}", style="bold"), console)
    for one in told["figures"]:
        console.print()
        _figure(told, one, console)
    if told["gates"]:
        console.print(Text("\nGates on an end of a rate's interval", style="bold"))
        _print_gates(told, console)
    console.print(_arms(told, console.width))
    for line in (*_undefined_lines(told), *_loss_lines(told), *_instrument_lines(told), *told["notes"]):
        print_hanging(Text(f"  {line}"), console)


def print_answers(document: Told, console: Console) -> None:
    """A line per comparison and figure, and per gate: items for each target, or why there is no number."""
    told = printable(document)
    for one in told["figures"]:
        answers = [
            f"{_target(one, size)}: {size['reason'] or number(size['asked']) + ' items'}" for size in one["sizes"]
        ]
        said = f"undefined: {one['reason']}" if one["reason"] else "; ".join(answers)
        print_hanging(Text(f"{one['comparison']} on {one['figure']}: {said}"), console)
    for gate in told["gates"]:
        said = f"undefined: {gate['reason']}" if gate["reason"] else f"{number(gate['asked'])} items"
        print_hanging(Text(f"gate {gate['gate']} of {gate['arm']}: {said}"), console)


def _figure(told: Told, one: Told, console: Console) -> None:
    title = Text(f"{one['comparison']} on {one['figure']}", style="bold")
    if one["pilot"] is None:
        print_hanging(title.append(f": undefined: {one['reason']}", style="not bold yellow"), console)
        return
    print_hanging(title.append(f": {_seen(one)}", style="not bold"), console)
    for line in _pilot_lines(told, one):
        print_hanging(Text(f"  {line}"), console)
    console.print(_sizes(told, one, console.width))
    seeds = one["seeds"]
    for line in (*_size_lines(told, one), *_seed_lines(one)):
        print_hanging(Text(f"  {line}"), console)
    if seeds["choices"]:
        console.print(_seeds(told, one, console.width))


def _seen(one: Told) -> str:
    """What the pilot found."""
    pilot = one["pilot"]
    ends = "" if pilot["low"] is None else f" [{_value(one, pilot['low'])}, {_value(one, pilot['high'])}]"
    sides = f"{one['candidate']} {_value(one, pilot['candidate_value'])}, "
    sides += f"{one['reference']} {_value(one, pilot['reference_value'])}"
    return f"{sides}, difference {_value(one, pilot['delta'])}{ends}"


def _pilot_lines(told: Told, one: Told) -> Iterator[str]:
    pilot = one["pilot"]
    clustered = pilot["n_clusters"] < pilot["n_pairs"]
    units = f"{pilot['n_pairs']} items" + (f" in {pilot['n_clusters']} clusters" if clustered else "")
    shows = "nothing that two shares can differ by" if one["shows"] is None else _value(one, one["shows"])
    at = f"two-sided alpha {one['alpha']:.3g}, power {one['power']:g}"
    yield f"MDE: by a t-test these {units} could show {shows} ({at})"
    likely = f"with {pilot['sd_upper_confidence']:.0%} confidence under {_value(one, pilot['sd_upper'])}"
    yield f"sd of the differences{' between clusters' * clustered}: {_value(one, pilot['sd'])}, {likely}"
    if clustered:
        each = f"{number(pilot['n_pairs'] / pilot['n_clusters'])} items a cluster"
        effect = "undefined" if pilot["design_effect"] is None else number(pilot["design_effect"])
        yield f"counted in clusters, at {each}; design effect {effect} (its variance over that of independent items)"
    if pilot["unpaired"]:
        n = len(pilot["unpaired"])
        named = ", ".join(pilot["unpaired"][:NAMED]) + (f" and {n - NAMED} more" if n > NAMED else "")
        yield f"{n} of {told['n_items']} items were unpaired ({named}); as large a share is allowed for"


def _sizes(told: Told, one: Told, width: int) -> Table:
    clustered = one["pilot"]["n_clusters"] < one["pilot"]["n_pairs"]
    costs = _costs_shown(told, width)
    at_upper = f"at sd {_value(one, one['pilot']['sd_upper'])}"
    heads = ["to show", *(["clusters"] if clustered else []), "items to ask", at_upper, *costs.values()]
    table = _table(heads, ("because",))
    for size in one["sizes"]:
        shown = f"{_target(one, size)}"
        if size["reason"]:
            table.add_row(Text(shown), *([Text("")] * (len(heads) - 1)), Text(f"undefined: {size['reason']}"))
            continue
        cells = [*([number(size["clusters"])] if clustered else []), _items(size), number(size["asked_upper"])]
        cells += _costs(size["cost"], costs)
        table.add_row(Text(shown), *map(Text, cells), Text(size["why"]))
    return table


def _size_lines(told: Told, one: Told) -> Iterator[str]:
    """What stands behind the table's numbers."""
    more = [size for size in one["sizes"] if not size["reason"] and size["items"] > size["by_t"]]
    if more:
        size = more[-1]
        fewer = f"{number(size['by_t'])} of {number(size['items'])} for {_target(one, size)}"
        yield f"what decides is the {one['test']} with the report's interval; the t-test of the MDE takes {fewer}"
    if any(size["why"] == "seen in the pilot" for size in one["sizes"]):
        yield "what was seen is as uncertain as the pilot is small: plan for the difference that would matter"
    if any(size["kind"] != "difference" for size in one["sizes"]):
        yield f"margins are one-sided at alpha {one['alpha']:.3g}, with arms that are truly equal"
    if any(size["beyond_dataset"] for size in one["sizes"]):
        yield f"*: more than the {told['n_items']} items that the dataset has"


def _seeds(told: Told, one: Told, width: int) -> Table:
    costs = _costs_shown(told, width)
    own = {len(arm["seeds"]) for arm in told["arms"] if arm["arm"] in one["seeds"]["arms"]}
    heads = ["seeds", "sd", "items to ask", *costs.values(), f"{one['pilot']['n_pairs']} items can show"]
    table = _table(heads, ("",))
    for choice in one["seeds"]["choices"]:
        marks = ["cheapest"] * choice["cheapest"] + ["as the pilot"] * (choice["seeds"] in own)
        shows = "-" if choice["shows"] is None else _value(one, choice["shows"])
        cells = [_value(one, choice["sd"]), _items(choice), *_costs(choice["cost"], costs), shows]
        table.add_row(Text(str(choice["seeds"])), *map(Text, cells), Text(", ".join(marks)))
    return table


def _seed_lines(one: Told) -> Iterator[str]:
    seeds = one["seeds"]
    if not seeds["choices"]:
        yield f"seeds: {seeds['reason']}"
        return
    share = seeds["within"] / (seeds["between"] + seeds["within"])
    arms, target = " and ".join(seeds["arms"]), _target(one, seeds["target"])
    yield f"seeds of {arms}, to show {target}: of the variance under one seed {share:.0%} is the seed's"
    if seeds["between"] == 0:
        yield "the seeds differ by as much as the items do, so that what lies between items is not seen"


def _print_gates(told: Told, console: Console) -> None:
    """A table where it fits, else a line for each gate: no name is cut."""
    table = _table(["gate", "figure", "arm", "wanted", "rate", "n", "items to ask", "requests"], ("because",))
    lines = []
    for gate in told["gates"]:
        rate = "-" if gate["rate"] is None else number(gate["rate"])
        asked = ("", "") if gate["asked"] is None else (number(gate["asked"]), number(gate["cost"]["requests"]))
        why = (
            f"undefined: {gate['reason']}" if gate["reason"] else f"power {gate['power']:g}, were {rate} the true rate"
        )
        if gate["design_effect"] is not None and gate["design_effect"] > 1.01:
            why += f", design effect {number(gate['design_effect'])}"
        named = (gate["gate"], gate["figure"], gate["arm"], gate["threshold"], rate, str(gate["n"]))
        table.add_row(*map(Text, (*named, *asked, why)))
        wanted = f"{gate['figure']} of {gate['arm']} {rate}, n={gate['n']}, wanted {gate['threshold']}"
        size = "" if gate["asked"] is None else f"{asked[0]} items, {asked[1]} requests; "
        lines.append(Text(f"  {gate['gate']}: {wanted}: {size}{why}"))
    # by itself rich would say that anything fits
    if console.measure(table, options=console.options.update(max_width=ANY_WIDTH)).maximum <= console.width:
        console.print(table)
        return
    for line in lines:
        print_hanging(line, console)


def _arms(told: Told, width: int) -> Table:
    """What a row of each arm cost; where there is no room, without what the arm was."""
    priced = any(arm["price"] is not None for arm in told["arms"])
    counts = ("rows", "errors", "missing")
    amounts = ("requests", "tokens in", "tokens out", "ms", *(["price"] if priced else []))
    was = ("seeds", "in flight") if width >= ENOUGH else ()
    table = _table(["a row of", *counts, *was, *amounts])
    for arm in told["arms"]:
        at_most = f" of {arm['concurrency']}" if (arm["in_flight"] or 0) < arm["concurrency"] else ""
        load = f"{arm['in_flight']}{at_most}" if arm["rate"] is None else f"{arm['rate']:g} a second"
        ms = None if arm["seconds"] is None else 1000 * arm["seconds"]
        cells = {
            "rows": str(arm["n_rows"]),
            "errors": str(arm["n_error"]),
            "missing": str(arm["n_planned"] - arm["n_rows"]),
            "seeds": str(len(arm["seeds"])),
            "in flight": load,
            "requests": _amount(arm["requests"]),
            "tokens in": _amount(arm["tokens_in"]),
            "tokens out": _amount(arm["tokens_out"]),
            "ms": _amount(ms),
            "price": _amount(arm["price"]),
        }
        table.add_row(Text(arm["arm"]), *(Text(cells[head]) for head in (*counts, *was, *amounts)))
    return table


def _undefined_lines(told: Told) -> Iterator[str]:
    """Why a cost of an arm is not known: arms of one reason in one line."""
    words = {"tokens_in": "tokens in", "tokens_out": "tokens out", "seconds": "time", "price": "price"}
    grouped: dict[tuple[str, str], list[str]] = {}
    for arm in told["arms"]:
        for what, why in arm["undefined"].items():
            if what != "price" or "no prices" not in why:
                grouped.setdefault((words[what], why), []).append(arm["arm"])
    for (what, why), arms in grouped.items():
        yield f"{what} of {' and '.join(arms)}: undefined: {why}"


def _loss_lines(told: Told) -> Iterator[str]:
    for arm in told["arms"]:
        missing = arm["n_planned"] - arm["n_rows"]
        if arm["n_error"] or missing:
            yield f"arm {arm['arm']}: {arm['n_error']} error rows and {missing} missing of {arm['n_planned']}"


def _instrument_lines(told: Told) -> Iterator[str]:
    """On what the times were taken."""
    machine = told["instrument"].get("machine")
    if machine and any(arm["seconds"] is not None for arm in told["arms"]):
        on = f"{machine['processor']}, {machine['cores']} cores"
        yield f"times are wall time per row, with as many in flight as in the pilot, on {on}"


def _table(heads: Sequence[str], last: Sequence[str] = ()) -> Table:
    """An empty table: the first column to the left, numbers to the right, and what explains them last."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(heads):
        table.add_column(heading, justify="left" if place == 0 else "right", overflow="fold", no_wrap=place == 0)
    for heading in last:
        table.add_column(heading, overflow="fold")
    return table


def _costs_shown(told: Told, width: int) -> dict[str, str]:
    """The columns of a cost: the price where any arm has one, tokens where there is room."""
    kept = [key for key in COSTS if width >= ENOUGH or not key.startswith("tokens")]
    if all(arm["price"] is None for arm in told["arms"]):
        kept.remove("price")
    return {key: COSTS[key] for key in kept}


def _costs(cost: Told, shown: Iterable[str]) -> list[str]:
    return [_time(cost[key]) if key == "minutes" else _amount(cost[key]) for key in shown]


def _time(minutes: float | None) -> str:
    """A time in the unit that it would be said in."""
    if minutes is None:
        return "-"
    if minutes * 60 < 1:
        return "under 1 s"
    for size, unit, times in ((60, "s", 60.0), (60, "min", 1.0)):
        if minutes * times < size:
            return f"{digits(minutes * times)} {unit}"
    return f"{digits(minutes / 60)} h"


def _target(one: Told, target: Told) -> str:
    value = _value(one, target["value"])
    return {"difference": value, "non-inferior": f"no worse by {value}", "equivalent": f"within {value}"}[
        target["kind"]
    ]


def _items(size: Told) -> str:
    return number(size["asked"]) + "*" * bool(size["beyond_dataset"])


def _value(one: Told, value: float) -> str:
    """A value of the figure in its unit, times in ms."""
    scale, suffix = (1000, " ms") if one["unit"] == "s" else (1, "")
    return number(scale * value) + suffix


def _amount(value: float | None) -> str:
    return "-" if value is None else number(value)
