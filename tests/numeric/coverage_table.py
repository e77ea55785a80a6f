"""How often each interval covers, and how often each test errs, where the truth is known.

Run `python tests/numeric/coverage_table.py` for the table in Markdown, half a minute. Where all outcomes can be listed
the share is exact; otherwise it is simulated from fixed seeds, and its own error is in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy.stats import binom, expon

from evalflow.numeric.bca import acceleration, bca_clusters, bca_interval
from evalflow.numeric.bootstrap import bootstrap_clusters, bootstrap_mean, mean_replicates, percentile_interval
from evalflow.numeric.cluster import mean_interval
from evalflow.numeric.interval import Interval
from evalflow.numeric.mcnemar import mcnemar
from evalflow.numeric.paired import equivalence, non_inferiority, paired_t
from evalflow.numeric.permutation import sign_flip_test
from evalflow.numeric.proportion import clopper_pearson, normal_interval, rate_interval, wilson
from evalflow.numeric.quantile import quantile_interval
from evalflow.numeric.sign import two_sided_p
from evalflow.numeric.undefined import Undefined
from evalflow.numeric.wilcoxon import wilcoxon

Column = NDArray[np.float64]
RESAMPLES = 1000
COVERED, REJECTED = "covered, of 95 %", "rejected, of 5 %"


@dataclass(frozen=True)
class Line:
    """A method in a setting: the `share` of samples in which it covered or rejected, and how many had no answer.

    `repeats` is 0 where every outcome was counted by its probability. Samples without an answer are in no share.
    """

    kind: str
    method: str
    setting: str
    share: float
    repeats: int = 0
    undefined: int = 0

    @property
    def error(self) -> float:
        """The standard error of the share; 0 where it is exact."""
        answered = self.repeats - self.undefined
        return (self.share * (1 - self.share) / answered) ** 0.5 if answered else 0.0


def table() -> list[Line]:
    """All lines, in the order that they are printed in."""
    parts = (rates, means, clustered_means, clustered_rates, order_statistics)
    tests = (dependent_tokens, paired_tests, counted_tests, rank_tests, margins)
    return [line for part in (*parts, *tests) for line in part()]


def markdown(lines: list[Line]) -> str:
    """The lines as two tables, one of intervals and one of tests."""
    out = []
    for kind in (COVERED, REJECTED):
        out += [f"| method | setting | {kind} | +/- | samples | undefined |", "| --- | --- | --- | --- | --- | --- |"]
        for line in lines:
            if line.kind == kind:
                counted = f"{line.repeats:,}" if line.repeats else "exact"
                error = f"{100 * line.error:.1f}" if line.repeats else ""
                share = f"{100 * line.share:.1f} %"
                out.append(
                    f"| {line.method} | {line.setting} | {share} | {error} | {counted} | {line.undefined or ''} |"
                )
        out.append("")
    return "\n".join(out)


# --- how a share is had ---


def covers(
    intervals: dict[str, Callable[[Any], Interval]], samples: Iterator[Any], truth: float
) -> list[tuple[str, Any]]:
    """Method and outcome (covered, or None without an answer) of every method on every sample."""
    return [
        (name, _answer(lambda m=make, s=sample: m(s).low <= truth <= m(s).high))
        for sample in samples
        for name, make in intervals.items()
    ]


def rejects(tests: dict[str, Callable[[Any], float]], samples: Iterator[Any]) -> list[tuple[str, Any]]:
    """Method and outcome (rejected at 0.05, or None) of every test on every sample."""
    return [
        (name, _answer(lambda t=test, s=sample: t(s) <= 0.05)) for sample in samples for name, test in tests.items()
    ]


def lines(kind: str, setting: str, outcomes: list[tuple[str, Any]]) -> list[Line]:
    """One line per method."""
    found = []
    for method in dict.fromkeys(name for name, _ in outcomes):
        said = [outcome for name, outcome in outcomes if name == method]
        answered = [outcome for outcome in said if outcome is not None]
        share = float(np.mean(answered)) if answered else float("nan")
        found.append(Line(kind, method, setting, share, len(said), len(said) - len(answered)))
    return found


def _answer(question: Callable[[], bool]) -> bool | None:
    try:
        return question()
    except Undefined:
        return None


# --- intervals ---


def rates() -> Iterator[Line]:
    """Proportions of independent rows: every count by its binomial probability."""
    methods: dict[str, Callable[[int, int], Interval]] = {
        "Wilson": wilson,
        "Clopper-Pearson": clopper_pearson,
        "normal (on request)": normal_interval,
        "percentile bootstrap of 0/1": lambda k, n: bootstrap_mean([1.0] * k + [0.0] * (n - k), 0, 2000),
    }
    for n in (20, 60, 300):
        for method, make in methods.items():
            made = [make(k, n) for k in range(n + 1)]
            for rate in (0.5, 0.7, 0.9, 0.97):
                covered = np.array([one.low <= rate <= one.high for one in made])
                yield Line(COVERED, method, f"n {n}, rate {rate}", float(binom.pmf(range(n + 1), n, rate) @ covered))


def means(repeats: int = 1000) -> Iterator[Line]:
    """Means of independent differences, of a symmetric and of a skewed law."""
    for law in ("normal", "exponential"):
        for n in (10, 30, 100):
            rng = np.random.default_rng(n)
            draw = rng.normal if law == "normal" else rng.exponential
            truth = 0.0 if law == "normal" else 1.0
            samples = [draw(size=n) for _ in range(repeats)]
            replicates = [mean_replicates(sample, seed, RESAMPLES) for seed, sample in enumerate(samples)]
            methods: dict[str, Callable[[Any], Interval]] = {
                "t": lambda pair: paired_t(pair[0]).interval,
                "percentile bootstrap": lambda pair: percentile_interval(pair[1]),
                "BCa bootstrap": lambda pair: bca_interval(pair[1], float(pair[0].mean()), acceleration(pair[0])),
            }
            outcomes = covers(methods, zip(samples, replicates, strict=True), truth)
            yield from lines(COVERED, f"n {n}, {law} differences", outcomes)


def clustered_means(repeats: int = 600) -> Iterator[Line]:
    """Means over rows of clusters, of which a third of the variance is the cluster's."""
    methods: dict[str, Callable[[Any], Interval]] = {
        "t, as if rows were independent": lambda rows: paired_t(rows[0]).interval,
        "clustered t": lambda rows: mean_interval(*rows),
        "clustered percentile bootstrap": lambda rows: bootstrap_clusters(*rows, 0, RESAMPLES),
        "clustered BCa bootstrap": lambda rows: bca_clusters(*rows, 0, RESAMPLES),
    }
    for sizes_of in ("5 rows each", "1 to 9 rows"):
        for n_clusters in (10, 30, 60):
            sizes = np.full(n_clusters, 5) if sizes_of == "5 rows each" else 1 + np.arange(n_clusters) % 9
            clusters = np.repeat(np.arange(n_clusters), sizes)
            rng = np.random.default_rng(n_clusters)
            samples = (
                (rng.normal(0, 0.5**0.5, n_clusters)[clusters] + rng.normal(size=clusters.size), clusters)
                for _ in range(repeats)
            )
            yield from lines(COVERED, f"{n_clusters} clusters of {sizes_of}", covers(methods, samples, 0.0))


