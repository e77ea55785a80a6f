"""`evalflow ui`: the MLflow UI on the store that runs are logged to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from evalflow.command.options import CommandParser, Options

LAST_PORT = 65535


def ui(words: Sequence[str], options: Options) -> int:  # noqa: ARG001 - every command has this shape
    """Serve the UI until Ctrl-C."""
    from evalflow.report.console import printable
    from evalflow.report.terminal import say
    from evalflow.tracking.ui import serve

    parser = CommandParser("ui", "--outputs DIR, --uri URI, --port N", __doc__)
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    parser.add_argument("--uri", default=None)
    parser.add_argument("--port", type=int, default=5000)
    asked = parser.read(words)
    if not 0 < asked.port <= LAST_PORT:
        parser.error(f"--port is {asked.port}, and ports are 1 to {LAST_PORT}")
    return serve(asked.outputs, asked.uri, asked.port, lambda line: say(partial(print, printable(line))))
