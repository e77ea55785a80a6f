"""The report on a screen: everything that decides, in plain characters, and nothing that acts on a terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from evalflow.report.console import number, print_verdict, printable, shown
from evalflow.report.full_report import print_report
from tests.report.by_hand import bare, gate


def printed(**changes: Any) -> str:
    """The report as a pipe gets it."""
    raw = io.BytesIO()
    pipe = io.TextIOWrapper(raw, encoding="utf-8")  # strict, as standard output is
    console = Console(file=pipe, width=200, highlight=False, markup=False)
    print_report(bare(**changes), console)
    print_verdict(bare(**changes), console)
    pipe.flush()
    return raw.getvalue().decode("utf-8")


def line_with(text: str, out: str) -> str:
    (line,) = [line for line in out.splitlines() if text in line]
    return line


def figure(value: float | None, **changes: Any) -> dict[str, Any]:
    return {
        "value": value,
        "unit": "share",
        "low": None,
        "high": None,
        "n_total": 60,
        "n_scored": 60,
        "n_sessions": 1,
        "reason": None if value is not None else "one seed",
        **changes,
    }


def arm(control: bool = False, breakdown: Any = None, **figures: Any) -> dict[str, Any]:
    return {
        "conditions": {"control": control},
        "unavailable": None,
        "errors": [],
        "facts": {},
        "figures": {name.replace("__", "/"): value for name, value in figures.items()},
        "breakdown": breakdown or {},
    }


def test_a_pipe_gets_plain_text():
    """No escape code goes into a pipe, whatever has colour on a terminal."""
    gates = {outcome: gate(outcome, reason="why") for outcome in ("pass", "fail", "unreadable", "skipped")}
    for verdict in ("pass", "fail", "unreadable", "incomplete"):
        out = printed(gates=gates, verdict=verdict)
        assert "\x1b" not in out
        assert f"Verdict: {verdict}" in out


def test_a_terminal_gets_colour():
    """On a terminal the verdict is coloured, so the plain pipe is a choice and not an accident."""
    out = io.StringIO()
    terminal = Console(file=out, width=200, force_terminal=True, color_system="standard", legacy_windows=False)
    print_verdict(bare(), terminal)
    assert "\x1b[32mpass" in out.getvalue()


def test_the_heading_and_the_verdict():
    """First what was run, last what it is worth, with the exit code."""
    out = printed(part="smoke run: limit 2", verdict="unreadable", exit_code=2)
    lines = out.strip().splitlines()
    assert lines[0] == "four · 60 items of questions (smoke run: limit 2) · run 20261129-101112-abcdef"
    assert lines[-1] == "Verdict: unreadable (exit code 2)"


def test_arms_stand_side_by_side():
    """Quality comes first, broken down by kind; each arm has its own column, a control is named one."""
    kinds = {"kind=loud": {"quality/exact": figure(0.25, n_total=20, n_scored=20)}}
    arms = {
        "short": arm(lat__ttft_s=figure(0.5), quality__exact=figure(0.75, low=0.6, high=0.9), breakdown=kinds),
        "long": arm(True, quality__exact=figure(None)),
    }
    out = printed(arms=arms)
    assert "short" in line_with("long (control)", out)
    row = line_with("quality/exact  ", out.split("gate")[0])
    assert "0.750 [0.600, 0.900] n=60" in row
    assert "undefined: one seed" in row
    assert "0.250 n=20" in line_with("  loud", out)
    assert out.index("quality/exact") < out.index("lat/ttft_s")


def test_gates_say_what_decided():
    """A failed gate shows value, bound, threshold and denominator, then the rows that decided and what to do."""
    rows = [f"i{n} (seed 0)" for n in range(7)]
    failed = gate("fail", value=0.5, bound="lower", rows=rows, n_rows=37, on_fail="train longer")
    out = printed(gates={"floor": failed})
    cells = line_with("0.500 (low end)", out).split()
    assert cells == ["floor", "fail", "quality/exact", "base", "0.500", "(low", "end)", ">=", "0.7", "60"]
    assert line_with("floor failed", out) == (
        "  floor failed; decided by i0 (seed 0), i1 (seed 0), i2 (seed 0), i3 (seed 0), i4 (seed 0) and 32 more; "
        "train longer"
    )


def test_gates_that_decide_nothing_say_so():
    """Report-only, unreadable and comparison gates show which they are, and `-` where there is no number."""
    gates = {
        "shown": gate("fail", report_only=True),
        "blind": gate("unreadable", value=None, denominator=None, reason="one seed"),
        "pairs": gate("pass", arm=None, comparison="new_vs_base"),
        "all": gate("pass", arm=None),
    }
    out = printed(gates=gates)
    assert "fail (report only)" in line_with("shown  ", out)
    blind = line_with("blind", out).split()
    assert blind == ["blind", "unreadable", "quality/exact", "base", "-", ">=", "0.7", "-", "one", "seed"]
    assert "new_vs_base" in line_with("pairs", out)
    assert "every arm" in line_with("all ", out)


def test_words_notes_limits_and_reasons_are_printed():
    """Comparisons in words, notes, what is not shown, and what made the run incomplete."""
    out = printed(
        comparisons={"pair": {"quality/exact": {"words": "b is better than a on quality/exact: 0.7 against 0.55"}}},
        notes=["arm a is greedy: its 3 seeds give the same answers"],
        limits=["latency is not serving cost"],
        reasons=["arm new has 7 of 8 rows"],
        verdict="incomplete",
        exit_code=3,
    )
    for text in (
        "  pair: b is better than a on quality/exact: 0.7 against 0.55\n",
        "note: arm a is greedy: its 3 seeds give the same answers\n",
        "This experiment does not show\n  latency is not serving cost\n",
        "Verdict: incomplete (exit code 3); arm new has 7 of 8 rows\n",
    ):
        assert text in out


def test_an_arms_trouble_is_told_once_in_its_own_words():
    """Error rows with their most frequent message, and why an arm could not run, instead of a reason in every cell."""
    broken = {**arm(quality__exact=figure(None, reason="arm unavailable: no weights")), "unavailable": "no weights"}
    errors = [{"kind": "TypeError", "message": "missing finish_reason", "count": 12}]
    out = printed(arms={"new": broken, "old": {**arm(quality__exact=figure(0.5)), "errors": errors}})
    assert "  arm new is unavailable: no weights\n" in out
    assert "  arm old, 12 error rows: TypeError: missing finish_reason\n" in out
    assert out.count("no weights") == 1


def test_a_control_is_asked_for_the_opposite():
    """What a negative control must do is its threshold turned round."""
    out = printed(gates={"control": gate("pass", expected="fail", value=0.1)})
    assert "not >= 0.7" in line_with("control", out)


def test_a_narrow_terminal_cuts_no_name():
    """Names fold where there is no room, since half a gate's name names no gate."""
    out = io.StringIO()
    console = Console(file=out, width=60, highlight=False, markup=False)
    print_report(bare(gates={"sampled_not_above_greedy": gate(), "sampled_not_above_random": gate()}), console)
    assert "…" not in out.getvalue()


