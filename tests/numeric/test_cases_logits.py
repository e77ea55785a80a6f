"""The public cases of logits, perplexity and windows, and what their kinds answer at the edges."""

import json
import math
from pathlib import Path

import pytest

from tests.numeric.cases import answer
from tests.numeric.kinds.logits import KINDS

FILE = json.loads((Path(__file__).parent / "data" / "numerics_public.json").read_text(encoding="utf-8"))
CASES = {case["id"]: case for case in FILE["cases"] if case["metric"] in KINDS}
EMPTY, ONE, FLAT = ({"undefined": reason} for reason in ("no rows", "n < 2", "zero variance"))
UNSCORED, MISSING = {"undefined": "no token scored"}, {"undefined": "non-finite value"}


def faults(got, want, absolute, relative, at=""):
    """Where an answer is not the expected one: numbers by abs + rel * |want|, reasons by there being one."""
    if isinstance(want, dict) and "undefined" in want:
        return [] if isinstance(got, dict) and "undefined" in got else [f"{at}: {got} has a value"]
    if isinstance(want, dict):
        return [fault for key in want for fault in faults(got[key], want[key], absolute, relative, f"{at}.{key}")]
    if isinstance(want, list):
        pairs = enumerate(zip(got, want, strict=True))
        return [fault for n, (one, other) in pairs for fault in faults(one, other, absolute, relative, f"{at}[{n}]")]
    return [] if abs(got - want) <= absolute + relative * abs(want) else [f"{at}: {got} is not {want}"]


@pytest.mark.parametrize("name", CASES)
def test_a_public_case_is_answered_within_its_tolerance(name):
    """Every figure that two independent implementations agreed on is ours too."""
    case = CASES[name]
    tolerance, got = case["tolerance"], answer(case["metric"], case["input"])
    by_key = tolerance.get("abs_by_key", {})
    for key, want in case["expected"].items():
        assert faults(got[key], want, by_key.get(key, tolerance["abs"]), tolerance["rel"], key) == []


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("p0") and name < "p07"])
def test_rows_are_far_closer_than_the_tolerance(name):
    """Sums in float64 agree with the cases' fifty digits to 1e-12."""
    case = CASES[name]
    assert faults(answer(case["metric"], case["input"]), case["expected"], 1e-12, 1e-12) == []


def test_every_kind_has_a_public_case():
    """The five kinds are read from the file, and none is left over."""
    assert {case["metric"] for case in CASES.values()} == set(KINDS)


def rows(cpu, accel, targets):
    return {"cpu": cpu, "accel": accel, "next": targets}


def test_rows_that_are_none():
    """NaN, +inf and nothing but -inf in either arm: counted, no row, and no figure where none is left."""
    bad = [["nan", 1.0], ["inf", 1.0], ["-inf", "-inf"]]
    for arms in ((bad, [[0.0, 1.0]] * 3), ([[0.0, 1.0]] * 3, bad)):
        got = answer("parity_rows", rows(*arms, [0, 1, 0]))
        assert all(set(row) == {"undefined"} for row in got["rows"])
        assert (got["summary"]["n"], got["summary"]["n_nonfinite"], got["summary"]["n_disagree"]) == (0, 3, 0)
        assert all(got["summary"][name] == EMPTY for name in ("disagree_rate", "nll_cpu_mean", "ppl_ratio", "kl_mean"))
        assert all(got["summary"][name] == EMPTY for name in ("dnll_sd", "t", "gap_mean", "gap_mean_disagree"))


def test_no_rows():
    """Nothing is asked, nothing is 0 but the counts."""
    got = answer("parity_rows", rows([], [], []))
    assert got["rows"] == []
    assert {name: value for name, value in got["summary"].items() if value != EMPTY} == {
        "n": 0, "n_nonfinite": 0, "n_inf": 0, "n_disagree": 0
    }  # fmt: skip


def test_one_candidate():
    """Certain in both arms, without a margin."""
    got = answer("parity_rows", rows([[2.0]], [[-3.0]], [0]))
    (row,) = got["rows"]
    assert (row["nll_cpu"], row["nll_accel"], row["kl"], row["argmax_accel"]) == (0, 0, 0, 0)
    assert set(row["margin"]) == {"undefined"}
    assert got["summary"]["dnll_sd"] == got["summary"]["t"] == ONE


def test_ties_and_equal_differences():
    """The lowest index; two equal differences have sd 0 and no t."""
    got = answer("parity_rows", rows([[1.0, 1.0, 0.0]] * 2, [[0.0, 1.0, 1.0]] * 2, [0, 0]))
    assert [(row["argmax_cpu"], row["argmax_accel"], row["margin"], row["gap"]) for row in got["rows"]] == [
        (0, 1, 0.0, 0.0)
    ] * 2
    assert got["summary"]["disagree_rate"] == 1.0
    assert (got["summary"]["dnll_sd"], got["summary"]["t"]) == (0.0, FLAT)


def test_infinite_divergence():
    """One row of two: +inf in the row and in the mean, counted; the NLL is as it is."""
    got = answer("parity_rows", rows([[0.0, 0.0]] * 2, [[0.0, "-inf"], [0.0, 0.0]], [0, 0]))
    assert [row["kl"] for row in got["rows"]] == [math.inf, 0.0]
    assert (got["summary"]["n"], got["summary"]["n_inf"], got["summary"]["kl_mean"]) == (2, 1, math.inf)
    assert got["summary"]["dnll_mean"] == pytest.approx(-math.log(2) / 2, rel=1e-15)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (rows([[1.0, 2.0], [1.0]], [[1.0, 2.0], [1.0]], [0, 0]), "row 1"),
        (rows([[1.0, 2.0]], [[1.0]], [0]), "give both arms the same"),
        (rows([[1.0, 2.0]], [[1.0, 2.0]], [2]), "target 2 of row 0"),
        (rows([[1.0, 2.0]], [[1.0, 2.0]], [-1]), "target -1 of row 0"),
        (rows([[1.0, 2.0]], [[1.0, 2.0]], []), "one target per row"),
        (rows([[]], [[]], [0]), "no candidates"),
    ],
)
def test_rows_that_are_refused(inputs, said):
    """As a whole, with the place."""
    got = answer("parity_rows", inputs)
    assert set(got) == {"error"} and said in got["error"]


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_that_are_not_there_are_refused(kind):
    """With the name of the first that is missing."""
    said = answer(kind, {})
    assert set(said) == {"error"} and said["error"].startswith("the inputs have no '")


