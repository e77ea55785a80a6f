"""The public cases of texts and agreement, and what their kinds answer where there is no number."""

import json
from pathlib import Path

import pytest

from tests.numeric.kinds.agreement import KINDS

FILE = json.loads((Path(__file__).parent / "data" / "numerics_public.json").read_text(encoding="utf-8"))
CASES = {case["id"]: case for case in FILE["cases"] if case["metric"] in KINDS}
NO_CHANCE = {"undefined": "chance agreement is 1"}


def differences(got, want, absolute, relative, at=""):
    """Where an answer is not the expected one by the file's rule; `absolute` may be a list, one per element."""
    if isinstance(want, dict):
        return [
            fault
            for key, value in want.items()
            for fault in differences(got.get(key, "nothing"), value, absolute, relative, f"{at}.{key}")
        ]
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return [f"{at}: {got} is not {want}"]
        each = absolute if isinstance(absolute, list) else [absolute] * len(want)
        return [
            fault
            for i, (one, value) in enumerate(zip(got, want, strict=True))
            for fault in differences(one, value, each[i], relative, f"{at}[{i}]")
        ]
    if isinstance(want, str) or not isinstance(got, int | float):
        return [] if got == want else [f"{at}: {got} is not {want}"]
    return [] if abs(got - want) <= absolute + relative * abs(want) else [f"{at}: {got} is not {want}"]


@pytest.mark.parametrize("name", CASES)
def test_a_public_case_is_answered_within_its_tolerance(name):
    """Every figure that two independent implementations agreed on is ours too."""
    case = CASES[name]
    tolerance, got = case["tolerance"], KINDS[case["metric"]](case["input"])
    by_key = tolerance.get("abs_by_key", {})
    faults = [
        fault
        for key, want in case["expected"].items()
        for fault in differences(got.get(key), want, by_key.get(key, tolerance["abs"]), tolerance["rel"], key)
    ]
    assert faults == []


def test_every_kind_has_a_public_case():
    """The six kinds are read from the file, and none is left over."""
    assert {case["metric"] for case in CASES.values()} == set(KINDS)


def test_the_rule_sees_a_difference():
    """A number off by more than the tolerance, a missing one, and a text in its place are faults."""
    assert differences(1.0 + 1e-6, 1.0, 0.0, 1e-5) == []
    assert len(differences({"x": [1.0, 2.0]}, {"x": [1.0, 2.1], "y": 1}, [0.2, 0.05], 0)) == 2
    assert differences("1.0", 1.0, 1, 1) and differences({"undefined": "no rows"}, 0.0, 1, 1)


def test_kappa_of_one_label_has_no_value_but_its_agreement():
    """Two raters who only ever say the same leave chance no room, weighted or not."""
    assert KINDS["cohen_kappa"]({"a": ["x"] * 3, "b": ["x"] * 3, "order": ["x", "y"]}) == {
        "agreement": 1.0,
        "kappa": NO_CHANCE,
        "kappa_linear": NO_CHANCE,
        "kappa_quadratic": NO_CHANCE,
    }


def test_kappa_of_nothing_is_undefined_as_a_whole():
    """Two empty lists have neither agreement nor kappa."""
    answer = KINDS["cohen_kappa"]({"a": [], "b": [], "order": ["x"]})
    assert {"agreement", "kappa", "kappa_linear", "kappa_quadratic"} < set(answer)
    assert answer["undefined"] == "no pairs" and answer["kappa"] == {"undefined": "no pairs"}


@pytest.mark.parametrize(
    ("a", "b", "order"), [(["x"], ["x", "y"], None), (["x"], ["z"], ["x", "y"]), (["x", None], ["x", "y"], None)]
)
def test_kappa_refuses_what_is_no_pair_of_labels(a, b, order):
    """Lists of unequal length, a label outside the order, and a missing label are errors, not numbers."""
    with pytest.raises(ValueError, match=r"labels|order|None"):
        KINDS["cohen_kappa"]({"a": a, "b": b, "order": order})


def test_kappa_of_names_without_an_order_has_no_weights():
    """Plain kappa is there; the weighted ones are undefined. Numbers are in order by themselves."""
    named = KINDS["cohen_kappa"]({"a": ["x", "y"], "b": ["x", "x"]})
    assert named["kappa"] == 0.0 and named["kappa_linear"] == {"undefined": "the labels have no order"}
    numbers = KINDS["cohen_kappa"]({"a": [1, 2, 3], "b": [1, 2, 2]})
    # three pairs, one apart by 1: 3 * 1; the margins (1, 1, 1) and (1, 2, 0) make 2 + 1 + 4
    assert numbers["kappa_linear"] == 1 - 3 / 7


