"""Cohen's kappa: how far two raters agree beyond what their habits alone would give.

Counts are exact integers and are divided once, so that no order of rows moves a digit.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.labels import LabelSet, label_set
from evalflow.numeric.undefined import Undefined

Weights = Literal["none", "linear", "quadratic"]
_TOO_MANY = 1 << 53  # a float cannot tell counts apart from here on


def agreement_rate(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """The share of pairs (a_i, b_i) that are equal.

    Raises:
        Undefined: "no pairs".
        ValueError: lists of unequal length, or labels that are none (`label_set`).
        TypeError: a text in place of a list.
    """
    return agreement_of_marginals(marginals(a, b, _labels(a, b, None)))


def cohen_kappa(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    weights: Weights = "none",
    order: Sequence[Hashable] | None = None,
    constant_is_one: bool = False,
) -> float:
    """Kappa of two raters' labels, at most 1; 0 is what chance gives.

    Without weights only equal labels agree. Linear and quadratic weights count by how many places, or places
    squared, two labels are apart in `order`; numbers have an order of their own, ascending, whose places are
    those of the labels that occur. Two raters who only ever say one and the same label have no kappa, unless
    `constant_is_one`.

    Source: Cohen 1960; weights Cohen 1968.

    Raises:
        Undefined: "no pairs", "chance agreement is 1", or "the labels have no order".
        ValueError: lists of unequal length, a label outside `order`, or labels that are none (`label_set`).
        TypeError: a text in place of a list.
    """
    labels = _labels(a, b, order)
    if weights == "none":
        return kappa_of_marginals(marginals(a, b, labels), constant_is_one)
    return kappa_of_counts(pair_counts(a, b, labels), weights, labels.ordered, constant_is_one)


def pair_counts(a: Sequence[Hashable], b: Sequence[Hashable], labels: LabelSet) -> NDArray[np.int64]:
    """How often label i of a met label j of b: the confusion matrix (V, V). Documents add up.

    Raises:
        ValueError: lists of unequal length, or a label that is not in `labels`.
    """
    a_n, b_n = _coded(a, b, labels)
    n_labels = len(labels.names)
    return np.bincount(a_n * n_labels + b_n, minlength=n_labels * n_labels).reshape(n_labels, n_labels)


def marginals(a: Sequence[Hashable], b: Sequence[Hashable], labels: LabelSet) -> NDArray[np.int64]:
    """What kappa without weights needs, (1 + 2 V,): agreed pairs, a's count of each label, b's. Documents add up.

    Raises:
        ValueError: lists of unequal length, or a label that is not in `labels`.
    """
    a_n, b_n = _coded(a, b, labels)
    n_labels = len(labels.names)
    counts = [np.bincount(codes, minlength=n_labels) for codes in (a_n, b_n)]
    return np.concatenate([[np.count_nonzero(a_n == b_n)], *counts])


def agreement_of_marginals(sums: ArrayLike) -> float:
    """The share of agreeing pairs, from `marginals` or a sum of them.

    Raises:
        Undefined: "no pairs".
        ValueError: no such counts.
    """
    agreed, n, _, _ = _read(sums)
    return agreed / n


def kappa_of_marginals(sums: ArrayLike, constant_is_one: bool = False) -> float:
    """Kappa without weights, from `marginals` or a sum of them.

    Source: (p_o - p_e) / (1 - p_e) with p_o = agreed / n and p_e = sum_v a_v b_v / n^2 (Cohen 1960), that is,
    (n agreed - sum_v a_v b_v) / (n^2 - sum_v a_v b_v).

    Raises:
        Undefined: "no pairs", or "chance agreement is 1" (see `cohen_kappa`).
        ValueError: no such counts.
    """
    agreed, n, a_v, b_v = _read(sums)
    chance = sum(one * other for one, other in zip(a_v, b_v, strict=True))
    return _ratio(n * n - n * agreed, n * n - chance, constant_is_one)


def kappa_of_counts(
    counts: ArrayLike, weights: Weights = "none", ordered: bool = True, constant_is_one: bool = False
) -> float:
    """Kappa from a confusion matrix (V, V) whose labels stand in their order, unless not `ordered`.

    Source: 1 - sum w O / sum w E over the matrix, with w the disagreement weight |i - j| or (i - j)^2, O the
    shares and E the products of their margins (Cohen 1968).

    Raises:
        Undefined: "no pairs", "chance agreement is 1", or "the labels have no order", which weights need.
        ValueError: not a square of counts, or no such weights.
    """
    if weights not in get_args(Weights):
        raise ValueError(f"weights is {weights!r}; choose {', '.join(get_args(Weights))}")
    counts_vv = _counts(counts)
    if counts_vv.ndim != 2 or counts_vv.shape[0] != counts_vv.shape[1]:
        raise ValueError(f"counts have shape {counts_vv.shape}; give a square, a row and a column per label")
    if weights != "none" and not ordered:
        raise Undefined("the labels have no order")
    n = int(counts_vv.sum())
    if not n:
        raise Undefined("no pairs")
    weight_vv = _disagreement(len(counts_vv), weights)
    observed = n * int((weight_vv * counts_vv).sum())
    expected = int(counts_vv.sum(axis=1) @ weight_vv @ counts_vv.sum(axis=0))
    return _ratio(observed, expected, constant_is_one)


def kappa_of_tables(tables: ArrayLike, weights: Weights = "none") -> float:
    """Kappa of several pairs of raters together, from the confusion matrix of each: (P, V, V), labels in their order.

    Observed disagreement over expected, both added up over the pairs, each as often as the two rated something. Of one
    pair it is Cohen's; two who only ever said one label, alone without a kappa, add nothing to either.

    Source: 1 - sum_p n_p D_o / sum_p n_p D_e (Conger 1980, whose raters all rate the same n).

    Raises:
        Undefined: "no pairs", or "chance agreement is 1" of all of them.
        ValueError: not one square of counts per pair, or no such weights.
    """
    observed, expected = disagreement_of_tables(tables, weights)
    if not expected:
        raise Undefined("chance agreement is 1")
    return 1 - observed / expected


def disagreement_of_tables(tables: ArrayLike, weights: Weights = "none") -> tuple[float, float]:
    """What `kappa_of_tables` divides: the weight of disagreement over all pairs, observed and expected by chance.

    Raises as it does, but for a chance agreement of 1, where the second is 0.
    """
    if weights not in get_args(Weights):
        raise ValueError(f"weights is {weights!r}; choose {', '.join(get_args(Weights))}")
    counts_pvv = np.asarray(tables, dtype=np.float64)
    if not ((counts_pvv >= 0) & (counts_pvv % 1 == 0)).all():
        raise ValueError("a count is below 0 or not whole; give counts of pairs")
    if counts_pvv.ndim != 3 or counts_pvv.shape[1] != counts_pvv.shape[2]:
        raise ValueError(f"tables have shape {counts_pvv.shape}; give a square per pair, a row and column per label")
    counts_pvv = counts_pvv[counts_pvv.sum(axis=(1, 2)) > 0]
    if not len(counts_pvv):
        raise Undefined("no pairs")
    weight_vv = _disagreement(counts_pvv.shape[1], weights).astype(np.float64)
    observed = float((weight_vv * counts_pvv).sum())
    by_chance_p = ((counts_pvv.sum(axis=2) @ weight_vv) * counts_pvv.sum(axis=1)).sum(axis=1)
    return observed, float((by_chance_p / counts_pvv.sum(axis=(1, 2))).sum())


def heaviest(n_labels: int, weights: Weights) -> int:
    """The weight of the disagreement of the first and the last of so many labels."""
    return int(_disagreement(n_labels, weights).max())


def _disagreement(n_labels: int, weights: Weights) -> NDArray[np.object_]:
    """The weights (V, V) as Python integers: n^2 is beyond 64 bits from 3e9 pairs on."""
    places = np.arange(n_labels)
    apart_vv = np.abs(places[:, np.newaxis] - places)
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]
    return np.where(apart_vv > 0, apart_vv**power, 0).astype(object)


def _ratio(observed: int, expected: int, constant_is_one: bool) -> float:
    """1 - observed / expected disagreement, rounded once."""
    if expected:
        return (expected - observed) / expected
    if constant_is_one:
        return 1.0
    raise Undefined("chance agreement is 1")


def _labels(a: Sequence[Hashable], b: Sequence[Hashable], order: Sequence[Hashable] | None) -> LabelSet:
    if isinstance(a, str) or isinstance(b, str):
        raise TypeError("a rater's labels are one text; give a list of labels")
    return label_set([*a, *b], order)


def _coded(
    a: Sequence[Hashable], b: Sequence[Hashable], labels: LabelSet
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if len(a) != len(b):
        raise ValueError(f"{len(a)} labels beside {len(b)}; give both raters' labels of the same units")
    return labels.codes(a), labels.codes(b)


def _read(sums: ArrayLike) -> tuple[int, int, list[int], list[int]]:
    """`marginals` apart: agreed, n, a's counts, b's counts."""
    agreed, *rest = _counts(sums).tolist()
    a_v, b_v = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    n = sum(a_v)
    if len(a_v) != len(b_v) or sum(b_v) != n or agreed > n:
        raise ValueError("the counts are no marginals: agreed pairs, then both raters' counts of the same pairs")
    if not n:
        raise Undefined("no pairs")
    return agreed, n, a_v, b_v


def _counts(numbers: ArrayLike) -> NDArray[np.object_]:
    """Whole numbers from 0 up as Python integers; floats that are whole pass."""
    given = np.asarray(numbers)
    if not ((given >= 0) & (given < _TOO_MANY) & (given % 1 == 0)).all():
        raise ValueError("a count is below 0, not whole or too large; give counts of pairs")
    return given.astype(np.int64).astype(object)
