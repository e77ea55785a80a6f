"""A sweep's entry: the one flat run that it becomes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from evalflow.tracking.entry import Entry, entries, milliseconds
from evalflow.tracking.sweep_entry import grid_keys, sweep_entry
from tests.tracking.written_run import MakeRun
from tests.tracking.written_sweep import SWEEP_ID, cell, job, line, summary, swept_in


def of(folder: Path, private: bool = False, **changes: object) -> Entry:
    return sweep_entry(swept_in(folder, **changes), private, git="0123456789ab")


def test_name_tags_and_params_say_what_was_swept_and_nothing_else(tmp_path: Path) -> None:
    """The name has the verdict, the tags role, sweep, experiment and commit, and the params are the axes alone."""
    entry = of(tmp_path)
    assert entry.name == "sweep: incomplete"
    assert entry.params == {"sweep.seed": "0,1", "sweep.concurrency": "1,6"}
    wanted = {
        "role": "sweep",
        "sweep_id": SWEEP_ID,
        "experiment": "word_tasks",
        "verdict": "incomplete",
        "schema_version": "1",
        "git": "0123456789ab",
    }
    assert {key: entry.tags[f"evalflow.{key}"] for key in wanted} == wanted
    assert entry.identity == ("sweep", None, None)


def test_jobs_are_counted_by_verdict_and_one_without_is_incomplete(tmp_path: Path) -> None:
    """Of four jobs two passed, one failed and one has no verdict, so the sweep's run is a failed one."""
    entry = of(tmp_path)
    counts = {key: value for key, value in entry.metrics.items() if key.startswith("n/jobs")}
    assert counts == {
        "n/jobs": 4,
        "n/jobs_passed": 2,
        "n/jobs_failed": 1,
        "n/jobs_unreadable": 0,
        "n/jobs_incomplete": 1,
    }
    assert entry.status == "FAILED"
    assert of(tmp_path, jobs=[job(0, "0", "1", "fail"), job(1, "0", "6", "unreadable")]).status == "FINISHED"


def test_means_are_metrics_named_after_figure_arm_and_place(tmp_path: Path) -> None:
    """Every mean is a metric to six digits, quality first, with the axis values where a line has several cells."""
    metrics = of(tmp_path).metrics
    assert {key: value for key, value in metrics.items() if not key.startswith("n/")} == {
        "quality/exact long concurrency 1": 0.666667,
        "quality/exact long concurrency 6": 1.0,
        "delta/exact long_vs_short concurrency 1": -0.1,
        "delta/exact long_vs_short concurrency 6": 0.0,
        "lat/ttft_s/p50 long concurrency 1": 0.5,
    }
    assert next(iter(metrics)) == "quality/exact long concurrency 1"


def test_one_cell_needs_no_place(tmp_path: Path) -> None:
    """Where only the seed was swept, a mean is named after its figure and arm."""
    entry = of(tmp_path, axes={"seed": ["0", "1"]}, grid=[line("long", "quality/exact", cell(0.5))])
    assert entry.metrics["quality/exact long"] == 0.5


def test_what_has_no_mean_is_a_tag_and_counted(tmp_path: Path) -> None:
    """Every undefined cell is counted, and a line without any number is one tag with its reasons."""
    entry = of(tmp_path)
    undefined = {key: value for key, value in entry.tags.items() if key.startswith("evalflow.undefined.")}
    assert undefined == {
        "evalflow.undefined.stability/seed_sd long": "one seed; the job has no report",
    }
    assert entry.metrics["n/undefined"] == 3


def test_two_axes_of_one_last_name_keep_their_whole_names(tmp_path: Path) -> None:
    """`arms.a.concurrency` and `arms.b.concurrency` are not both shortened to `concurrency`."""
    at = {"arms.a.concurrency": "1", "arms.b.concurrency": "2"}
    cells = [cell(0.5) | {"at": at}, cell(1.0) | {"at": {**at, "arms.b.concurrency": "3"}}]
    metrics = of(tmp_path, grid=[line("a", "quality/x", *cells)]).metrics
    assert metrics["quality/x a arms.a.concurrency 1 arms.b.concurrency 3"] == 1.0


def test_grid_figures_are_named_as_in_the_runs_of_the_jobs() -> None:
    """A figure keeps its name, and a delta has the one that a report's run gives it."""
    assert grid_keys(summary()["grid"]) == [
        "lat/ttft_s/p50",
        "quality/exact",
        "stability/seed_sd",
        "delta/exact long_vs_short",
    ]


