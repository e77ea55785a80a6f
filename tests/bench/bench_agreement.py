"""Alpha and alignment beside what people would otherwise use, in the same run.

Alpha of 10,000 units by 5 raters with 100 labels stands beside the krippendorff package, which gets its own input (a
table of floats); ours gets a table of codes, and once more the plain lists that a user has. The alignment of two
readings of 20,000 characters stands beside difflib without its shortcut (autojunk); both give their edits, ours its
pairs and disagreements too. A time is the CPU of the thread, the median of the runs. Both sides' results are shown, so
that nobody compares the speed of different things.

Ends with 1 where alpha is less than 50 times, or the alignment less than 300 times, as fast.
"""

from __future__ import annotations

import difflib
import random
import statistics
import string
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import krippendorff
import numpy as np
from rapidfuzz.distance import Levenshtein
from rich.console import Console

from evalflow.numeric.alignment import Alignment, align, disagreements
from evalflow.numeric.alpha import alpha_of_ratings, krippendorff_alpha
from evalflow.numeric.labels import label_set
from evalflow.numeric.ratings import ratings_of_codes

SAY = Console(highlight=False, soft_wrap=True).print
N_UNITS, N_RATERS, N_LABELS = 10_000, 5, 100
LENGTH = 20_000  # characters
NOISE = (0.04, 0.3)
ALPHA_LEAST, ALIGN_LEAST = 50, 300
OURS, THEIRS = 9, 3  # runs

Found = TypeVar("Found")


def timed(run: Callable[[], Found], repeats: int) -> tuple[float, Found]:
    """The median CPU (ms) of a run, and what it found."""
    spent = []
    for _ in range(repeats):
        began = time.thread_time()
        found = run()
        spent.append(1e3 * (time.thread_time() - began))
    return statistics.median(spent), found


def verdict(name: str, own: float, other: float, least: float) -> bool:
    """Print one ratio and whether it is enough."""
    kept = other / own >= least
    SAY(f"  {own:9.2f} ms  {other / own:6.0f} x (target {least}: {'met' if kept else 'MISSED'})  {name}")
    return kept


def alphas() -> bool:
    """Nominal and interval alpha; whether every one of ours is fast enough."""
    rng = np.random.default_rng(0)
    codes_nr = rng.integers(0, N_LABELS, (N_UNITS, N_RATERS))
    codes_nr = np.where(rng.random(codes_nr.shape) < 0.7, codes_nr[:, :1], codes_nr)  # raters who mostly agree
    labels, units, table_rn = label_set(range(N_LABELS)), codes_nr.tolist(), codes_nr.T.astype(float)
    kept = True
    for level in ("nominal", "interval"):
        SAY(f"alpha ({level}), {N_UNITS} units x {N_RATERS} raters, {N_LABELS} labels")
        theirs, value = timed(lambda level=level: krippendorff.alpha(table_rn, level_of_measurement=level), THEIRS)
        SAY(f"  {theirs:9.2f} ms  alpha {value:.12f}  krippendorff")
        for name, run in (
            ("evalflow, from codes", lambda level=level: alpha_of_ratings(ratings_of_codes(codes_nr, labels), level)),
            ("evalflow, from lists", lambda level=level: krippendorff_alpha(units, level)),
        ):
            own, found = timed(run, OURS)
            kept &= verdict(f"alpha {found.value:.12f}  {name}", own, theirs, ALPHA_LEAST)
    return kept


def readings(noise: float) -> tuple[list[str], list[str]]:
    """A text and another reading of it, with this share of characters replaced, lost or doubled."""
    rng = random.Random(1)
    letters = string.ascii_lowercase + " " * 5
    text = rng.choices(letters, k=LENGTH)
    other: list[str] = []
    for letter in text:
        if rng.random() >= noise:
            other.append(letter)
        else:
            other += rng.choice(([], [rng.choice(letters)], [letter, rng.choice(letters)]))
    return text, other


def reading_of(a: list[str], b: list[str]) -> Alignment:
    """All that an adjudicator asks of an alignment."""
    alignment = align(a, b)
    alignment.pairs_p2()
    for _ in disagreements(alignment, "grapheme"):
        pass
    return alignment


def alignments() -> bool:
    """Two levels of noise; whether the alignment itself is fast enough at both."""
    kept = True
    for noise in NOISE:
        a, b = readings(noise)
        SAY(f"alignment of {LENGTH} characters, {noise:.0%} noise")
        theirs, opcodes = timed(
            lambda a=a, b=b: difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes(), THEIRS
        )
        edits = sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in opcodes if kind != "equal")
        SAY(f"  {theirs:9.2f} ms  {edits} edits  difflib")
        bare, distance = timed(lambda a=a, b=b: Levenshtein.distance(a, b), OURS)
        SAY(f"  {bare:9.2f} ms  {distance} edits  rapidfuzz, the distance alone")
        own, found = timed(lambda a=a, b=b: align(a, b), OURS)
        kept &= verdict(f"{len(found.edits)} edits  evalflow, alignment", own, theirs, ALIGN_LEAST)
        whole, found = timed(lambda a=a, b=b: reading_of(a, b), OURS)
        SAY(f"  {whole:9.2f} ms  {theirs / whole:6.0f} x  {len(found.edits)} edits  evalflow, pairs and context too")
    return kept


def main() -> int:
    """Both comparisons; 1 where a target is missed."""
    found = [alphas(), alignments()]
    SAY(f"alpha at {ALPHA_LEAST} times the package or more: {found[0]}; alignment at {ALIGN_LEAST}: {found[1]}")
    return 0 if all(found) else 1


if __name__ == "__main__":
    sys.exit(main())
