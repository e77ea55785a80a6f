"""The command line: which command it is, and what the process answers. Heavy imports happen where needed."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from types import FrameType

from evalflow.command.guard import guarded, tell
from evalflow.command.options import TOLD_HOW, Options, options_of, told_how
from evalflow.errors import ExitCode, UsageError
from evalflow.version import __version__

USAGE = """\
evalflow: declarative experiments for language models

  evalflow [key=value ...]               run the experiment (default: tiny_gpt), or go on with it where it stopped
  evalflow experiment=NAME key=value     run another one, or change any of its parts
  evalflow -m seed=0,1,2                 sweep over values; finished jobs of a sweep that stopped are not run again
  evalflow dry_run=true                  print the plan and stop
  evalflow list                          the experiments, and the runs with their verdicts
  evalflow score RUN                     score and judge a stored run again, without its model
  evalflow compare RUN RUN ...           runs held against the first: what makes them incomparable, the rest paired
  evalflow compare RUN --baseline OLD    the same as a gate: exit code 1 where a figure is shown worse than OLD's
  evalflow plan RUN [--difference X]     from a pilot run: the items and seeds that the next one takes, and their cost
  evalflow merge RUN RUN ...             put the shards of a run together
  evalflow track RUN                     log a stored run to MLflow
  evalflow report RUN [--to FILE]        write the HTML page of a run or sweep anew; with --private without answers
  evalflow export RUN [--to DIR]         rows, figures, comparisons and gates as CSV
  evalflow adjudicate RUN [--out FILE]   where annotators part, in context, as CSV; or --confusions
  evalflow review RUN --to DIR           blind sheets of answers for people to judge; --import FILE reads them filled
  evalflow clean [--keep N]              say which old runs would be removed; --yes removes them
  evalflow calibrate                     measure the driver itself on a built-in seat; kept, and shown beside latencies
  evalflow ui [--port N]                 open the MLflow UI on the store under outputs/ (or --uri URI)

  arms.long.decoding.temperature=0.7     change one field of one arm
  +arm@arms.hot=sampled                  add an arm         ~arms.short    remove one
  limit=5                                a smoke run: its gates stay unreadable
  resume=RUN | resume=new                go on with this run, or start a new one whatever lies unfinished

  --config-dir DIR   a folder of your own configs, beside the shipped ones (may be repeated)
  --allow PREFIX     a module prefix that _target_ may name besides evalflow (may be repeated)
  --full             the whole report in tables, not the screen of what decided (a run, -m, score, merge, compare)
  --json             one JSON document on standard output, and all else on standard error
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
THREADS_END_WITHIN_S = 5.0
COMMANDS = (
    "list",
    "score",
    "compare",
    "plan",
    "merge",
    "track",
    "report",
    "export",
    "adjudicate",
    "review",
    "clean",
    "calibrate",
    "ui",
)


Command = Callable[[Sequence[str], Options], int]


def script() -> int:
    """The process: `main`, and then its end, which no thread that hangs in somebody's model can hold up."""
    code = main()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # all is said and written: what comes now must not change the answer
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    deadline = time.monotonic() + THREADS_END_WITHIN_S
    others = [one for one in threading.enumerate() if one is not threading.main_thread() and not one.daemon]
    for thread in others:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in others):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code (contract: `errors.ExitCode`)."""
    line = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character still gets the verdict
    restore = _end_in_order()
    try:
        ended = guarded(partial(_dispatch, line), "--debug" in line)
        tell(ended)
        return ended.code
    except KeyboardInterrupt:
        print("evalflow: interrupted; what was answered is on disk, and the same command goes on", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    finally:
        restore()


def _dispatch(line: list[str]) -> int:
    options, rest = options_of(line)
    ahead = list(takewhile(TOLD_HOW.__contains__, rest))
    rest = rest[len(ahead) :] + ahead  # what stands before a command is the command's
    if rest and rest[0] in COMMANDS:
        from importlib import import_module

        command: Command = getattr(import_module(f"evalflow.command.{rest[0]}"), rest[0])
        return command(rest[1:], options)
    if "--help" in rest or "-h" in rest or rest == ["help"]:
        return _help(options)
    if "--version" in rest:
        print(f"evalflow {__version__}")
        return ExitCode.PASS
    if any(word.split("=")[0] in HYDRA_FLAGS for word in rest):
        from evalflow.runner.hydra_view import hydra_view

        # every exit of Hydra's own means that the command line was wrong
        return ExitCode.PASS if hydra_view(rest, options.folders) else ExitCode.USAGE
    options, rest = told_how(rest, options)
    if any(word in SWEEP_FLAGS for word in rest):
        from evalflow.command.sweep import sweep

        return sweep([word for word in rest if word not in SWEEP_FLAGS], options)
    if rest and rest[0].isalpha():
        from evalflow.runner.build import nearest

        raise UsageError(f"{rest[0]}: it is no command, and no override without =; {nearest(rest[0], COMMANDS)}")
    from evalflow.command.run import run

    return run(rest, options)


def _help(options: Options) -> int:
    from evalflow.report.terminal import say
    from evalflow.runner.experiments import experiments, shipped_folder

    listed = experiments((shipped_folder(), *options.folders))
    lines = [USAGE, "experiments:", *(f"  {name:<16} {said}" for name, said in listed)]
    say(lambda: print(*lines, sep="\n"))
    return ExitCode.PASS


def _end_in_order() -> Callable[[], None]:
    """Let a termination signal end the process as Ctrl-C does, unless its caller chose to ignore it."""
    taken = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                taken[number] = signal.signal(number, _interrupt)

    def restore() -> None:
        for number, before in taken.items():
            signal.signal(number, before)

    return restore


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler has this shape
    raise KeyboardInterrupt
