"""Config to plan: what parts must be to one another, and what can change a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalflow.dataset.protocol import Selection
from evalflow.runner.parts import overlay
from evalflow.runner.plan import build_plan
from tests.conftest import ITEMS, config, faults_of, plan_of

pytestmark = pytest.mark.usefixtures("home")
SCRIPTED = "evalflow.model.scripted.Scripted"
EXACT = {"_target_": "evalflow.metric.exact_match.ExactMatch"}
SD = {"_target_": "evalflow.metric.seed_sd.SeedSd"}
BYTES = {"_target_": "evalflow.metric.memory.ParamBytes"}
E2E = {"_target_": "evalflow.metric.latency.E2e"}


def fault(where: str, what: str, todo: str) -> list[str]:
    return [f"{where}: {what}; {todo}"]


def test_an_overlay_changes_one_key_and_keeps_the_rest() -> None:
    """An arm's own values are laid over the experiment's, key by key."""
    assert overlay({"_target_": "m.A", "x": 1, "y": 2}, {"x": 3}) == {"_target_": "m.A", "x": 3, "y": 2}


def test_an_overlay_that_names_another_class_stands_alone() -> None:
    """Settings of one class are nothing to another."""
    assert overlay({"_target_": "m.A", "x": 1}, {"_target_": "m.B", "z": 1}) == {"_target_": "m.B", "z": 1}
    assert overlay({"_target_": "m.A", "x": 1}, {"_target_": "m.A", "z": 1}) == {"_target_": "m.A", "x": 1, "z": 1}


def test_each_arm_has_its_own_model_and_decoding() -> None:
    """One arm's overlay is not another's."""
    plan = plan_of(arms={"one": {"decoding": {"temperature": 0.5}}, "two": {"model": {"otherwise": "no"}}})
    assert [arm.decoding.temperature for arm in plan.arms.values()] == [0.5, 0.0]
    assert plan.arms["one"].model.identity() != plan.arms["two"].model.identity()


def test_requests_are_arms_times_seeds_times_items() -> None:
    """Two arms of 3 and 1 seeds over 6 items are 24 requests."""
    assert plan_of(arms={"one": {"seeds": [0, 1, 2]}, "two": {}}).n_requests == 24


def test_many_seeds_of_a_greedy_arm_are_said_to_be_one() -> None:
    """A greedy arm with several seeds is noted, since its answers cannot differ; a sampled one is not."""
    seeds = {"seeds": [0, 1]}
    plan = plan_of(arms={"one": seeds, "two": {**seeds, "decoding": {"temperature": 1.0}}})
    assert plan.notes == ("arm one is greedy: its 2 seeds give the same answers",)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"arms": {}}, fault("arms", "there is none", "compose at least one, such as +arm@arms.one=greedy")),
        (
            {"gates": {"g": {"figure": "quality/exat", "floor": 1}}},
            fault("gates.g.figure", "no metric produces quality/exat", "did you mean quality/exact?"),
        ),
        (
            {"gates": {"g": {"figure": "quality/exact", "arm": "onne", "floor": 1}}},
            fault("gates.g.arm", "there is no arm onne", "did you mean one?"),
        ),
        (
            {"gates": {"g": {"figure": "quality/exact", "comparison": "c", "floor": 1}}},
            fault("gates.g.comparison", "there is no comparison c", "there is none to choose from"),
        ),
        (
            {"gates": {"g": {"figure": "quality/exact", "floor": 1, "where": {"knid": "x"}}}},
            fault("gates.g.where.knid", "rows have no such key", "did you mean kind?"),
        ),
        (
            {"gates": {"g": {"figure": "quality/exact", "floor": 1, "when": {"cashe": "cold"}}}},
            fault("gates.g.when.cashe", "arms have no such condition", "did you mean cache?"),
        ),
        (
            {"gates": {"g": {"figure": "lat/e2e_s/p50", "floor": 1, "count": True}}, "metrics": {"e2e": E2E}},
            fault("gates.g.count", "lat/e2e_s/p50 is no share, so it has no count", "drop count"),
        ),
        (
            {
                "gates": {"g": {"figure": "mem/param_bytes", "floor": 1, "where": {"kind": "x"}}},
                "metrics": {"b": BYTES},
            },
            fault("gates.g.where", "mem/param_bytes is not of rows, so none can be chosen", "drop where"),
        ),
        (
            {"comparisons": {"c": {"reference": "one", "candidate": "tow", "figures": ["quality/exact"]}}},
            fault("comparisons.c.candidate", "there is no arm tow", "choose from one"),
        ),
        (
            {"metrics": {"a": E2E, "b": E2E}},
            [
                "metrics.b: lat/e2e_s/p50 is also metrics.a's; keep one of the two",
                "metrics.b: lat/e2e_s/p95 is also metrics.a's; keep one of the two",
            ],
        ),
        (
            {"metrics": {"coverage": EXACT}},
            fault("metrics.coverage", "the name is taken by a figure that every run has", "choose another"),
        ),
        (
            {"metrics": {"exact": EXACT, "sd": {**SD, "of": "exat"}}},
            fault("metrics.sd.of", "there is no metric exat", "did you mean exact?"),
        ),
        ({"where": {"knid": "x"}}, fault("where.knid", "items have no such key", "did you mean kind?")),
        ({"limit": 0}, fault("limit", "it is 0", "give at least 1")),
        ({"step": -1}, fault("step", "it is -1", "give the training step of the checkpoint, 0 or more, or null")),
        ({"name": "a/b"}, fault("name", "it is 'a/b'", "give one that can name a folder")),
        (
            {"shard": {"index": 2, "of": 2}},
            fault("shard", "shard 2 of 2 does not exist", "give an index from 0 below `of`"),
        ),
    ],
)
def test_parts_that_do_not_meet_are_faults(parts: dict[str, Any], expected: list[str]) -> None:
    """A name that another part does not have is one line, with the nearest that it has."""
    assert faults_of(config(**parts)) == expected


def test_a_figure_that_is_not_per_item_cannot_be_compared() -> None:
    """A spread over seeds has no pairs."""
    comparison = {"reference": "one", "candidate": "two", "figures": ["stability/seed_sd"]}
    parts = {"metrics": {"exact": EXACT, "sd": {**SD, "of": "exact"}}, "arms": {"one": {}, "two": {}}}
    assert faults_of(config(**parts, comparisons={"c": comparison})) == fault(
        "comparisons.c.figures", "stability/seed_sd is not per item, so it cannot be paired", "name another figure"
    )


def test_a_gate_on_a_comparison_reads_a_figure_that_it_compares() -> None:
    """A figure that exists but is not compared is refused, and the compared one offered."""
    comparison = {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}
    gates = {"g": {"comparison": "c", "figure": "quality/exat", "floor": 0}}
    assert faults_of(config(arms={"one": {}, "two": {}}, comparisons={"c": comparison}, gates=gates)) == fault(
        "gates.g.figure", "comparison c does not compare quality/exat", "did you mean quality/exact?"
    )


def test_a_metric_that_needs_targets_is_refused_without_them() -> None:
    """Items without a target are counted and the first one named."""
    items = [*ITEMS[:4], {"id": "y", "input": "?"}, {"id": "z", "input": "?"}]
    (said,) = faults_of(config(items))
    assert said.startswith("metrics.exact: 2 items have no target, 'y' first; ")


def test_a_fault_of_one_part_hides_no_other() -> None:
    """Faults in the dataset, a metric, an arm and the root are found in one go."""
    parts = {"dataset": {"_target_": "evalflow.dataset.jsonl.Jsonl"}, "metrics": {"x": {}}, "arms": {"one": {"a": 1}}}
    wheres = [said.split(":")[0] for said in faults_of({**config(**parts), "seed": "x"})]
    assert sorted(wheres) == ["arms.one.a", "dataset.path", "metrics.x", "seed"]


def test_a_gate_on_a_figure_of_a_broken_metric_is_not_blamed() -> None:
    """The metric's own fault is said, not that nobody produces its figure."""
    parts = {"metrics": {"exact": {**EXACT, "typo": 1}}, "gates": {"g": {"figure": "quality/exact", "floor": 1}}}
    assert [said.split(":")[0] for said in faults_of(config(**parts))] == ["metrics.exact.typo"]


