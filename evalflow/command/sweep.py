"""`evalflow -m key=a,b ...`: a run per combination; no job ends the process, and the worst answer is the sweep's."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from evalflow.command.guard import Ended, guarded, tell
from evalflow.command.options import Options
from evalflow.command.run import carry, complain, planned
from evalflow.errors import EvalflowError, ExitCode, worst

if TYPE_CHECKING:
    from evalflow.runner.sweep import Sweep
    from evalflow.runner.sweep_record import JobRecord, SweepFolder


@dataclass(frozen=True)
class Jobs:
    """What a job needs to know of its sweep, wherever it runs."""

    folder: Path
    words: tuple[tuple[str, ...], ...]
    swept: tuple[dict[str, str], ...]
    options: Options
    shared: bool
    start: str = field(default_factory=lambda: uuid.uuid4().hex[:8])

    def work(self, number: int) -> None:
        """Do one job and keep what came of it. It raises nothing but an interruption."""
        from evalflow.runner.sweep_record import SweepFolder

        folder = SweepFolder(self.folder)
        if not folder.stopped:
            _job(number, self, folder)


def sweep(overrides: Sequence[str], options: Options) -> int:
    """Run the jobs of a command line, or those that an earlier start of it left."""
    from evalflow.runner.journal import check_writable
    from evalflow.runner.sweep import expand_sweep
    from evalflow.runner.sweep_record import SWEEPS, open_sweep

    family = expand_sweep(overrides, options.folders)
    if family.is_dry:
        return worst([_aloud(partial(_dry, job, options), options) for job in family.jobs])
    check_writable(family.outputs, SWEEPS)
    folder, lock = open_sweep(family, options.folders)
    quiet = replace(options, quiet=True, silent=True) if family.launched else options
    jobs = Jobs(folder.folder.resolve(), family.jobs, tuple(dict(one) for one in family.swept), quiet, family.launched)
    try:
        interrupted = _all(jobs, family, folder)
        return _conclude(family, jobs, folder, options, interrupted)
    finally:
        lock.release()


def _all(jobs: Jobs, family: Sweep, folder: SweepFolder) -> bool:
    """Let every job work, one after another or by the launcher that was asked for; whether the user stopped it."""
    numbers = list(range(len(jobs.words)))
    try:
        if not family.launched:
            for number in numbers:
                jobs.work(number)
        else:
            _launched(numbers, jobs, family, folder)
    except KeyboardInterrupt:
        folder.stop()
    return folder.stopped


def _launched(numbers: list[int], jobs: Jobs, family: Sweep, folder: SweepFolder) -> None:
    """By the launcher, until every job has begun.

    A job that dies may take those beside it along (joblib ends them all), so that what was at work then is given a
    second try, each by itself.
    """
    left = numbers
    while left and not folder.stopped:
        _launch(left, jobs, family, folder)
        begun, left = len(left), [number for number in left if _here(folder, number, jobs) is None]
        if len(left) == begun:
            break  # it begins none of them
    for number in numbers:
        record = _here(folder, number, jobs)
        if record is not None and record.state == "at work" and not folder.stopped:
            _launch([number], jobs, family, folder)


def _launch(numbers: list[int], jobs: Jobs, family: Sweep, folder: SweepFolder) -> None:
    from evalflow.runner.launcher import launch

    try:
        with _patient(folder):
            launch(numbers, jobs.work, family.overrides, jobs.options.folders, jobs.folder / "launcher")
    except KeyboardInterrupt:
        raise
    except Exception as fault:  # noqa: BLE001 - a launcher's own; what each job gave is on disk
        complain(f"launcher: {type(fault).__name__}: {' '.join(str(fault).split())[:300]}")


def _here(folder: SweepFolder, number: int, jobs: Jobs) -> JobRecord | None:
    """How far a job came since this start of the sweep; None where it has not begun."""
    record = folder.read(number)
    return record if record is not None and record.start == jobs.start else None


@contextmanager
def _patient(folder: SweepFolder) -> Iterator[None]:
    """The first Ctrl-C begins no further job and leaves those at work alone: a terminal sends it to them as well."""

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a handler has this shape
        folder.stop()
        complain("stopping; jobs at work finish what is in flight, and Ctrl-C again ends them")
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _job(number: int, jobs: Jobs, folder: SweepFolder) -> None:
    from evalflow.report.terminal import say
    from evalflow.runner.journal import now_iso
    from evalflow.runner.sweep_record import JobRecord

    words, options = jobs.words[number], jobs.options
    if not options.quiet:
        say(partial(print, f"evalflow {' '.join(words)}", flush=True))
    earlier = folder.read(number)
    kept = [JobRecord(number, "at work", jobs.start, now_iso())]

    def work() -> int:
        kept[0] = _carried(kept[0], earlier, jobs, folder)
        return int(kept[0].exit_code or 0)

    try:
        ended = guarded(work, options.debug)
    except KeyboardInterrupt:
        ended = Ended(int(ExitCode.INTERRUPTED))  # raised out of a launcher's process, it would end all the others
    tell(ended)
    record = kept[0]
    if record.state != "ended":
        record = replace(
            record, state="ended", ended=now_iso(), exit_code=ended.code, said="; ".join(ended.said) or None
        )
    folder.write(record)
    if record.exit_code == ExitCode.INTERRUPTED:
        folder.stop()
    if jobs.shared:
        say(partial(print, f"job {number} ({_swept(jobs.swept[number])}): {_word(record)}", flush=True))
    elif not options.quiet:
        say(partial(print, "finished before\n" if record.skipped else "", flush=True))


def _carried(record: JobRecord, earlier: JobRecord | None, jobs: Jobs, folder: SweepFolder) -> JobRecord:
    """One job's run, unless an earlier start of the sweep finished it and its config is the same."""
    from evalflow.record import digest
    from evalflow.runner.journal import now_iso
    from evalflow.runner.session import SweepJob

    plan = planned(jobs.words[record.job], jobs.options)
    config_hash = digest(dict(plan.config))
    if earlier is not None and earlier.decided and earlier.config_hash == config_hash and _is_there(earlier):
        return replace(earlier, start=jobs.start, skipped=True)
    record = replace(record, config_hash=config_hash)
    folder.write(record)
    done = carry(plan, jobs.options, SweepJob(folder.sweep_id, jobs.swept[record.job], jobs.shared))
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


