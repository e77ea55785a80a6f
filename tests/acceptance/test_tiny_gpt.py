"""The default experiment, whole and with faults planted in it: each has a stated verdict and exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from evalflow.cli import main
from evalflow.model.tiny_gpt.model import TinyGPT
from evalflow.report.build import schema
from tests.conftest import Cli, Ran

if TYPE_CHECKING:
    from evalflow.model.tiny_gpt.network import Weights

QUICK = ("tracking=none", "~arms.long_sampled", "~comparisons.sampled_vs_greedy", "~gates.sampled_not_above")
QUICK = (*QUICK, "~gates.sampled_varies", "~metrics.fixed_ttft", "~metrics.fixed_decode", "~gates.first_token")


@dataclass
class ZeroedHead(TinyGPT):
    """The long checkpoint with the first attention head of each layer silenced."""

    def weights(self) -> Weights:
        weights = dict(super().weights())
        for name in [name for name in weights if name.endswith("attend.out.matrix")]:
            weights[name] = weights[name].clone()
            weights[name][_head_inputs(weights[name].shape)] = 0
        return weights


@dataclass
class ShiftedPositions(TinyGPT):
    """The long checkpoint reading every position as the one before."""

    def weights(self) -> Weights:
        weights = dict(super().weights())
        weights["position"] = weights["position"].roll(1, dims=0)
        return weights


def _head_inputs(shape: tuple[int, ...]) -> slice:
    """The rows of an output projection that read the first of four heads."""
    return slice(0, shape[0] // 4)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The default experiment, run once without tracking."""
    home = tmp_path_factory.mktemp("whole")
    code = main(["tracking=none", "--quiet", f"runner.outputs={home}/outputs"])
    return Ran(code, "", "", next(home.glob("outputs/tiny_gpt/*")))


def test_the_default_experiment_passes(whole: Ran) -> None:
    """Nothing planted: pass, exit code 0, every row there, and the report obeys its schema."""
    report = whole.report
    assert (whole.code, report["verdict"], report["exit_code"]) == (0, "pass", 0)
    assert report["coverage"] == {"n_planned": 480, "n_rows": 480, "n_error": 0}
    assert not list(Draft202012Validator(schema()).iter_errors(report))


def test_three_tasks_of_a_word_are_one_cluster(whole: Ran) -> None:
    """The test that gates runs over the 20 words; the one over the 60 items is printed beside it."""
    delta = whole.report["comparisons"]["long_vs_short"]["quality/exact"]
    assert (delta["n_pairs"], delta["n_clusters"]) == (60, 20)
    assert delta["wins"] + delta["losses"] + delta["ties"] == 20
    assert delta["p_items"] != delta["p"]
    assert f"over items p = {delta['p_items']:.3g}" in delta["words"]


def test_figures_of_the_model_are_those_of_its_size(whole: Ran) -> None:
    """2 x 2 layers x width 64 x 100 tokens x 4 bytes = 102,400; 113,664 parameters of 4 bytes."""
    figures = whole.report["arms"]["long"]["figures"]
    assert figures["mem/kv_bytes"]["value"] == 102_400
    assert figures["mem/param_bytes"]["value"] == 4 * 113_664
    assert figures["lat/fixed_ttft_s/p50"]["n_scored"] == 20
    assert whole.report["arms"]["long"]["facts"]["batch_mean"] > 8


