"""Rank correlation, beside scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from evalflow.numeric.rank import spearman
from evalflow.numeric.undefined import Undefined


def test_it_is_scipys_with_ties() -> None:
    """On grades, which are mostly ties."""
    generator = np.random.default_rng(0)
    for _ in range(20):
        a = generator.integers(1, 6, 30)
        b = a + generator.integers(-1, 2, 30)
        assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic, rel=1e-12)


def test_by_hand() -> None:
    """Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5) = 0.9487; any rising column has 1, a falling one -1."""
    assert spearman([1, 2, 2, 9], [1, 2, 3, 4]) == pytest.approx(4.5 / (4.5 * 5) ** 0.5)
    assert spearman([1, 2, 300], [0.1, 0.2, 0.21]) == 1.0
    assert spearman([1, 2, 3], [3, 2, 1]) == -1.0


def test_a_column_of_one_value_has_none() -> None:
    """Nor has an empty one; columns of unequal length are a mistake."""
    with pytest.raises(Undefined, match=r"^one value throughout$"):
        spearman([1, 1], [1, 2])
    with pytest.raises(Undefined, match=r"^no rows$"):
        spearman([], [])
    with pytest.raises(ValueError, match="1 values beside 2"):
        spearman([1], [1, 2])