def test_alpha_of_names_has_the_nominal_level_only():
    """Labels that say "nan" or "1" are names: there is no order or distance between them."""
    answer = KINDS["krippendorff_alpha"]({"units": [["nan", "nan"], ["1", "1"], ["nan", "1"]], "missing": None})
    # n = 6, n_v = 3 and 3; D_o = 2 / 6, D_e = 18 / 30
    assert answer["nominal"] == pytest.approx(1 - (2 / 6) / (18 / 30), abs=1e-15)
    assert all("undefined" in answer[level] for level in ("ordinal", "interval", "ratio"))


@pytest.mark.parametrize("units", [[], [[]], [[None, None], [None]], [[1, None], [None, 2]]])
def test_alpha_without_a_pair_is_undefined_as_a_whole(units):
    """No unit, none with a rating, or none with two: no level has a value."""
    answer = KINDS["krippendorff_alpha"]({"units": units, "missing": None})
    assert answer["undefined"] == "no pairs"
    assert all(answer[level] == {"undefined": "no pairs"} for level in ("nominal", "ordinal", "interval", "ratio"))


@pytest.mark.parametrize("missing", [-1, "NA"])
def test_alpha_leaves_out_what_is_said_to_be_missing(missing):
    """Without it seven ratings of two labels are left: D_o = 2 / 7, D_e = 24 / 42."""
    units = [[1, missing, 2], [2, 2, missing], [1, 1, 1], [missing, missing, 3]]
    answer = KINDS["krippendorff_alpha"]({"units": units, "missing": missing})
    assert answer["nominal"] == pytest.approx(1 - (2 / 7) / (24 / 42), abs=1e-15)


def test_alpha_of_one_label_is_undefined():
    """Where every rating is the same nothing could have differed, lone other ratings aside."""
    answer = KINDS["krippendorff_alpha"]({"units": [[2, 2], [2, 2, None], [7]]})
    assert answer["nominal"] == answer["ratio"] == {"undefined": "expected disagreement is 0"}


def test_alpha_of_negative_numbers_has_no_ratio():
    """A ratio needs a true zero; the other levels stand."""
    answer = KINDS["krippendorff_alpha"]({"units": [[-1, -1], [2, 2], [-1, 2]]})
    assert "below" in answer["ratio"]["undefined"]
    assert answer["nominal"] == pytest.approx(answer["interval"], abs=1e-15)


def pair(reference, hypothesis, kind="cer", **settings):
    return KINDS[kind]({"pairs": [{"reference": reference, "hypothesis": hypothesis}], **settings})


def test_empty_texts_are_told_from_undefined_ones():
    """Two empty texts differ by 0 of 0: rate 0. Text beside an empty reference has edits and no rate."""
    assert pair("", "")["per_pair"] == [{"edits": 0, "ref_length": 0, "rate": 0.0}]
    beside = pair("", "abc")
    assert beside["per_pair"] == [{"edits": 3, "ref_length": 0, "rate": {"undefined": "empty reference"}}]
    assert (beside["corpus_edits"], beside["corpus_rate"]) == (3, {"undefined": "empty reference"})
    assert pair("abc", "")["corpus_rate"] == 1.0
    assert pair("a", "bcd")["corpus_rate"] == 3.0
    assert pair(" \u00a0", "", "wer")["corpus_rate"] == 0.0


def test_no_pairs_have_no_rate():
    """A corpus of nothing is not a perfect one."""
    answer = KINDS["cer"]({"pairs": []})
    assert answer == {
        "per_pair": [],
        "corpus_edits": 0,
        "corpus_ref_length": 0,
        "corpus_rate": {"undefined": "no pairs"},
    }


@pytest.mark.parametrize(
    ("unit", "normalization", "edits", "length"),
    [
        ("codepoint", None, 1, 5),  # e + accent against e: the accent is deleted
        ("codepoint", "NFC", 1, 4),
        ("grapheme", None, 1, 4),
        ("codepoint", "NFKD", 1, 5),
        ("grapheme", "NFKD, casefold", 1, 4),
        ("word", None, 1, 1),
    ],
)
def test_the_unit_and_the_form_decide_the_length(unit, normalization, edits, length):
    """A decomposed café is 5 code points, 4 graphemes, 1 word."""
    answer = pair("cafe\u0301", "cafe", unit=unit, normalization=normalization)
    assert (answer["corpus_edits"], answer["corpus_ref_length"]) == (edits, length)