def test_edges_of_perplexity():
    """Beyond a float, all masked, a missing number, no bytes, no byte count."""
    huge = answer("perplexity", {"token_nll": [800.0, 900.0], "mask": None, "utf8_bytes": 4})
    assert (huge["nll_mean"], huge["ppl"]) == (850.0, math.inf)
    assert huge["bits_per_byte"] == pytest.approx(1700 / math.log(2) / 4, rel=1e-15)
    for nothing in ({"token_nll": [], "mask": None}, {"token_nll": [1.0, "nan"], "mask": [0, 0]}):
        got = answer("perplexity", {**nothing, "utf8_bytes": 4})
        assert got == dict.fromkeys(("nll_mean", "ppl", "bits_per_byte"), UNSCORED) | UNSCORED
    got = answer("perplexity", {"token_nll": [1.0, "nan"], "mask": None, "utf8_bytes": 4})
    assert got == dict.fromkeys(("nll_mean", "ppl", "bits_per_byte"), MISSING) | MISSING
    for count in (0, None):
        got = answer("perplexity", {"token_nll": [1.0], "mask": [1], "utf8_bytes": count})
        assert (got["nll_mean"], got["ppl"], got["bits_per_byte"]) == (1.0, math.e, {"undefined": "no bytes"})
    assert set(answer("perplexity", {"token_nll": [1.0], "mask": [1, 1], "utf8_bytes": 1})) == {"error"}


def test_edges_of_a_corpus():
    """An empty document weighs nothing; without any token there is no figure; one may be beyond a float."""
    got = answer("perplexity_corpus", {"docs": [[1.0], [], [2.0]]})
    assert got["n_tokens"] == 2
    assert got["ppl"] == pytest.approx(math.exp(1.5), rel=1e-15)
    assert got["per_document_ppl_mean"] == pytest.approx((math.e + math.exp(2)) / 2, rel=1e-15)
    for docs in ([], [[]]):
        assert answer("perplexity_corpus", {"docs": docs}) == {
            "ppl": UNSCORED, "n_tokens": 0, "per_document_ppl_mean": UNSCORED, **UNSCORED
        }  # fmt: skip
    got = answer("perplexity_corpus", {"docs": [[1000.0], [0.0]]})
    assert (got["ppl"], got["per_document_ppl_mean"]) == (pytest.approx(math.exp(500), rel=1e-15), math.inf)


def test_edges_of_a_plan():
    """A window beyond the text, a BOS before each window, texts without tokens, and what is refused."""

    def plan(n_tokens, window, stride, bos="none"):
        return answer("strided_plan", {"n_tokens": n_tokens, "window": window, "stride": stride, "bos": bos})

    assert plan(3, 8, 4) == {"n_scored": 2, "position_and_context": [[1, 1], [2, 2]]}
    assert plan(5, 3, 2, "each")["position_and_context"] == [[0, 1], [1, 2], [2, 3], [3, 2], [4, 3]]
    assert plan(5, 3, 2, "first")["position_and_context"] == [[0, 1], [1, 2], [2, 3], [3, 1], [4, 2]]
    assert plan(0, 8, 4)["n_scored"] == plan(1, 8, 4)["n_scored"] == 0
    for refused in ((23, 8, 9), (23, 8, 0), (23, 1, 1), (-1, 8, 4), (23, 8, 4, "twice"), (23, 8.5, 4)):
        assert set(plan(*refused)) == {"error"}


def test_edges_of_a_report():
    """One token has means and no errors, none has nothing, equal NLL have no correlation."""
    one = answer("ppl_ratio_report", {"nll": [1.0], "nll_base": [0.5], "same_top": [1]})
    assert (one["ln_ppl_ratio"], one["ppl_ratio"], one["same_top_p"]) == (0.5, math.exp(0.5), 1.0)
    for name in ("ln_ppl_ratio_se", "ppl_ratio_se", "correlation", "same_top_p_se"):
        assert one[name] == ONE
    none = answer("ppl_ratio_report", {"nll": [], "nll_base": [], "same_top": []})
    assert none.pop("undefined") == "no rows"
    assert all("undefined" in value for value in none.values())
    flat = answer("ppl_ratio_report", {"nll": [1.0, 1.0], "nll_base": [0.5, 0.7], "same_top": [1, 1]})
    assert (flat["correlation"], flat["same_top_p_se"]) == (FLAT, 0.0)
    same = answer("ppl_ratio_report", {"nll": [0.3, 0.9], "nll_base": [0.2, 0.8], "same_top": [0, 1]})
    assert (same["ln_ppl_ratio_se"], same["ppl_ratio_se"]) == (0.0, 0.0)
    assert set(answer("ppl_ratio_report", {"nll": [1.0], "nll_base": [1.0, 2.0], "same_top": [1]})) == {"error"}
    assert answer("ppl_ratio_report", {"nll": ["nan"], "nll_base": [1.0], "same_top": [1]}) == MISSING
