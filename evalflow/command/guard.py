"""The one place where whatever a command raises becomes an exit code and a line."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from evalflow.errors import ConfigError, EvalflowError, ExitCode


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, what is to be said of a fault, a line each, and its traceback."""

    code: int
    said: tuple[str, ...] = ()
    trace: str = ""


def guarded(command: Callable[[], int], debug: bool) -> Ended:
    """Run a command; a fault becomes a line of its own and, unless `debug` asks for it, no traceback.

    Raises:
        KeyboardInterrupt: the user stopped it.
    """
    try:
        return Ended(int(command()))
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # noqa: BLE001 - Python's own exit code 1 would read as "a gate failed"
        code, said = _answer(fault)
        return Ended(int(code), said, traceback.format_exc() if debug else "")


def tell(ended: Ended) -> None:
    """Print what a command's fault is, on standard error; names of files and keys in it only print."""
    if not ended.said:
        return
    from evalflow.report.console import printable
    from evalflow.report.terminal import say

    def lines() -> None:
        for line in ended.said:
            print(f"evalflow: {printable(line)}", file=sys.stderr)
        if ended.trace:
            print(ended.trace, file=sys.stderr)

    say(lines)


def _answer(fault: BaseException) -> tuple[ExitCode, tuple[str, ...]]:
    if isinstance(fault, ConfigError):
        return fault.exit_code, tuple(str(one) for one in fault.faults)
    if isinstance(fault, EvalflowError):
        return fault.exit_code, (str(fault),) if str(fault) else ()
    if isinstance(fault, SystemExit):
        return ExitCode.INCOMPLETE, (f"something called exit({fault.code}); no class of yours may",)
    told = f"{type(fault).__name__}: {' '.join(str(fault).split())}"
    return ExitCode.INCOMPLETE, (f"{told}; a defect of evalflow or of a class of yours, which --debug shows",)
