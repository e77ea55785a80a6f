"""Which figures each difference between two instruments makes incomparable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evalflow.runner.compared_run import ComparedRun, overlap
from evalflow.runner.instrument_difference import MAY_VARY, RULES, Difference, differences
from tests.runner.compared import EXACT, ITEMS, compared, elsewhere
from tests.runner.scored_texts import SCORING, TINY, metrics

SCRIPTED = {"_target_": "evalflow.model.scripted.Scripted"}
SEAT = {"_target_": "evalflow.model.seat.seat.Seat", "base_url": "http://127.0.0.1:1/v1", "model": "m", "note": "n"}
METRICS = {
    "exact": EXACT,
    "contains": {"_target_": "evalflow.metric.contains.Contains"},
    "sd": {"_target_": "evalflow.metric.seed_sd.SeedSd", "of": "exact"},
    "ttft": {"_target_": "evalflow.metric.latency.Ttft", "percentiles": [50.0]},
    "fixed": {"_target_": "evalflow.metric.fixed_length.FixedTtft"},
    "hits": {"_target_": "evalflow.metric.cache_hit_share.CacheHitShare"},
    "tokens": {"_target_": "evalflow.metric.cost.TokensOut"},
    "params": {"_target_": "evalflow.metric.memory.ParamBytes"},
    "kappa": {"_target_": "evalflow.metric.kappa.Kappa", "unit": "label"},
}
PARTS: Mapping[str, Any] = {
    "items": ITEMS[:4],
    "said": {("base", 0): "rrwr"},
    "later": (),
    "arms": {"base": {}},
    "metrics": METRICS,
    "comparisons": {},
    "gates": {},
}
COUNTS = ["n/coverage", "n/error_share", "n/truncated_share"]
EXACTS = ["quality/exact"]
SERVED = ["agreement/kappa", "quality/contains", "quality/exact", "stability/seed_sd"]
LOAD = ["lat/ttft_s/p50"]
CACHE = ["cache/hit_share"]
FIXED = ["lat/fixed_ttft_s/p50"]
WHOLE = ["agreement/kappa", *COUNTS, "stability/seed_sd"]
REVERSED = tuple(reversed(ITEMS[:4]))
OTHER = ({**ITEMS[0], "target": "left"}, *ITEMS[1:4])


def changed(**parts: Any) -> dict[str, Any]:
    return {**PARTS, **parts}


def arm(**settings: Any) -> dict[str, Any]:
    return changed(arms={"base": settings})


def seat(**settings: Any) -> dict[str, Any]:
    return changed(model={**SEAT, **settings})


LOOSE = {**METRICS, "exact": {"_target_": "evalflow.metric.contains.Contains"}}
CASES: Mapping[str, tuple[dict[str, Any], dict[str, Any], dict[str, list[str]]]] = {
    "the same": (changed(), changed(), {}),
    "content": (changed(), changed(items=OTHER), {"items": WHOLE}),
    "fewer items": (changed(), changed(items=ITEMS[:3]), {"items": WHOLE}),
    "order": (changed(), changed(items=REVERSED), {"order": [*CACHE, *LOAD]}),
    "metric": (
        changed(),
        changed(metrics=LOOSE),
        {"metrics.exact.class": EXACTS, "metrics.sd.of": ["stability/seed_sd"], "metrics.coverage.of": ["n/coverage"]},
    ),
    "metric's settings": (
        changed(),
        changed(metrics={**METRICS, "ttft": {**METRICS["ttft"], "percentiles": [50.0, 95.0]}}),
        {"metrics.ttft.settings.percentiles": LOAD, "metrics.ttft": ["lat/ttft_s/p95"]},
    ),
    "root seed": (changed(), changed(seed=7), {"seed": []}),
    "machine": (changed(), changed(sessions=elsewhere(python="4")), {"environment.python": [*FIXED, *LOAD]}),
    "gates": (
        changed(),
        changed(gates={"floor": {"figure": "quality/exact", "floor": 0.5}}),
        {"judging": []},
    ),
    "shared machine": (changed(), changed(shared=True), {"shared": [*FIXED, *LOAD]}),
    "timeout": (
        changed(),
        changed(runner={"_target_": "evalflow.runner.settings.Runner", "timeout_s": 5.0}),
        {"timeout_s": LOAD},
    ),
    "model": (changed(), changed(model={**SCRIPTED, "otherwise": "left"}), {"model.table": []}),
    "decoding": (
        changed(),
        arm(decoding={"temperature": 0.5, "max_tokens": 9}),
        {"decoding.temperature": [], "decoding.max_tokens": []},
    ),
    "concurrency": (arm(), arm(concurrency=6), {"concurrency": LOAD}),
    "rate": (arm(), arm(rate=2.0), {"rate": LOAD, "arrivals": LOAD}),
    "cache": (
        seat(isolation="cache_salt"),
        {**seat(isolation="cache_salt"), "arms": {"base": {"cache": "isolated"}}},
        {"cache": [*CACHE, *LOAD], "hits_between": []},
    ),
    "other seeds": (arm(seeds=[0]), arm(seeds=[1]), {"seeds": []}),
    "number of seeds": (arm(seeds=[0]), arm(seeds=[0, 1]), {"number of seeds": ["stability/seed_sd"]}),
    "control": (arm(), arm(control=True), {"control": []}),
    "optional": (arm(), arm(optional=True), {"optional": []}),
    "seat": (seat(), seat(model="other"), {"model.model": []}),
    "patience": (seat(), seat(timeouts={"total_s": 9.0}), {"model.timeouts.total_s": LOAD}),
    "retries": (seat(), seat(retries={"attempts": 9}), {"model.retries.attempts": LOAD}),
    "stream": (seat(), seat(stream=False), {"model.stream": LOAD}),
    "isolation": (seat(), seat(isolation="cache_salt"), {"model.isolation": [*CACHE, *LOAD]}),
}
"""Case -> what the reference and the candidate were, and field -> the figures that the difference forbids."""


def found(reference: ComparedRun, candidate: ComparedRun, *varied: str) -> list[Difference]:
    arms = [(name, name) for name in reference.plan.arms]
    return differences(reference, candidate, arms, overlap(reference, candidate), varied)


def by_field(listed: list[Difference]) -> dict[str, list[str]]:
    return {one.field: sorted(one.figures) for one in listed}


@pytest.mark.parametrize("name", CASES)
def test_each_difference_forbids_exactly_its_figures(tmp_path: Path, name: str) -> None:
    """Every kind of difference is listed with the figures that it makes incomparable, and no other field is."""
    before, after, expected = CASES[name]
    reference, candidate = compared(tmp_path, "A", **before), compared(tmp_path, "B", **after)
    listed = found(reference, candidate)
    assert by_field(listed) == {field: sorted(figures) for field, figures in expected.items()}
    assert all(one.why for one in listed)
    assert all(one.reference != one.candidate for one in listed if not one.field.endswith(".of"))


TEXTS: Mapping[str, Any] = {
    "items": ITEMS[:4],
    "said": {},
    "model": TINY,
    "scoring": SCORING,
    "arms": {"ref": {}, "one": {"reference": "ref"}},
    "metrics": metrics("nll", "kl"),
    "comparisons": {},
    "gates": {},
}
PARITY = ["parity/kl_nats"]


def of_texts(tmp_path: Path, label: str, **parts: Any) -> ComparedRun:
    return compared(tmp_path, label, **{**TEXTS, **parts})


def test_other_windows_forbid_every_figure_over_texts(tmp_path: Path) -> None:
    """A token has another context in another window; counts of rows do not depend on it, and are told."""
    other = of_texts(tmp_path, "B", scoring={**SCORING, "window": 64})
    listed = found(of_texts(tmp_path, "A"), other)
    windows = [one for one in listed if one.field == "scoring.window"]
    assert [one.arms for one in windows] == [("ref", "ref"), ("one", "one")]
    assert [sorted(one.figures) for one in windows] == [[*PARITY, "quality/nll"]] * 2
    assert [list(one.figures) for one in listed if one.field == "reference.scoring.window"] == [PARITY]


def test_another_reference_forbids_figures_of_parity(tmp_path: Path) -> None:
    """What an arm is by itself stays comparable; its distance from something else is another distance."""
    long = {"ref": {"model": {"checkpoint": "short"}}, "one": {"reference": "ref", "model": {"checkpoint": "long"}}}
    last = {"ref": {"model": {"checkpoint": "long"}}, "one": {"reference": "ref", "model": {"checkpoint": "long"}}}
    listed = found(of_texts(tmp_path, "A", arms=long), of_texts(tmp_path, "B", arms=last))
    held = [one for one in listed if one.field.startswith("reference.")]
    assert held and all(list(one.figures) == PARITY and one.arms == ("one", "one") for one in held)
    assert all(one.figures == () for one in listed if one not in held)


def patched(run: ComparedRun, **fields: Any) -> ComparedRun:
    """The run with other fields in its instrument."""
    return replace(run, report={**run.report, "instrument": {**run.instrument, **fields}})


def test_what_only_a_report_can_tell(tmp_path: Path) -> None:
    """Another schema forbids all, another serving all that is read from what is served."""
    run = compared(tmp_path, "A", **PARTS)
    every = sorted(run.owners)
    assert by_field(found(run, patched(run, schema_version=2))) == {"schema_version": every}
    assert by_field(found(run, patched(run, serving={"class": "x"}))) == {"serving": SERVED}
    conditions = {"base": {**run.instrument["conditions"]["base"], "lately": 1}}
    assert by_field(found(run, patched(run, conditions=conditions))) == {"lately": every}
    assert by_field(found(run, patched(run, seats={"base": {"version": "2"}}))) == {"seat": []}


def test_scores_that_another_version_made_are_not_read(tmp_path: Path) -> None:
    """Stored statistics are of the metric as it was; what is installed may read them another way."""
    run = compared(tmp_path, "A", **PARTS)
    older = {**run.instrument["metrics"], "exact": {**run.instrument["metrics"]["exact"], "version": 0}}
    once, again = patched(run, metrics=older), patched(replace(run, label="B"), metrics=older)
    listed = found(once, again)
    assert by_field(listed) == {"metrics.exact.scored": EXACTS}
    assert [one.why for one in listed] == [
        f"{label} was scored by another version of it; evalflow score {run.stored.folder}" for label in "AB"
    ]


def test_what_is_tested_on_purpose_forbids_nothing(tmp_path: Path) -> None:
    """A field that is named as varied is told, and its figures are compared; those of other fields are not."""
    before, after = compared(tmp_path, "A", **arm()), compared(tmp_path, "B", **arm(concurrency=6, rate=1.0))
    listed = found(before, after, "concurrency")
    assert by_field(listed) == {"concurrency": [], "rate": LOAD, "arrivals": LOAD}
    assert listed[0].why == "it is what is tested"
    assert {"concurrency", "cache", "environment", "order"} <= set(MAY_VARY)
    assert not {"items", "metrics", "serving", "scoring", "reference", "model", "seeds"} & set(MAY_VARY)


def test_two_kinds_of_model_are_what_is_compared(tmp_path: Path) -> None:
    """A client that only one of them has is a part of it, and no other way of measuring."""
    listed = found(compared(tmp_path, "A", **changed()), compared(tmp_path, "B", **seat()))
    assert {one.field.partition(".")[0] for one in listed} == {"model"}
    assert all(one.figures == () for one in listed)


def test_every_condition_of_an_arm_has_a_rule(tmp_path: Path) -> None:
    """Nothing that an arm can differ in was forgotten."""
    run = compared(tmp_path, "A", **PARTS)
    derived = {"greedy"}
    assert set(run.instrument["conditions"]["base"]) - derived <= set(RULES)


def test_prompts_are_told_apart_from_questions(tmp_path: Path) -> None:
    """The same items asked in other words: they pair, and the words are what is compared."""
    path = tmp_path / "B" / "items.jsonl"
    worded = {"_target_": "evalflow.dataset.jsonl.Jsonl", "path": str(path), "name": "questions"}
    other = compared(tmp_path, "B", **changed(dataset={**worded, "prompt": "Say: {input}"}))
    run = compared(tmp_path, "A", **PARTS)
    assert by_field(found(run, other)) == {"prompts": []}
    items = overlap(run, other)
    assert (items.shared, items.whole, len(items.reworded)) == (("a", "b", "c", "d"), True, 4)


def test_items_are_shared_by_id_and_content(tmp_path: Path) -> None:
    """One that was changed under its id is no partner; what only one run has is named, in its own order."""
    after = ({**ITEMS[4]}, {**ITEMS[2]}, {**ITEMS[1], "target": "left"}, {**ITEMS[0]})
    items = overlap(compared(tmp_path, "A", **PARTS), compared(tmp_path, "B", **changed(items=after)))
    assert (items.shared, items.changed) == (("a", "c"), ("b",))
    assert (items.only_reference, items.only_candidate) == (("d",), ("e",))
    assert items.missing == ("d", "b")
    assert items.reordered and not items.whole
