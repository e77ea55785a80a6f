"""`evalflow score RUN`: the same scoring over stored rows."""

from __future__ import annotations

from collections.abc import Sequence

from evalflow.command.options import CommandParser, Options, told_how
from evalflow.command.run import conclude, show


def score(words: Sequence[str], options: Options) -> int:
    """Score and judge a stored run again, without its model."""
    from pathlib import Path

    from evalflow.job import rescored
    from evalflow.runner.stored_run import find_run

    options, words = told_how(words, options)
    takes = "one run: its folder or its id under outputs/ (or under --outputs DIR), and --full or --json"
    parser = CommandParser("score", takes, __doc__)
    parser.add_argument("run")
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    asked = parser.read(words)
    with rescored(find_run(asked.run, asked.outputs), options.allow) as (_, done):
        code = int(done.unwritten.exit_code if done.unwritten else done.report["exit_code"])
        show(done, options, code)
        conclude(done, options, code)
    return code
