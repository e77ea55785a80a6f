"""A judge beside people, worked out by scikit-learn, scipy, the krippendorff package and by hand."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from evalflow.errors import StoredRunError
from evalflow.metric.grade_by_length import GradeByLength
from evalflow.metric.judge_agreement import JudgeAgreement, RatedShare
from evalflow.metric.protocol import Answer, Stack, figure_names
from evalflow.numeric.undefined import Undefined
from evalflow.record import Item
from tests.metric.by_hand import row

GRADES = [5, 4, 4, 2, 1, 3, 5, 2]
ANN = [5, 4, 3, 2, 1, 3, 4, 2]
BOB = [4, 4, None, 2, 2, 3, 5, None]
"""What the judge and two people gave eight answers; Bob did not rate two of them."""


def rated(folder: Path, raters: Mapping[str, Sequence[int | float | None]], arm: str = "a", text: str = "p") -> str:
    """A file of ratings of the items `i0`, `i1`, ...; where it is."""
    path = folder / "ratings.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["rater", "item", "arm", "seed", "rating", "text"])
        for rater, given in raters.items():
            lines.writerows([rater, f"i{i}", arm, 0, value, text] for i, value in enumerate(given) if value is not None)
    return str(path)


def graded(grades: Iterable[float | None], **about: object) -> list[Answer]:
    """A row for each grade, which metric `grade` has read; None is a reply that it could not read."""
    return [
        Answer(
            Item(f"i{i}", "p"),
            row(
                "Rating: ?",
                item_id=f"i{i}",
                stats={"grade": None if grade is None else (float(grade),)},
                detail={"about": about} if about else {},
            ),
        )
        for i, grade in enumerate(grades)
    ]


@pytest.fixture
def both(tmp_path: Path) -> tuple[JudgeAgreement, Stack]:
    metric = JudgeAgreement(rated(tmp_path, {"ann": ANN, "bob": BOB}))
    return metric, metric.stack(graded(GRADES))


def pairs(a: Sequence[int | None], b: Sequence[int | None]) -> tuple[list[int], list[int]]:
    both = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    return [x for x, _ in both], [y for _, y in both]


def disagreement(a: Sequence[int | None], b: Sequence[int | None]) -> tuple[float, float]:
    """Squared distances seen and expected of two raters, each times what both rated, plainly."""
    x, y = (np.array(side) for side in pairs(a, b))
    return float(((x - y) ** 2).sum()), float(((x[:, None] - y) ** 2).sum() / len(x))


def test_with_one_rater_kappa_is_scikit_learns(tmp_path: Path) -> None:
    """Quadratic weights over the places of the scale, which are its numbers; linear and none too."""
    for weights in ("quadratic", "linear", "none"):
        metric = JudgeAgreement(rated(tmp_path, {"ann": ANN}), weights=weights)
        expected = cohen_kappa_score(GRADES, ANN, weights=None if weights == "none" else weights)
        stack = metric.stack(graded(GRADES))
        assert metric.readings()["kappa"].value(stack) == pytest.approx(expected, rel=1e-12)


def test_with_several_raters_disagreements_are_added_up(both: tuple[JudgeAgreement, Stack]) -> None:
    """One less all seen over all expected disagreement, of the judge with each rater; of two raters it is Cohen's."""
    metric, stack = both
    seen, expected = np.sum([disagreement(GRADES, rater) for rater in (ANN, BOB)], axis=0)
    assert metric.readings()["kappa"].value(stack) == pytest.approx(1 - seen / expected, rel=1e-12)
    human = cohen_kappa_score(*pairs(ANN, BOB), weights="quadratic")
    assert metric.readings()["human_kappa"].value(stack) == pytest.approx(human, rel=1e-12)


