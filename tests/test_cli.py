"""The command line: what it loads, what it refuses, and that nothing is started for what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evalflow import __version__
from evalflow.cli import COMMANDS
from evalflow.runner.lock import hold
from tests.conftest import ITEMS, Cli, Lab

Experiment = Callable[..., list[str]]
GATE = {"floor": {"figure": "quality/exact", "arm": "one", "floor": 0.9}}
HEAVY = ("torch", "mlflow", "httpx", "hydra", "omegaconf", "numpy", "scipy", "pandas", "rich", "yaml", "asyncio")
NO_TARGET = [{"id": "a", "input": "?"}]
COMPARISON = {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}


def python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "code",
    ["import evalflow", "from evalflow.cli import main; main(['--help'])", "import evalflow.cli, evalflow.errors"],
)
def test_importing_and_helping_load_nothing_heavy(code: str, home: Path) -> None:
    """Neither the package nor its help loads torch, mlflow, hydra, numpy or an HTTP client."""
    ended = python(f"import sys\n{code}\nprint('LOADED', [name for name in {HEAVY!r} if name in sys.modules])", home)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == "LOADED []"


def test_a_plan_is_made_without_the_tracking_store(cli: Cli, experiment: Experiment, home: Path) -> None:
    """An untracked dry run in a fresh process loads neither mlflow nor pandas."""
    words = [*experiment(), "dry_run=true"]
    ended = python(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        f"from evalflow.cli import main\ncode = main({words!r})\n"
        "print('LOADED', code, [name for name in ('mlflow', 'pandas', 'torch') if name in sys.modules])",
        home,
    )
    assert ended.stdout.splitlines()[-1] == "LOADED 0 []", ended.stderr


def test_the_module_and_the_version(home: Path) -> None:
    """`python -m evalflow --version` says the version, and the process ends with the command's code."""
    words = [sys.executable, "-m", "evalflow"]
    ended = subprocess.run([*words, "--version"], cwd=home, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, f"evalflow {__version__}\n")
    ended = subprocess.run([*words, "experiment=nope"], cwd=home, capture_output=True, text=True, check=False)
    assert ended.returncode == 64
    assert "Traceback" not in ended.stderr


def test_the_help_lists_every_experiment_with_its_line(cli: Cli) -> None:
    """A newcomer sees what can be run."""
    ran = cli("--help")
    assert ran.code == 0
    listed = ran.out.split("experiments:\n")[1].splitlines()
    shipped = sorted(path.stem for path in (Path(__file__).parents[1] / "conf/experiment").glob("*.yaml"))
    assert [line.split()[0] for line in listed] == shipped
    assert all(len(line.split(maxsplit=1)[1]) > 20 for line in listed)


def test_a_dry_run_prints_the_plan_and_starts_nothing(cli: Cli, experiment: Experiment) -> None:
    """Items, requests, arms, figures and gates are shown; the model is not started and no run is made."""
    model = {"_target_": "tests.stand_ins.Unstartable"}
    words = experiment(model=model, arms={"one": {"seeds": [0, 1]}, "two": {}}, gates=GATE)
    ran = cli(*words, "dry_run=true", "limit=4")
    assert (ran.code, ran.err, ran.folder) == (0, "", None)
    assert ran.out.splitlines()[0] == "case: 4 items of jsonl (smoke run: limit 4), 12 requests"
    for said in (
        "arm one: greedy, seeds 0, 1, concurrency 1",
        "quality/exact",
        "gate floor",
        ">= 0.9",
        "note: arm one",
    ):
        assert said in ran.out


def bad(word: str, said: str, **parts: object) -> tuple[dict[str, object], list[str], str]:
    return parts, [word] if word else [], said


