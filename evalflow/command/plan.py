"""`evalflow plan RUN`: from a pilot run, the items and seeds that a wanted difference takes, and what they cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalflow.command.options import CommandParser, Options

if TYPE_CHECKING:
    from argparse import Namespace

    from evalflow.runner.compared_run import ComparedRun

TAKES = (
    "one finished run (its folder, or its id under outputs/ or --outputs DIR), --comparison NAME and --figure FIGURE "
    "(all of the run's unless given, both may be repeated), --difference X (to be shown), --margin X (to be kept: "
    "non-inferior, equivalent), --power X and --alpha X (the comparison's own unless given), --json"
)


def plan(words: Sequence[str], options: Options) -> int:
    """Say how large the next run has to be; no model is asked. Exit code 2 where nothing of the run has a size."""
    import json

    from evalflow.job import kept_from_others
    from evalflow.report.compared_run import load_compared
    from evalflow.report.size import size_document
    from evalflow.report.size_console import print_answers, print_sizes
    from evalflow.report.terminal import console, say
    from evalflow.runner.gate_size import gate_sizes
    from evalflow.runner.pilot_cost import arm_cost
    from evalflow.runner.size import Wanted, size_of
    from evalflow.runner.stored_run import find_run

    parser = _parser()
    asked = parser.read(words)
    _check(asked, parser)
    folder = find_run(asked.run, asked.outputs)
    with kept_from_others(folder):
        run = load_compared(folder, "pilot", options.allow)
    named = asked.comparison or asked.figure
    gates = [] if named else gate_sizes(run, 0.8 if asked.power is None else asked.power)
    chosen = _chosen(asked, run, bool(gates))
    compared = [run.plan.comparisons[name] for name, _ in chosen]
    arms = [arm for one in compared for arm in (one.reference, one.candidate)] + [gate.arm for gate in gates]
    costs = {arm: arm_cost(run, arm) for arm in dict.fromkeys(arms)}
    wanted = Wanted(asked.difference, asked.margin, asked.power, asked.alpha)
    sizes = [size_of(run, name, figure, wanted, costs) for name, figure in chosen]
    document = size_document(run, sizes, gates, costs)
    if asked.json:
        say(lambda: print(json.dumps(document, indent=1, ensure_ascii=True)))
    else:
        show = print_answers if options.quiet else print_sizes
        say(lambda: show(document, console()))
    return int(document["exit_code"])


def _parser() -> CommandParser:
    parser = CommandParser("plan", TAKES, __doc__)
    parser.add_argument("run")
    parser.add_argument("--comparison", action="append", default=[])
    parser.add_argument("--figure", action="append", default=[])
    for number in ("--difference", "--margin", "--power", "--alpha"):
        parser.add_argument(number, type=float, default=None)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    return parser


def _check(asked: Namespace, parser: CommandParser) -> None:
    """Refuse numbers that no run could be planned by.

    Raises:
        UsageError: one is out of its range.
    """
    allowed: dict[str, tuple[Callable[[float], bool], str]] = {
        "power": (lambda value: 0 < value < 1, "strictly between 0 and 1"),
        "alpha": (lambda value: 0 < value < 1, "strictly between 0 and 1"),
        "difference": (lambda value: math.isfinite(value) and value != 0, "a number other than 0"),
        "margin": (lambda value: 0 < value < math.inf, "a number above 0"),
    }
    for name, (allows, what) in allowed.items():
        value = getattr(asked, name)
        if value is not None and not allows(value):
            parser.error(f"--{name} is {value:g}, and has to be {what}")


def _chosen(asked: Namespace, run: ComparedRun, with_gates: bool) -> list[tuple[str, str]]:
    """The comparisons and figures that are asked for, by name or all.

    Raises:
        UsageError: there is none, or what is asked for cannot be planned.
    """
    from evalflow.errors import UsageError
    from evalflow.runner.build import nearest
    from evalflow.runner.pilot import NO_MEAN, measured

    comparisons = run.plan.comparisons
    if not comparisons and not with_gates:
        raise UsageError(f"{asked.run}: the run compares nothing; add a comparison of two arms to its experiment")
    for name in asked.comparison:
        if name not in comparisons:
            raise UsageError(f"--comparison {name}: there is none in the run; {nearest(name, comparisons)}")
    names = dict.fromkeys(asked.comparison or comparisons)
    pairs = [(name, figure) for name in names for figure in comparisons[name].figures]
    for figure in asked.figure:
        if figure not in {one for _, one in pairs}:
            whose = run.owners.get(figure)
            if whose is not None and not _is_of_items(run, figure):
                raise UsageError(f"--figure {figure}: no item has a value of its own under it; name another figure")
            known = nearest(figure, {one for _, one in pairs})
            raise UsageError(f"--figure {figure}: it is in no comparison of {', '.join(names) or 'the run'}; {known}")
        if not measured(run, figure).is_mean:
            raise UsageError(f"--figure {figure}: {NO_MEAN}; name another figure")
    chosen = [(name, figure) for name, figure in pairs if not asked.figure or figure in asked.figure]
    for name, figure in chosen:
        _check_reach(asked, run, name, figure)
    return chosen


def _is_of_items(run: ComparedRun, figure: str) -> bool:
    from evalflow.runner.units import PER_ROW

    metric = run.metric(figure)
    return metric.grain in PER_ROW and metric.paired


def _check_reach(asked: Namespace, run: ComparedRun, name: str, figure: str) -> None:
    """Refuse what a comparison or a figure of it rules out.

    Raises:
        UsageError: a difference or margin is beyond the figure's range, or the power is no more than alpha.
    """
    from evalflow.errors import UsageError
    from evalflow.runner.pilot import measured

    comparison = run.plan.comparisons[name]
    alpha = 1 - comparison.level if asked.alpha is None else asked.alpha
    power = comparison.power if asked.power is None else asked.power
    if power <= alpha:
        raise UsageError(f"--power {power:g}: at alpha {alpha:.3g} chance alone has it; give a power above alpha")
    share, todo = f"{figure} is a share", "give a smaller one, or --figure"
    if measured(run, figure).is_rate:
        if asked.difference is not None and abs(asked.difference) > 1:
            raise UsageError(f"--difference {asked.difference:g}: {share}, and no two differ by more than 1; {todo}")
        if asked.margin is not None and asked.margin >= 1:
            raise UsageError(f"--margin {asked.margin:g}: {share}, and none can lose that; {todo}")
