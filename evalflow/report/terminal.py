"""The terminal: what is printed there, and that no trouble of it changes an answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH, PIPE_HEIGHT = 160, 40
"""A pipe has no size, unless COLUMNS and LINES give it one; 80 columns would fold every table."""


def console(stderr: bool = False) -> Console:
    """Standard output, or the other one; plain, wide and high where it is no terminal."""
    from rich.console import Console

    made = Console(highlight=False, markup=False, stderr=stderr)
    if not made.is_terminal:
        width, height = os.environ.get("COLUMNS", ""), os.environ.get("LINES", "")
        made.width = int(width) if width.isdecimal() else PIPE_WIDTH
        made.height = int(height) if height.isdecimal() else PIPE_HEIGHT
    return made


def watched() -> Console:
    """Standard error for what moves: a pipe is no screen, even where colours are forced on it."""
    from rich.console import Console

    return Console(stderr=True, force_interactive=None if sys.stderr.isatty() else False)


def say(act: Callable[[], None]) -> None:
    """Print; a reader that has gone, a full disk behind a pipe or a closed stream changes no exit code."""
    try:
        act()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError, SystemExit):  # rich ends the process on a broken pipe
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good
