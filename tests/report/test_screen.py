"""A run on one screen: what decided is there, what is not is counted, and no line is longer than the terminal."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from evalflow.report.part import BELOW
from evalflow.report.screen import print_screen
from tests.report.by_hand import asked_of, bare, gate, made

WIDE = "評価器"
"""Three characters of two columns each."""
HOSTILE = "q1\x1b[2J\x07\x9b31m\u202e\ud800\nVerdict: pass (exit code 0)"


def printed(report: Mapping[str, Any], width: int = 80, height: int = 24, colour: bool = False) -> list[str]:
    """The lines of it, as a pipe or a coloured terminal of that size gets them."""
    raw = io.BytesIO()
    pipe = io.TextIOWrapper(raw, encoding="utf-8")  # strict, as standard output is
    how: dict[str, Any] = {"force_terminal": True, "color_system": "standard"} if colour else {}
    console = Console(file=pipe, width=width, height=height, highlight=False, markup=False, legacy_windows=False, **how)
    print_screen(report, console)
    pipe.flush()
    lines = raw.getvalue().decode("utf-8").splitlines()
    assert colour or all(cell_len(line) <= width for line in lines)
    return lines


def fits(lines: list[str], height: int = 24) -> bool:
    """Whether page, folder, link, verdict and the shell's own line have room under it."""
    return len(lines) + BELOW <= height


def figure(value: float | None, **changes: Any) -> dict[str, Any]:
    reason = None if value is not None else "one seed"
    ends = {"low": None, "high": None}
    return {
        "value": value,
        "unit": "share",
        "n_total": 60,
        "n_scored": 60,
        "n_sessions": 1,
        "reason": reason,
        **ends,
        **changes,
    }