FAULTS = {
    "experiment": bad("experiment=caze", r"experiment: there is no experiment caze .*; did you mean case\?"),
    "arm": bad("arms.onee.concurrency=2", r"arms\.onee: there is no such key .*; did you mean one\?"),
    "metric": bad("+metric@metrics.m=exact_mach", r"metric: there is no metric exact_mach .*; did you mean exact_m"),
    "gate": bad("gates.flor.floor=1", r"gates\.flor: there is no such key .*; did you mean floor\?"),
    "key": bad("sede=1", r"sede: there is no such key .*; did you mean seed\?"),
    "forced key": bad("++runner.timeot_s=1", r"runner\.timeot_s: Runner has no such key .*; did you mean timeout_s\?"),
    "type": bad("seed=six", r"seed: 'six' is str \(override seed=six\); give a whole number"),
    "missing": bad("name=???", r"name: the value is missing .*; give it, such as name=\.\.\."),
    "figure": bad(
        "gates.floor.figure=quality/exat", r"gates\.floor\.figure: no metric produces quality/exat .*; did you"
    ),
    "absent arm": bad(
        "", r"comparisons\.c\.candidate: there is no arm two .*; choose from one", comparisons={"c": COMPARISON}
    ),
    "duplicate ids": bad(
        "", r"items\.jsonl:7: id 'a' is already on items\.jsonl:1; make ids unique", items=[*ITEMS, ITEMS[0]]
    ),
    "empty dataset": bad("", r"items\.jsonl: it has no items; give at least one line", items=[]),
    "malformed line": bad("dataset.path=bad.jsonl", r"bad\.jsonl:2: not JSON .*; write one object a line"),
    "no file": bad(
        "dataset.path=none.jsonl", r"none\.jsonl: cannot be read \(No such file or directory\); give a readable"
    ),
    "not UTF-8": bad("dataset.path=latin.jsonl", r"latin\.jsonl:1: not UTF-8 .*; save the file as UTF-8"),
    "no targets": bad(
        "", r"metrics\.exact: 1 items have no target, 'a' first.*; give every item a target", items=NO_TARGET
    ),
    "where": bad("where.kind=zzz", r".*selects none of the 6 items.*; loosen it"),
    "outputs": bad(
        "runner.outputs=file/out", r"file/out/case: cannot be written \(Not a directory\); give another with"
    ),
    "huge seed": bad("seed=9223372036854775808", r"seed: it is beyond 64 bits .*; give a smaller one"),
    "endless number": bad(f"seed={'1' * 5000}", r"override seed=1+: .*; write key=value"),
    "resume": bad("resume=20260101-000000-abcdef", r"20260101-000000-abcdef: there is no such run under outputs; give"),
    "target": bad("model._target_=os.system", r"model\._target_: os\.system is not under an allowed prefix"),
    "null group": bad("model=null", r"model: there is no model null"),
    "flag": bad("--fast", r"--fast: there is no such flag; see evalflow --help"),
    "root value": bad("limit=0", r"limit: it is 0 \(override limit=0\); give at least 1"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_bad_input_is_one_line_and_starts_nothing(cli: Cli, experiment: Experiment, home: Path, case: str) -> None:
    """Exit code 64, one clear line on standard error, no traceback, no run folder, nothing on standard output."""
    parts, words, said = FAULTS[case]
    (home / "bad.jsonl").write_text('{"input": "a", "target": "b"}\n{"input":\n', encoding="utf-8")
    (home / "latin.jsonl").write_bytes('{"input": "ä"}\n'.encode("latin-1"))
    (home / "file").write_text("", encoding="utf-8")
    ran = cli(*experiment(**{"gates": GATE, **parts}), *words)
    assert ran.code == 64
    assert len(ran.faults) == 1, ran.err
    assert re.match(f"evalflow: {said}", ran.faults[0]), ran.faults[0]
    assert ran.out == ""
    assert ran.folder is None


def test_an_output_folder_is_tried_before_anything_else(cli: Cli, experiment: Experiment, home: Path) -> None:
    """A dry run too says that its outputs could not be written."""
    (home / "file").write_text("", encoding="utf-8")
    assert cli(*experiment(gates=GATE), "runner.outputs=file", "dry_run=true").code == 64


def test_an_allowed_prefix_comes_from_the_line_or_the_environment_alone(
    cli: Cli, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class outside evalflow is refused unless the caller allowed its module."""
    words = experiment(model={"_target_": "tests.stand_ins.Raising"}, gates=GATE)
    words.remove("--allow")
    words.remove("tests")
    assert cli(*words).code == 64
    monkeypatch.setenv("EVALFLOW_ALLOW", "elsewhere,tests")
    assert cli(*words).code == 0


def test_quiet_prints_the_verdict_alone(cli: Cli, experiment: Experiment) -> None:
    """One word on standard output, for scripts."""
    ran = cli(*experiment(gates=GATE), "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "pass\n", "")


def interrupting(number: int, **settings: object) -> dict[str, object]:
    """A model that has a signal sent when item c is asked, once."""
    return {"_target_": "tests.stand_ins.Interrupting", "number": int(number), **settings}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_stopped_says_so_and_the_same_command_goes_on(
    cli: Cli, experiment: Experiment, home: Path, number: int
) -> None:
    """Exit code 130, a report so far and a line, untracked. Then the rest is asked, and the run is tracked once."""
    words = [*experiment(model=interrupting(number), gates=GATE), *NOTEBOOK]
    half = cli(*words)
    how = "finishing what is in flight; Ctrl-C again stops at once"
    assert half.code == 130
    said = "interrupted; what was answered is on disk, and the same command goes on"
    assert half.faults == [
        f"evalflow: stopping, {how if number == signal.SIGINT else 'cancelling what is in flight'}",
        f"evalflow: {said}",
    ]
    assert half.report["verdict"] == "incomplete"
    assert "Verdict: incomplete (exit code 130); arm one did not finish" in half.out
    answered = list("abc") if number == signal.SIGINT else list("ab")
    assert [row["item_id"] for row in half.rows] == answered
    assert not (home / "notes.txt").exists()
    full = cli(*words)
    assert (full.code, full.err, full.folder) == (0, "", half.folder)
    assert full.out.splitlines()[0] == f"resuming run {half.report['run_id']}: {len(answered)} of 6 rows are there"
    assert [row["item_id"] for row in full.rows] == list("abcdef")
    assert [session["state"] for session in full.report["sessions"]] == ["interrupted", "finished"]
    assert len((home / "notes.txt").read_text(encoding="utf-8").splitlines()) == 1


def test_a_second_ctrl_c_stops_at_once(cli: Cli, experiment: Experiment) -> None:
    """What is in flight is let go; a line, exit code 130, no report, and the rows so far are there to go on from."""
    words = experiment(model=interrupting(signal.SIGINT, times=2), gates=GATE)
    half = cli(*words)
    assert (half.code, half.out) == (130, "")
    assert half.faults[-1] == "evalflow: interrupted; what was answered is on disk, and the same command goes on"
    assert [row["item_id"] for row in half.rows] == ["a", "b"]
    assert half.folder is not None and not (half.folder / "report.json").exists()
    full = cli(*words, "--quiet")
    assert (full.code, full.out, full.folder) == (0, "pass\n", half.folder)


def test_a_run_named_that_has_other_rows_is_refused_line_by_line(cli: Cli, experiment: Experiment) -> None:
    """Each difference is a line that begins alike, and nothing is started."""
    words = experiment(model=interrupting(signal.SIGINT), gates=GATE)
    half = cli(*words)
    run_id = half.report["run_id"]
    ran = cli(*words, f"resume={run_id}", "seed=4", "arms.one.seeds=[0,1]")
    begin, todo = f"evalflow: resume: run {run_id} has other rows", "give the config that it was started with, or drop"
    assert ran.code == 64
    assert [line.startswith(begin) and todo in line for line in ran.faults] == [True, True]
    assert "(seed was 0, is 4)" in ran.faults[0]
    assert "(arms.one.seeds was [0], is [0, 1])" in ran.faults[1]
    assert len(ran.rows) == 3
    assert cli(*words, f"resume={run_id}").folder == half.folder


def test_a_run_at_work_is_neither_scored_nor_gone_on_with(cli: Cli, experiment: Experiment) -> None:
    """Whoever holds it may be writing: one line, exit code 64, and its files are as they were."""
    words = experiment(gates=GATE)
    ran = cli(*words)
    assert ran.folder is not None
    lock = hold(ran.folder)
    for line in (["score", str(ran.folder)], [*words, f"resume={ran.folder.name}"]):
        refused = cli(*line, "--allow", "tests")
        assert (refused.code, refused.out, len(refused.faults)) == (64, "", 1)
        assert "another process works on this run; wait for it, or end it" in refused.faults[0]
    lock.release()
    assert cli("score", str(ran.folder)).code == 0


def test_a_termination_before_the_run_is_an_interruption(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a config is composed too the process ends with 130 and a line; its caller's handlers are back."""
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    monkeypatch.setattr("evalflow.command.run.planned", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    ran = cli("seed=1")
    assert (ran.code, ran.out, len(ran.faults)) == (130, "", 1)
    assert ran.faults[0].startswith("evalflow: interrupted")
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before


@pytest.mark.parametrize("code", [0, 1, None])
def test_nothing_ends_the_process_with_a_code_of_its_own(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, code: int | None
) -> None:
    """A class that calls exit() is told off in one line; its 0 is no pass and its 1 no failed gate."""

    def leave(*_: object) -> None:
        sys.exit(code)

    monkeypatch.setattr("evalflow.command.run.planned", leave)
    ran = cli("seed=1")
    assert (ran.code, ran.faults) == (3, [f"evalflow: something called exit({code}); no class of yours may"])


def test_a_thread_that_never_ends_does_not_hold_the_process(experiment: Experiment, home: Path) -> None:
    """A model that blocks in a thread costs a row; the process ends with the verdict all the same."""
    words = experiment(model={"_target_": "tests.stand_ins.Blocked"}, gates=GATE)
    code = "import sys, evalflow.cli as cli; cli.THREADS_END_WITHIN_S = 0.2; sys.exit(cli.script())"
    ended = subprocess.run(
        [sys.executable, "-c", code, *words, "runner.timeout_s=0.3", "limit=2"],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (2, "")
    assert "Verdict: unreadable (exit code 2)" in ended.stdout
    assert "no answer in 0.3 s" in ended.stdout


def test_debug_shows_the_traceback(cli: Cli, experiment: Experiment) -> None:
    """The line comes first, the traceback after it, and the code stays."""
    ran = cli(*experiment(), "seed=x", "--debug")
    assert ran.code == 64
    assert ran.faults[0].startswith("evalflow: seed")
    assert "Traceback" in ran.err


def test_a_defect_is_no_failed_gate(cli: Cli, experiment: Experiment, home: Path) -> None:
    """A metric that raises ends in code 3 and one line that names it; Python's own 1 would mean that a gate failed."""
    ran = cli(*experiment(metrics={"m": {"_target_": "tests.stand_ins.Broken"}}, gates={}))
    assert ran.code == 3
    assert ran.folder is not None
    said = "metrics.m: KeyError: 'score' on item 'a'; mend the metric and score the run again"
    assert ran.faults == [f"evalflow: {said}: evalflow score {ran.folder.relative_to(home)}"]
    assert len(ran.rows) == 6


NOTEBOOK = ("tracking._target_=tests.stand_ins.Notebook", "tracking.path=notes.txt")


def test_the_jobs_of_a_sweep_are_tracked_as_one_family(cli: Cli, experiment: Experiment, home: Path) -> None:
    """Each job carries the sweep's id and what the sweep gave it; a run on its own carries neither."""
    words = experiment(gates=GATE)
    cli(*words, "-m", "seed=0,1", *NOTEBOOK)
    cli(*words, *NOTEBOOK)
    notes = (home / "notes.txt").read_text(encoding="utf-8").splitlines()
    runs, sweeps, swept = zip(*(line.split(" ", 2) for line in notes), strict=True)
    assert len(set(runs)) == 3
    assert sweeps[0] == sweeps[1] and sweeps[2] == "None"
    assert swept == ("{'seed': '0'}", "{'seed': '1'}", "{}")


def test_tracking_that_fails_leaves_the_verdict(cli: Cli, experiment: Experiment) -> None:
    """Whatever a tracker raises is one line; the verdict, its exit code and the report stand."""
    ran = cli(*experiment(gates=GATE), *NOTEBOOK, "tracking.raises=true")
    assert ran.code == 0
    assert ran.faults == ["evalflow: not tracked: tracking: ValueError: no such notebook"]
    assert ran.report["verdict"] == "pass"


def test_a_tracker_cannot_change_the_answer(cli: Cli, experiment: Experiment) -> None:
    """It is handed a copy: a report that it makes a pass of is still a fail."""
    words = [*experiment(gates=GATE), *NOTEBOOK, "tracking.flatters=true", "model.otherwise=wrong"]
    ran = cli(*words)
    assert ran.code == 1
    assert "Verdict: fail (exit code 1)" in ran.out


def test_a_sweep_without_jobs_is_refused(cli: Cli, experiment: Experiment) -> None:
    """A range that holds nothing is named, instead of a sweep that passes on no job."""
    ran = cli(*experiment(gates=GATE), "-m", "seed=range(0,0)")
    assert (ran.code, ran.faults) == (64, ["evalflow: seed=range(0,0): it gives no value; give at least one"])


def test_a_reader_that_goes_away_changes_no_verdict(cli: Cli, experiment: Experiment) -> None:
    """A closed pipe, a full disk behind it and a terminal without the characters all leave the exit code as it is."""
    words = [sys.executable, "-m", "evalflow", *experiment(gates=GATE)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONIOENCODING": "ascii"}
    with Path("/dev/full").open("w") as full:
        lost = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, env=environment)
    said = b"evalflow: standard output is not whole (No space left on device); give it another place\n"
    assert (lost.returncode, lost.stderr) == (0, said)
    reading, writing = os.pipe()
    os.close(reading)
    assert subprocess.run(words, stdout=writing, stderr=subprocess.DEVNULL, env=environment).returncode == 0
    os.close(writing)
    plain = subprocess.run(words, capture_output=True, env=environment)
    assert (plain.returncode, plain.stderr) == (0, b"")
    assert plain.stdout.decode("ascii").count("Verdict: pass") == 1


def test_what_a_message_repeats_cannot_drive_a_terminal(cli: Cli, experiment: Experiment) -> None:
    """Escapes in a word of the command line, or in a name of a file, are printed by their codes."""
    ran = cli(*experiment(gates=GATE), "gates.floor.arm=\x1b[31mred\x07")
    assert ran.code == 64
    assert all(part not in ran.err for part in ("\x1b", "\x07")) and r"\x1b[31mred\x07" in ran.err


def test_a_sweep_ends_with_a_line_per_job(cli: Cli, experiment: Experiment) -> None:
    """What each job was given and how it ended, after all of them; quiet, the sweep's verdict alone."""
    ran = cli(*experiment(gates=GATE), "-m", "model.otherwise=right,wrong", "--quiet")
    assert ran.code == 1
    assert ran.out.splitlines() == ["fail"]
    loud = cli(*experiment(gates=GATE), "-m", "model.otherwise=right,wrong")
    (jobs,) = [i for i, line in enumerate(loud.out.splitlines()) if line.split()[:2] == ["job", "model.otherwise"]]
    ends = [line.split()[:3] for line in loud.out.splitlines()[jobs + 1 : jobs + 3]]
    assert (loud.code, ends) == (1, [["0", "right", "pass"], ["1", "wrong", "fail"]])
    assert loud.out.splitlines()[-1] == "Sweep: fail (exit code 1)"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scor", "x"], "scor: it is no command, and no override without =; did you mean score?"),
        (["ui", "5077"], "ui: unrecognized arguments: 5077; it takes --outputs DIR, --uri URI, --port N"),
        (["ui", "--port", "high"], "ui: argument --port: invalid int value: 'high'; it takes"),
        (
            ["score"],
            "score: the following arguments are required: run; it takes one run: its folder or its id",
        ),
        (["score", "a", "b"], "score: unrecognized arguments: b; it takes one run"),
        (["score", "--output", "x", "a"], "score: unrecognized arguments: --output"),
        (["--config-dir"], "command line: argument --config-dir: expected one argument; see evalflow --help"),
    ],
)
def test_a_mistaken_command_says_what_there_is(cli: Cli, words: list[str], said: str) -> None:
    """A command that is none, or arguments that it does not take: one line, exit code 64, nothing begun."""
    ran = cli(*words)
    assert (ran.code, ran.out) == (64, "")
    (line,) = ran.faults
    assert line.startswith(f"evalflow: {said}")


def test_an_experiment_without_its_header_is_named(cli: Cli, experiment: Experiment, home: Path) -> None:
    """Without `# @package _global_` in its first line Hydra would put the experiment somewhere else."""
    words = experiment(gates=GATE)
    path = home / "conf/experiment/case.yaml"
    path.write_text(f"# mine\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    ran = cli(*words)
    assert ran.code == 64
    said = "conf/experiment/case.yaml: its first line is another; begin it with `# @package _global_`"
    assert ran.faults[0] == f"evalflow: {said}"


def test_what_nobody_foresaw_is_one_line_and_code_3(
    cli: Cli, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect anywhere in a run is said in one line, and its rows are kept."""
    monkeypatch.setattr("evalflow.job.judge", lambda scores: 1 // 0)
    ran = cli(*experiment())
    assert ran.code == 3
    assert len(ran.faults) == 1 and ran.faults[0].startswith("evalflow: ZeroDivisionError: ")
    assert len(ran.rows) == 6


def test_hydras_own_views_still_work_and_fail_with_64(cli: Cli) -> None:
    """`--cfg job` prints the config; what Hydra refuses is a usage error."""
    ran = cli("--cfg", "job")
    assert ran.code == 0
    assert "name: tiny_gpt" in ran.out
    assert cli("--cfg", "job", "experiment=nope").code == 64
    assert cli("--cfg", "banana").code == 64


def test_scoring_again_gives_the_same_report(cli: Cli, experiment: Experiment) -> None:
    """`score RUN` writes the same report and ends with the same code, without the model or the dataset's file."""
    words = experiment(model={"_target_": "tests.stand_ins.Fixed", "right": ["a"]}, gates=GATE)
    ran = cli(*words)
    assert (ran.code, ran.folder is not None) == (1, True)
    before = ran.report
    files = {path.name: path.read_bytes() for path in ran.folder.iterdir()}  # type: ignore[union-attr]
    Path("items.jsonl").unlink()
    (ran.folder / "report.json").unlink()  # type: ignore[operator]
    again = cli("score", str(ran.folder), "--allow", "tests")
    assert again.code == 1
    assert again.report == before
    assert {path.name: path.read_bytes() for path in ran.folder.iterdir()} == files  # type: ignore[union-attr]
    assert cli("score", ran.folder.name, "--allow", "tests").code == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "words",
    [["score"], ["plan"], ["compare", "--baseline", "last-passed"], ["review", "--to", "sheet"], ["adjudicate"]],
)
def test_classes_that_a_stored_run_names_are_to_be_allowed_again(
    cli: Cli, experiment: Experiment, words: list[str]
) -> None:
    """A command that loads them says which file names them and which flag of the run to repeat, and writes nothing."""
    line = experiment(model={"_target_": "tests.stand_ins.Fixed", "right": list("abcdef")}, gates=GATE)
    cli(*line)
    ran = cli(*line, "seed=1")
    assert ran.folder is not None
    before = {path.name: path.read_bytes() for path in ran.folder.iterdir()}
    refused = cli(words[0], str(ran.folder), *words[1:])
    assert (refused.code, refused.out) == (64, "")
    said = "tests.stand_ins.Fixed is not under an allowed prefix (evalflow), and this command loads the classes that"
    assert all("config.yaml: " in fault and said in fault for fault in refused.faults)
    assert all(fault.endswith("; give the flag of the run again: --allow tests") for fault in refused.faults)
    assert {path.name: path.read_bytes() for path in ran.folder.iterdir()} == before


def test_scoring_reads_the_rows_as_they_are_now(cli: Cli, experiment: Experiment) -> None:
    """A row mended in the file moves the figure: the report is computed, not copied."""
    ran = cli(*experiment(model={"_target_": "tests.stand_ins.Fixed", "right": list("abcde")}, gates=GATE))
    assert (ran.code, ran.report["arms"]["one"]["figures"]["quality/exact"]["value"]) == (1, pytest.approx(5 / 6))
    rows = ran.folder / "rows.jsonl"  # type: ignore[operator]
    rows.write_text(rows.read_text(encoding="utf-8").replace('"wrong"', '"right"'), encoding="utf-8")
    again = cli("score", str(ran.folder), "--allow", "tests")
    assert (again.code, again.report["arms"]["one"]["figures"]["quality/exact"]["value"]) == (0, 1.0)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("run.json", {"schema_version": 7}, "schema version 7 is unknown here (this evalflow reads 1)"),
        ("rows.jsonl", {"schema": 7}, "schema version 7 is unknown here (this evalflow reads 1)"),
    ],
)
def test_a_run_of_an_unknown_schema_version_is_refused(
    cli: Cli, lab: Lab, name: str, change: dict[str, int], said: str
) -> None:
    """A stored run that another evalflow wrote is named with its version, and its report is left alone."""
    ran = lab(items=ITEMS[:1], gates=GATE)
    assert ran.folder is not None
    path = ran.folder / name
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **change}) + "\n", encoding="utf-8")
    report = (ran.folder / "report.json").read_bytes()
    again = cli("score", str(ran.folder))
    assert again.code == 64
    assert len(again.faults) == 1
    assert said in again.faults[0]
    assert again.faults[0].endswith("use the evalflow that wrote it")
    assert (ran.folder / "report.json").read_bytes() == report


