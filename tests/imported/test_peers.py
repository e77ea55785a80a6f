"""The two tools themselves, run here and now: what they write today is read as what they wrote is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.imported.by_hand import DATA
from tests.model.hf.conftest import tiny  # noqa: F401 - a fixture

TOOLS = Path(os.environ.get("EVALFLOW_PEERS", Path(__file__).resolve().parents[2] / ".venv-peers")) / "bin"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(not (TOOLS / "lm_eval").exists(), reason="the tools are not there; `make peers` installs them"),
]


def ran(*words: str, home: Path) -> None:
    """One command of a tool, in a copy of the folder of tasks."""
    there = Path(shutil.copytree(DATA, home / "tasks", dirs_exist_ok=True))
    env = {**os.environ, **OFFLINE, "HF_HOME": str(home / "cache"), "XDG_DATA_HOME": str(home / "cache")}
    ended = subprocess.run(words, cwd=there, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]


def test_lm_eval_writes_what_we_read(tiny: Path, cli: Cli, tmp_path: Path) -> None:  # noqa: F811
    """Choices and texts of a model of random weights: our figures are those of its own table."""
    out = tmp_path / "out"
    model = ("--model", "hf", "--model_args", f"pretrained={tiny},dtype=float32", "--device", "cpu")
    tasks = ("--include_path", ".", "--tasks", "facts_choice,facts_said", "--limit", "8")
    ran(str(TOOLS / "lm_eval"), *model, *tasks, "--output_path", str(out), "--log_samples", home=tmp_path)
    (table,) = out.glob("*/results_*.json")
    own = json.loads(table.read_text(encoding="utf-8"))["results"]
    for task, score, name in (("facts_choice", "acc", "none"), ("facts_said", "exact_match", "last")):
        words = (f"dataset.task={task}", f"dataset.filter={name}", f"metrics.score.score={score}", "tracking=none")
        done = cli("experiment=imported", f"dataset.path={out}", f"arms.candidate.model.path={out}", *words)
        figure = done.report["arms"]["candidate"]["figures"]["quality/score"]
        assert (figure["value"], figure["n_scored"]) == (pytest.approx(own[task][f"{score},{name}"], rel=1e-12), 8)
        assert done.report["arms"]["candidate"]["conditions"]["model"]["version"] == "0.4.13"


def test_inspect_writes_what_we_read(cli: Cli, tmp_path: Path) -> None:
    """A log as it is written, with its events: two epochs of four questions, and the figure that it reports."""
    ran(str(TOOLS / "python"), "inspect_run.py", str(tmp_path / "logs"), home=tmp_path)
    logs = sorted((tmp_path / "logs" / "whole").glob("*.json"))
    told = {path: json.loads(path.read_text(encoding="utf-8")) for path in logs}
    good, worse = logs[:2]  # in the order in which they were run
    words = ("metrics.score.score=includes", "arms.reference.seeds=[0,1]", "tracking=none")
    done = cli("experiment=imported", f"dataset.path={good}", f"arms.candidate.model.path={worse}", *words)
    for arm, path in (("reference", good), ("candidate", worse)):
        figure = done.report["arms"][arm]["figures"]["quality/score"]
        accuracy = told[path]["results"]["scores"][0]["metrics"]["accuracy"]["value"]
        assert (figure["value"], figure["n_scored"]) == (pytest.approx(accuracy, rel=1e-12), 8)