HOSTILE = ["[red]x[/red]", "[/]", "[bold", ":smile:", "https://e.x/[link]", "100%[0]"]


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_in_names_is_shown_as_it_is(text: str):
    """Names of arms, gates, kinds, items and figures that look like rich's markup are text."""
    arms = {text: arm(quality__exact=figure(0.5), breakdown={f"kind={text}": {"quality/exact": figure(0.5)}})}
    out = printed(
        experiment=text,
        arms=arms,
        gates={text: gate("fail", figure=text, arm=text, reason=text, rows=[text], on_fail=text)},
        notes=[text],
        limits=[text],
        reasons=[text],
        comparisons={text: {"f": {"words": text}}},
    )
    # heading, column, kind, note, comparison and words, gate row (4), failed line (3), limit, reason
    assert out.count(text) == 15
    assert "\x1b" not in out


def test_a_terminal_shows_markup_as_it_is_too():
    """Even a console that interprets markup gets the item's name to the letter."""
    out = io.StringIO()
    report = bare(gates={"g": gate("fail", rows=["[red]x[/red]"])})
    print_report(report, Console(file=out, width=200, no_color=True))
    assert "decided by [red]x[/red]" in out.getvalue()


def test_control_characters_are_shown_and_not_sent():
    """An item id cannot clear the screen, forge a line, reorder one, or break the printing with half a character."""
    evil = "q1\x1b[2J\x07\x9b31m\u202e\ud800\nVerdict: pass (exit code 0)"
    out = printed(gates={"g": gate("fail", rows=[evil])}, verdict="fail", exit_code=1)
    assert not set(out) & set("\x1b\x07\x9b\u202e")
    assert line_with("decided by", out) == (
        "  g failed; decided by q1\\x1b[2J\\x07\\x9b31m\\u202e\\ud800 Verdict: pass (exit code 0)"
    )
    assert [line for line in out.splitlines() if line.startswith("Verdict")] == ["Verdict: fail (exit code 1)"]


def test_printable_leaves_text_alone():
    """Accents, other scripts and emoji are printed; numbers and absences inside a mapping stay what they are."""
    value = {"k\x00": ["été 中 \U0001f600", 1.5, None, {"a": True}], "t": ("\t", "x")}
    assert printable(value) == {"k\\x00": ["été 中 \U0001f600", 1.5, None, {"a": True}], "t": [" ", "x"]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-3.0, "-3"),
        (10.0, "10"),
        (102_400.0, "102,400"),
        (-1_234_567.0, "-1,234,567"),
        (0.5, "0.500"),
        (1 / 3, "0.333"),
        (-0.25, "-0.250"),
        (0.01, "0.010"),
        (0.00123456, "0.00123"),
        (1.5e-9, "1.5e-09"),
        (2.7182818, "2.718"),
        (99.25, "99.250"),
        (100.25, "100"),
        (1234.5678, "1,235"),
        (-98765.4321, "-98,765"),
    ],
)
def test_numbers_by_hand(value: float, text: str):
    """Whole numbers and those from 100 without decimals, smaller ones to three, very small ones to three digits."""
    assert number(value) == text


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (None, ""),
        (figure(None, reason="p95 needs n >= 20, has 19"), "undefined: p95 needs n >= 20, has 19"),
        (figure(0.75), "0.750 n=60"),
        (figure(0.75, low=0.625, high=0.875), "0.750 [0.625, 0.875] n=60"),
        (figure(0.75, n_total=62), "0.750 n=60 (2 missing)"),
        (figure(0.75, n_sessions=2), "0.750 n=60 (2 sessions)"),
        (figure(0.75, n_total=62, n_sessions=3), "0.750 n=60 (2 missing, 3 sessions)"),
        (figure(0.0, low=0.0, high=0.125), "0 [0, 0.125] n=60"),
        (figure(0.0125, unit="s", low=0.01, high=0.25), "12.500 ms [10, 250] n=60"),
        (figure(102_400.0, unit="bytes"), "102,400 n=60"),
    ],
)
def test_a_figure_is_shown_with_its_interval_and_count(entry: Any, text: str):
    """Interval where there is one, always n, and how many are missing; times in ms; an undefined figure says why."""
    assert shown(entry) == text