def arm(figures: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    told = {"conditions": {"control": False}, "unavailable": None, "errors": [], "facts": {}, "breakdown": {}}
    return {**told, "figures": dict(figures), **changes}


def report(gates: Mapping[str, Any], where: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A report with these gates; `where` is which rows each of them reads."""
    asked = {name: asked_of(where=(where or {}).get(name, {})) for name in gates}
    sides = {name: {"reference": "base", "candidate": "new"} for name in changes.get("comparisons", ())}
    return bare(gates=dict(gates), asked={"gates": asked, "comparisons": sides}, **changes)


def delta(conclusion: str = "better", **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"delta": 0.25, "low": 0.125, "high": 0.375, "p": 0.0123, "p_adjusted": 0.0123, "mde": 0.5}
    found |= {"test": "exact sign test over items", "level": 0.95, "wins": 20, "losses": 5, "higher_is_better": True}
    counts: dict[str, Any] = {"n_pairs": 60, "n_clusters": 60, "unpaired": [], "n_sessions": 1, "reason": None}
    return {"conclusion": conclusion, **found, **counts, **changes}


def pair(**changes: Any) -> dict[str, Any]:
    """A report of two arms and a comparison."""
    arms = {"base": arm({"quality/exact": figure(0.5)}), "new": arm({"quality/exact": figure(0.75)})}
    return report({}, arms=arms, comparisons={"gain": {"quality/exact": delta(**changes)}})


def test_a_run_without_quality_shows_times_and_rates_that_nothing_reads() -> None:
    """They are what a load is run for; beside a figure of quality they are counted alone."""
    figures = {"lat/e2e_s/p95": figure(0.25), "tps/requests": figure(40.0), "mem/peak": figure(1.0)}
    lines = printed(report({}, arms={"load": arm(figures)}))
    assert line_with("lat/e2e_s/p95", lines).split()[1] == "0.250"
    assert "40" in line_with("tps/requests", lines)
    assert not any("mem/peak" in line for line in lines)
    beside = printed(report({}, arms={"load": arm({**figures, "quality/exact": figure(0.5)})}))
    assert not any("tps/requests" in line or "lat/" in line for line in beside)


def line_with(text: str, lines: list[str]) -> str:
    (line,) = [line for line in lines if text in line]
    return line


def test_what_gates_and_comparisons_read_is_there_and_nothing_else(tmp_path: Path) -> None:
    """Of a judged run: the figures of its gates and its comparison, the other ones counted; it fits 24 lines."""
    report = made(tmp_path)[0]
    lines = printed(report)
    assert lines[0] == "four · 4 items of questions · run 20261129-101112-abcdef"
    shown = {line.split()[0] for line in lines if line.startswith(("quality/", "lat/", "stability/", "mem/", "n/"))}
    assert shown == {"quality/exact"}
    assert "nothing scored" in line_with("lat/ttft_s/p50  ", printed(report, height=40))
    assert line_with("Left out", lines).startswith("Left out: ")
    assert "1 limit: on the page, or by evalflow score RUN --full" in line_with("Left out", lines)
    assert fits(lines)


def test_arms_stand_abreast_where_there_is_room_and_below_each_other_where_not() -> None:
    """Each arm a column; on a narrow terminal a line, with figure, value, interval, count and name on their places."""
    arms = {name: arm({"quality/exact": figure(0.5, low=0.25, high=0.75)}) for name in ("base", "new")}
    arms["new"]["figures"]["quality/exact"] = figure(1.0, low=0.875, high=1.0, n_scored=7, n_total=7)
    gates = {"floor": gate(arm=None)}
    wide = printed(report(gates, arms=arms), width=100)
    assert line_with("base", [line for line in wide if "quality" not in line]).split() == ["base", "new"]
    row = line_with("quality/exact  ", wide)
    assert row.split() == ["quality/exact", "0.500", "[0.250,", "0.750]", "n=60", "1", "[0.875,", "1]", "n=7"]
    narrow = printed(report(gates, arms=arms), width=55)
    heads, first, second = narrow[narrow.index("") + 1 :][:3]
    assert heads.split() == ["figure", "value", "interval", "n", "arm"]
    assert first.split() == ["quality/exact", "0.500", "[0.250,", "0.750]", "60", "base"]
    assert second.split() == ["1", "[0.875,", "1]", "7", "new"]
    assert first.index("[") == second.index("[") and first.index("base") == second.index("new")
    assert first.index("0.500") == second.index("1  ")  # points under each other


def test_arms_that_are_alike_share_a_line() -> None:
    """Where value and interval are the same, with the least and the most rows; all but controls are every arm."""
    names = [f"{letter}_of_a_long_name" for letter in "abc"]
    arms = {
        name: arm({"n/coverage": figure(1.0, n_scored=n, n_total=n)})
        for name, n in zip(names, (60, 300, 60), strict=True)
    }
    arms["poor"] = arm({"n/coverage": figure(1.0)}, conditions={"control": True})
    lines = printed(report({"whole": gate(figure="n/coverage", arm=None, value=1.0)}, arms=arms), width=60)
    assert line_with("n/coverage  ", lines).split() == ["n/coverage", "1", "60–300", "every", "arm"]


def test_of_very_many_arms_the_one_that_decided_is_shown() -> None:
    """Fifty arms under a gate on every arm: the worst, which its value is; the others are counted."""
    arms = {f"arm{n}": arm({"quality/exact": figure(0.5 + n / 100)}) for n in range(50)}
    gates = {"floor": gate("fail", arm=None, value=0.5, reason=None)}
    lines = printed(report(gates, arms=arms))
    assert line_with("quality/exact  ", lines).split() == ["quality/exact", "0.500", "60", "arm0"]
    assert line_with("figure ", lines).endswith("arm that decided")
    assert line_with("Left out", lines).startswith("Left out: 49 figures:")
    assert fits(lines)


def test_fifty_arms_with_a_gate_each_are_cut_and_counted() -> None:
    """What there is no room for is counted, every gate is named, and the screen is kept."""
    arms = {f"arm{n}": arm({"quality/exact": figure(0.5 + n / 100)}) for n in range(50)}
    lines = printed(report({f"g{n}": gate(arm=f"arm{n}") for n in range(50)}, arms=arms))
    assert fits(lines)
    told = sum(f"arm{n}" in " ".join(lines).split() for n in range(50))
    assert f"Left out: {50 - told} figures" in line_with("Left out", lines)
    words = " ".join(lines).replace(",", "").split()
    assert all(f"g{n}" in words for n in range(50))


def test_a_figure_of_one_kind_is_called_so() -> None:
    """A gate on some rows reads their figure, not that of all; one over several kinds is told by its gate alone."""
    kinds = {"kind=fact": {"quality/exact": figure(0.25)}, "kind=joke": {"quality/exact": figure(0.125)}}
    arms = {"base": arm({"quality/exact": figure(0.5)}, breakdown=kinds)}
    gates = {"facts": gate(), "many": gate()}
    lines = printed(report(gates, {"facts": {"kind": "fact"}, "many": {"kind": ["fact", "joke"]}}, arms=arms))
    assert line_with("quality/exact ·", lines).split()[:4] == ["quality/exact", "·", "fact", "0.250"]


def test_why_a_figure_is_undefined_is_told_once() -> None:
    """For all arms of which it is so, abreast as below each other; an arm that could not run says it itself."""
    arms = {name: arm({"stability/seed_sd": figure(None)}) for name in ("base", "new")}
    gone = "arm unavailable: no weights"
    arms["gone"] = arm({"stability/seed_sd": figure(None, reason=gone)}, unavailable="no weights")
    gates = {"varies": gate("unreadable", figure="stability/seed_sd", arm=None, value=None, reason="not read")}
    for width in (70, 120):
        lines = printed(report(gates, arms=arms), width=width)
        assert "base, new" in line_with("one seed", lines)
        assert line_with("no weights", lines) == "arm gone is unavailable: no weights"


@pytest.mark.parametrize(
    ("conclusion", "changes", "said"),
    [
        ("better", {}, "new is better than base on quality/exact: +0.250 [+0.125, +0.375] n=60, p=0.012"),
        ("worse", {"delta": -0.25, "low": None}, "new is worse than base on quality/exact: -0.250 n=60, p=0.012"),
        ("identical", {"delta": 0.0, "n_clusters": 20}, "0 [+0.125, +0.375] n=60 in 20 clusters"),
        ("not shown", {}, "n=60, p=0.012, a t-test could have shown 0.500"),
        ("not shown", {"test": "paired t-test over items"}, "n=60, p=0.012, this run could have shown 0.500"),
        ("not shown", {"wins": 1, "losses": 1}, "n=60, p=0.012, with 2 that differ, 0.05 cannot be reached"),
        ("not shown", {"p_adjusted": 0.07}, "p=0.07 after Holm, a t-test could have shown 0.500"),
        ("better", {"unpaired": ["a", "b"], "n_sessions": 2}, "p=0.012, 2 unpaired, over 2 sessions"),
        ("undefined", {"delta": None, "reason": "no pairs"}, "new against base on quality/exact: undefined (no pairs)"),
    ],
)
def test_comparisons_are_told_in_words(conclusion: str, changes: Mapping[str, Any], said: str) -> None:
    """What is shown, the difference with interval and pairs, and what a reader must know of it."""
    assert said in " ".join(printed(pair(conclusion=conclusion, **changes), width=160))


def test_a_line_that_is_too_long_goes_on_under_itself() -> None:
    """A comparison's second line stands four columns in."""
    lines = printed(pair(), width=50)
    at = next(n for n, line in enumerate(lines) if line.startswith("new is better"))
    assert lines[at + 1].startswith("    ") and lines[at + 1].strip()


def test_times_are_in_the_unit_that_reads_best() -> None:
    """Milliseconds below a second, seconds from there on, three digits, the interval in the same unit."""
    times = {"lat/a_s": figure(0.0012345, unit="s", low=0.0009, high=2.0), "lat/b_s": figure(12.345, unit="s")}
    gates = {"a": gate(figure="lat/a_s"), "b": gate(figure="lat/b_s")}
    lines = printed(report(gates, arms={"base": arm(times)}))
    assert "1.23 ms [0.9, 2,000] n=60" in " ".join(line_with("lat/a_s  ", lines).split())
    assert "12.3 s" in line_with("lat/b_s  ", lines)


def test_a_gate_that_failed_is_told_in_full() -> None:
    """Figure, value and bound, what was wanted, rows, what to do; the others by name, a lenient one with why."""
    rows = [f"i{n} (seed 0)" for n in range(7)]
    failed = gate("fail", value=0.5, bound="lower", rows=rows, n_rows=37, on_fail="train longer")
    gates = {"ok": gate(), "floor": failed, "odd": gate(reason="saturated (allowed)"), "poor": gate(expected="fail")}
    lines = printed(report(gates), width=60)
    told = " ".join(" ".join(lines).split())
    assert (
        "fail floor: quality/exact of base is 0.500 (low end), wanted >= 0.7, n=60; decided by i0 (seed 0), i1 (seed 0)"
        ", i2 (seed 0), i3 (seed 0), i4 (seed 0) and 32 more; train longer"
    ) in told
    assert "3 passed: ok, odd (saturated (allowed)), poor" in told


def test_failures_come_before_what_cannot_be_read_and_report_only_last() -> None:
    """What decides stands first; what has no say says so."""
    blind = gate("unreadable", value=None, denominator=None, reason="one seed")
    gates = {
        "shown": gate("fail", report_only=True),
        "blind": blind,
        "floor": gate("fail"),
        "off": gate("skipped", reason="x"),
    }
    lines = printed(report(gates), width=50)
    heads = [line.split(":")[0] for line in lines if line.startswith(("fail", "unreadable"))]
    assert heads == ["fail  floor", "unreadable  blind", "fail (report only)  shown"]
    assert "one seed" in " ".join(lines)
    assert "1 skipped: off (x)" in lines


def test_where_there_is_room_a_gate_that_passed_has_a_line() -> None:
    """With figure, value, what was wanted and n in columns."""
    gates = {"floor": gate(), "control": gate(expected="fail", value=0.1, arm="base")}
    lines = printed(report(gates), width=120, height=40)
    assert line_with("floor", lines).split() == [
        "pass",
        "floor",
        "quality/exact",
        "of",
        "base",
        "0.750",
        ">=",
        "0.7",
        "n=60",
    ]
    assert line_with("control", lines).endswith("not >= 0.7  n=60")


def test_two_hundred_gates_are_all_named() -> None:
    """Whatever came of them: those that passed in one list, of very many that did not the first in full."""
    for outcome in ("pass", "fail", "unreadable", "skipped"):
        gates = {f"gate{n}": gate(outcome, reason="why") for n in range(200)}
        words = " ".join(printed(report(gates))).replace(",", "").replace(":", "").split()
        assert all(f"gate{n}" in words for n in range(200))


def test_long_reasons_and_many_errors_leave_room_for_what_decided() -> None:
    """Twenty errors of two lines each: the first are told, the others counted, and the gate that failed is there."""
    errors = [{"kind": f"Error{n}", "message": "because " * 20, "count": 2} for n in range(20)]
    arms = {"base": arm({"quality/exact": figure(0.5)}, errors=errors)}
    lines = printed(report({"floor": gate("fail", reason="it is too low " * 8)}, arms=arms))
    assert lines[1].startswith("arm base, 2 error rows: Error0: because")
    assert "16 notes" in line_with("Left out", lines)
    assert any(line.startswith("fail  floor") for line in lines)


def test_no_gate_is_said() -> None:
    """A run that was asked nothing shows nothing, and says so."""
    lines = printed(report({}))
    assert "no gate was asked" in lines


def test_a_pipe_gets_plain_text_and_a_terminal_colour() -> None:
    """No escape code in a pipe; on a terminal what failed is red and what passed green."""
    told = report({"floor": gate("fail"), "ok": gate()})
    assert "\x1b" not in "".join(printed(told))
    coloured = "\n".join(printed(told, colour=True))
    assert "\x1b[1;31mfail" in coloured and "\x1b[32mpass" in coloured


@pytest.mark.parametrize("width", [40, 80, 160])
def test_nothing_in_a_report_drives_the_terminal(width: int) -> None:
    """Names, reasons and rows cannot clear the screen, forge a line, or break the printing with half a character."""
    arms = {HOSTILE: arm({HOSTILE: figure(0.5), "f": figure(None, reason=HOSTILE)}, unavailable=HOSTILE)}
    told = gate("fail", figure=HOSTILE, arm=HOSTILE, reason=HOSTILE, rows=[HOSTILE], n_rows=1, on_fail=HOSTILE)
    gates = {HOSTILE: told, "undefined": gate(figure="f", arm=HOSTILE), "[red]x[/]": gate(arm=HOSTILE)}
    out = printed(report(gates, experiment=HOSTILE, arms=arms, notes=[HOSTILE], reasons=[HOSTILE]), width=width)
    assert not set("".join(out)) & set("\x1b\x07\x9b\u202e\ud800")
    assert not [line for line in out if line.startswith("Verdict")]
    assert "[red]x[/]" in "".join(out)


@pytest.mark.parametrize("width", [60, 100])
def test_wide_characters_are_counted_as_a_terminal_counts_them(width: int) -> None:
    """Columns stand under each other where names take two columns a character."""
    arms = {name: arm({WIDE: figure(0.5), "quality/exact": figure(0.25)}) for name in (WIDE, "new")}
    arms["new"]["figures"][WIDE] = figure(0.75)
    gates = {"a": gate(figure=WIDE, arm=None), "b": gate(arm=None)}
    lines = printed(report(gates, arms=arms), width=width)
    rows = [line for line in lines if "0.250" in line or "0.500" in line]
    assert len(rows) == 2
    places = {cell_len(line[: line.index("0.")]) for line in rows}
    assert len(places) == 1


def test_a_very_narrow_terminal_gets_sentences() -> None:
    """Where a table would be confetti each figure is a sentence."""
    lines = printed(report({"floor": gate()}), width=30)
    assert "quality/exact of base: 0.750" in " ".join(lines)


def test_quality_that_nothing_reads_is_shown_where_there_is_room() -> None:
    """After what is read and before counts; without room it goes first, and every gate stays."""
    names = ["quality/exact", *(f"quality/other{n}" for n in range(30)), "n/coverage", "lat/a"]
    arms = {"base": arm({name: figure(0.5) for name in names})}
    gates = {"floor": gate(), "whole": gate(figure="n/coverage", value=0.5)}
    high = [line.split()[0] for line in printed(report(gates, arms=arms), height=60) if " 0.500" in line]
    assert [name for name in high if "/" in name] == names[:-1]
    lines = printed(report(gates, arms=arms))
    shown = [line.split()[0] for line in lines if line.startswith(("quality/", "n/"))]
    assert (shown[:2], shown[-1]) == (["quality/exact", "quality/other0"], "n/coverage")
    assert fits(lines) and "2 passed: floor, whole" in lines
    assert f"{len(names) - len(shown)} figures" in line_with("Left out", lines)


def test_every_gate_of_a_smoke_run_has_its_line() -> None:
    """Ten gates that are unreadable for one reason on 24 lines: it is told once, and no gate is a mere name."""
    part = "smoke run: limit 5"
    gates = {
        f"gate{n}": gate("unreadable", figure="n/error_share", arm=None, value=None, denominator=None, reason=part)
        for n in range(10)
    }
    lines = printed(report(gates, part=part, notes=["told " * 40] * 4))
    assert [line.split(":")[0].split()[-1] for line in lines if line.startswith("unreadable")] == list(gates)
    assert sum(line.count(part) for line in lines[1:]) == 1
    assert "more did not pass" not in " ".join(lines)


def test_an_end_that_was_not_read_is_named() -> None:
    """An arm may have scored 1 where the end of its interval is what is wanted."""
    told = gate("unreadable", value=None, denominator=None, bound="lower", reason="smoke run: limit 5")
    assert "low end of quality/exact of base, wanted >= 0.7" in line_with("unreadable", printed(report({"g": told})))


@pytest.mark.parametrize(
    ("verdict", "higher", "said"),
    [
        ("non_inferior", True, "0.010 (one-sided bound -0.040)"),
        ("non_inferior", False, "0.010 (one-sided bound +0.060)"),
        ("equivalent", True, "0.010 (one-sided bounds -0.040, +0.060)"),
    ],
)
def test_a_gate_with_a_margin_shows_the_bound_that_decides(verdict: str, higher: bool, said: str) -> None:
    """The two-sided interval that is shown may cross a margin within which the one-sided bound lies."""
    held = gate(arm=None, comparison="gain", value=0.01, threshold=f"{verdict} within 0.07")
    told = pair(delta=0.01, low=-0.08, high=0.1, bound_low=-0.04, bound_high=0.06, higher_is_better=higher)
    told["gates"]["margin"] = held
    told["asked"]["gates"]["margin"] = asked_of(margin=0.07)
    assert said in line_with("pass  margin", printed(told, width=160, height=40))
    held.update(outcome="fail")
    assert f"is {said}, wanted {verdict} within 0.07" in line_with("fail", printed(told, width=200))


def test_a_gate_on_a_time_is_told_in_a_unit() -> None:
    """In ms below a second, beside the threshold in the seconds that it was asked in."""
    told = gate("fail", figure="lat/a_s", value=0.00093, threshold="<= 0.0005", noise_floor=0.0001)
    lines = printed(report({"quick": told}, arms={"base": arm({"lat/a_s": figure(0.00093, unit="s")})}), width=120)
    assert "is 0.93 ms, wanted <= 0.0005 s (A/A 0.0001 s)" in line_with("fail", lines)
