"""The terminal: what is printed there, and that no trouble of it changes an answer."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH, PIPE_HEIGHT = 160, 40
"""A pipe has no size, unless COLUMNS and LINES give it one; 80 columns would fold every table."""
TERMINAL = (80, 24)


def console(stderr: bool = False) -> Console:
    """Standard output, or the other one; plain, wide and high where it is no terminal."""
    from rich.console import Console

    made = Console(highlight=False, markup=False, stderr=stderr)
    if not made.is_terminal:
        made.width, made.height = _told("COLUMNS") or PIPE_WIDTH, _told("LINES") or PIPE_HEIGHT
    elif made.width < 1 or made.height < 1:  # a terminal that does not know its size
        made.width, made.height = TERMINAL
    return made


def _told(name: str) -> int:
    """A size that the environment gives; 0 where it gives none."""
    told = os.environ.get(name, "")
    return int(told) if told.isdecimal() else 0


def watched() -> Console:
    """Standard error for what moves: a pipe is no screen, even where colours are forced on it."""
    from rich.console import Console

    made = Console(stderr=True)
    try:
        moves = made.file.isatty()
    except ValueError:  # it is closed
        moves = False
    return made if moves else Console(stderr=True, force_interactive=False)


def say(act: Callable[[], None]) -> None:
    """Print; a reader that has gone, a full disk behind a pipe or a closed stream changes no exit code.

    A reader that went wants no more. What is lost for another reason is told on standard error.
    """
    try:
        act()
        sys.stdout.flush()
        sys.stderr.flush()
    except (BrokenPipeError, SystemExit):  # rich ends the process on a broken pipe
        _be_silent()
    except OSError as fault:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"evalflow: standard output is not whole ({fault.strerror}); give it another place\n")
            sys.stderr.flush()
        _be_silent()
    except (ValueError, AttributeError) as fault:
        if isinstance(fault, UnicodeError) or any(one is None or one.closed for one in (sys.stdout, sys.stderr)):
            _be_silent()
        else:  # it is not the stream's: the answer stands, and what could not be told is not lost in silence
            sys.stderr.write(f"evalflow: not printed ({type(fault).__name__}: {fault}); a defect of evalflow\n")


def _be_silent() -> None:
    """From now on nobody listens."""
    sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good