def _is_there(record: JobRecord) -> bool:
    return record.folder is not None and (Path(record.folder) / "report.json").is_file()


def _conclude(family: Sweep, jobs: Jobs, folder: SweepFolder, options: Options, interrupted: bool) -> int:
    """Put the jobs' answers together: printed, written, tracked, and the worst of them returned."""
    import json

    from evalflow.report.sweep import summarise, summary_csv
    from evalflow.report.sweep_table import print_sweep
    from evalflow.report.terminal import console, say
    from evalflow.runner.journal import now_iso

    records = [folder.read(number) for number in range(len(family.jobs))]
    reports = {r.job: report for r in records if r is not None and (report := _report(r)) is not None}
    summary = summarise(
        folder.sweep_id,
        family.overrides,
        [_told(number, record, jobs) for number, record in enumerate(records)],
        reports,
        started=str(folder.state().get("started")),
        finished=None if interrupted else now_iso(),
        parallel=family.launched,
        interrupted=interrupted,
    )
    trouble: EvalflowError | None = None
    try:
        folder.write_text("summary.json", json.dumps(summary, indent=1, ensure_ascii=True, allow_nan=False) + "\n")
        folder.write_text("summary.csv", summary_csv(summary))
        folder.close(all(record is not None and record.decided for record in records))
    except EvalflowError as fault:
        trouble = fault
    say(lambda: print(summary["verdict"]) if options.quiet else print_sweep(summary, console()))
    complain(None if trouble is None else str(trouble))
    if not interrupted and trouble is None and reports:
        _track(family, folder, summary, options)
    return int(summary["exit_code"])


def _track(family: Sweep, folder: SweepFolder, summary: dict[str, Any], options: Options) -> None:
    from evalflow.job import track_sweep
    from evalflow.report.terminal import say
    from evalflow.runner.build import Builder, Faults

    tracking = family.whole["tracking"] and Builder(("evalflow", *options.allow), Faults()).build(
        family.whole["tracking"], "tracking"
    )
    tracked = track_sweep(tracking, folder.folder, summary, family.outputs)
    if tracked.link and not options.quiet:
        say(partial(print, f"MLflow: {tracked.link}"))
    complain(tracked.trouble)


def _told(number: int, record: JobRecord | None, jobs: Jobs) -> dict[str, Any]:
    """A job as the summary tells it; one that an earlier start finished and this one did not reach is finished too."""
    if record is not None and record.start != jobs.start:
        record = replace(record, skipped=True) if record.decided else None
    told = {"job": number, "overrides": list(jobs.words[number]), "swept": jobs.swept[number]}
    if record is None:
        empty = dict.fromkeys(("verdict", "exit_code", "run_id", "folder", "said", "seconds"))
        return {**told, **empty, "state": "not run", "skipped": False}
    died = record.state == "at work"
    return {
        **told,
        "state": "finished" if record.decided else "failed",
        "verdict": record.verdict,
        "exit_code": record.exit_code,
        "run_id": Path(record.folder).name if record.folder else None,
        "folder": record.folder,
        "said": "its process ended before the job did" if died else record.said,
        "skipped": record.skipped,
        "seconds": record.seconds,
    }


def _report(record: JobRecord) -> dict[str, Any] | None:
    from evalflow.report.stored_report import load_report

    if record.folder is None:
        return None
    with suppress(EvalflowError):
        return load_report(Path(record.folder))
    return None


def _dry(words: tuple[str, ...], options: Options) -> int:
    print(f"evalflow {' '.join(words)}", flush=True)
    carry(planned(words, options), options)
    return int(ExitCode.PASS)


def _aloud(command: Any, options: Options) -> int:
    ended = guarded(command, options.debug)
    tell(ended)
    return ended.code


def _word(record: JobRecord) -> str:
    if record.exit_code is None:
        return "died"
    word = ExitCode(record.exit_code).name.lower()
    return f"{word} (finished before)" if record.skipped else word


def _swept(swept: dict[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in swept.items())
