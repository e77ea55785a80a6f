"""Agreement of raters, against the packages that others use for it."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from evalflow.runner.rater_agreement import Agreement, Given, agreement_of

LINES = {"ann": "abcabcaabbcc.bac", "bob": "abcabbaabbccab..", "cem": "cbcabcacbb.caba."}
NUMBERS = {"ann": "1234512345.3", "bob": "123351234512", "cem": "2234412355.4"}


def given(lines: dict[str, str], numeric: bool = False) -> Given:
    """Unit -> rater -> label, of a line of labels per rater; a dot is a unit that he did not rate."""
    n = len(next(iter(lines.values())))
    return {
        unit: {name: float(line[unit]) if numeric else line[unit] for name, line in lines.items() if line[unit] != "."}
        for unit in range(n)
    }


def codes(lines: dict[str, str], labels: str) -> list[list[float]]:
    return [[np.nan if letter == "." else labels.index(letter) for letter in line] for line in lines.values()]


def agreed(lines: dict[str, str], numeric: bool = False) -> Agreement:
    units = given(lines, numeric)
    order = [1.0, 2.0, 3.0, 4.0, 5.0] if numeric else list("abc")
    return agreement_of(units, {unit: f"c{unit}" for unit in units}, order, "ordinal" if numeric else "nominal")


def test_alpha_of_names_is_krippendorffs() -> None:
    """With missing ratings; what fewer than two rated counts nowhere. Its interval holds it."""
    alpha = agreed(LINES).alpha
    peer = krippendorff.alpha(reliability_data=codes(LINES, "abc"), level_of_measurement="nominal")
    assert alpha.value == pytest.approx(peer)
    assert (alpha.n_scored, alpha.n_total) == (15, 16)
    assert alpha.low is not None and alpha.high is not None and alpha.low < peer < alpha.high
    assert alpha.method == "document bootstrap"


def test_alpha_of_a_scale_is_krippendorffs() -> None:
    """Ordinal: by how many ratings lie between."""
    peer = krippendorff.alpha(reliability_data=codes(NUMBERS, "12345"), level_of_measurement="ordinal")
    assert agreed(NUMBERS, numeric=True).alpha.value == pytest.approx(peer)


def test_kappa_of_every_two_is_sklearns() -> None:
    """Over what both rated: plain for names, quadratic for places on a scale."""
    for lines, weights, numeric in ((LINES, None, False), (NUMBERS, "quadratic", True)):
        kappas = agreed(lines, numeric).kappas
        assert [one.raters for one in kappas] == [("ann", "bob"), ("ann", "cem"), ("bob", "cem")]
        for one in kappas:
            both = [(a, b) for a, b in zip(*(lines[name] for name in one.raters), strict=True) if "." not in (a, b)]
            peer = cohen_kappa_score([a for a, _ in both], [b for _, b in both], weights=weights)
            assert (one.figure.value, one.figure.n_scored) == (pytest.approx(peer), len(both))


def test_what_is_undefined_says_why() -> None:
    """One rater; raters of different things; raters who only ever said one thing."""
    alone = agreed({"ann": "abc"})
    assert (alone.alpha.reason, alone.kappas) == ("nothing was rated by two", ())
    apart = agreed({"ann": "ab..", "bob": "..ab"})
    assert (apart.alpha.reason, apart.kappas[0].figure.reason) == (
        "nothing was rated by two",
        "nothing was rated by both",
    )
    constant = agreed({"ann": "aaa", "bob": "aaa"})
    assert constant.alpha.reason == "expected disagreement is 0"
    assert constant.kappas[0].figure.reason == "chance agreement is 1"
    assert agreed({"ann": "ab", "bob": "ab"}).alpha.low is None  # a resample of one label has no alpha
