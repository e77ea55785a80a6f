"""Normalised match: which differences mean nothing."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evalflow.metric.normalised_match import NormalisedMatch
from evalflow.numeric.text_profile import TextProfile
from tests.metric.by_hand import answer

CASES = json.loads((Path(__file__).parents[1] / "numeric" / "data" / "harness_public.json").read_text(encoding="utf-8"))
TEXT, NUMERIC, BARE = NormalisedMatch(), NormalisedMatch(numeric=True), NormalisedMatch(ignore_punctuation=True)


def test_published_case_of_unicode_matching():
    """Dashes, decomposed accents, wide digits, accents that count, ß, a no-break space, an empty answer (hc08)."""
    cases = CASES["cases"] if isinstance(CASES, dict) else CASES
    (case,) = [case for case in cases if case["id"] == "hc08"]
    pairs = case["input"]["pairs"]
    metrics = [NormalisedMatch(pair.get("numeric", False), pair.get("ignore_punctuation", False)) for pair in pairs]
    units = [answer(pair["pred"], pair["gold"]) for pair in pairs]
    matched = [metric.stats(unit) == (1.0,) for metric, unit in zip(metrics, units, strict=True)]
    assert matched == case["expected"]["match"]
    assert metrics[-1].detail(units[-1])["reason"] == case["expected"]["last_pair_reason"]


@pytest.mark.parametrize(
    ("metric", "draft", "target", "score"),
    [
        (TEXT, " PARIS\n", "Paris", 1.0),
        (TEXT, "Ｐａｒｉｓ", "Paris", 1.0),
        (TEXT, "résumé", "resume", 0.0),
        (TEXT, "10²", "102", 0.0),
        (TEXT, "New  York", "New York", 0.0),
        (TEXT, "2.40", "2.4", 0.0),
        (TEXT, "\u20135", "-5", 0.0),
        (NUMERIC, "2.40", "2.4", 1.0),
        (NUMERIC, "1,000", "1000.0", 1.0),
        (NUMERIC, "(3.14)", "3.14", 1.0),
        (NUMERIC, "314", "3.14", 0.0),
        (NUMERIC, "5%", "5", 0.0),
        (NUMERIC, "\u22125 m", "-5 m", 1.0),
        (NUMERIC, "five", "5", 0.0),
        (NUMERIC, "0,1", "01", 0.0),
        (NUMERIC, "12345678901234567890", "12345678901234567891", 0.0),
        (BARE, "\u201cParis\u201d, of course!", "paris of course", 1.0),
        (BARE, "a - b", "a b", 1.0),
        (BARE, "¿Qué?", "qué", 1.0),
        (BARE, "-5", "5", 0.0),
        (BARE, "-.5", ".5", 0.0),
        (BARE, "\u22125", "-5", 1.0),
        (BARE, "3.14", "314", 0.0),
        (BARE, "3-5", "35", 0.0),
        (BARE, "(5).", "5", 1.0),
        (BARE, "C++", "C", 0.0),
    ],
)
def test_what_is_the_same(metric, draft, target, score):
    """By hand, as text, as numbers, and without punctuation; a number keeps its sign and its point."""
    assert metric.stats(answer(draft, target)) == (score,)


@pytest.mark.parametrize(("draft", "target"), [("", ""), (" \u00a0", ""), ("", "."), ("!!", "."), ("!", "")])
def test_nothing_matches_nothing(draft, target):
    """An answer that is empty, or empty by then, is wrong whatever is expected, and says why."""
    for metric in (TEXT, NUMERIC, BARE):
        assert metric.stats(answer(draft, target)) == (0.0,)
    assert BARE.detail(answer(draft, target))["reason"] == "empty output"


def test_the_profile_can_be_changed():
    """Case can count; line ends and long s can stop counting."""
    assert NormalisedMatch(profile=TextProfile("NFC")).stats(answer("paris", "Paris")) == (0.0,)
    lines = NormalisedMatch(profile=replace(TEXT.profile, line_breaks=True, whitespace=True))
    assert lines.stats(answer("New\n York", "new york")) == (1.0,)


def test_the_detail_says_why():
    """A match has no reason; a target that is empty by then is the item's fault."""
    assert TEXT.detail(answer("Paris", "paris")) == {"expected": "paris"}
    assert TEXT.detail(answer("Rome", "Paris"))["reason"] == "another text"
    assert BARE.detail(answer("x", "?"))["reason"] == "empty target"


def test_a_row_without_an_answer_is_excluded():
    """An error row and an item without a target are excluded, not wrong."""
    assert TEXT.stats(answer(None)) is None
    assert TEXT.stats(answer("x", None)) is None
    assert TEXT.detail(answer(None)) == {"expected": "answer"}