def test_alpha_has_the_judge_as_one_more_rater(both: tuple[JudgeAgreement, Stack]) -> None:
    """Ordinal, missing ratings missing; of people alone only the answers count that both rated."""
    metric, stack = both

    def alpha(*raters: Sequence[int | None]) -> float:
        data = [[np.nan if value is None else value for value in rater] for rater in raters]
        return float(krippendorff.alpha(reliability_data=data, level_of_measurement="ordinal"))

    assert metric.readings()["alpha"].value(stack) == pytest.approx(alpha(GRADES, ANN, BOB), rel=1e-12)
    assert metric.readings()["human_alpha"].value(stack) == pytest.approx(alpha(ANN, BOB), rel=1e-12)


def test_shares_count_pairs(both: tuple[JudgeAgreement, Stack]) -> None:
    """With Ann 6 of 8 alike and all within one; with Bob 4 of 6, all within one; Ann and Bob 3 of 6, all within one."""
    metric, stack = both
    value = {name: reading.value(stack) for name, reading in metric.readings().items()}
    assert value["exact"] == pytest.approx(10 / 14)
    assert value["within_one"] == 1.0
    assert value["human_exact"] == pytest.approx(3 / 6)
    assert value["human_within_one"] == 1.0


def test_rank_and_bias_are_beside_the_mean_rating(both: tuple[JudgeAgreement, Stack]) -> None:
    """Means 4.5, 4, 3, 2, 1.5, 3, 4.5, 2: the judge is above them by 0.5, 0, 1, 0, -0.5, 0, 0.5, 0, on average 3/16."""
    metric, stack = both
    means = [4.5, 4, 3, 2, 1.5, 3, 4.5, 2]
    assert metric.readings()["rank"].value(stack) == pytest.approx(spearmanr(GRADES, means).statistic, rel=1e-12)
    assert metric.readings()["bias"].value(stack) == pytest.approx(3 / 16)


def test_every_figure_has_an_interval_that_holds_it(tmp_path: Path) -> None:
    """On sixty answers: bootstraps over items, Wilson's for shares, a t interval of the bias."""
    generator = np.random.default_rng(0)
    truth = generator.integers(1, 6, 60)
    noisy = [np.clip(truth + generator.integers(-1, 2, 60), 1, 5).tolist() for _ in range(3)]
    metric = JudgeAgreement(rated(tmp_path, {"ann": noisy[0], "bob": noisy[1]}))
    stack, clusters = metric.stack(graded(noisy[2])), np.array([f"c{i // 2}" for i in range(60)], dtype=object)
    for name, reading in metric.readings().items():
        interval = reading.interval(stack, clusters, 0.95)
        assert interval is not None, name
        assert interval.low <= reading.value(stack) <= interval.high, name
        assert interval.low < interval.high, name


def test_a_judge_that_always_says_the_same_agrees_by_chance_at_best(tmp_path: Path) -> None:
    """All threes are within one of most ratings, and have kappa 0 and no rank correlation at all."""
    metric = JudgeAgreement(rated(tmp_path, {"ann": ANN}))
    stack = metric.stack(graded([3] * 8))
    assert metric.readings()["kappa"].value(stack) == pytest.approx(0.0)
    assert metric.readings()["within_one"].value(stack) == pytest.approx(6 / 8)
    with pytest.raises(Undefined, match="one value throughout"):
        metric.readings()["rank"].value(stack)


def test_people_alone_need_an_answer_that_two_rated(tmp_path: Path) -> None:
    """One rater, or two who rated other answers, have no agreement among themselves; the judge's is there."""
    metric = JudgeAgreement(rated(tmp_path, {"ann": [5, 4, None, None], "bob": [None, None, 1, 2]}))
    stack = metric.stack(graded([5, 3, 1, 2]))
    for name in ("human_kappa", "human_alpha", "human_exact", "human_within_one"):
        with pytest.raises(Undefined, match=r"^no answer was rated by two$"):
            metric.readings()[name].value(stack)
    assert metric.readings()["exact"].value(stack) == 0.75