def test_normalisation_is_nfc_where_the_case_does_not_say():
    """Composed and decomposed spellings are the same text, unless the case asks for texts as they are."""
    assert pair("caf\u00e9", "cafe\u0301")["corpus_edits"] == 0
    assert pair("caf\u00e9", "cafe\u0301", normalization=None)["corpus_edits"] == 2
    assert pair("STRASSE", "straße", normalization={"form": "NFC", "casefold": True})["corpus_edits"] == 0


def test_a_family_of_emoji_is_one_grapheme():
    """It is seven code points joined by zero-width joiners; a wrong one is one error."""
    family, pairs = "👨‍👩‍👧‍👦!", {"reference": "👨‍👩‍👧‍👦!", "hypothesis": "👨‍👩‍👧!"}
    assert len(family) == 8
    answer = KINDS["cer"]({"pairs": [pairs], "unit": "grapheme", "normalization": None})
    assert answer["per_pair"] == [{"edits": 1, "ref_length": 2, "rate": 0.5}]


def test_texts_are_never_read_as_numbers():
    """ "nan" and "inf" are texts of three letters; null is no text at all."""
    assert pair("nan", "inf")["per_pair"][0]["ref_length"] == 3
    with pytest.raises(TypeError, match="no text"):
        pair(None, "inf")


def test_a_no_break_space_splits_words():
    """Any Unicode white space does; repeats and ends do not make words."""
    assert pair("a\u00a0b\u3000c", " a  b c ", "wer", unit="word")["per_pair"] == [
        {"edits": 0, "ref_length": 3, "rate": 0.0}
    ]


def test_pass_at_k_refuses_too_few_samples():
    """n < k, c > n, k < 1 are errors; no items have no mean."""
    for item, k in (({"n": 2, "correct": 0}, 3), ({"n": 2, "correct": 3}, 1), ({"n": 2, "correct": 1}, 0)):
        with pytest.raises(ValueError, match="give"):
            KINDS["pass_at_k"]({"items": [item], "k": k})
    assert KINDS["pass_at_k"]({"items": [], "k": 1}) == {"per_item": [], "mean": {"undefined": "no rows"}}


def test_one_run_has_no_pairs():
    """Its own error rate stands; what needs two runs is undefined."""
    answer = KINDS["run_stability"]({"runs": ["abc"], "reference": "abd"})
    alone = {"undefined": "fewer than 2 runs"}
    assert answer["pairwise_disagreement_mean"] == answer["pairwise_disagreement_max"] == alone
    assert answer["identical_run_rate"] == alone
    assert (answer["n_runs"], answer["n_distinct_outputs"]) == (1, 1)
    assert (answer["cer_per_run"], answer["cer_mean"]) == ([1 / 3], 1 / 3)
    assert answer["cer_stdev"] == answer["cer_cv"] == {"undefined": "n < 2"}


def test_runs_without_a_reference_have_no_error_rate():
    """What runs say of one another stands."""
    answer = KINDS["run_stability"]({"runs": ["", ""], "reference": None})
    assert (answer["pairwise_disagreement_max"], answer["identical_run_rate"]) == (0.0, 1.0)
    missing = {"undefined": "no reference"}
    assert [answer[key] for key in ("cer_per_run", "cer_mean", "cer_stdev", "cer_cv")] == [missing] * 4


def test_runs_that_are_all_right_have_no_cv():
    """A spread of 0 about a mean of 0 is no share of anything."""
    answer = KINDS["run_stability"]({"runs": ["a", "a"], "reference": "a"})
    assert (answer["cer_stdev"], answer["cer_cv"]) == (0.0, {"undefined": "the mean is 0"})


def test_an_empty_reference_is_a_text():
    """The empty run is right; beside the other there is no rate, hence no mean."""
    answer = KINDS["run_stability"]({"runs": ["", "x"], "reference": ""})
    assert answer["cer_per_run"] == [0.0, {"undefined": "empty reference"}]
    assert answer["cer_mean"] == {"undefined": "empty reference"}


def test_no_runs_are_counted_and_nothing_else():
    """Zero runs: the counts are 0, every figure is undefined."""
    answer = KINDS["run_stability"]({"runs": [], "reference": "x"})
    assert (answer.pop("n_runs"), answer.pop("n_distinct_outputs"), answer.pop("cer_per_run")) == (0, 0, [])
    assert all("undefined" in figure for figure in answer.values())
