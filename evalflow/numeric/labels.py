"""Labels: anything hashable that a rater may say, their order, and their places in it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class LabelSet:
    """The distinct labels (V,). `ordered` where their order means something: it was stated, or they are numbers."""

    names: tuple[Hashable, ...]
    ordered: bool

    def codes(self, labels: Sequence[Hashable]) -> NDArray[np.int64]:
        """Each label's place in `names`, shape (N,).

        Raises:
            ValueError: a label that is none of them.
        """
        place_of = {name: place for place, name in enumerate(self.names)}
        try:
            return np.fromiter(map(place_of.__getitem__, labels), dtype=np.int64, count=len(labels))
        except KeyError as stranger:
            raise ValueError(f"label {stranger} is not in the stated order; add it there") from None


def label_set(labels: Iterable[Hashable], order: Sequence[Hashable] | None = None) -> LabelSet:
    """The labels in their stated order; else numbers ascending; else by first appearance, which means nothing.

    Strings are labels whatever they say, "nan" and "" among them.

    Raises:
        ValueError: None or NaN, which are no labels; true or false among numbers, which Python would take for
            1 and 0; a label twice in the order.
    """
    found = [*(order or ()), *labels]
    names = list(dict.fromkeys(found))
    kinds = set(map(type, found))
    numeric = {kind for kind in kinds - {bool} if issubclass(kind, Real)}
    if type(None) in kinds:
        raise ValueError("a label is None; leave out what is missing, from both raters alike")
    if bool in kinds and numeric:
        raise ValueError("true or false stand among numbers; write labels of one kind")
    if any(name != name for name in names):  # NaN alone is not itself
        raise ValueError("a label is NaN; write what is missing as None")
    if order is not None:
        if len(set(order)) < len(order):
            raise ValueError("a label stands twice in the order; name each once")
        return LabelSet(tuple(order), ordered=True)
    if kinds == numeric:
        return LabelSet(tuple(sorted(names)), ordered=True)  # type: ignore[type-var]  # numbers
    return LabelSet(tuple(names), ordered=False)