@pytest.mark.parametrize(
    ("words", "said"), [([], "it takes one run"), (["a", "b"], "it takes one run"), (["a"], "there is no such run")]
)
def test_scoring_wants_one_run_that_is_there(cli: Cli, words: list[str], said: str) -> None:
    """No run, two runs, or one that does not exist: code 64 and a line."""
    ran = cli("score", *words)
    assert (ran.code, len(ran.faults)) == (64, 1)
    assert said in ran.faults[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_takes(cli: Cli, name: str) -> None:
    """`evalflow COMMAND --help` prints it on standard output, and that is a success."""
    ran = cli(name, "--help")
    assert (ran.code, ran.err, ran.folder) == (0, "", None)
    assert ran.out.startswith(f"`evalflow {name}")
    assert "It takes " in ran.out


def test_all_that_every_job_has_wrong_is_told_once(cli: Cli, experiment: Experiment, home: Path) -> None:
    """A sweep none of whose jobs can run is no sweep: one line, exit code 64, and nothing is begun."""
    ran = cli("-m", *experiment(gates=GATE), "seed=0,1,2", "gates.floor.flor=0.5")
    assert (ran.code, ran.out, len(ran.faults)) == (64, "", 1)
    assert not (home / "outputs" / ".sweeps").exists()


def test_a_reader_of_the_help_may_go_away(home: Path) -> None:
    """`evalflow --help | head -1` ends in silence."""
    words = f"{sys.executable} -m evalflow --help | head -1"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    ended = subprocess.run(["bash", "-c", words], capture_output=True, text=True, env=environment, check=True)
    assert ended.stderr == ""
    assert ended.stdout.startswith("evalflow: declarative")