def test_it_is_of_rated_answers_and_counts_those_without_a_grade(tmp_path: Path) -> None:
    """What nobody rated is nothing to it; what was rated and has no grade is excluded; a missing row might be rated."""
    metric = JudgeAgreement(rated(tmp_path, {"ann": [5, 4, None]}))
    units = graded([5, None, 1])
    assert [metric.concerns(unit.item, unit.row) for unit in units] == [True, True, False]
    assert metric.concerns(units[2].item, None)
    assert np.isnan(metric.stack(units[:2])).any(axis=1).tolist() == [False, True]
    share = RatedShare(metric.ratings)
    assert [share.stats(unit) for unit in units] == [(1.0, 0.0), (1.0, 0.0), (0.0, 0.0)]


def test_a_row_is_about_the_answer_that_its_judge_graded(tmp_path: Path) -> None:
    """Of arm `b` of the graded run, seed 3, whatever the judging arm is called; else of its own arm and seed."""
    metric = JudgeAgreement(rated(tmp_path, {"ann": [5]}, arm="b"))
    (own,), (of_b,), (other,) = graded([5]), graded([5], arm="b", seed=0, answer="p"), graded([5], arm="b", seed=3)
    assert [metric.concerns(unit.item, unit.row) for unit in (own, of_b, other)] == [False, True, False]


@pytest.mark.parametrize(("value", "said"), [(6, "6"), (3.5, "3.5"), (-1, "-1")])
def test_a_rating_off_the_scale_is_refused(tmp_path: Path, value: float, said: str) -> None:
    """Whoever rated otherwise than the judge cannot be held against it; the line is named, before anything is asked."""
    metric = JudgeAgreement(rated(tmp_path, {"ann": [5, value]}))
    for read in (metric.check, lambda: metric.stack(graded([5]))):
        with pytest.raises(
            StoredRunError, match=rf"csv:3: rating is '{said}'; give a whole number from 1 to 5, or set"
        ):
            read()
    metric = JudgeAgreement(rated(tmp_path, {"ann": [5]}))
    with pytest.raises(ValueError, match=r"grade gave 6 \(item 'i0', arm 'a', seed 0\), and the scale is"):
        metric.stack(graded([6]))


def test_a_rating_is_of_a_text(tmp_path: Path) -> None:
    """What was said of another answer under the same names is none of this one, and a text or its digest tells."""
    of_others = rated(tmp_path, {"ann": [5, 4]}, text="another")
    metric = JudgeAgreement(of_others)
    units = graded([5, 4])
    assert [metric.concerns(unit.item, unit.row) for unit in units] == [True, True]
    assert np.isnan(metric.stack(units)).all()
    assert metric.why_none(units) == "2 ratings are of other answers than were graded"
    share = RatedShare(of_others)
    assert [share.stats(unit) for unit in units] == [(0.0, 1.0), (0.0, 1.0)]
    assert share.detail(units[0]) == {"ratings_of_other_answers": 1}
    stack = np.array([share.stats(unit) for unit in units])
    assert share.readings()["of_other_texts"].value(stack) == 1.0
    path = tmp_path / "ratings.csv"
    digest = hashlib.sha256(b"p").hexdigest()[:16]
    path.write_text(f"rater,item,arm,seed,rating,answer\nann,i0,a,0,5,{digest}\nann,i1,a,0,4,\n", encoding="utf-8")
    assert np.isnan(metric.stack(units)).any(axis=1).tolist() == [False, True]
    assert metric.why_none(units[1:]) == "1 ratings do not say of which text they are (column answer, or text)"
    assert metric.why_none(graded([])) == "no answer of this arm was both rated and graded"