def test_it_lasts_as_long_as_the_sweep_and_is_listed_above_its_jobs(tmp_path: Path, make_run: MakeRun) -> None:
    """The duration is the sweep's eight seconds, and it starts after everything that a job of it logged."""
    entry = of(tmp_path)
    assert entry.end_ms - entry.start_ms == 8000
    last = replace(make_run("last"), sweep_id=SWEEP_ID)
    begun = dict(last.report) | {"started": "2026-11-29T10:00:07.900+00:00"}
    logged = entries(replace(last, report=begun), private=False, git=None)
    assert entry.start_ms > max(other.start_ms for other in logged)


def test_an_interrupted_sweep_is_listed_on_top_too(tmp_path: Path) -> None:
    """A sweep that never finished is placed by when it is logged."""
    assert of(tmp_path, finished=None).start_ms > milliseconds("2026-11-29T10:00:08+00:00")


def test_the_files_are_those_that_are_there(tmp_path: Path) -> None:
    """Of the three files of a sweep, the one that was removed is not logged."""
    sweep = swept_in(tmp_path)
    (sweep.folder / "summary.csv").unlink()
    assert [path.name for path in sweep_entry(sweep, False, None).files] == ["sweep.json", "summary.json"]


def test_private_leaves_out_what_a_job_said(tmp_path: Path) -> None:
    """In private neither description nor files hold what a job could not run for; a summary without it is logged."""
    entry = of(tmp_path, private=True)
    assert entry.files == ()
    written = json.loads(entry.texts["summary.json"])
    jobs = [{**one, "said": None} for one in summary()["jobs"]]
    assert written == summary(jobs=jobs, notes=["jobs took a part of their dataset"])
    assert "zebra" not in json.dumps([dict(entry.tags), dict(entry.texts), dict(entry.params)])
    assert "zebra" in of(tmp_path).tags["mlflow.note.content"]


def over_steps(folder: Path, *steps: str, **changes: object) -> Entry:
    """The entry of a sweep over training steps, whose mean rises by 0.1 with each."""
    cells = [cell((n + 1) / 10, low=n / 10, at={"step": step}) for n, step in enumerate(steps)]
    rows = [line("long", "quality/exact", *cells)]
    return of(folder, **{"axes": {"step": list(steps)}, "grid": rows, **changes})


def test_over_training_steps_each_line_is_a_series(tmp_path: Path) -> None:
    """A value per step in place of a metric per cell; the ends of the intervals have a group of their own."""
    entry = over_steps(tmp_path, "150", "1500")
    assert entry.series == {
        "quality/exact long": {150: 0.1, 1500: 0.2},
        "range/quality.exact long low": {150: 0.0, 1500: 0.1},
    }
    assert sorted(entry.series)[0].startswith("quality/")  # as MLflow sorts its sections
    assert {key for key in entry.metrics if not key.startswith("n/")} == set()


def test_a_count_of_rows_is_a_series_without_an_interval(tmp_path: Path) -> None:
    """Its charts would stand before those of what was asked."""
    rows = [line("long", "n/coverage", cell(1.0, low=0.9, high=1.0, at={"step": "1"}))]
    assert over_steps(tmp_path, "1", "2", grid=rows).series == {"n/coverage long": {1: 1.0}}


def test_a_step_without_a_number_is_a_gap_and_other_axes_are_series_of_their_own(tmp_path: Path) -> None:
    """Undefined is no 0; a mean at another concurrency is another curve."""
    places = [{"step": "1", "concurrency": "6"}, {"step": "2", "concurrency": "6"}, {"step": "2", "concurrency": "1"}]
    cells = [cell(value, at=at) for value, at in zip((0.5, None, 0.25), places, strict=True)]
    entry = over_steps(tmp_path, "1", "2", grid=[line("long", "quality/exact", *cells)])
    assert entry.series == {"quality/exact long concurrency 6": {1: 0.5}, "quality/exact long concurrency 1": {2: 0.25}}
    assert entry.metrics["n/undefined"] == 1


def test_steps_that_are_no_whole_numbers_are_metrics_as_of_any_axis(tmp_path: Path) -> None:
    """MLflow's steps are whole."""
    entry = over_steps(tmp_path, "1.5", "2")
    assert entry.series == {}
    assert entry.metrics["quality/exact long step 1.5"] == 0.1


def test_the_page_is_logged_and_privately_without_what_may_quote(tmp_path: Path) -> None:
    """A page that cannot be made is left out."""
    sweep = replace(swept_in(tmp_path), page=lambda private: f"page {private}")
    assert sweep_entry(sweep, False, git=None).texts == {"sweep.html": "page False"}
    assert sweep_entry(sweep, True, git=None).texts["sweep.html"] == "page True"
    assert "sweep.html" not in of(tmp_path).texts
