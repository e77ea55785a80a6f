"""Figures of two arms over the same tokens, from columns whose numbers are given."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.proportion import proportion_confint

from evalflow.metric.document import DocumentMetric, worst_places
from evalflow.metric.parity import (
    DisagreeRate,
    FreeRun,
    Gap,
    GapAtDisagreement,
    Kl,
    LogitError,
    MarginAtDisagreement,
    NllCorrelation,
    NllDifference,
    NonFinite,
    PerplexityRatio,
    ProbabilityDifference,
)
from evalflow.metric.protocol import Answer, Metric
from evalflow.numeric.undefined import Undefined
from tests.metric.by_hand import answer, columns, row, stacked, text

NAN, INF = math.nan, math.inf
WALKED = {
    "nll": [1.0, 2.0, 3.0, 4.0],
    "nll_ref": [1.5, 2.0, 2.0, 3.0],
    "kl": [0.1, 0.0, 0.2, 0.5],
    "gap": [0.0, 0.0, 0.75, 0.25],
    "margin_ref": [4.0, 3.0, 0.5, 0.25],
    "dp": [-0.1, 0.0, 0.3, -0.2],
    "max_abs": [0.5, 0.0, 2.0, 1.0],
    "argmax": [1, 2, 3, 4],
    "argmax_ref": [1, 2, 4, 3],
}
"""Four positions; the arms choose differently at the last two."""
LOCKSTEP: tuple[DocumentMetric, ...] = (
    *(NllDifference(), PerplexityRatio(), ProbabilityDifference(), NllCorrelation(), Kl(), Gap(), GapAtDisagreement()),
    *(MarginAtDisagreement(), DisagreeRate(), LogitError()),
)
"""Every metric that needs both arms' logits or NLLs."""


def walk(**changed: object) -> Answer:
    return text(**{**WALKED, **changed})


def value(metric: Metric, *texts: Answer) -> float:
    """The figure over texts."""
    return metric.value(stacked(metric, *texts))


@pytest.mark.parametrize(
    ("metric", "wanted"),
    [
        (NllDifference(), (-0.5 + 0 + 1 + 1) / 4),
        (PerplexityRatio(), math.exp(1.5 / 4)),
        (ProbabilityDifference(), 0.0),
        (Kl(), 0.2),
        (Gap(), 0.25),
        (GapAtDisagreement(), 0.5),
        (MarginAtDisagreement(), 0.375),
        (DisagreeRate(), 0.5),
        (NonFinite(), 0.0),
        (LogitError(), 2.0),
    ],
)
def test_by_hand(metric: Metric, wanted: float) -> None:
    """Over four positions, and over two texts that hold them between them."""
    halves = [text(**{name: values[part] for name, values in WALKED.items()}) for part in (slice(1), slice(1, 4))]
    assert value(metric, walk()) == pytest.approx(wanted, abs=1e-15)
    assert value(metric, *halves) == pytest.approx(wanted, abs=1e-15)


def test_the_ratio_of_perplexities_is_that_of_both() -> None:
    """exp of the mean difference: each arm's perplexity over the same tokens, one over the other."""
    own, theirs = (math.exp(np.mean(WALKED[name])) for name in ("nll", "nll_ref"))
    assert value(PerplexityRatio(), walk()) == pytest.approx(own / theirs, rel=1e-14)


def test_a_ratio_beyond_a_float_is_undefined() -> None:
    """The mean difference is not."""
    far = text(nll=[2000.0, 1000.0], nll_ref=[0.0, 1.0])
    assert value(NllDifference(), far) == 1499.5
    with pytest.raises(Undefined):
        value(PerplexityRatio(), far)


