"""`evalflow compare RUN RUN ...`: finished runs held against each other, and a candidate against its baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalflow.command.options import CommandParser, Options, place

if TYPE_CHECKING:
    from argparse import Namespace

    from evalflow.runner.compared_run import ComparedRun
    from evalflow.runner.regression import Regression
    from evalflow.runner.run_pair import Asked

LAST_PASSED = "last-passed"
STDOUT = "-"
TAKES = (
    "two or more finished runs (folders, ids under outputs/ or --outputs DIR, or MLflow run ids), of which the first "
    "is the reference; --baseline RUN|last-passed (a gate: exit code 1 where a figure of quality is shown worse than "
    "that run's), --max-loss X (each must be shown to lose less), --coverage X (the least share to be paired of what "
    "the baseline scored), --arms OLD=NEW,OLD=NEW (whose names differ; all others pair by name), --figures A,B, "
    "--vary FIELD,FIELD (what is tested on purpose, such as concurrency), --full (all of it, in tables), "
    "--json [FILE], --csv FILE, --html FILE, --tracking-uri URI"
)


def compare(words: Sequence[str], options: Options) -> int:
    """Hold finished runs against the first of them, or against a baseline as a gate; no model is asked."""
    import json

    from evalflow.report.compare import Gated, compare_csv, comparison_document
    from evalflow.report.compare_console import print_answer, print_comparison
    from evalflow.report.compare_screen import print_comparison_screen
    from evalflow.report.terminal import console, say
    from evalflow.runner.regression import held_against
    from evalflow.runner.run_pair import pair_runs

    parser = _parser()
    asked = parser.read(words)
    regression = _regression(asked, parser)
    runs = _loaded(_folders(asked, parser), options.allow)
    pairs = pair_runs(runs[0], runs[1:], _what(asked, runs))
    gated = None if regression is None else Gated(regression, held_against(regression, pairs))
    document = comparison_document(pairs, gated)
    text = json.dumps(document, indent=1, ensure_ascii=True)
    if asked.csv is not None:
        _write(asked.csv, compare_csv(document))
    if asked.html is not None:
        from evalflow.report.html.compare_page import compare_page

        _write(asked.html, compare_page(document))
    if asked.json is not None and asked.json != STDOUT:
        _write(Path(asked.json), f"{text}\n")
    if asked.json == STDOUT:
        say(lambda: print(text))
    else:
        show = print_answer if options.quiet else print_comparison if asked.full else print_comparison_screen
        say(lambda: show(document, console()))
    return int(document["exit_code"])


def _parser() -> CommandParser:
    parser = CommandParser("compare", TAKES, __doc__)
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--baseline", default=None)
    parser.add_argument("--max-loss", type=_number, default=None)
    parser.add_argument("--coverage", type=_number, default=None)
    parser.add_argument("--arms", action="append", default=[])
    parser.add_argument("--figures", action="append", default=[])
    parser.add_argument("--vary", action="append", default=[])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--json", nargs="?", const=STDOUT, default=None)
    parser.add_argument("--csv", type=place, default=None)
    parser.add_argument("--html", type=place, default=None)
    parser.add_argument("--tracking-uri", default=None)
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    return parser


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError
    return value


def _regression(asked: Namespace, parser: CommandParser) -> Regression | None:
    """The gate that a baseline asks for.

    Raises:
        UsageError: its numbers make no gate, or belong to one that is not asked for.
    """
    from evalflow.runner.regression import Regression

    if asked.baseline is None:
        for name in ("max_loss", "coverage"):
            if getattr(asked, name) is not None:
                parser.error(f"--{name.replace('_', '-')} is of a gate, and there is no --baseline")
        return None
    try:
        return Regression(asked.max_loss, 1.0 if asked.coverage is None else asked.coverage)
    except ValueError as fault:
        parser.error(str(fault))


def _folders(asked: Namespace, parser: CommandParser) -> list[Path]:
    """The folders of the runs, the reference's first.

    Raises:
        UsageError: there is nothing to compare, or one with itself.
        StoredRunError, TrackingError: there is no such run.
        NothingComparedError: no earlier run passed.
    """
    named = [_found(name, asked) for name in asked.runs]
    if asked.baseline == LAST_PASSED:
        folders = [_last_passed(named, asked, parser), *named]
    elif asked.baseline is not None:
        folders = [_found(asked.baseline, asked), *named]
    else:
        folders = named
    if len(folders) < 2:
        parser.error("one run is named, and there is no --baseline")
    resolved = [folder.resolve() for folder in folders]
    # within one run, arms of other names may be held against each other
    if len(set(resolved)) < len(resolved) and not asked.arms:
        parser.error("a run is named twice")
    return folders


def _found(named: str, asked: Namespace) -> Path:
    """The folder of a run that is named by its path, its id or an MLflow run's.

    Raises:
        StoredRunError: there is no such run.
        UsageError: the tracking store cannot say which run an MLflow run is of.
    """
    from evalflow.errors import StoredRunError, TrackingError, UsageError
    from evalflow.runner.stored_run import find_run, peek, run_folders
    from evalflow.tracking.logged_run import MLFLOW_ID, logged_run

    if not MLFLOW_ID.fullmatch(named) or Path(named).is_dir():
        return find_run(named, asked.outputs)
    try:
        logged = logged_run(named, asked.tracking_uri, asked.outputs)
    except TrackingError as fault:
        raise UsageError(str(fault)) from None
    # what the store says is looked for, and no path is made of it
    for folder in run_folders(asked.outputs):
        state = peek(folder) if folder.name == logged.run_id else None
        if state is not None and logged.origin in (None, state["sessions"][0]["session"]):
            return folder
    said = f"it is of run {logged.run_id!r:.60} of {logged.experiment!r:.60}, which is not under {asked.outputs}"
    raise StoredRunError(f"MLflow run {named}: {said}; give --outputs, or the run's folder")


def _last_passed(candidates: Sequence[Path], asked: Namespace, parser: CommandParser) -> Path:
    """The newest finished run of the candidates' experiment that passed, and is none of them.

    Raises:
        UsageError: the candidates are of several experiments.
        StoredRunError: one of them cannot be read.
        NothingComparedError: there is none.
    """
    from evalflow.errors import NothingComparedError
    from evalflow.runner.inventory import inventory
    from evalflow.runner.stored_run import load_run, peek

    states = [peek(folder) or load_run(folder).state for folder in candidates]
    experiments = sorted({state["experiment"] for state in states})
    if len(experiments) > 1:
        parser.error(f"{LAST_PASSED} is of one experiment, and the runs are of {', '.join(experiments)}")
    places = (candidates[0], candidates[0].resolve())  # a folder may be named as `.`
    kept = next((one.parent.parent for one in places if one.parent.name == experiments[0]), asked.outputs)
    known = {state["run_id"] for state in states}
    for entry in inventory(kept, experiments[0]):
        if entry.state == "finished" and entry.verdict == "pass" and entry.run_id not in known:
            return entry.folder
    said = f"no other finished run of {experiments[0]} under {kept} passed"
    raise NothingComparedError(f"{said}; name a --baseline, or let this one be the first")


def _loaded(folders: Sequence[Path], allow: Sequence[str]) -> list[ComparedRun]:
    """The runs, called A, B, C and so on.

    Raises:
        StoredRunError, ConfigError: one of them cannot be read.
    """
    from evalflow.report.compared_run import load_compared

    labels = [chr(ord("A") + n) if n < 26 else f"R{n + 1}" for n in range(len(folders))]
    return [load_compared(folder, label, allow) for folder, label in zip(folders, labels, strict=True)]


def _what(asked: Namespace, runs: Sequence[ComparedRun]) -> Asked:
    """What is to be compared of them.

    Raises:
        UsageError: an arm, a figure or a field is none that there is.
    """
    from evalflow.errors import UsageError
    from evalflow.runner.build import nearest
    from evalflow.runner.instrument_difference import MAY_VARY
    from evalflow.runner.run_pair import Asked

    reference, candidates = runs[0], runs[1:]
    arms: dict[str, str] = {}
    for word in (one for listed in asked.arms for one in listed.split(",") if one):
        old, sign, new = word.partition("=")
        if not sign or not old or not new:
            raise UsageError(f"--arms {word}: it is no OLD=NEW; name an arm of each run")
        if old in arms:
            raise UsageError(f"--arms {word}: {old} is named twice; name it once")
        if old not in reference.plan.arms:
            raise UsageError(f"--arms {word}: there is no arm {old} in A; {nearest(old, reference.plan.arms)}")
        for run in candidates:
            if new not in run.plan.arms:
                raise UsageError(f"--arms {word}: there is no arm {new} in {run.label}; {nearest(new, run.plan.arms)}")
        arms[old] = new
    figures = _names(asked.figures, "--figures", {name for run in runs for name in run.owners})
    return Asked(arms, figures, _names(asked.vary, "--vary", MAY_VARY))


def _names(words: Sequence[str], option: str, known: Iterable[str]) -> tuple[str, ...]:
    """The names in words that list them with commas.

    Raises:
        UsageError: one is not known.
    """
    from evalflow.errors import UsageError
    from evalflow.runner.build import nearest

    names = tuple(dict.fromkeys(name for word in words for name in word.split(",") if name))
    for name in names:
        if name not in set(known):
            raise UsageError(f"{option} {name}: there is none; {nearest(name, sorted(known))}")
    return names


def _write(path: Path, text: str) -> None:
    """Write a file, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    from evalflow.errors import OutputError
    from evalflow.whole_file import replace_text

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text, named=True)
    except OSError as fault:
        raise OutputError(f"{path}: cannot be written ({fault.strerror}); give another file") from None
