"""The command line: compose, plan, run, score, judge, report, track, exit code. Heavy imports happen where needed."""

from __future__ import annotations

import argparse
import copy
import io
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalflow import __version__
from evalflow.errors import (
    ConfigError,
    EvalflowError,
    ExitCode,
    MetricError,
    OutputError,
    TrackingError,
    UsageError,
    worst,
)

if TYPE_CHECKING:
    from rich.console import Console

    from evalflow.record import Row
    from evalflow.runner.plan import Plan
    from evalflow.runner.stored_run import StoredRun

USAGE = """\
evalflow: declarative experiments for language models

  evalflow [key=value ...]               run the experiment (default: tiny_gpt)
  evalflow experiment=NAME key=value     run another one, or change any of its parts
  evalflow -m seed=0,1,2                 sweep over values
  evalflow dry_run=true                  print the plan and stop
  evalflow score RUN                     score and judge a stored run again, without its model
  evalflow ui [--port N]                 open the MLflow UI on the store under outputs/ (or --uri URI)

  arms.long.decoding.temperature=0.7     change one field of one arm
  +arm@arms.hot=sampled                  add an arm         ~arms.short    remove one
  limit=5                                a smoke run: its gates stay unreadable

  --config-dir DIR   a folder of your own configs, beside the shipped ones (may be repeated)
  --allow PREFIX     a module prefix that _target_ may name besides evalflow (may be repeated)
  --quiet            print the verdict alone         --debug    show tracebacks
  --cfg job | --info | --hydra-help      Hydra's own views of the config
  --version, --help

exit codes: 0 pass, 1 a gate failed, 2 unreadable, 3 could not complete, 64 usage or config, 130 interrupted
"""
HYDRA_FLAGS = (
    "--cfg",
    "-c",
    "--info",
    "-i",
    "--hydra-help",
    "--resolve",
    "--package",
    "-p",
    "--shell-completion",
    "-sc",
)
SWEEP_FLAGS = ("-m", "--multirun")


@dataclass(frozen=True)
class Options:
    """Our own flags; everything else on the line is overrides or Hydra's."""

    folders: tuple[Path, ...]
    allow: tuple[str, ...]
    quiet: bool
    debug: bool
    sweep_id: str | None = None
    swept: Mapping[str, str] = field(default_factory=dict)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code (contract: `errors.ExitCode`)."""
    line = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in line
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character still gets the verdict
    try:
        return _guarded(partial(_dispatch, line), debug)
    except KeyboardInterrupt:
        print("evalflow: interrupted; what was answered is on disk", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)


def _guarded(command: Callable[[], int], debug: bool) -> int:
    """The command's exit code; a fault becomes a line of its own and no traceback."""
    try:
        return int(command())
    except ConfigError as fault:
        return _ended(fault.faults, fault.exit_code, debug)
    except EvalflowError as fault:
        return _ended([fault], fault.exit_code, debug)
    except KeyboardInterrupt:
        raise
    except SystemExit as ended:
        return _ended([f"something called exit({ended.code}); no class of yours may"], ExitCode.INCOMPLETE, debug)
    except BaseException as fault:  # noqa: BLE001 - Python's own exit code 1 would read as "a gate failed"
        told = f"{type(fault).__name__}: {' '.join(str(fault).split())}"
        said = f"{told}; a defect of evalflow or of a class of yours, which --debug shows"
        return _ended([said], ExitCode.INCOMPLETE, debug)


def _ended(said: Sequence[object], code: ExitCode, debug: bool) -> int:
    def say() -> None:
        for one in said:
            print(f"evalflow: {one}", file=sys.stderr)
        if debug:
            traceback.print_exc()

    _said(say)
    return int(code)


def _dispatch(line: list[str]) -> int:
    options, rest = _options(line)
    if "--help" in rest or "-h" in rest or rest == ["help"]:
        return _help(options)
    if "--version" in rest:
        print(f"evalflow {__version__}")
        return ExitCode.PASS
    if any(word.split("=")[0] in HYDRA_FLAGS for word in rest):
        return _hydra(rest, options)
    if any(word in SWEEP_FLAGS for word in rest):
        return _sweep([word for word in rest if word not in SWEEP_FLAGS], options)
    commands = {"score": _score, "ui": _ui}
    if rest and rest[0] in commands:
        return commands[rest[0]](rest[1:], options)
    if rest and rest[0].isalpha():
        from evalflow.runner.build import nearest

        raise UsageError(f"{rest[0]}: it is no command, and no override without =; {nearest(rest[0], commands)}")
    return _run(rest, options)


