"""`evalflow clean [EXPERIMENT]`: remove old runs, or say which ones would go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from evalflow.command.options import CommandParser, Options
from evalflow.command.run import complain

if TYPE_CHECKING:
    from evalflow.runner.removal import Removal


def clean(words: Sequence[str], options: Options) -> int:
    """Say what is older than the runs to keep, and with --yes remove it."""
    from evalflow.command.list import check_experiment
    from evalflow.errors import EvalflowError, ExitCode
    from evalflow.report.listing import print_removals
    from evalflow.report.terminal import console, say
    from evalflow.runner.removal import KEPT, removals, remove

    parser = CommandParser("clean", "an experiment's name, --keep N, --yes, --outputs DIR", __doc__)
    parser.add_argument("experiment", nargs="?")
    parser.add_argument("--keep", type=int, default=KEPT)
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    asked = parser.read(words)
    if asked.keep < 0:
        parser.error(f"--keep is {asked.keep}, less than no run")
    if asked.experiment is not None:
        check_experiment(asked.experiment, asked.outputs)
    found = removals(asked.outputs, asked.keep, asked.experiment)
    gone, code = list(found), ExitCode.PASS
    if asked.yes:
        gone = []
        for one in found:
            try:
                remove(one)
                gone.append(one)
            except EvalflowError as fault:
                complain(str(fault))
                code = ExitCode.USAGE

    def tell() -> None:
        out = console()
        if gone:
            print_removals(gone, out)
        out.print(_sum(gone, asked.yes, asked.keep), soft_wrap=True)

    if not options.quiet:
        say(tell)
    return int(code)


def _sum(found: Sequence[Removal], removed: bool, keep: int) -> str:
    """What went, or would go, and what is never touched."""
    from evalflow.report.listing import size

    if not found:
        return f"nothing was removed: {keep} runs of each experiment stay, its last that passed, and what people review"
    counts = Counter(one.kind for one in found)
    parts = [f"{n} {kind if n == 1 else f'{kind}s'}" for kind, n in counts.items()]
    total = f"{', '.join(parts)}, {size(sum(one.size for one in found))}"
    store = "MLflow's store is not touched: what was logged stays there"
    if removed:
        return f"removed {total}. {store}."
    return f"would remove {total}; the same command with --yes removes them. {store}."