def test_scoring_again_without_the_model_says_the_same(whole: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    """`evalflow score` over the stored rows gives the report that the run gave."""
    assert whole.folder is not None
    before = whole.report
    assert main(["score", str(whole.folder), "--quiet"]) == 0
    assert whole.report == before
    assert capsys.readouterr().out.strip() == "pass"


@pytest.mark.parametrize("checkpoint", ["untrained", "shuffled"])
def test_a_model_that_learned_nothing_right_fails(checkpoint: str, cli: Cli) -> None:
    """Untrained weights or shuffled labels under the name of the long checkpoint: exit code 1, the floor named."""
    ran = cli(*QUICK, f"arms.long.model.checkpoint={checkpoint}")
    assert (ran.code, ran.report["verdict"]) == (1, "fail")
    gates = ran.report["gates"]
    assert gates["long_floor"]["outcome"] == gates["long_better"]["outcome"] == "fail"
    assert len(gates["long_floor"]["rows"]) > 0 or gates["long_floor"]["value"] == 0


def test_a_checkpoint_is_not_better_than_itself(cli: Cli) -> None:
    """A/A: every pair the same, the comparison says identical, and `better` fails."""
    ran = cli(*QUICK, "arms.short.model.checkpoint=long")
    assert ran.code == 1
    delta = ran.report["comparisons"]["long_vs_short"]["quality/exact"]
    assert (delta["delta"], delta["p"], delta["conclusion"]) == (0, 1, "identical")
    assert delta["low"] < 0 < delta["high"]
    assert ran.report["gates"]["long_better"]["outcome"] == "fail"


@pytest.mark.parametrize("broken", ["ZeroedHead", "ShiftedPositions"])
def test_a_broken_kernel_fails(broken: str, cli: Cli) -> None:
    """A silenced head or positions off by one: the long checkpoint no longer reaches its floor."""
    model = f"{{_target_: tests.acceptance.test_tiny_gpt.{broken}, checkpoint: long}}"
    ran = cli(*QUICK, "--allow", "tests", f"++arms.long.model={model}")
    assert ran.code == 1, ran.err
    assert ran.report["gates"]["long_floor"]["outcome"] == "fail"


def test_a_sampled_arm_that_is_greedy_is_found_out(cli: Cli) -> None:
    """Five seeds of greedy answers have a spread of exactly 0, which the gate on spread does not pass."""
    words = ["tracking=none", "arms.long_sampled.decoding.temperature=0", "arms.long_sampled.model.checkpoint=short"]
    ran = cli(*words)
    assert ran.code == 1
    gate = ran.report["gates"]["sampled_varies"]
    assert (gate["outcome"], gate["value"]) == ("fail", 0)
    assert "its 5 seeds give the same answers" in ran.report["notes"][0]


def test_a_smoke_run_cannot_pass(cli: Cli) -> None:
    """Five items: exit code 2, and every gate unreadable as a smoke run."""
    ran = cli("tracking=none", "limit=5")
    assert (ran.code, ran.report["verdict"]) == (2, "unreadable")
    assert {gate["reason"] for gate in ran.report["gates"].values()} == {"smoke run: limit 5"}


def test_an_arm_can_be_added_and_removed(cli: Cli) -> None:
    """`+arm@arms.hot` runs a fifth arm; without `short` its comparison and gate go too."""
    hot = (
        "+arm@arms.hot=sampled",
        "arms.hot.decoding.temperature=2",
        "arms.hot.seeds=[0]",
        "arms.hot.model.checkpoint=long",
    )
    ran = cli(*QUICK, *hot, "~arms.short", "~comparisons.long_vs_short", "~gates.long_better")
    assert ran.code == 0, ran.err
    assert list(ran.report["arms"]) == ["long", "untrained", "hot"]
    assert ran.report["arms"]["hot"]["conditions"]["decoding"]["temperature"] == 2
    assert ran.report["comparisons"] == {}


def test_answers_do_not_depend_on_concurrency(cli: Cli) -> None:
    """Greedy and sampled texts are the same one by one, seven at a time and all at once."""
    texts = []
    for concurrency in (1, 7, 32):
        ran = cli("tracking=none", "limit=6", f"concurrency={concurrency}", "arms.long_sampled.seeds=[3,4]")
        assert {arm["conditions"]["concurrency"] for arm in ran.report["arms"].values()} == {concurrency}
        texts.append(sorted((row["arm"], row["seed"], row["item_id"], row["draft"]) for row in ran.rows))
    assert texts[0] == texts[1] == texts[2]
    assert len(texts[0]) == 6 * 5


def test_items_shipped_are_those_that_training_never_saw() -> None:
    """No held-out or validation word is among the words that teach."""
    from evalflow.string_tasks import WordPool

    train, held_out, validation = map(set, WordPool().split())
    assert (len(train), len(held_out), len(validation)) == (400, 20, 40)
    assert not train & (held_out | validation) and not held_out & validation


def test_what_a_run_leaves_is_what_the_docs_list(whole: Ran) -> None:
    """The reference of files names every file of its folder, and each line of rows has the schema's version."""
    assert whole.folder is not None
    listed = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "files.md").read_text(encoding="utf-8")
    for path in whole.folder.iterdir():
        assert f"`{path.name}`" in listed, path.name
    lines = (whole.folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["schema"] for line in lines} == {1}