def _options(line: list[str]) -> tuple[Options, list[str]]:
    parser = argparse.ArgumentParser(prog="evalflow", add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--config-dir", action="append", default=[], type=Path)
    parser.add_argument("--allow", action="append", default=[])
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--debug", action="store_true")
    try:
        known, rest = parser.parse_known_args(line)
    except argparse.ArgumentError as fault:
        raise UsageError(f"command line: {fault}; see evalflow --help") from None
    allow = (*known.allow, *_allowed_by_environment())
    return Options(tuple(known.config_dir), allow, known.quiet, known.debug), rest


def _allowed_by_environment() -> list[str]:
    return [prefix for prefix in os.environ.get("EVALFLOW_ALLOW", "").replace(":", ",").split(",") if prefix]


def _help(options: Options) -> int:
    from evalflow.runner.experiments import experiments, shipped_folder

    print(USAGE)
    print("experiments:")
    for name, said in experiments((shipped_folder(), *options.folders)):
        print(f"  {name:<16} {said}")
    return ExitCode.PASS


def _run(overrides: list[str], options: Options) -> int:
    """The whole flow of one experiment."""
    from evalflow.runner.build import Faults
    from evalflow.runner.compose import compose_config
    from evalflow.runner.origin import blamed
    from evalflow.runner.plan import build_plan

    faults = Faults()
    composed = compose_config(overrides, options.folders, faults)
    if composed is None:
        raise ConfigError(faults.found)
    try:
        plan = build_plan(composed.config, options.allow, faults)
    except ConfigError as fault:
        raise ConfigError([blamed(one, composed) for one in fault.faults]) from None
    return carry(plan, options)


def carry(plan: Plan, options: Options) -> int:
    """Run a plan, or print it; from here on nothing can be wrong with the config."""
    from rich.console import Console

    from evalflow.report.progress import TerminalProgress
    from evalflow.runner.journal import check_writable
    from evalflow.runner.session import carry_out
    from evalflow.runner.stored_run import unfinished

    outputs = Path(plan.runner.outputs)
    check_writable(outputs, plan.name)
    console = _console()
    for run_id in unfinished(outputs, plan.name, plan.resume_key()):
        if not options.quiet:
            told = f"run {run_id} of the same rows is unfinished; it is left alone, and a new run starts"
            _said(partial(console.print, told))
    if plan.config.get("dry_run"):
        from evalflow.report.dry_run import print_plan

        _said(partial(print_plan, plan, console))
        return ExitCode.PASS
    with TerminalProgress(Console(stderr=True), plan.runner.progress and not options.quiet) as progress:
        run = carry_out(plan, progress)
    return _conclude(plan, run, options, console)


def _conclude(plan: Plan, run: StoredRun, options: Options, console: Console, track: bool = True) -> int:
    """Score, judge, report, track. The report is on disk before tracking begins, which cannot change the answer."""
    from evalflow.report.build import build_report
    from evalflow.report.console import print_report
    from evalflow.report.files import write_report
    from evalflow.runner.judge import judge
    from evalflow.runner.score import score

    try:
        scores = score(plan, run.rows, run.probes, run.traces)
        report = build_report(run, scores, judge(scores))
    except MetricError as fault:
        raise MetricError(f"{fault}: evalflow score {run.folder}") from fault
    unwritten: OutputError | None = None
    try:
        write_report(run.folder, report, scores.rows)
    except OutputError as fault:
        unwritten = fault  # the verdict is said first
    code = int(report["exit_code"])
    # a tracker gets a copy: nothing that it does to it can change the answer
    link = _track(plan, run, copy.deepcopy(report), scores.rows, options) if track and unwritten is None else None

    def say() -> None:
        if options.quiet:
            print(report["verdict"])
            return
        print_report(report, console)
        console.print(f"Folder: {run.folder}", soft_wrap=True)
        if link:
            console.print(f"MLflow: {link}", soft_wrap=True)

    _said(say)
    if unwritten is not None:
        raise unwritten
    return code


def _said(say: Callable[[], None]) -> None:
    """Print; a reader that has gone, a full disk behind a pipe or a closed stream changes no exit code."""
    try:
        say()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError, SystemExit):  # rich ends the process on a broken pipe
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good


