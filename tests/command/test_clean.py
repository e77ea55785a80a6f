"""`evalflow clean`: says what is old, and removes it when it is told to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli, Lab
from tests.runner.kept_run import kept, write
from tests.runner.test_lock import holder
from tests.runner.test_removal import as_somebody_else

GATE = {"floor": {"figure": "quality/exact", "arm": "one", "floor": 0.9}}
IDS = [f"20261130-1000{n:02d}-0000{n:02d}" for n in range(13)]
STORE = "MLflow's store is not touched: what was logged stays there."


def there(home: Path, experiment: str = "case") -> list[str]:
    return sorted(path.name for path in (home / "outputs" / experiment).iterdir())


@pytest.fixture
def thirteen(home: Path) -> Path:
    """Thirteen runs, of which the first two passed."""
    for number, run_id in enumerate(IDS):
        kept(home / "outputs", run_id, "pass" if number < 2 else "fail")
    return home


def test_without_yes_it_only_says_what_would_go(cli: Cli, thirteen: Path) -> None:
    """All but the last ten and the last one that passed, with the size of all; nothing is touched."""
    before = {path: path.stat().st_mtime_ns for path in thirteen.rglob("*")}
    ran = cli("clean")
    assert (ran.code, ran.err) == (0, "")
    *lines, total = [line.split() for line in ran.out.splitlines() if line.strip()]
    named = [words[0] for words in lines if words[0].startswith("outputs/")]
    assert named == [f"outputs/case/{IDS[2]}", f"outputs/case/{IDS[0]}"]
    assert lines[-1][1:4] == ["run,", "finished", "pass"]
    size = sum(
        path.stat().st_size for run_id in (IDS[2], IDS[0]) for path in (thirteen / f"outputs/case/{run_id}").iterdir()
    )
    assert " ".join(total) == (
        f"would remove 2 runs, {size / 1000:.1f} kB; the same command with --yes removes them. {STORE}"
    )
    assert {path: path.stat().st_mtime_ns for path in thirteen.rglob("*")} == before


def test_with_yes_they_go(cli: Cli, thirteen: Path) -> None:
    """And a second time there is nothing to do."""
    ran = cli("clean", "--yes")
    assert ran.code == 0
    assert ran.out.splitlines()[-1].startswith("removed 2 runs, ")
    assert there(thirteen) == [IDS[1], *IDS[3:]]
    again = cli("clean", "--yes")
    assert again.code == 0
    said = "nothing was removed: 10 runs of each experiment stay, its last that passed, and what people review"
    assert again.out.splitlines() == [said]
    assert there(thirteen) == [IDS[1], *IDS[3:]]


def test_how_many_stay_is_a_choice(cli: Cli, thirteen: Path) -> None:
    """None but the pass, if so; fewer than none is refused."""
    assert cli("clean", "--keep", "2", "--yes").code == 0
    assert there(thirteen) == [IDS[1], *IDS[11:]]
    assert cli("clean", "--keep", "0", "--yes").code == 0
    assert there(thirteen) == [IDS[1]]
    for words in (["--keep", "-1"], ["--keep", "few"], ["--keep"], ["a", "b"], ["--all"]):
        ran = cli("clean", *words)
        assert (ran.code, ran.out, len(ran.faults)) == (64, "", 1)
        assert ran.faults[0].endswith("it takes an experiment's name, --keep N, --yes, --outputs DIR")


def test_one_experiment_can_be_cleaned(cli: Cli, thirteen: Path) -> None:
    """Others keep what they have; one that is not there, or lies outside, is refused."""
    kept(thirteen / "outputs", IDS[0], "fail", experiment="other")
    assert cli("clean", "other", "--keep", "0", "--yes").code == 0
    assert there(thirteen, "other") == []
    assert len(there(thirteen)) == 13
    refused = cli("clean", "cas", "--yes")
    assert (refused.code, refused.faults) == (64, ["evalflow: cas: there is no such experiment; did you mean case?"])
    for outside in ("..", ".sweeps", "../outputs/case", str(thirteen / "outputs" / "case")):
        assert cli("clean", outside, "--keep", "0", "--yes").code == 64
    assert len(there(thirteen)) == 13


def test_a_run_at_work_stays(cli: Cli, thirteen: Path) -> None:
    """The oldest is being scored again; it goes when that is done."""
    with holder(thirteen / "outputs" / "case" / IDS[0]):
        assert cli("clean", "--yes").code == 0
        assert there(thirteen) == [*IDS[:2], *IDS[3:]]
    cli("clean", "--yes")
    assert there(thirteen) == [IDS[1], *IDS[3:]]


def test_what_cannot_be_removed_is_named_and_the_others_go(cli: Cli, thirteen: Path) -> None:
    """Exit code 64, a line for the one that stays, and the total of those that went."""
    outputs = thirteen / "outputs"
    kept(outputs, IDS[0], "fail", experiment="closed")
    with as_somebody_else(thirteen):
        (outputs / "closed").chmod(0o555)
        ran = cli("clean", "--keep", "0", "--yes")
        (outputs / "closed").chmod(0o755)
    assert ran.code == 64
    said = "cannot be removed (Permission denied); make it writable"
    assert ran.faults == [f"evalflow: outputs/closed/{IDS[0]}: {said}"]
    assert "removed 12 runs, " in ran.out
    assert there(thirteen) == [IDS[1]]
    assert (outputs / "closed" / IDS[0] / "run.json").is_file()


def test_sweeps_and_left_overs_are_counted_apart(cli: Cli, home: Path) -> None:
    """Each in its own word."""
    run = kept(home / "outputs", IDS[0], "fail", sweep_id="20261130-100000-aaaaaa")
    folder = home / "outputs" / ".sweeps" / "20261130-100000-aaaaaa"
    write(folder / "sweep.json", {"sweep_id": folder.name})
    write(folder / "jobs" / "0.json", {"job": 0, "state": "ended", "start": "s", "started": "x", "folder": str(run)})
    (home / "outputs" / "case" / f".gone-{IDS[1]}").mkdir()
    ran = cli("clean", "--keep", "0", "--yes")
    assert ran.out.splitlines()[-1].startswith("removed 1 left-over, 1 run, 1 sweep, ")
    assert (there(home), there(home, ".sweeps")) == ([], [])


def test_quiet_says_nothing_but_trouble(cli: Cli, thirteen: Path) -> None:
    """For scripts: the exit code is the answer."""
    ran = cli("--quiet", "clean", "--yes")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert len(there(thirteen)) == 11


def test_outputs_may_lie_elsewhere(cli: Cli, home: Path) -> None:
    """`--outputs` names the folder; where there is none, there is nothing to remove."""
    kept(home / "results", IDS[0], "fail")
    assert cli("clean", "--outputs", "nowhere", "--yes").out.startswith("nothing was removed")
    assert cli("clean", "--outputs", "results", "--keep", "0", "--yes").code == 0
    assert list((home / "results" / "case").iterdir()) == []


def test_a_real_run_goes_and_the_next_one_runs(lab: Lab, cli: Cli, home: Path) -> None:
    """What evalflow itself wrote is what it removes; the experiment goes on as before."""
    for _ in range(2):
        lab(gates=GATE)
    assert len(there(home)) == 2
    assert cli("clean", "--keep", "1", "--yes").code == 0
    assert len(there(home)) == 1
    assert lab(gates=GATE).code == 0
    assert len(there(home)) == 2
