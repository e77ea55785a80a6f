"""`evalflow adjudicate RUN`: where annotators part, in context, as CSV; and what is confused with what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalflow.command.options import CommandParser, Options, place

if TYPE_CHECKING:
    from evalflow.metric.protocol import Answer
    from evalflow.report.adjudication import Side
    from evalflow.runner.plan import Plan
    from evalflow.runner.stored_run import StoredRun

TAKES = (
    "one run (its folder, or its id under outputs/ or --outputs DIR), --out FILE (for the CSV, which is printed "
    "otherwise), --confusions (print those instead), --metric KEY (the one whose unit and profile hold; otherwise the "
    "first error rate), and --context N (units at each side)"
)


def adjudicate(words: Sequence[str], options: Options) -> int:
    """Print or write the places where a stored run's annotators part, or print what was confused with what."""
    from evalflow.errors import ExitCode, UsageError
    from evalflow.report.adjudication import adjudication, adjudication_csv, annotators_confusions, write_adjudication
    from evalflow.report.terminal import say
    from evalflow.runner.session import stored_plan
    from evalflow.runner.stored_run import find_run, load_run

    parser = CommandParser("adjudicate", TAKES, __doc__)
    parser.add_argument("run")
    parser.add_argument("--out", type=place, default=None)
    parser.add_argument("--confusions", action="store_true")
    parser.add_argument("--metric", default=None)
    parser.add_argument("--context", type=int, default=20)
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    asked = parser.read(words)
    if asked.context < 0:
        parser.error(f"context is {asked.context}")
    run = load_run(find_run(asked.run, asked.outputs))
    plan = stored_plan(run, options.allow)
    metric, side = _compared(plan, asked.metric, asked.context)
    if not annotators_confusions(run.items, side):
        raise UsageError(f"{asked.run}: no item of it was read by two annotators; name a run whose dataset has them")
    answers = _answers(plan, run)
    if asked.out is not None or not asked.confusions:
        text = adjudication_csv(*adjudication(run.items, answers, side))
        if asked.out is not None:
            write_adjudication(asked.out, text)
        shown = text if asked.out is None else "" if options.quiet else f"{asked.out}\n"
        say(lambda: print(shown, end=""))
    if asked.confusions:
        say(lambda: print(*_confusion_lines(run, answers, metric, side), sep="\n"))
    return int(ExitCode.PASS)


def _compared(plan: Plan, key: str | None, context: int) -> tuple[Any, Side]:
    """The metric in whose unit and profile texts are compared: the one asked for, or the first that is an error rate.

    Raises:
        UsageError: there is none, or it compares no texts.
    """
    from evalflow.errors import UsageError
    from evalflow.metric.error_rate import ErrorRate
    from evalflow.report.adjudication import Side
    from evalflow.runner.build import nearest

    comparing = {name: one for name, one in plan.metrics.items() if hasattr(one, "unit") and hasattr(one, "profile")}
    rates = [name for name, one in comparing.items() if isinstance(one, ErrorRate)]
    chosen = key or next(iter([*rates, *comparing]), None)
    if chosen is None:
        raise UsageError("adjudicate: no metric of the run compares texts; add one, such as +metric@metrics.cer=cer")
    if chosen not in comparing:
        raise UsageError(f"--metric {chosen}: it is none that compares texts; {nearest(chosen, comparing)}")
    metric: Any = comparing[chosen]
    return metric, Side(metric.unit, metric.profile, context)


def _answers(plan: Plan, run: StoredRun) -> dict[str, dict[str, Answer]]:
    """Arm -> item id -> its answer under the arm's first seed, of those that have one."""
    from evalflow.metric.protocol import Answer

    items = {item.id: item for item in run.items}
    return {
        name: {
            row.item_id: Answer(items[row.item_id], row)
            for row in run.rows
            if row.arm == name and row.seed == planned.arm.seeds[0] and row.draft is not None
        }
        for name, planned in plan.arms.items()
    }


def _confusion_lines(
    run: StoredRun, answers: Mapping[str, Mapping[str, Answer]], metric: Any, side: Side
) -> Iterator[str]:
    """Those of annotators among themselves, then each arm's against the references that grade it."""
    from evalflow.metric.error_rate import Confusions, ErrorRate
    from evalflow.report.adjudication import annotators_confusions, confusion_lines

    yield f"in {side.unit}s, brought to {side.profile.describe()}"
    for names, found in annotators_confusions(run.items, side).items():
        yield from confusion_lines(f"annotators {names}", found, side)
    if isinstance(metric, ErrorRate):
        for arm, answered in answers.items():
            confused = Confusions()
            for answer in answered.values():
                confused.update(metric.confusions(answer))
            yield from confusion_lines(f"reference {metric.reference} | arm {arm}", confused, side)
