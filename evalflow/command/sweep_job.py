"""One job of a sweep: a run of its own, whose answer is kept on disk and ends no other job."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from evalflow.command.guard import Ended, guarded, tell
from evalflow.command.options import Options
from evalflow.command.run import carry, planned
from evalflow.errors import ExitCode

if TYPE_CHECKING:
    from evalflow.runner.sweep_record import JobRecord, SweepFolder

LOOK_S = 1.0
END_WITHIN_S = 10.0


@dataclass(frozen=True)
class Jobs:
    """What a job needs to know of its sweep, wherever it runs."""

    folder: Path
    words: tuple[tuple[str, ...], ...]
    swept: tuple[dict[str, str], ...]
    options: Options
    shared: bool
    start: str

    def work(self, number: int) -> None:
        """Do one job, unless the sweep was stopped, and keep what came of it.

        Raises:
            OutputLostError: that cannot be kept. What the job itself does is kept, and never raised.
        """
        from evalflow.runner.sweep_record import SweepFolder

        folder = SweepFolder(self.folder, self.start)
        if folder.stopped:
            return
        if not self.shared:
            self._do(number, folder)
            return
        with _ending_with_its_parent():
            self._do(number, folder)

    def name(self, number: int) -> str:
        """A job as it is told: its number and what the sweep gave it."""
        swept = " ".join(f"{key}={value}" for key, value in self.swept[number].items())
        return f"job {number} of {len(self.words)}: {swept}".rstrip(": ")

    def _do(self, number: int, folder: SweepFolder) -> None:
        from evalflow.report.terminal import say
        from evalflow.runner.journal import now_iso
        from evalflow.runner.sweep_record import JobRecord

        if self.options.voice != "none":
            say(partial(print, self.name(number), flush=True, file=self.options.aside))
        earlier = folder.read(number)
        kept = [JobRecord(number, "at work", self.start, now_iso())]

        def work() -> int:
            kept[0] = self._carried(kept[0], earlier, folder)
            return int(kept[0].exit_code or 0)

        try:
            ended = guarded(work, self.options.debug)
        except KeyboardInterrupt:  # raised out of a launcher's process, it would end all the others
            ended = Ended(int(ExitCode.INTERRUPTED), ("interrupted; what was answered is on disk",))
        tell(ended)
        record = kept[0]
        if record.state != "ended":
            said = "; ".join(ended.said) or None
            record = replace(record, state="ended", ended=now_iso(), exit_code=ended.code, said=said)
        folder.write(record)
        if record.exit_code == ExitCode.INTERRUPTED:
            folder.stop()
        if self.shared and not self.options.quiet:
            say(partial(print, f"{self.name(number)}: {_word(record)}", flush=True, file=self.options.aside))
        elif self.options.voice != "none":
            told = f"finished before: {_word(record)}\n" if record.skipped else ""
            say(partial(print, told, flush=True, file=self.options.aside))

    def _carried(self, record: JobRecord, earlier: JobRecord | None, folder: SweepFolder) -> JobRecord:
        """One job's run, unless an earlier start of the sweep finished it and its config is the same."""
        from evalflow.record import digest
        from evalflow.runner.journal import now_iso
        from evalflow.runner.session import SweepJob

        plan = planned(self.words[record.job], self.options)
        config_hash = digest(dict(plan.config))
        if earlier is not None and earlier.decided and earlier.config_hash == config_hash and _is_there(earlier):
            return replace(earlier, start=self.start, skipped=True)
        record = replace(record, config_hash=config_hash)
        folder.write(record)
        done = carry(plan, self.options, SweepJob(folder.sweep_id, self.swept[record.job], self.shared))
        assert done is not None, "a dry run is no job"
        return replace(
            record,
            state="ended",
            ended=now_iso(),
            exit_code=done.exit_code,
            verdict=str(done.report["verdict"]),
            folder=str(done.folder),
            said=None if done.unwritten is None else str(done.unwritten),
        )


@contextmanager
def _ending_with_its_parent() -> Iterator[None]:
    """A launcher's process whose sweep was killed would work on for nobody: it ends in order, as at a termination."""
    parent, done = os.getppid(), threading.Event()

    def watch() -> None:
        while not done.wait(LOOK_S):
            if os.getppid() != parent:
                os.kill(os.getpid(), signal.SIGTERM)
                done.wait(END_WITHIN_S)
                time.sleep(0.1)  # its record is being written
                os._exit(int(ExitCode.INTERRUPTED))

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _is_there(record: JobRecord) -> bool:
    return record.folder is not None and (Path(record.folder) / "report.json").is_file()


def _word(record: JobRecord) -> str:
    """How a job ended, in a word."""
    return record.verdict or ("died" if record.exit_code is None else ExitCode(record.exit_code).name.lower())
