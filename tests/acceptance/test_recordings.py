"""Recorded logits stand where a model would, to the last digit; a base file, to what its steps leave known."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from evalflow.numeric.base_file import KL_FLOOR
from tests.conftest import Cli, Ran

RECORDED = "evalflow.model.recorded"
FLOAT64 = "{_target_: evalflow.model.tiny_gpt.model.TinyGPT, dtype: float64}"
SMALL = (
    *("experiment=parity", "tracking=none", "dataset.n=8", "scoring.free_run=0", "~metrics.free_run"),
    *("~arms.again", "~arms.cached", "~gates.cached_kl", "~arms.bfloat16", "~gates.disagree_rate"),
)
AS_LLAMA_CPP = ("scoring.walk=llama_cpp", "scoring.window=32", "~gates.float32_kl")


def held_against(cli: Cli, model: str, *words: str) -> Ran:
    """The experiment with another model as the reference."""
    return cli(*words_of(model, *words))


def words_of(model: str, *words: str) -> tuple[str, ...]:
    return (*SMALL, "~arms.reference.model.dtype", f"arms.reference.model={{_target_: {RECORDED}.{model}}}", *words)


TO_BASE = f"recorder.Recorder, model: {FLOAT64}, path: FILE, format: base, n_ctx: 32"
KILLED = """
import os, signal, sys
from evalflow.cli import main
from evalflow.model.recorded.chunk_folder import ChunkFolder

left, add = int(sys.argv.pop(1)), ChunkFolder.add

def some(*args):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return add(*args)

ChunkFolder.add = some
main(sys.argv[1:])
"""


def killed_after(n_chunks: int, home: Path, words: Sequence[str]) -> None:
    """A command line in a process of its own, killed when it is about to keep one chunk more."""
    command = [sys.executable, "-c", KILLED, str(n_chunks), *words]
    environment = {"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "PATH": "/usr/bin:/bin", "HOME": str(home)}
    ended = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


@pytest.mark.slow
def test_a_base_file_of_a_killed_run_is_completed_when_it_is_resumed(cli: Cli, home: Path) -> None:
    """Killed in the midst of texts, twice: the run asks only what is missing, and the file is byte for byte the one of
    a run that nobody killed, with no chunk left beside it."""
    words = words_of(TO_BASE.replace("FILE", "base.bin"), *AS_LLAMA_CPP)
    for _ in range(2):
        killed_after(4, home, words)
        assert not (home / "base.bin").exists()
    assert len(list((home / "base.bin.spool").glob("*.npz"))) == 8
    resumed = cli(*words)
    assert resumed.code == 0, resumed.err
    assert len(resumed.report["sessions"]) == 3
    whole = cli(*words_of(TO_BASE.replace("FILE", "whole.bin"), *AS_LLAMA_CPP))
    assert whole.code == 0, whole.err
    assert (home / "base.bin").read_bytes() == (home / "whole.bin").read_bytes()
    assert not list(home.glob("*.spool"))


@pytest.mark.slow
def test_a_base_file_of_some_texts_gets_the_others(cli: Cli, home: Path) -> None:
    """Of three items and then of eight: as if it had been made of eight at once."""
    for name, n_items in (("base.bin", 3), ("base.bin", 8), ("whole.bin", 8)):
        words = words_of(TO_BASE.replace("FILE", name), *AS_LLAMA_CPP, f"dataset.n={n_items}")
        ran = cli(*words)
        assert ran.code in (0, 2), ran.err
    assert (home / "base.bin").read_bytes() == (home / "whole.bin").read_bytes()


def test_recorded_rows_give_the_same_report(cli: Cli, home: Path) -> None:
    """Recorded as an arm runs, and replayed without the model: every figure of every arm is the live one's."""
    live = cli(*SMALL)
    recorded = held_against(cli, f"recorder.Recorder, model: {FLOAT64}, path: rows")
    replayed = held_against(cli, "model.RecordedLogits, path: rows")
    assert (live.code, recorded.code, replayed.code) == (0, 0, 0)
    for ran in (recorded, replayed):
        for name, arm in live.report["arms"].items():
            assert ran.report["arms"][name]["figures"] == arm["figures"], name


def test_a_base_file_is_read_back_within_its_floor(cli: Cli, home: Path) -> None:
    """Written by one arm and walked chunk by chunk as a dataset: KL of float32 against it is 0 within the stated floor,
    that of int8 what it is live; targets that the file does not know are counted, and no gate reads over them."""
    recorded = held_against(
        cli, f"recorder.Recorder, model: {FLOAT64}, path: base.bin, format: base, n_ctx: 32", *AS_LLAMA_CPP
    )
    assert recorded.code == 0, recorded.err
    walked = ("dataset=base_file", "dataset.path=base.bin", "~dataset.n", "~metrics.logit_error")
    replayed = held_against(cli, "model.BaseFileModel, path: base.bin", *AS_LLAMA_CPP, *walked)
    assert replayed.code == 2, replayed.err
    before, after = (ran.report["arms"] for ran in (recorded, replayed))
    n = before["int8"]["figures"]["parity/kl_nats"]["n_scored"]
    for arm in ("float32", "int8"):
        kl, live = (told[arm]["figures"]["parity/kl_nats"] for told in (after, before))
        assert kl["n_scored"] == n
        assert kl["value"] == pytest.approx(live["value"], abs=KL_FLOOR)
        ratio = after[arm]["figures"]["parity/ppl_ratio"]
        assert 0 < ratio["n_excluded"] < n // 10
        assert ratio["n_scored"] + ratio["n_excluded"] == n
    assert replayed.report["gates"]["nonfinite"]["outcome"] == "pass"
    assert replayed.report["gates"]["ppl_ratio"]["outcome"] == "unreadable"
    assert any("known to about 1e-05 nats a position" in note for note in replayed.report["notes"])
    for gate in ("kl_mean", "kl_p99", "gap_mean"):
        assert replayed.report["gates"][gate]["outcome"] == "pass"


def test_another_walk_than_the_files_is_refused(cli: Cli, home: Path) -> None:
    """A base file holds second halves of chunks alone: windows that overlap are error rows that say so."""
    held_against(cli, f"recorder.Recorder, model: {FLOAT64}, path: base.bin, format: base, n_ctx: 32", *AS_LLAMA_CPP)
    walked = ("dataset=base_file", "dataset.path=base.bin", "~dataset.n", "scoring.window=32", "~gates.float32_kl")
    ran = held_against(cli, "model.BaseFileModel, path: base.bin", *walked)
    assert ran.code == 1
    assert "walk it as llama.cpp does" in ran.report["arms"]["float32"]["errors"][0]["message"]