def test_spread_and_naive_t_are_scipys() -> None:
    """Over positions, as other tools have them: sd with ddof 1, and the paired t."""
    stack = stacked(NllDifference(), walk(), text(nll=[0.0, 5.0, 1.0], nll_ref=[1.0, 4.5, 1.0]))
    differences = [-0.5, 0.0, 1.0, 1.0, -1.0, 0.5, 0.0]
    readings = NllDifference().readings()
    assert set(readings) == {"", "sd", "naive_t"}
    assert readings["sd"].value(stack) == pytest.approx(np.std(differences, ddof=1), rel=1e-12)
    t = scipy_stats.ttest_1samp(differences, 0.0).statistic
    assert readings["naive_t"].value(stack) == pytest.approx(float(t), rel=1e-12)
    clusters = np.array(["a", "b"], dtype=object)
    assert [readings[name].interval(stack, clusters, 0.95) for name in ("sd", "naive_t")] == [None, None]
    assert set(PerplexityRatio().readings()) == {""}


@pytest.mark.parametrize("nll", [[1.5, 2.0, 2.0, 3.0], [1.75, 2.25, 2.25, 3.25]])
def test_where_nothing_varies_there_is_no_t(nll: list[float]) -> None:
    """Neither infinite nor 0; the spread is 0 and the difference stands, exactly."""
    stack = stacked(NllDifference(), walk(nll=nll))
    readings = NllDifference().readings()
    assert readings["sd"].value(stack) == 0.0
    with pytest.raises(Undefined) as undefined:
        readings["naive_t"].value(stack)
    assert undefined.value.reason == "zero variance"
    found = readings[""].interval(stack, np.array(["a"], dtype=object), 0.95)
    assert found is not None
    assert found.low == found.high == readings[""].value(stack) == nll[0] - 1.5


def test_a_single_position_has_no_spread() -> None:
    """One number varies with nothing."""
    stack = stacked(NllDifference(), text(nll=[1.0], nll_ref=[0.5]))
    for name in ("sd", "naive_t"):
        with pytest.raises(Undefined) as undefined:
            NllDifference().readings()[name].value(stack)
        assert undefined.value.reason == "n < 2"


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), min_size=1, max_size=5), min_size=1, max_size=6
    ).filter(lambda texts: len({pair[0] for one in texts for pair in one}) > 2)
)
def test_moments_of_texts_are_those_of_their_positions(texts: list[list[tuple[float, float]]]) -> None:
    """However positions are cut into texts: root mean square and spread are numpy's over all of them."""
    dp = np.array([pair[0] for one in texts for pair in one])
    metric = ProbabilityDifference()
    stack = stacked(metric, *(text(dp=[pair[0] for pair in one]) for one in texts))
    assert metric.readings()["rms"].value(stack) == pytest.approx(math.sqrt(np.mean(dp**2)), rel=1e-9)
    difference = np.array([a - b for one in texts for a, b in one])
    parts = (text(nll=[a for a, _ in one], nll_ref=[b for _, b in one]) for one in texts)
    found = NllDifference().readings()["sd"].value(stacked(NllDifference(), *parts))
    assert found == pytest.approx(np.std(difference, ddof=1), rel=1e-7, abs=1e-7)


def test_the_correlation_is_scipys() -> None:
    """Pearson's, over the positions of all texts where both arms have a finite NLL."""
    rng = np.random.default_rng(0)
    own = [rng.normal(size=n) for n in (5, 1, 8)]
    theirs = [one + rng.normal(size=one.size) for one in own]
    texts = [text(nll=a.tolist(), nll_ref=b.tolist()) for a, b in zip(own, theirs, strict=True)]
    lost = text(nll=[NAN, 3.0, INF], nll_ref=[1.0, INF, INF])
    wanted = scipy_stats.pearsonr(np.concatenate(own), np.concatenate(theirs)).statistic
    stack = stacked(NllCorrelation(), *texts, lost)
    assert NllCorrelation().value(stack) == pytest.approx(float(wanted), rel=1e-12)
    assert stack[:, :2].tolist() == [[5, 5], [1, 1], [8, 8], [0, 3]]