@pytest.mark.parametrize(
    ("kind", "target"),
    [("metrics", "evalflow.record.Decoding"), ("gates", "evalflow.arm.Arm"), ("arms", "evalflow.record.Decoding")],
)
def test_a_class_of_another_room_is_no_part(kind: str, target: str) -> None:
    """An allowed class that is not what its place needs is a fault there, not a crash later."""
    (said,) = faults_of(config(**{kind: {"x": {"_target_": target}}}))
    assert said.startswith(f"{kind}.x: {target.rpartition('.')[2]} is no {kind[:-1]}")


def test_every_part_of_the_run_that_is_no_mapping_is_named() -> None:
    """A part that is a bare value is one fault."""
    assert [said.split(":")[0] for said in faults_of({**config(), "runner": 3})] == ["runner"]


def base() -> dict[str, Any]:
    return config(arms={"one": {"decoding": {"temperature": 1.0}}, "two": {}})


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"decoding": {"_target_": "evalflow.record.Decoding", "max_tokens": 9}},
        {"model": {"_target_": SCRIPTED, "otherwise": "wrong"}},
        {"arms": {"one": {"decoding": {"temperature": 0.9}}, "two": {}}},
        {"arms": {"one": {"decoding": {"temperature": 1.0}, "seeds": [1]}, "two": {}}},
        {"arms": {"two": {}, "one": {"decoding": {"temperature": 1.0}}}},
        {"arms": {"one": {"decoding": {"temperature": 1.0}}}},
        {"limit": 3},
        {"where": {"id": ["a", "b"]}},
        {"dataset": {"_target_": "evalflow.dataset.jsonl.Jsonl", "path": "items.jsonl", "prompt": "{input}!"}},
        {"runner": {"_target_": "evalflow.runner.settings.Runner", "timeout_s": 1.0}},
    ],
)
def test_what_can_change_a_row_changes_the_resume_key(change: dict[str, Any]) -> None:
    """Root seed, decoding, model, arm seeds, arm order, items, prompts and the time limit are all in the key."""
    before = build_plan(base()).resume_key()
    assert build_plan({**base(), **change}).resume_key() != before


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"description": "words"},
        {"limits": ["none"]},
        {"gates": {"g": {"figure": "quality/exact", "floor": 1}}},
        {"metrics": {}},
        {"runner": {"_target_": "evalflow.runner.settings.Runner", "outputs": "elsewhere", "start_timeout_s": 1.0}},
        {"arms": {"one": {"decoding": {"temperature": 1.0}, "concurrency": 4}, "two": {"optional": True}}},
        {"model": {"_target_": SCRIPTED, "otherwise": "right", "delay_s": 0.1}},
    ],
)
def test_what_cannot_change_a_row_leaves_the_resume_key(change: dict[str, Any]) -> None:
    """Names, gates, metrics, the output folder and a scripted model's pace cannot make two runs differ in a row."""
    assert build_plan({**base(), **change}).resume_key() == build_plan(base()).resume_key()