def clustered_rates(repeats: int = 1000) -> Iterator[Line]:
    """Rates of right answers in clusters of four, beta-binomial at an intraclass correlation of 0.3."""
    methods: dict[str, Callable[[Any], Interval]] = {
        "Wilson, as if rows were independent": lambda rows: wilson(float(rows[0].sum()), rows[0].size),
        "Wilson, clustered": lambda rows: rate_interval(*rows),
    }
    for rate in (0.7, 0.95):
        for n_clusters in (20, 60):
            rng = np.random.default_rng(n_clusters)
            clusters = np.repeat(np.arange(n_clusters), 4)
            spread = 1 / 0.3 - 1
            samples = (
                (
                    (
                        rng.random(clusters.size) < rng.beta(rate * spread, (1 - rate) * spread, n_clusters)[clusters]
                    ).astype(float),
                    clusters,
                )
                for _ in range(repeats)
            )
            yield from lines(COVERED, f"{n_clusters} clusters of 4, rate {rate}", covers(methods, samples, rate))


def order_statistics(repeats: int = 1000) -> Iterator[Line]:
    """Quantiles of a skewed law."""
    for n, q in ((30, 0.5), (100, 0.5), (100, 0.9), (300, 0.95)):
        rng = np.random.default_rng(n)
        methods: dict[str, Callable[[Any], Interval]] = {
            "order statistics": lambda sample, q=q: quantile_interval(sample, q)
        }
        samples = (rng.exponential(size=n) for _ in range(repeats))
        yield from lines(COVERED, f"p{100 * q:g} of {n}, exponential", covers(methods, samples, float(expon.ppf(q))))


