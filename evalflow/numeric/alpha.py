"""Krippendorff's alpha: how far any number of raters agree, some ratings missing, beyond what chance gives.

Observed disagreement is D_o = sum_u d_u / n with d_u the sum of squared distances over the ordered pairs of ratings
inside unit u by one less than their number; expected disagreement D_e is the mean over the n (n - 1) ordered pairs of
all ratings that have another one in their unit; alpha = 1 - D_o / D_e (Krippendorff 2019, chapter 12). It is computed
from sparse counts, hence costs memory for the ratings alone, however many labels there are.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.cluster import Clusters, cluster_codes
from evalflow.numeric.label_distance import Level, distance_of, midranks
from evalflow.numeric.labels import LabelSet
from evalflow.numeric.ratings import Ratings, ratings_of
from evalflow.numeric.undefined import Undefined, finite

_LEAST_SQUARE = 2.0**-960  # with smaller mean squares the last digits of the smallest among them are gone


@dataclass(frozen=True)
class Alpha:
    """Alpha and what it is made of: observed and expected disagreement, in squared distances, and how many ratings
    have another one in their unit."""

    observed: float
    expected: float
    n_pairable: int

    @property
    def value(self) -> float:
        """1 - observed / expected: 1 where all agree, 0 at chance, below 0 where raters differ more than by chance.

        Raises:
            Undefined: "expected disagreement is 0": all ratings are the same, so that none could have differed; or
                "labels too close together": their squared distances are below what a float tells apart.
        """
        if self.expected == 0:
            raise Undefined("expected disagreement is 0")
        if self.expected < _LEAST_SQUARE:
            raise Undefined("labels too close together")
        return finite(1 - self.observed / self.expected)


def krippendorff_alpha(
    units: Iterable[Sequence[Hashable | None]],
    level: Level | ArrayLike = "nominal",
    order: Sequence[Hashable] | None = None,
) -> Alpha:
    """Alpha of a list of ratings per unit, None where one is missing; units with fewer than two count nowhere.

    The default level is nominal: labels are names until someone says that they are numbers.

    Raises:
        Undefined: "no pairs", where no unit has two ratings; "non-finite result".
        ValueError: labels that are none or do not suit the level (`label_set`, `distance_of`).
        TypeError: a unit that is no list.
    """
    return alpha_of_ratings(ratings_of(units, order), level)


def alpha_of_ratings(ratings: Ratings, level: Level | ArrayLike = "nominal") -> Alpha:
    """Alpha of ratings that are counted already: see `krippendorff_alpha`, which raises the same."""
    totals_v = ratings.totals_v
    distance = distance_of(level, ratings.labels, totals_v)
    n = _pairable(totals_v)
    return _alpha(float(distance.within_n(ratings).sum()), distance.among(totals_v), n)


def alpha_sums(
    ratings: Ratings, documents: Clusters, level: Level | ArrayLike = "nominal"
) -> tuple[list[Hashable], NDArray[np.float64]]:
    """What each document adds to alpha: names (D,) in order of first appearance, and sums (D, K) that add up.

    `documents` (N,) names each unit's. A row is the document's d_u summed, then its count of each label (K = 1 + V).
    For the ordinal level, whose distances depend on the counts of all documents together, it is the matrix of
    coincidences, flat (K = V^2). `alpha_of_sums` of all rows added is alpha; of a resample of them, a replicate.

    Raises:
        ValueError: not one document per unit, or labels that do not suit the level.
    """
    names, document_n = cluster_codes(documents, ratings.n_ratings_n.size)
    distance = distance_of(level, ratings.labels, ratings.totals_v)
    if _is_ordinal(level):
        return names, _coincidences(ratings, document_n, len(names))
    n_labels = len(ratings.labels.names)
    within_d = np.bincount(document_n, weights=distance.within_n(ratings), minlength=len(names))
    places = document_n[ratings.unit_e] * n_labels + ratings.label_e
    counts_dv = np.bincount(places, weights=ratings.count_e, minlength=len(names) * n_labels)
    return names, np.column_stack([within_d, counts_dv.reshape(len(names), n_labels)])


def alpha_of_sums(sums: ArrayLike, labels: LabelSet, level: Level | ArrayLike = "nominal") -> Alpha:
    """Alpha of one row of `alpha_sums`, or of rows added.

    Raises:
        Undefined: "no pairs", or "non-finite result".
        ValueError: not the sums of this level and these labels, or labels that do not suit the level.
    """
    sums_k = np.asarray(sums, dtype=np.float64)
    n_labels = len(labels.names)
    width = n_labels**2 if _is_ordinal(level) else 1 + n_labels
    if sums_k.shape != (width,):
        raise ValueError(f"sums have shape {sums_k.shape}; {n_labels} labels at this level make ({width},)")
    counts_v = sums_k.reshape(n_labels, n_labels).sum(axis=1) if _is_ordinal(level) else sums_k[1:]
    totals_v = np.rint(counts_v).astype(np.int64)  # sums of thirds and the like are off by some ulps
    distance = distance_of(level, labels, totals_v)
    n = _pairable(totals_v)
    if _is_ordinal(level):
        ranks_v = midranks(totals_v)
        within = float(sums_k @ (np.subtract.outer(ranks_v, ranks_v) ** 2).ravel())
    else:
        within = float(sums_k[0])
    return _alpha(within, distance.among(totals_v), n)


def _is_ordinal(level: Level | ArrayLike) -> bool:
    return isinstance(level, str) and level == "ordinal"


def _coincidences(ratings: Ratings, document_n: NDArray[np.int64], n_documents: int) -> NDArray[np.float64]:
    """Per document (D, V^2): ordered pairs of labels in its units, each by one less than the unit's ratings."""
    n_labels = len(ratings.labels.names)
    unit_e, label_e, count_e = ratings.unit_e, ratings.label_e, ratings.count_e
    one_less_e = ratings.n_ratings_n[unit_e] - 1
    found = np.zeros((n_documents, n_labels * n_labels))
    np.add.at(found, (document_n[unit_e], label_e * (n_labels + 1)), count_e * (count_e - 1) / one_less_e)
    for left, right in ratings.distinct_pairs():
        document, pairs = document_n[unit_e[left]], count_e[left] * count_e[right] / one_less_e[left]
        np.add.at(found, (document, label_e[left] * n_labels + label_e[right]), pairs)
        np.add.at(found, (document, label_e[right] * n_labels + label_e[left]), pairs)
    return found


def _pairable(totals_v: NDArray[np.int64]) -> int:
    n = int(totals_v.sum())
    if not n:
        raise Undefined("no pairs")
    return n


def _alpha(within: float, among: float, n: int) -> Alpha:
    return Alpha(finite(within / n), finite(among / (n * (n - 1))), n)
