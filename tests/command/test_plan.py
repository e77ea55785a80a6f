"""`evalflow plan`: from a pilot run, the size of the next one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli, Lab

ITEMS = tuple({"id": f"q{n:02}", "input": f"question {n}", "target": "right"} for n in range(20))
EXACT = {"_target_": "evalflow.metric.exact_match.ExactMatch"}
E2E = {"_target_": "evalflow.metric.latency.E2e", "percentiles": [50.0]}
PAIR = {"reference": "old", "candidate": "new", "figures": ["quality/exact", "lat/e2e_s/p50"], "resamples": 1000}
Pilot = Callable[..., str]


@pytest.fixture
def pilot(lab: Lab) -> Pilot:
    """`pilot(**parts)`: the folder of a finished run whose old arm is wrong on six of twenty, the new one on two."""

    def carry(**parts: Any) -> str:
        wrong = {"old": range(6), "new": range(6, 8)}
        answers = {arm: {f"q{n:02}": "wrong" for n in numbers} for arm, numbers in wrong.items()}
        arms = {arm: {"model": {"answers": table}} for arm, table in answers.items()}
        whole = {"arms": arms, "metrics": {"exact": EXACT, "e2e": E2E}, "comparisons": {"pair": PAIR}, **parts}
        ran = lab(ITEMS, **whole)
        assert ran.folder is not None
        return str(ran.folder)

    return carry


def test_every_comparison_of_the_run(pilot: Pilot, cli: Cli) -> None:
    """Each of its figures has sizes or says why not; the folder or the id names the run, and nothing is written."""
    folder = pilot()
    before = sorted(path.name for path in Path(folder).iterdir())
    ran = cli("plan", folder)
    assert (ran.code, ran.err) == (0, "")
    assert "pair on quality/exact: new 0.900, old 0.700, difference 0.200" in ran.out
    assert "pair on lat/e2e_s/p50: undefined: it is no mean over items" in ran.out
    assert "\x1b" not in ran.out
    assert cli("plan", Path(folder).name).out == ran.out
    assert sorted(path.name for path in Path(folder).iterdir()) == before


def test_for_a_script(pilot: Pilot, cli: Cli) -> None:
    """One JSON document with what was asked: difference, power and alpha; the tokens of both arms are told."""
    words = ["--figure", "quality/exact", "--difference", "0.1", "--power", "0.9", "--alpha", "0.01", "--json"]
    ran = cli("plan", pilot(), *words)
    document: dict[str, Any] = json.loads(ran.out)
    assert (ran.code, ran.err, document["exit_code"], document["gates"]) == (0, "", 0, [])
    (one,) = document["figures"]
    assert (one["power"], one["alpha"]) == (0.9, 0.01)
    (size,) = one["sizes"]
    assert size["cost"]["tokens_in"] == pytest.approx(2 * 2 * size["asked"])  # two words a prompt, two arms
    assert [arm["arm"] for arm in document["arms"]] == ["old", "new"]


def test_a_part_of_the_dataset_is_a_pilot(pilot: Pilot, cli: Cli) -> None:
    """Its gates are unreadable, and its sizes are not; that it is a part is said."""
    gate = {"comparison": "pair", "figure": "quality/exact", "verdict": "non_inferior", "margin": 0.3}
    ran = cli("plan", pilot(limit=12, gates={"safe": gate}))
    assert ran.code == 0
    assert "12 items of jsonl (smoke run: limit 12)" in ran.out
    assert "no worse by 0.300" in ran.out and "gate safe" in ran.out
    assert "the pilot is a part of the dataset (smoke run: limit 12)" in ran.out
    assert "*: more than" not in ran.out  # how many the dataset has is not known


def test_the_answer_alone(pilot: Pilot, cli: Cli) -> None:
    """`--quiet` prints a line for each figure."""
    ran = cli("--quiet", "plan", pilot(), "--difference", "0.1")
    first, second = ran.out.splitlines()
    assert first.startswith("pair on quality/exact: 0.100: ") and first.endswith(" items")
    assert second.startswith("pair on lat/e2e_s/p50: undefined: ")


def test_a_run_without_a_size_is_unreadable(pilot: Pilot, cli: Cli) -> None:
    """Arms that never differ plan nothing: exit code 2, not 0 items."""
    ran = cli("plan", pilot(arms={"old": {}, "new": {"concurrency": 2}}), "--difference", "0.1")
    assert (ran.code, ran.err) == (2, "")
    assert "undefined: zero variance" in ran.out


def test_gates_alone(pilot: Pilot, cli: Cli) -> None:
    """A run that compares nothing, but holds a rate's low end against a floor, has a size for that."""
    gate = {"figure": "quality/exact", "arm": "new", "floor": 0.7, "bound": "lower"}
    ran = cli("plan", pilot(comparisons={}, gates={"high": gate}))
    assert ran.code == 0 and "lower end >= 0.7" in ran.out
    refused = cli("plan", pilot(comparisons={}))
    assert (refused.code, refused.out) == (64, "")
    assert "the run compares nothing; add a comparison" in refused.err


REFUSED = {
    "--difference 0": "--difference is 0, and has to be a number other than 0",
    "--difference nan": "--difference is nan",
    "--difference 1.5": "quality/exact is a share, and no two differ by more than 1",
    "--difference much": "invalid float value",
    "--margin 0": "--margin is 0, and has to be a number above 0",
    "--margin inf": "--margin is inf",
    "--margin 1": "none can lose that",
    "--power 1": "--power is 1, and has to be strictly between 0 and 1",
    "--alpha 0": "--alpha is 0",
    "--power 0.04": "at alpha 0.05 chance alone has it",
    "--comparison pear": "did you mean pair?",
    "--figure quality/exakt": "did you mean quality/exact?",
    "--figure lat/e2e_s/p50": "it is no mean over items",
    "--figure nonsense": "it is in no comparison of pair",
    "--figure tps/requests": "no item has a value of its own under it",
    "--seeds 3": "unrecognized arguments",
}
"""Words, and what is said of them."""


def test_what_cannot_be_planned_is_refused(pilot: Pilot, cli: Cli) -> None:
    """One line that says why, and exit code 64."""
    rate = {"_target_": "evalflow.metric.throughput.RequestRate"}
    folder = pilot(metrics={"exact": EXACT, "e2e": E2E, "rate": rate})
    for words, said in REFUSED.items():
        ran = cli("plan", folder, *words.split())
        assert (ran.code, ran.out, len(ran.faults)) == (64, "", 1), words
        assert said in ran.faults[0]


def test_a_run_that_was_not_scored_is_refused(pilot: Pilot, cli: Cli) -> None:
    """With the command that scores it; so is one that is not there, or half there."""
    folder = Path(pilot())
    (folder / "scores.jsonl").unlink()
    ran = cli("plan", str(folder))
    assert (ran.code, len(ran.faults)) == (64, 1)
    assert f"evalflow score {folder}" in ran.err
    assert cli("plan", "20261130-000000-abcdef").code == 64
    (folder / "rows.jsonl").write_text("{}\n", encoding="utf-8")
    assert cli("plan", str(folder)).code == 64
    assert cli("plan").code == 64