def _track(plan: Plan, run: StoredRun, report: dict[str, Any], rows: list[Row], options: Options) -> str | None:
    """Log the run; where it can be looked at. Whatever becomes of tracking, the verdict stands and is on disk."""
    from evalflow.tracking.finished_run import FinishedRun, Logged

    if plan.tracking is None:
        return None
    try:
        finished = FinishedRun(run.folder, report, rows, run.items, options.sweep_id, options.swept)
        logged: Logged | None = plan.tracking.log(finished, Path(plan.runner.outputs))
        if logged is None:
            return None
        return f"{logged.link} (while `{logged.shown_by}` runs)" if logged.shown_by else logged.link
    except KeyboardInterrupt:
        raise
    except TrackingError as fault:
        told = str(fault)
    except BaseException as fault:  # noqa: BLE001 - a tracker may be the user's
        told = f"tracking: {type(fault).__name__}: {fault}"
    _said(lambda: print(f"evalflow: not tracked: {' '.join(told.split())}", file=sys.stderr))
    return None


def _score(words: list[str], options: Options) -> int:
    """`evalflow score RUN`: the same scoring over stored rows."""
    from evalflow.runner.session import stored_plan
    from evalflow.runner.stored_run import find_run, load_run

    if len(words) != 1 or words[0].startswith("-"):
        raise UsageError("evalflow score: it takes one run; give its folder or its id under outputs/")
    run = load_run(find_run(words[0]))
    return _conclude(stored_plan(run, options.allow), run, options, _console(), track=False)


def _ui(words: list[str], options: Options) -> int:  # noqa: ARG001 - every command has this shape
    """`evalflow ui`: the MLflow UI on the store that runs are logged to."""
    from evalflow.tracking.ui import serve

    takes = "it takes --outputs DIR, --uri URI, --port N"
    parser = argparse.ArgumentParser(prog="evalflow ui", add_help=False, exit_on_error=False)
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    parser.add_argument("--uri", default=None)
    parser.add_argument("--port", type=int, default=5000)
    try:
        asked, unknown = parser.parse_known_args(words)
    except argparse.ArgumentError as fault:
        raise UsageError(f"evalflow ui: {fault}; {takes}") from None
    if unknown:
        raise UsageError(f"evalflow ui: there is no {unknown[0]}; {takes}")
    return serve(asked.outputs, asked.uri, asked.port, lambda address: print(f"{address}  (Ctrl-C ends it)"))


def _sweep(overrides: list[str], options: Options) -> int:
    """One job per combination; a job never exits the process, and the worst of their codes is the sweep's."""
    from datetime import datetime

    from evalflow.record import digest
    from evalflow.runner.sweep import expand_sweep

    codes = []
    jobs = expand_sweep(overrides, options.folders)
    sweep_id = f"{datetime.now():%Y%m%d-%H%M%S}-{digest(overrides)[:6]}"
    for job in jobs:
        _said(partial(print, f"evalflow {' '.join(job)}", flush=True))
        swept = dict(word.split("=", 1) for place, word in enumerate(job) if any(word != j[place] for j in jobs))
        one = replace(options, sweep_id=sweep_id, swept=swept)
        codes.append(_guarded(partial(_run, list(job), one), options.debug))
        _said(partial(print, flush=True))
    for job, code in zip(jobs, codes, strict=True):
        _said(partial(print, f"{ExitCode(code).name.lower():<12} {' '.join(job)}"))
    return worst(codes)


def _hydra(words: list[str], options: Options) -> int:
    """Hydra's own views of the config; its exits all mean that the command line was wrong."""
    from evalflow.runner.hydra_view import hydra_view

    return ExitCode.PASS if hydra_view(words, options.folders) else ExitCode.USAGE


def _console() -> Console:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 160  # a pipe has no width; 80 would fold every table
    return console
