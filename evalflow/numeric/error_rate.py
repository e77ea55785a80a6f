"""Character and word error rate: the edits that turn a reference into a hypothesis, over its length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evalflow.numeric.text_profile import NFC, TextProfile
from evalflow.numeric.undefined import Undefined
from evalflow.numeric.units import Unit, cut


@dataclass(frozen=True)
class Edits:
    """The fewest edits from reference to hypothesis, and what they are measured against. Pairs add up.

    How the edits split into kinds is one of several ways where the alignment is not unique; their sum, and
    insertions less deletions, are the same in all.
    """

    substitutions: int
    deletions: int
    insertions: int
    ref_length: int
    n_pairs: int = 1

    @property
    def total(self) -> int:
        """All edits."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float:
        """Edits per unit of the reference: 0 for two empty texts; above 1 where more was added than was there.

        Raises:
            Undefined: "no pairs", or "empty reference" where there is something beside it.
        """
        if not self.n_pairs:
            raise Undefined("no pairs")
        if not self.ref_length and self.total:
            raise Undefined("empty reference")
        return self.total / self.ref_length if self.ref_length else 0.0


def count_edits(reference: Sequence[str], hypothesis: Sequence[str]) -> Edits:
    """The edits between two lists of units: Levenshtein's distance (1966), each kind at cost 1."""
    from rapidfuzz.distance import Levenshtein

    kinds = Counter(kind for kind, _, _ in Levenshtein.editops(reference, hypothesis).as_list())
    return Edits(kinds["replace"], kinds["delete"], kinds["insert"], len(reference))


def text_edits(reference: str, hypothesis: str, unit: Unit, profile: TextProfile = NFC) -> Edits:
    """The edits between two texts, both brought to `profile` and cut into `unit`: CER's or WER's counts.

    Raises:
        TypeError: not two texts.
        ValueError: no such unit.
    """
    return count_edits(cut(profile.apply(reference), unit), cut(profile.apply(hypothesis), unit))


def pooled(pairs: Iterable[Edits]) -> Edits:
    """The edits of a corpus: its rate is the sum of edits over the sum of reference lengths.

    A pair with an empty reference has no rate of its own; its edits count here.
    """
    found = tuple(pairs)
    return Edits(
        substitutions=sum(pair.substitutions for pair in found),
        deletions=sum(pair.deletions for pair in found),
        insertions=sum(pair.insertions for pair in found),
        ref_length=sum(pair.ref_length for pair in found),
        n_pairs=sum(pair.n_pairs for pair in found),
    )
