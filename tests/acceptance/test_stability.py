"""Stability over seeds, whole and with faults planted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from evalflow.report.build import schema
from tests.conftest import Cli, Ran

STABILITY = ("experiment=stability", "tracking=none")


def failed(ran: Ran) -> list[str]:
    return [name for name, gate in ran.report["gates"].items() if gate["outcome"] == "fail"]


def test_the_shipped_experiment_passes(cli: Cli) -> None:
    """Greedy answers are the same under all seeds, sampled ones vary the more the hotter, and longer training less."""
    ran = cli(*STABILITY)
    assert (ran.code, ran.report["verdict"]) == (0, "pass")
    Draft202012Validator(schema()).validate(ran.report)
    figures = {name: arm["figures"] for name, arm in ran.report["arms"].items()}
    apart = {arm: told["stability/pairwise_disagreement"]["value"] for arm, told in figures.items()}
    assert 0 == apart["greedy"] < apart["warm"] < apart["hot"]
    assert apart["long_hot"] < apart["hot"]
    assert figures["greedy"]["stability/distinct_outputs"]["value"] == 1
    assert figures["greedy"]["stability/run_cer/sd"]["value"] == 0
    by_seed = ran.report["arms"]["hot"]["by_seed"]
    assert {told["stability/identical_pairs"]["reason"] for told in by_seed.values()} == {"one seed"}
    rates = [told["stability/run_cer"]["value"] for told in by_seed.values()]
    assert figures["hot"]["stability/run_cer"]["value"] == pytest.approx(sum(rates) / 5, rel=1e-12)


def test_a_sampled_arm_that_is_greedy_fails(cli: Cli) -> None:
    """It varies with no seed: the gate on that fails, and the control, which has to be unstable, with it."""
    ran = cli(*STABILITY, "arms.hot.decoding.temperature=0")
    assert ran.code == 1
    assert failed(ran) == ["hot_varies", "control"]
    assert "the seed: it is ignored, or nothing is sampled" in " ".join(ran.out.split())


def test_an_item_without_one_of_its_seeds_is_counted_out(cli: Cli, home: Path) -> None:
    """A row that went missing leaves 59 of 60 items, and no gate on that arm can be read."""
    ran = cli(*STABILITY, "~arms.warm", "~gates.warm_varies", "~gates.warm_accuracy", "dataset.held_out=4")
    assert ran.folder is not None
    kept = ran.folder / "rows.jsonl"
    lines = kept.read_text(encoding="utf-8").splitlines(keepends=True)
    gone = next(line for line in lines if json.loads(line)["arm"] == "hot" and json.loads(line)["seed"] == 3)
    kept.write_text("".join(line for line in lines if line != gone), encoding="utf-8")
    assert cli("score", str(ran.folder)).code == 3
    told = ran.report["arms"]["hot"]["figures"]["stability/identical_pairs"]
    assert (told["n_total"], told["n_scored"], told["n_error"]) == (12, 11, 1)
    gate = ran.report["gates"]["hot_varies"]
    assert (gate["outcome"], gate["reason"]) == ("unreadable", "1 of 12 were not scored")


def test_a_sweep_over_the_root_seed_works(cli: Cli, home: Path) -> None:
    """Greedy figures do not move, by design; sampled ones do, and are tabled as means over the jobs."""
    ran = cli(
        "-m",
        *STABILITY,
        "seed=0,1",
        "dataset.held_out=4",
        "~gates.long_stable",
        "~gates.hot_accuracy",
        "~gates.warm_accuracy",
    )
    assert ran.code == 0
    (folder,) = (home / "outputs" / ".sweeps").glob("*/summary.json")
    grid = json.loads(folder.read_text(encoding="utf-8"))["grid"]
    assert grid
    assert "no variation by design: " in ran.out
