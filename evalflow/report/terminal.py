"""The terminal: what is printed there, and that no trouble of it changes an answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 160
"""A pipe has no width, unless COLUMNS gives it one; 80 would fold every table."""


def console() -> Console:
    """Standard output, plain and wide where it is no terminal."""
    from rich.console import Console

    made = Console(highlight=False, markup=False)
    if not made.is_terminal and not os.environ.get("COLUMNS", "").isdecimal():
        made.width = PIPE_WIDTH
    return made


def say(act: Callable[[], None]) -> None:
    """Print; a reader that has gone, a full disk behind a pipe or a closed stream changes no exit code."""
    try:
        act()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError, SystemExit):  # rich ends the process on a broken pipe
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good