def test_the_order_of_the_items_is_in_the_resume_key() -> None:
    """The same items in another order are another sequence of requests."""
    forward = plan_of(ITEMS).resume_key()
    assert plan_of(ITEMS[::-1]).resume_key() != forward


def test_a_stored_selection_stands_for_the_dataset() -> None:
    """Given the items of a stored run, the dataset's source is never opened."""
    plain = config()
    items = build_plan(plain).items
    Path("items.jsonl").unlink()
    assert build_plan(plain, stored=Selection(items[:2], "part")).items == items[:2]


def test_a_plan_is_not_changed_by_limit_at_or_over_its_size() -> None:
    """`limit` of the number of items, or more, is a full run."""
    assert plan_of(limit=6).selection.part is None
    assert plan_of(limit=60).selection.part is None
    assert plan_of(limit=5).selection.part == "smoke run: limit 5"


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ({"floor": 0}, "cannot but be >= 0"),
        ({"ceiling": 1}, "cannot but be <= 1"),
        ({"between": [0, 1]}, "cannot but be in [0, 1]"),
        ({"floor": -0.5, "strict": True}, "cannot but be > -0.5"),
        ({"floor": 0, "count": True}, "cannot but be >= 0"),
        ({"comparison": "c", "floor": -1}, "cannot but be >= -1"),
        ({"floor": 1.1, "expect": "fail"}, "can never be >= 1.1"),
        ({"floor": 1, "strict": True}, "can never be > 1"),
        ({"equals": 2}, "can never be = 2"),
        ({"between": [2, 3]}, "can never be in [2, 3]"),
    ],
)
def test_a_gate_that_was_decided_before_the_run_is_refused(gate: dict[str, Any], said: str) -> None:
    """A threshold that every share meets, or none, decides nothing, however it is meant."""
    comparison = {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}
    parts = {"arms": {"one": {}, "two": {}}, "comparisons": {"c": comparison}}
    todo = "meet" if "never" in said else "miss"
    assert faults_of(config(**parts, gates={"g": {"figure": "quality/exact", **gate}})) == [
        f"gates.g: quality/exact {said}; give a threshold that it can {todo}"
    ]


