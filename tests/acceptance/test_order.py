"""Nothing that says in which order rows are had can move a row or a figure."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.same import essence
from tests.conftest import Cli, Lab, Ran

N = 40
ITEMS = [
    {
        "id": f"q{i:02}",
        "input": f"{'abc'[i % 3]} question {i}",
        "target": "right",
        "kind": "xy"[i % 2],
        "cluster": f"c{i % 11}",
        "prefix_group": f"g{i % 3}",
    }
    for i in range(N)
]


def parts(concurrency: int = 1, seeds: tuple[int, ...] = (0, 1, 2), slow: str = "") -> dict[str, Any]:
    """Two arms whose answers depend on item and seed alone; `slow` items answer late, so that others overtake them."""
    return {
        "concurrency": concurrency,
        "arms": {
            "plain": {"concurrency": concurrency},
            "drawn": {"concurrency": concurrency, "decoding": {"temperature": 1.0}, "seeds": list(seeds)},
        },
        "model": {
            "_target_": "tests.stand_ins.Drawn",
            "delays": {f"q{i:02}": 0.004 * (i % 5) for i in range(N) if slow and i % 2 == (slow == "odd")},
        },
        "metrics": {
            "exact": {"_target_": "evalflow.metric.exact_match.ExactMatch"},
            "length": {"_target_": "tests.stand_ins.Length"},
            "sd": {"_target_": "evalflow.metric.seed_sd.SeedSd", "of": "exact"},
            "e2e": {"_target_": "evalflow.metric.latency.E2e"},
        },
        "comparisons": {
            "pair": {"reference": "plain", "candidate": "drawn", "figures": ["quality/exact", "quality/length"]}
        },
        "gates": {
            "floor": {"figure": "quality/exact", "arm": "drawn", "floor": 0.99},
            "y": {"figure": "quality/exact", "where": {"kind": "y"}, "floor": 0.1},
            "near": {"comparison": "pair", "figure": "quality/exact", "verdict": "non_inferior", "margin": 0.5},
        },
    }


def rows(ran: Ran) -> list[tuple[Any, ...]]:
    assert ran.folder is not None
    scored = [json.loads(line) for line in (ran.folder / "scores.jsonl").read_text(encoding="utf-8").splitlines()]
    drafts = {_key(r): (r["draft"], r["seed_sent"], r["status"]) for r in ran.rows}
    assert len(drafts) == len(ran.rows) == len(scored)
    untimed = {key: {k: v for k, v in one["stats"].items() if k != "e2e"} for one in scored if (key := _key(one))}
    return sorted((*key, *drafts[key], repr(untimed[key])) for key in untimed)


def _key(row: dict[str, Any]) -> tuple[str, int, str]:
    return row["arm"], row["seed"], row["item_id"]


def told(ran: Ran) -> dict[str, Any]:
    """The report without times, ids, the driver, and what it says of order and concurrency themselves."""
    kept = essence(ran.report)
    for name in ("instrument", "dataset"):
        del kept[name]
    for arm in kept["arms"].values():
        del arm["conditions"], arm["concurrency"]
    return kept


WAYS: dict[str, Callable[[Lab], Ran]] = {
    "concurrency 7": lambda lab: lab(ITEMS, **parts(7, slow="odd")),
    "concurrency 32": lambda lab: lab(ITEMS, **parts(32, slow="even")),
    "items reversed": lambda lab: lab(ITEMS[::-1], **parts(7)),
    "items shuffled": lambda lab: lab(random.Random(5).sample(ITEMS, N), **parts(7, slow="odd")),
    "seeds in another order": lambda lab: lab(ITEMS, **parts(3, seeds=(2, 0, 1))),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_way_does_not_show(lab: Lab, way: str) -> None:
    """The same rows and, to the last digit, the same report as one item after another in the dataset's order."""
    first, other = lab(ITEMS, **parts()), WAYS[way](lab)
    assert first.folder != other.folder
    assert rows(other) == rows(first)
    assert told(other) == told(first)
    assert other.report["dataset"]["content_fp"] == first.report["dataset"]["content_fp"]


def test_a_failed_gate_names_rows_that_decided_it(lab: Lab) -> None:
    """The experiment above has something to tell: wrong rows, a spread over seeds, a difference, a gate that fails."""
    ran = lab(ITEMS, **parts())
    assert ran.code == 1
    assert len(ran.report["gates"]["floor"]["rows"]) == 20
    assert ran.report["arms"]["drawn"]["figures"]["stability/seed_sd"]["value"] > 0
    assert ran.report["comparisons"]["pair"]["quality/length"]["delta"] != 0


@pytest.mark.parametrize("n", [2, 3, 7])
def test_merged_shards_are_the_whole(lab: Lab, cli: Cli, n: int) -> None:
    """Shards run one by one, given to `evalflow merge` in any order: the rows and the report of the whole run."""
    whole = lab(ITEMS, **parts(4))
    shards = [lab(ITEMS, **parts(4), shard={"index": i, "of": n}).folder for i in range(n)]
    merged = cli("merge", "--allow", "tests", *[str(shard) for shard in reversed(shards)])
    assert merged.code == whole.code == 1
    assert rows(merged) == rows(whole)
    assert essence(merged.report) == essence(whole.report)
    assert merged.report["arms"]["drawn"]["figures"]["lat/e2e_s/p50"]["n_sessions"] == n


def refused(cli: Cli, *folders: Path | None) -> str:
    ran = cli("merge", "--allow", "tests", *map(str, folders))
    assert (ran.code, ran.out, len(ran.faults)) == (64, "", 1), ran.err
    return ran.err


def test_what_is_no_whole_set_of_shards_is_refused(lab: Lab, cli: Cli) -> None:
    """A shard missing, of another run or conditions, unfinished, cut short, or none at all: one line says which."""
    first, second = (lab(ITEMS, **parts(4), shard={"index": i, "of": 2}).folder for i in (0, 1))
    other = lab(ITEMS, **parts(4, seeds=(0, 1)), shard={"index": 1, "of": 2}).folder
    third = lab(ITEMS, **parts(4), shard={"index": 1, "of": 3}).folder
    fewer = lab(ITEMS[:-1], **parts(4), shard={"index": 1, "of": 2}).folder
    whole = lab(ITEMS, **parts(4)).folder
    limited = [lab(ITEMS, **parts(4), shard={"index": i, "of": 2}, limit=5).folder for i in (0, 1)]
    assert "shard 1 of 2 is missing: give one run of each shard" in refused(cli, first)
    assert "its conditions is not that of" in refused(cli, first, other)
    assert "its shard.of is not that of" in refused(cli, first, third)
    assert "its dataset" in refused(cli, first, fewer)
    assert "it is no shard of a run" in refused(cli, first, whole)
    assert "limit was set" in refused(cli, *limited)
    assert second is not None
    state = second / "run.json"
    state.write_text(state.read_text(encoding="utf-8").replace('"finished",', '"interrupted",'), encoding="utf-8")
    assert "it is not finished" in refused(cli, first, second)
