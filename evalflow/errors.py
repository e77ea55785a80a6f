"""The one error tree. A message says where, what is wrong, and what to do; it is printed as one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What the process answers. Of several results the first in `WORST_FIRST` decides."""

    PASS = 0
    FAIL = 1
    UNREADABLE = 2
    INCOMPLETE = 3
    USAGE = 64
    INTERRUPTED = 130


WORST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.USAGE,
    ExitCode.INCOMPLETE,
    ExitCode.FAIL,
    ExitCode.UNREADABLE,
    ExitCode.PASS,
)


def worst(codes: Sequence[int]) -> ExitCode:
    """The code that stands for all of `codes` (at least one)."""
    assert codes, "no code to choose from"
    return min((ExitCode(code) for code in codes), key=WORST_FIRST.index)


class EvalflowError(Exception):
    """Anything a user can mend. `exit_code` is what the process ends with."""

    exit_code = ExitCode.INCOMPLETE


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong in a configuration."""

    where: str
    what: str
    todo: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.todo}"


class ConfigError(EvalflowError):
    """The experiment as composed cannot be run: every fault of it, one a line."""

    exit_code = ExitCode.USAGE

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


class UsageError(EvalflowError):
    """The command line itself is wrong."""

    exit_code = ExitCode.USAGE


class DataError(EvalflowError):
    """A dataset cannot be read or does not hold what the experiment needs."""

    exit_code = ExitCode.USAGE


class StoredRunError(EvalflowError):
    """A stored run cannot be read: unknown schema version, missing or damaged file."""

    exit_code = ExitCode.USAGE


class NothingComparedError(EvalflowError):
    """There is nothing that a run could be compared with."""

    exit_code = ExitCode.UNREADABLE


class BusyError(EvalflowError):
    """Another process works on the run."""

    exit_code = ExitCode.USAGE


class OutputError(EvalflowError):
    """The output folder cannot be written; nothing was started."""

    exit_code = ExitCode.USAGE


class OutputLostError(OutputError):
    """The output folder cannot be written any more, after the run was started."""

    exit_code = ExitCode.INCOMPLETE


class ModelError(EvalflowError):
    """A model could not be started or could not answer.

    `kind` is the class of failure that an error row carries (of one without, the error's own name), `attempts` how
    often it was asked.
    """

    def __init__(self, message: str, kind: str | None = None, attempts: int = 1) -> None:
        self.kind = kind
        self.attempts = attempts
        super().__init__(message)


class MetricError(EvalflowError):
    """A metric could not compute its statistics; the rows are on disk and can be scored again."""


class TrackingError(EvalflowError):
    """The tracking store could not be reached or written; results are on disk."""
