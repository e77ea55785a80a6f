"""Recorded logits stand where a model would, to the last digit; a base file, to what its steps leave known."""

from __future__ import annotations

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
    return cli(*SMALL, "~arms.reference.model.dtype", f"arms.reference.model={{_target_: {RECORDED}.{model}}}", *words)


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