def test_a_margin_of_everything_is_refused() -> None:
    """A share cannot lose more than 1, so that much may always be lost."""
    comparison = {"reference": "one", "candidate": "two", "figures": ["quality/exact"]}
    parts = {"arms": {"one": {}, "two": {}}, "comparisons": {"c": comparison}}
    gate = {"figure": "quality/exact", "comparison": "c", "verdict": "non_inferior", "margin": 1.5}
    assert faults_of(config(**parts, gates={"g": gate})) == [
        "gates.g.margin: no share can lose 1.5; give one that can fail"
    ]


def test_a_time_below_nothing_is_refused() -> None:
    """No time is negative: a floor of 0 s decides nothing."""
    gate = {"figure": "lat/e2e_s/p50", "floor": 0}
    assert faults_of(config(metrics={"e2e": E2E}, gates={"g": gate})) == [
        "gates.g: lat/e2e_s/p50 cannot but be >= 0; give a threshold that it can miss"
    ]


def test_what_a_users_class_raises_before_a_run_is_a_fault() -> None:
    """A dataset without items to give and a model without a plain identity are named, and nothing is started."""
    assert faults_of(config(dataset={"_target_": "tests.stand_ins.Itemless"})) == [
        "dataset: its items cannot be had (RuntimeError: no shelf); mend the dataset"
    ]
    (said,) = faults_of(config(model={"_target_": "tests.stand_ins.Nameless"}))
    assert said.startswith("arms.one.model: its identity cannot be had (ValueError: ")


def test_a_strict_floor_at_the_end_can_fail() -> None:
    """`floor: 0` with `strict` asks for more than nothing."""
    plan_of(gates={"g": {"figure": "quality/exact", "floor": 0, "strict": True}})


@pytest.mark.parametrize(
    ("key", "wanted", "todo"),
    [
        ("cache", "warn", "give one of cold, isolated, warm"),
        ("concurrency", "1", "give its value"),
        ("greedy", 1, "give its value"),
    ],
)
def test_a_condition_that_no_arm_can_have_is_refused(key: str, wanted: Any, todo: str) -> None:
    """A gate whose `when` can never hold would be skipped for ever."""
    gate = {"figure": "quality/exact", "floor": 0.5, "when": {key: wanted}}
    assert faults_of(config(gates={"g": gate})) == [f"gates.g.when.{key}: no arm can have {wanted!r} there; {todo}"]
