"""evalflow as a process that notes its phases in a file and kills itself in one of them.

    python -m tests.acceptance.killed LOG KILL WORDS...

KILL is `-`, or `phase:nth:seconds` (that long after the phase began for the nth time), or `write:nth:before|after`
(before or after the nth file of the run takes its name). A phase is noted as `[name, nth, seconds since start]` when it
begins and again, with the name `end`, when it ends. SIGKILL leaves no handler a chance: it is what a crash does.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import evalflow.command.run
import evalflow.job
import evalflow.runner.execute
import evalflow.runner.journal
import evalflow.runner.session
from evalflow.cli import main

PHASES: dict[str, tuple[Any, str]] = {
    "composing": (evalflow.command.run, "planned"),
    "opening": (evalflow.runner.session, "_opened"),
    "starting": (evalflow.runner.execute._Arm, "_start"),
    "measuring": (evalflow.runner.execute._Arm, "_measure"),
    "answering": (evalflow.runner.execute._Arm, "_answer"),
    "reading back": (evalflow.runner.session, "load_run"),
    "scoring": (evalflow.job, "score"),
    "judging": (evalflow.job, "judge"),
    "reporting": (evalflow.job, "write_report"),
    "logging": (evalflow.job, "track"),
}
BEGAN = time.perf_counter()


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Recorder:
    """Notes phases, and kills where it was told to."""

    def __init__(self, log: Path, order: str) -> None:
        self.log = log.open("a", encoding="utf-8", buffering=1)
        self.phase, _, rest = order.partition(":")
        nth, _, self.when = rest.partition(":")
        self.nth = int(nth or 0)
        self.seen: Counter[str] = Counter()

    def begin(self, name: str) -> None:
        self.seen[name] += 1
        self.note(name, self.seen[name])
        if (self.phase, self.nth) == (name, self.seen[name]):
            timer = threading.Timer(float(self.when), kill)
            timer.daemon = True
            timer.start()

    def note(self, name: str, nth: int) -> None:
        self.log.write(f"{json.dumps([name, nth, time.perf_counter() - BEGAN])}\n")

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def noted(*args: Any, **kwargs: Any) -> Any:
                self.begin(name)
                try:
                    return await function(*args, **kwargs)
                finally:
                    self.note("end", self.seen[name])

            return noted

        @functools.wraps(function)
        def told(*args: Any, **kwargs: Any) -> Any:
            self.begin(name)
            try:
                return function(*args, **kwargs)
            finally:
                self.note("end", self.seen[name])

        return told

    def writing(self, replace: Callable[[Path, str], Path]) -> Callable[[Path, str], Path]:
        def written(path: Path, text: str) -> Path:
            self.seen["write"] += 1
            here = (self.phase, self.nth) == ("write", self.seen["write"])
            self.note(f"write {path.name}", self.seen["write"])
            if here and self.when == "before":
                kill()
            done = replace(path, text)
            if here:
                kill()
            return done

        return written


def patch(recorder: Recorder) -> None:
    for name, (home, attribute) in PHASES.items():
        setattr(home, attribute, recorder.around(name, getattr(home, attribute)))
    for module in [m for name, m in sys.modules.items() if name.startswith("evalflow") and hasattr(m, "replace_text")]:
        module.replace_text = recorder.writing(module.replace_text)  # type: ignore[attr-defined]


if __name__ == "__main__":
    patch(Recorder(Path(sys.argv[1]), sys.argv[2]))
    sys.exit(main(sys.argv[3:]))
