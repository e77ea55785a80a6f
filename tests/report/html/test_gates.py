"""Gates in words: what was wanted, what was found, on whose rows, and what decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evalflow.report.html.gates import GateLine, gate_lines
from tests.report.by_hand import GATES, made


def lines(
    folder: Path, private: bool = False, changed: dict[str, Any] | None = None, **gates: Any
) -> dict[str, GateLine]:
    report, scores = made(folder, gates=gates or GATES)
    for name, changes in (changed or {}).items():
        report["gates"][name].update(changes)
    return {line.name: line for line in gate_lines(report, {item.id for item in scores.plan.items}, private)}


def test_a_passed_gate(tmp_path: Path):
    """The figure, whose it is, its value and interval, what was wanted, and on how many rows."""
    line = lines(tmp_path)["new_floor"]
    assert (line.outcome, line.mark, line.missed) == ("pass", "✓", False)
    assert (line.figure, line.whose, line.where) == ("quality/exact", "new", "")
    assert (line.value, line.end, line.wanted, line.n) == ("0.875", "", "≥ 0.8", "8")
    assert line.interval == "[0.264, 0.993]"


def test_a_gate_of_some_rows_says_which_and_has_no_interval_of_all(tmp_path: Path):
    """Its value over those rows may by chance be that over all: the interval is of other rows then."""
    asked = {"figure": "quality/exact", "arm": "bad", "ceiling": 0.5, "where": {"kind": ["x", "y"], "cluster": "w1"}}
    line = lines(tmp_path, some=asked)["some"]
    assert (line.value, line.n, line.interval) == ("0", "2", "")
    assert line.where == "kind = x, y, cluster = w1"


def test_a_count_has_no_interval_of_a_share(tmp_path: Path):
    """0 rows of four, whose share is 0 too."""
    line = lines(tmp_path, some={"figure": "quality/exact", "arm": "bad", "ceiling": 1, "count": True})["some"]
    assert (line.value, line.interval, line.wanted) == ("0", "", "≤ 1")


def test_a_gate_on_an_end_says_which(tmp_path: Path):
    """The number that was held is an end of the interval, which stands beside it."""
    asked = {"figure": "quality/exact", "arm": "new", "floor": 0.1}
    found = lines(tmp_path, low={**asked, "bound": "lower"}, both={**asked, "bound": "both"})
    assert (found["low"].value, found["low"].end, found["low"].interval) == ("0.264", "low end", "[0.264, 0.993]")
    assert (found["both"].value, found["both"].end, found["both"].interval) == ("0.264", "an end", "[0.264, 0.993]")


def test_a_gate_on_a_difference_shows_signs(tmp_path: Path):
    """Candidate minus reference, with its own interval."""
    asked = {"comparison": "new_vs_base", "figure": "quality/exact", "floor": -0.5, "coverage": 0.7}
    line = lines(tmp_path, some=asked)["some"]
    assert (line.whose, line.value, line.wanted) == ("new_vs_base", "+0.500", "≥ −0.5")
    assert line.interval.startswith("[−") and ", +" in line.interval


def test_a_gate_with_a_margin_shows_the_bound_that_decides(tmp_path: Path):
    """The one-sided one on the side of a loss, of `equivalent` both, beside the two-sided interval."""
    asked = {"comparison": "new_vs_base", "figure": "quality/exact", "margin": 0.6, "coverage": 0.7}
    found = lines(tmp_path, loss={**asked, "verdict": "non_inferior"}, both={**asked, "verdict": "equivalent"})
    delta = made(tmp_path)[0]["comparisons"]["new_vs_base"]["quality/exact"]
    assert delta["low"] < delta["bound_low"]
    assert found["loss"].bounds == f"{delta['bound_low']:.3f}".replace("-", "−")
    assert found["both"].bounds == f"{found['loss'].bounds}, +{delta['bound_high']:.3f}"


def test_a_control_is_wanted_to_fail(tmp_path: Path):
    """Its threshold is told turned round, and that it failed as it should."""
    line = lines(tmp_path)["control"]
    assert (line.outcome, line.wanted, line.reason) == ("pass", "not ≥ 0.5", "failed, as it should")


def test_what_was_not_read_has_no_value(tmp_path: Path):
    """Unreadable or skipped, the reason stands alone; a gate that only reports is no miss."""
    found = lines(tmp_path)
    assert (found["base_floor"].value, found["base_floor"].interval, found["base_floor"].bounds) == ("", "", "")
    assert (found["base_floor"].reason, found["base_floor"].missed) == ("1 of 4 were not scored", True)
    assert (found["alone"].outcome, found["alone"].reason) == ("skipped", "concurrency is 1")
    assert (found["first_token"].outcome, found["first_token"].missed) == ("unreadable", False)


def test_what_decided_and_what_to_do(tmp_path: Path):
    """The rows, the worst first, how many there are in all, and the sentence for a failure."""
    line = lines(tmp_path, some={**GATES["base_floor"], "coverage": 0.7})["some"]
    assert (line.outcome, line.rows, line.n_rows) == ("fail", ("b (seed 0)", "c (seed 0)"), 2)
    assert (line.decided_by, line.on_fail) == ("2 rows", "train longer")


def test_what_decided_is_called_what_it_is(tmp_path: Path):
    """Items of a comparison, positions of a figure over texts, else rows."""
    report, _ = made(tmp_path)
    report["asked"]["metrics"]["kl"] = {"figure": "parity/kl_nats", "grain": "document", "unit": "nats"}
    told = {"gain": "quality/exact", "base_floor": "parity/kl_nats/max", "control": "quality/exact"}
    for name, figure in told.items():
        report["gates"][name].update(n_rows=1, rows=["b"], figure=figure)
    found = {line.name: line.decided_by for line in gate_lines(report, {"b"}, False)}
    assert (found["gain"], found["base_floor"], found["control"]) == ("1 item", "1 position", "1 row")


def test_private_names_what_decided_by_id_alone(tmp_path: Path):
    """A position has text around it, and is left out; rows, items and the count stay."""
    decided = {"rows": ["b", "c (seed -1)", "c at 3 (0.5): some text"], "n_rows": 9}
    found = [lines(tmp_path, private, {"base_floor": decided})["base_floor"] for private in (False, True)]
    assert [line.rows for line in found] == [tuple(decided["rows"]), ("b", "c (seed -1)")]
    assert [line.n_rows for line in found] == [9, 9]


def test_the_noise_floor_is_shown_with_units(tmp_path: Path):
    """What the reference's own model gave; times in ms beside the threshold as asked, shares without a unit."""
    found = lines(tmp_path, changed={"first_token": {"noise_floor": 0.001, "value": 0.00093}})
    assert (found["first_token"].value, found["first_token"].unit) == ("0.930", "ms")
    assert (found["first_token"].noise_floor, found["first_token"].wanted) == ("1", "≤ 1 s")
    assert (found["new_floor"].noise_floor, found["new_floor"].unit) == ("", "")
