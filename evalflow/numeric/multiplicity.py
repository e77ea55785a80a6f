"""Several tests at once: p-values adjusted so that their family errs as rarely as one test would."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values of the family `p` (M,), in its order; reject where at most alpha.

    Source: in rising order the i-th (from 0) is multiplied by M - i, made no smaller than the one before it,
    and capped at 1 (Holm 1979). It bounds the chance of any false rejection, whatever the dependence between
    the tests. No p gives no adjusted p.

    Raises:
        ValueError: a p outside 0..1, or NaN: what a test without a p does to the family is the caller's to
        say.
    """
    for value in p:
        if not 0.0 <= value <= 1.0:
            raise ValueError(f"a p-value is {value}; give numbers from 0 to 1")
    adjusted = [0.0] * len(p)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        least = min(1.0, max(least, (len(p) - rank) * float(p[place])))
        adjusted[place] = least
    return adjusted