def test_few_rated_answers_have_no_interval(tmp_path: Path) -> None:
    """Nineteen items are too few for a kappa, alpha or rank correlation, twenty are enough; shares have one anyway."""
    for n, there in ((19, False), (20, True)):
        noisy = [min(5, 1 + i % 5 + (i % 4 == 0)) for i in range(n)]
        metric = JudgeAgreement(rated(tmp_path, {"ann": [1 + i % 5 for i in range(n)]}))
        stack, clusters = metric.stack(graded(noisy)), np.array([f"c{i}" for i in range(n)], dtype=object)
        for name in ("kappa", "alpha", "rank"):
            assert (metric.readings()[name].interval(stack, clusters, 0.95) is not None) is there, name
        assert metric.readings()["exact"].interval(stack, clusters, 0.95) is not None


def test_a_judge_that_agrees_throughout_has_a_lower_end(tmp_path: Path) -> None:
    """Of 40 items at most 1 - 0.025^(1/40) disagree, by 4 at worst, where chance gives a squared distance of 4."""
    given = [1 + i % 5 for i in range(40)]
    metric = JudgeAgreement(rated(tmp_path, {"ann": given}))
    stack, clusters = metric.stack(graded(given)), np.array([f"c{i}" for i in range(40)], dtype=object)
    interval = metric.readings()["kappa"].interval(stack, clusters, 0.95)
    assert interval is not None
    assert interval.low == pytest.approx(1 - (1 - 0.025 ** (1 / 40)) * 16 / 4)
    assert interval.high == 1.0
    assert metric.readings()["rank"].interval(stack, clusters, 0.95) is None


@pytest.mark.slow
def test_the_lower_end_of_kappa_is_seldom_above_it() -> None:
    """A judge that gives the rater's number in 60 of 100, else any: kappa is 0.6, and 1 in 40 lower ends are above."""
    generator, kappa = np.random.default_rng(0), JudgeAgreement("r").readings()["kappa"]
    for n in (20, 40):
        clusters, above = np.array([f"c{i}" for i in range(n)], dtype=object), 0
        for _ in range(1000):
            people = generator.integers(0, 5, n)
            judge = np.where(generator.random(n) < 0.6, people, generator.integers(0, 5, n))
            interval = kappa.interval(np.column_stack([judge, people]).astype(float), clusters, 0.95)
            above += interval is not None and interval.low >= 0.6
        assert above <= 40


def test_where_there_are_no_ratings_it_says_so(tmp_path: Path) -> None:
    """A file that is empty, a run without one, a name that is nothing; and one that is no table is an error."""
    empty = JudgeAgreement(rated(tmp_path, {}))
    assert empty.empty == f"there are no ratings: {tmp_path / 'ratings.csv'} is empty"
    (tmp_path / "run").mkdir()
    absent = JudgeAgreement(str(tmp_path / "run"))
    assert absent.empty == f"there are no ratings: {tmp_path / 'run' / 'ratings.csv'} is not there"
    assert JudgeAgreement("nowhere").empty == "there are no ratings: nowhere is no run and no file"
    there = JudgeAgreement(rated(tmp_path, {"ann": [5]}))
    assert there.empty == "no answer of this arm was both rated and graded"
    (tmp_path / "ratings.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(StoredRunError, match=r"ratings\.csv"):
        there.concerns(Item("i0", "p"), row("x", item_id="i0"))


def test_several_criteria_have_an_agreement_each() -> None:
    """Of `grade` it is the judge's; of another metric it is called by that, and so is the length's."""
    assert figure_names("x", JudgeAgreement("r"))[0] == "agreement/judge/kappa"
    assert figure_names("x", JudgeAgreement("r", of="tone"))[0] == "agreement/tone/kappa"
    assert figure_names("x", GradeByLength()) == ("agreement/grade_by_length",)
    assert figure_names("x", GradeByLength(of="tone")) == ("agreement/tone_by_length",)


def test_a_scale_has_a_low_and_a_high_end() -> None:
    """As that of grades."""
    with pytest.raises(ValueError, match="scale is"):
        JudgeAgreement("r", scale=(5, 1))
