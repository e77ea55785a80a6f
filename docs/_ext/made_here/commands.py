"""What each command says of itself."""

from __future__ import annotations

import contextlib
import io


def commands() -> str:
    """The usage, then the help of every command."""
    from evalflow.cli import COMMANDS

    parts = ["## evalflow", _as_printed(["--help"])]
    for name in COMMANDS:
        parts += [f"## evalflow {name}", _as_printed([name, "--help"])]
    return "\n\n".join(parts)


def _as_printed(words: list[str]) -> str:
    from evalflow.cli import main

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(words)
    if code:
        raise RuntimeError(f"evalflow {' '.join(words)} ended with {code}")
    return f"```text\n{out.getvalue().rstrip()}\n```"