def test_no_correlation_of_what_does_not_vary() -> None:
    """Nor of one position."""
    for one in (text(nll=[1.0, 1.0], nll_ref=[1.0, 2.0]), text(nll=[1.0], nll_ref=[2.0])):
        with pytest.raises(Undefined):
            value(NllCorrelation(), one)


@pytest.mark.parametrize("metric", LOCKSTEP, ids=lambda metric: type(metric).__name__)
def test_a_position_that_is_not_finite_is_lost_to_every_figure(metric: DocumentMetric) -> None:
    """And counted: one NaN row leaves each with fewer scored than there are, so that no gate reads it."""
    spoiled = {name: [*values, -1 if name.startswith("argmax") else NAN] for name, values in WALKED.items()}
    sound, lost = stacked(metric, walk()), stacked(metric, text(**spoiled))
    assert lost[0, 1] - lost[0, 0] == 1
    assert lost[0, 0] == sound[0, 0] and lost[0, 1] == sound[0, 1] + 1
    assert metric.value(lost) == metric.value(sound)


@pytest.mark.parametrize("metric", LOCKSTEP, ids=lambda metric: type(metric).__name__)
def test_an_arm_without_the_columns_is_excluded(metric: DocumentMetric) -> None:
    """One that was walked alone, and one that answered."""
    assert metric.stats(text(nll=[1.0], argmax=[1], margin=[1.0])) is None
    assert metric.stats(answer("x")) is None
    assert metric.lockstep


@pytest.mark.parametrize("metric", [NllDifference(), PerplexityRatio(), NllCorrelation()])
def test_two_infinite_nlls_are_no_difference(metric: Metric) -> None:
    """Both arms rule the token out: nothing is known of how far they are apart."""
    stack = stacked(metric, text(nll=[INF, 1.0, 2.0, INF], nll_ref=[INF, 2.0, 1.0, 3.0]))
    assert stack[0, :2].tolist() == [2, 4]


@pytest.mark.parametrize(
    ("given", "n"),
    [
        ({"nll": [1.0, NAN, INF]}, 2),
        ({"nll": [1.0, 1.0, 1.0], "nll_ref": [NAN, 1.0, 1.0]}, 1),
        ({"nll": [1.0, 1.0, 1.0], "nll_ref": [1.0, 1.0, INF], "kl": [1.0, INF, 1.0]}, 2),
        ({"nll": [NAN, 1.0, 1.0], "nll_ref": [NAN, 1.0, 1.0], "kl": [NAN, 1.0, 1.0]}, 1),
        ({"nll": [1.0, 1.0], "nll_ref": [NAN, INF], "kl": [1.0, 1.0]}, 1),
        ({"nll": [1.0, 1.0]}, 0),
    ],
)
def test_what_is_not_finite_is_counted(given: dict[str, list[float]], n: int) -> None:
    """In whatever arm, each position once; the count is a figure of its own that loses none."""
    metric, one = NonFinite(), text(**given)
    stack = stacked(metric, one)
    size = len(given["nll"])
    assert (metric.value(stack), *stack[0, :2].tolist()) == (n, size, size)
    assert metric.interval(stack, np.array(["a"], dtype=object), 0.95) is None
    assert len(worst_places(one, metric.badness(one))) == min(n, 3)
    assert not metric.lockstep, "an arm that is walked alone has NaN rows too"


