"""The smaller sections: seeds, worst positions, conditions, the instrument."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from evalflow.report.html.conditions import Entry, conditions, entries, flat, in_words
from evalflow.report.html.instrument import instrument_of
from evalflow.report.html.seeds import seed_spreads
from evalflow.report.html.worst_positions import MOST, worst_positions
from tests.report.by_hand import made
from tests.report.html.reading import page_of


def place(item: str, at: int, value: float | None = 0.5, context: str = "a ⟦b⟧ c") -> dict[str, Any]:
    return {"item": item, "at": at, "value": value, "context": context}


def worst(private: bool = False, **metrics: list[dict[str, Any]]) -> Any:
    return worst_positions({"arms": {"one": {"worst_positions": metrics}, "two": {"worst_positions": {}}}}, private)


def test_seeds_are_told_one_by_one(tmp_path: Path):
    """Of an arm with several: the least, the largest, and each seed's own; of one seed there is nothing to tell."""
    report, _ = made(tmp_path)
    (one,) = seed_spreads(report)
    assert (one.arm, one.name, one.unit) == ("new", "quality/exact", "share")
    assert (one.least, one.largest) == ("0.750", "1.000")
    assert one.by_seed == (("0", "1.000"), ("1", "0.750"))


def test_a_seed_without_a_value_says_why(tmp_path: Path):
    """It is in neither end."""
    report, _ = made(tmp_path)
    report["arms"]["new"]["by_seed"]["0"]["quality/exact"].update(value=None, reason="no rows")
    (one,) = seed_spreads(report)
    assert (one.least, one.largest, one.by_seed[0]) == ("0.750", "0.750", ("0", "undefined: no rows"))


def test_a_place_is_shown_once_with_what_every_metric_says():
    """Metrics that agree on the worst place share its line; an arm without places has no part in it."""
    (one,) = worst(kl=[place("a", 3, 0.25), place("b", 1)], gap=[place("a", 3, None), place("c", 2)])
    assert (one.arm, one.n_left_out) == ("one", 0)
    assert [(p.item, p.at) for p in one.positions] == [("a", "3"), ("b", "1"), ("c", "2")]
    assert one.positions[0].values == (("kl", "0.250"), ("gap", "not finite"))
    assert one.positions[0].context == "a ⟦b⟧ c"


def test_no_metrics_worst_is_cut_off():
    """Of many places each metric's first comes before any's second; the rest is counted."""
    (one,) = worst(**{f"m{n}": [place(f"item{n}", k) for k in range(5)] for n in range(10)})
    assert (len(one.positions), one.n_left_out) == (MOST, 50 - MOST)
    assert {f"item{n}" for n in range(10)} <= {p.item for p in one.positions if p.at == "0"}


def test_private_positions_have_no_text():
    """The place and the numbers stay."""
    (one,) = worst(True, kl=[place("a", 3)])
    assert (one.positions[0].item, one.positions[0].context) == ("a", "")


def test_values_in_words():
    """Texts as they are, numbers with six digits, lists one after another, the rest as JSON."""
    told = ["a b", None, True, False, 0.1 + 0.2, 3, ["a", 1.5], [], {}, [["a"]]]
    assert [in_words(value) for value in told] == [
        "a b",
        "none",
        "yes",
        "no",
        "0.3",
        "3",
        "a, 1.5",
        "[]",
        "{}",
        '[["a"]]',
    ]


def test_names_of_what_is_inside_are_dotted():
    """An empty mapping is a value."""
    assert flat({"a": {"b": 1, "c": {"d": "x"}}, "e": {}}) == {"a.b": "1", "a.c.d": "x", "e": "{}"}


def test_what_all_arms_have_is_told_once(tmp_path: Path):
    """And what they do not, arm by arm; private, nothing of the model's own."""
    report, _ = made(tmp_path)
    told = {one.key: one for one in conditions(report, False)}
    assert told["cache"] == Entry("cache", ("cold", "cold", "cold")) and told["cache"].same
    assert told["decoding.temperature"].values == ("0", "1", "0") and not told["decoding.temperature"].same
    assert any(key.startswith("model.") for key in told)
    private = {one.key for one in conditions(report, True)}
    assert private == {key for key in told if not key.startswith("model.")}


def test_a_key_that_an_arm_lacks_is_empty():
    """Not what another has."""
    assert entries({"a": {"x": 1}, "b": {"y": 2}}, False) == [Entry("x", ("1", "")), Entry("y", ("", "2"))]


def test_a_reference_is_told_by_name(tmp_path: Path):
    """An arm that was walked beside another names it, in place of all of that one's conditions."""
    report, _ = made(tmp_path)
    report["arms"]["new"]["conditions"]["reference"] = copy.deepcopy(report["arms"]["base"]["conditions"])
    report["arms"]["bad"]["conditions"]["reference"] = {"model": "elsewhere"}
    told = {one.key: one.values for one in conditions(report, False)}
    assert told["reference"] == ("none", "base", "another model")
    assert not [key for key in told if key.startswith("reference.")]


def test_the_instrument_is_whole(tmp_path: Path):
    """Hashes, environment, metrics with their settings, sessions, and how the arms went; closed until it is opened."""
    report, _ = made(tmp_path)
    found = instrument_of(report, False)
    assert dict(found.hashes)["hash"] == report["instrument"]["hash"]
    assert dict(found.hashes)["content_fp"] == report["dataset"]["content_fp"]
    assert dict(found.environment) == {"python": "3", "seed": "0"}
    assert dict(found.metrics)["sd"] == "evalflow.metric.seed_sd.SeedSd, version 1: of = exact"
    assert [one[0] for one in found.sessions] == ["s1", "s2"]
    course = {one.key: one.values for one in found.course}
    assert course["driver.loop_lag_p99_s"] == ("0.001", "none", "")
    assert course["facts.batch"] == ("2", "", "")
    (details,) = page_of(tmp_path).one("section", id="instrument").every("details")
    assert "open" not in details.attributes


def test_a_private_instrument_has_no_settings(tmp_path: Path):
    """A metric's settings may be a rubric, a model's facts what it said."""
    report, _ = made(tmp_path)
    found = instrument_of(report, True)
    assert dict(found.metrics)["sd"] == "evalflow.metric.seed_sd.SeedSd, version 1"
    assert not [one.key for one in (*found.course, *found.conditions) if one.key.startswith(("facts.", "model."))]


def test_a_seats_driver_error_stands_beside_it(tmp_path: Path):
    """Where an arm asked a seat, whether the driver was calibrated."""
    report, _ = made(tmp_path)
    assert instrument_of(report, False).calibration == ""
    report["arms"]["base"]["facts"] = {"seat": {"model": "m"}}
    assert instrument_of(report, False).calibration.startswith("driver: not calibrated here")