# --- tests where there is nothing to find ---


def dependent_tokens(repeats: int = 600) -> Iterator[Line]:
    """Tokens of 100 documents, 200 each, sd 0.1, with a document's own effect of sd 0.02 and no difference at all."""
    rng = np.random.default_rng(1)
    documents = np.repeat(np.arange(100), 200)

    def outside(rows: Any) -> float:
        interval = mean_interval(*rows)
        return 1.0 if interval.low <= 0 <= interval.high else 0.0

    tests: dict[str, Callable[[Any], float]] = {
        "paired t over tokens": lambda rows: paired_t(rows[0]).p,
        "clustered t over documents": outside,
    }
    samples = (
        (rng.normal(0, 0.02, 100)[documents] + rng.normal(0, 0.1, documents.size), documents) for _ in range(repeats)
    )
    yield from lines(REJECTED, "100 documents of 200 tokens", rejects(tests, samples))


def paired_tests(repeats: int = 2000) -> Iterator[Line]:
    """Independent differences of mean 0: normal, and skewed ones whose signs cannot be flipped."""
    for law in ("normal", "exponential"):
        for n in (10, 40):
            rng = np.random.default_rng(n)
            tests: dict[str, Callable[[Any], float]] = {"paired t": lambda d: paired_t(d).p}
            if law == "normal":
                tests["sign-flip permutation"] = lambda d: sign_flip_test(d, 0, 500).p
            samples = (rng.normal(size=n) if law == "normal" else rng.exponential(size=n) - 1 for _ in range(repeats))
            yield from lines(REJECTED, f"n {n}, {law} differences", rejects(tests, samples))


def counted_tests() -> Iterator[Line]:
    """Sign test and McNemar's: every count of discordant pairs, and of wins among them, by its probability."""
    for n, discordance in ((15, 1.0), (40, 1.0), (50, 0.2), (200, 0.2), (200, 0.05)):
        exact = mid = 0.0
        for discordant in range(n + 1):
            wins = np.arange(discordant + 1)
            chance = binom.pmf(discordant, n, discordance) * binom.pmf(wins, discordant, 0.5)
            pairs = [(int(w), discordant - int(w)) for w in wins]
            if discordance == 1.0:
                p, p_mid = np.array([two_sided_p(*pair) for pair in pairs]).T
            else:
                p, p_mid = np.array([(test.p, test.p_mid) for test in (mcnemar(*pair) for pair in pairs)]).T
            exact += float(chance @ (p <= 0.05))
            mid += float(chance @ (p_mid <= 0.05))
        name, setting = (
            ("sign test", f"n {n}, no ties")
            if discordance == 1.0
            else ("McNemar", f"n {n}, {100 * discordance:g} % discordant")
        )
        yield Line(REJECTED, f"{name}, exact", setting, exact)
        yield Line(REJECTED, f"{name}, mid-p", setting, mid)


def rank_tests(repeats: int = 1000) -> Iterator[Line]:
    """Wilcoxon's on symmetric differences, and on scores from -3 to 3 with their ties and zeros."""
    for scores in (False, True):
        for n in (10, 40):
            rng = np.random.default_rng(n)
            tests: dict[str, Callable[[Any], float]] = {"Wilcoxon": lambda d: wilcoxon(d).p}
            if scores:
                tests |= {"Wilcoxon, Pratt's zeros": lambda d: wilcoxon(d, "pratt").p}
            samples = (rng.integers(-3, 4, n).astype(float) if scores else rng.normal(size=n) for _ in range(repeats))
            setting = f"n {n}, {'scores from -3 to 3' if scores else 'normal differences'}"
            yield from lines(REJECTED, setting, rejects(tests, samples))


def margins(repeats: int = 2000) -> Iterator[Line]:
    """Arms that differ by just the margin, half an sd: neither equivalent nor non-inferior."""
    for n in (20, 80):
        rng = np.random.default_rng(n)
        tests: dict[str, Callable[[Any], float]] = {
            "equivalence (two one-sided t)": lambda d: equivalence(d, 0.5).p,
            "non-inferiority": lambda d: non_inferiority(d, 0.5),
        }
        samples = (rng.normal(-0.5, 1.0, n) for _ in range(repeats))
        yield from lines(REJECTED, f"n {n}, at the margin", rejects(tests, samples))


if __name__ == "__main__":
    Console(highlight=False, soft_wrap=True).print(markdown(table()), markup=False)