def test_no_disagreement_is_no_gap_of_nothing() -> None:
    """Where arms choose alike the figures at disagreements have no position, and the mean gap is 0."""
    alike = walk(argmax=[1, 2, 3, 4], argmax_ref=[1, 2, 3, 4], gap=[0.0] * 4)
    assert value(Gap(), alike) == value(DisagreeRate(), alike) == 0.0
    for metric in (GapAtDisagreement(), MarginAtDisagreement()):
        assert metric.stats(alike) == (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        assert metric.empty == "no disagreement"


def test_the_share_of_disagreements_has_wilsons_interval() -> None:
    """None of eight positions is plain Wilson's, and not a point at 0."""
    alike = walk(argmax=[1, 2, 3, 4], argmax_ref=[1, 2, 3, 4])
    stack = stacked(DisagreeRate(), alike, alike)
    found = DisagreeRate().interval(stack, np.array(["a", "b"], dtype=object), 0.95)
    assert found is not None
    assert (found.low, found.high) == pytest.approx(proportion_confint(0, 8, method="wilson"), abs=1e-12)


def test_bit_identical_arms_are_exact() -> None:
    """0 is known to be 0 and 1 to be 1; their correlation is 1."""
    same = walk(nll_ref=WALKED["nll"], kl=[0.0] * 4, gap=[0.0] * 4, dp=[0.0] * 4, max_abs=[0.0] * 4)
    clusters = np.array(["a"], dtype=object)
    for metric, wanted in ((NllDifference(), 0.0), (PerplexityRatio(), 1.0), (Kl(), 0.0), (Gap(), 0.0)):
        stack = stacked(metric, same)
        found = metric.interval(stack, clusters, 0.95)
        assert found is not None
        assert (metric.value(stack), found.low, found.high) == (wanted, wanted, wanted)
    assert value(LogitError(), same) == 0.0
    assert value(NllCorrelation(), same) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("metric", "at"),
    [
        (NllDifference(), [3, 4, 1]),
        (Kl(), [4, 3, 1]),
        (Gap(), [3, 4]),
        (GapAtDisagreement(), [3, 4]),
        (MarginAtDisagreement(), [3, 4]),
        (DisagreeRate(), [3, 4]),
        (LogitError(), [3, 4, 1]),
        (NonFinite(), []),
        (ProbabilityDifference(), [4, 3, 1]),
    ],
)
def test_the_positions_that_are_named(metric: DocumentMetric, at: list[int]) -> None:
    """Those that drag the figure down, worst first; a position where nothing is wrong is not among them."""
    assert [place.at for place in worst_places(walk(), metric.badness(walk()))] == at


def shared(*values: float | None) -> list[Answer]:
    """Texts after which the arms wrote so much alike; None where nothing was written."""
    facts = [{"free_run_shared": share, "free_run_parted": 7} for share in values]
    return [Answer(answer().item, row("", columns=columns(facts=fact, nll=[1.0]))) for fact in facts]


def test_how_long_two_arms_write_the_same() -> None:
    """The mean share over texts that wrote anything; the others are excluded and not at 0."""
    texts = shared(1.0, 0.5, None, 0.0)
    metric = FreeRun()
    assert metric.stats(texts[2]) is None
    stack = stacked(metric, *(texts[i] for i in (0, 1, 3)))
    assert metric.value(stack) == 0.5
    found = metric.interval(stack, np.array(["a", "b", "c"], dtype=object), 0.95)
    assert found is not None and (found.low, found.high) == (0.0, 1.0), "a share, whatever t says of three texts"
    assert [str(place) for place in metric.places(texts[1])] == ["at 7 (0.5): what each wrote on its own parts here"]
    assert metric.stats(answer("x")) is None
    assert metric.stats(text(nll=[1.0])) is None, "no free run was asked for"
    assert metric.higher_is_better and metric.lockstep


def test_fixed_names_and_units() -> None:
    """Parity figures are named once and for all, their unit in the name where it is not plain."""
    names = {metric.figure: metric.measured_in for metric in (*LOCKSTEP, NonFinite(), FreeRun())}
    assert names == {
        "parity/dnll_nats": "nats",
        "parity/ppl_ratio": "",
        "parity/dp": "",
        "parity/nll_correlation": "",
        "parity/kl_nats": "nats",
        "parity/gap_nats": "nats",
        "parity/gap_disagree_nats": "nats",
        "parity/margin_disagree_nats": "nats",
        "parity/disagree_rate": "share",
        "parity/logit_error/max": "logits",
        "parity/nonfinite": "positions",
        "parity/free_run_shared": "share",
    }
