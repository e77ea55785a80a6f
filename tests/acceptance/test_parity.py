"""Parity, whole and with kernels broken on purpose: each has a stated verdict, exit code and named positions."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from evalflow.cli import main
from evalflow.dataset.string_texts import StringTexts
from evalflow.report.build import schema
from tests.acceptance.broken_scorers import BAD_PLACE
from tests.conftest import Cli, Ran

BROKEN = "tests.acceptance.broken_scorers"
SMALL = ("experiment=parity", "tracking=none", "dataset.n=8")
IN_CHUNKS = ("arms.float32.scoring.path=chunks", "arms.float32.scoring.chunk=40")
ONE_ARM = ("~arms.cached", "~gates.cached_kl", "~arms.bfloat16", "~arms.int8", "~arms.again")


def planted(cli: Cli, name: str, *words: str) -> Ran:
    """The parity of one arm whose model has a fault of that name."""
    return cli(*SMALL, *ONE_ARM, "--allow", "tests", f"arms.float32.model._target_={BROKEN}.{name}", *words)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The shipped experiment on fewer words, run once."""
    home = tmp_path_factory.mktemp("parity")
    code = main([*SMALL, "--quiet", f"runner.outputs={home}/outputs"])
    return Ran(code, "", "", next(home.glob("outputs/parity/*")))


def test_sound_arms_pass(whole: Ran) -> None:
    """Lower precision, int8 and the cached path are as good as the reference, and the report obeys its schema."""
    assert (whole.code, whole.report["verdict"]) == (0, "pass")
    Draft202012Validator(schema()).validate(whole.report)


def test_bit_identical_arms_pass(whole: Ran) -> None:
    """A/A in float64: every difference is 0 and its interval one point; only what needs a disagreement is undefined."""
    figures = whole.report["arms"]["again"]["figures"]
    for name in ("parity/dnll_nats", "parity/kl_nats", "parity/gap_nats"):
        assert (figures[name]["value"], figures[name]["low"], figures[name]["high"]) == (0, 0, 0)
        assert figures[name]["method"] == "exact: one value everywhere"
    assert figures["parity/ppl_ratio"]["value"] == 1
    assert figures["parity/gap_disagree_nats"]["reason"] == "no disagreement"


def test_the_noise_floor_stands_beside_the_gates(whole: Ran) -> None:
    """What an A/A arm gives is kept with each gate on the same reference."""
    assert whole.report["gates"]["float32_kl"]["noise_floor"] == 0
    assert whole.report["gates"]["kl_mean"]["noise_floor"] == 0
    assert whole.report["gates"]["errors"]["noise_floor"] is None


def test_figures_count_positions(whole: Ran) -> None:
    """24 texts are the documents, and what is counted is their scored tokens: all but the first of each."""
    rows = [row for row in whole.rows if row["arm"] == "int8"]
    positions = sum(row["columns"]["n"] for row in rows)
    assert positions == sum(row["tokens_in"] - 1 for row in rows)
    assert whole.report["arms"]["int8"]["figures"]["parity/kl_nats"]["n_scored"] == positions


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("ZeroedHead", ()),
        ("PositionsOffByOne", ()),
        ("StaleCache", IN_CHUNKS),
    ],
)
def test_a_broken_kernel_fails_with_its_positions(cli: Cli, fault: str, words: tuple[str, ...]) -> None:
    """The gates on divergence fail, and name texts, positions and the words around them, the worst first."""
    ran = planted(cli, fault, *words)
    assert (ran.code, ran.report["verdict"]) == (1, "fail")
    gate = ran.report["gates"]["float32_kl"]
    assert gate["outcome"] == "fail"
    assert " at " in gate["rows"][0] and "⟦" in gate["rows"][0]
    assert gate["rows"][0].split(":")[0] in " ".join(ran.out.split())


def test_a_stale_cache_is_found_where_it_begins(cli: Cli) -> None:
    """What the second chunk of 40 tokens computes is wrong, and every position named lies in it."""
    ran = planted(cli, "StaleCache", *IN_CHUNKS)
    places = [int(row.split(" at ")[1].split(" ")[0]) for row in ran.report["gates"]["float32_kl"]["rows"]]
    assert places and all(40 < place <= 80 for place in places)


def test_one_nan_row_fails_and_is_named(cli: Cli) -> None:
    """The gate on rows that are not finite fails with the position; no other parity gate can be read."""
    item = StringTexts().items()[0].id
    ran = planted(cli, "OneNaNRow", f"+arms.float32.model.bad_item={item}")
    assert (ran.code, ran.report["verdict"]) == (1, "fail")
    gates = ran.report["gates"]
    assert gates["nonfinite"]["outcome"] == "fail"
    assert gates["nonfinite"]["value"] == 1
    assert gates["nonfinite"]["rows"][0].startswith(f"{item} at {BAD_PLACE} ")
    for name in ("ppl_ratio", "dnll", "kl_mean", "kl_p99", "disagree_rate", "gap_mean", "float32_kl"):
        assert (gates[name]["outcome"], gates[name]["reason"][:4]) == ("unreadable", "1 of")


def test_shards_in_any_order_are_the_whole(cli: Cli, home: Path) -> None:
    """Seven shards merged in two orders give every figure of one pass, to the last digit."""
    words = (*SMALL, "~arms.int8", "~arms.cached", "~gates.cached_kl")
    one = cli(*words)
    folders = []
    for index in range(7):
        shard = cli(*words, f"shard={{index: {index}, of: 7}}", "runner.outputs=shards")
        assert shard.code == 2, "a shard is no whole, and its gates are unreadable"
        folders.append(str(sorted((home / "shards").glob("parity/*"), key=lambda p: p.stat().st_mtime_ns)[-1]))
    for order in (folders, folders[::-1]):
        merged = cli("merge", *order)
        assert merged.code == 0, merged.err
        for arm, told in one.report["arms"].items():
            assert merged.report["arms"][arm]["figures"] == told["figures"]
