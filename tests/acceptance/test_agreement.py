"""Agreement, whole and with faults planted: each has a stated verdict and exit code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from jsonschema import Draft202012Validator
from sklearn.metrics import cohen_kappa_score

from evalflow.report.build import schema
from evalflow.shipped import resolved
from tests.conftest import Cli, Lab, Ran

AGREEMENT = ("experiment=agreement", "tracking=none")
DECIDING = ("annotators_agree", "alignment_covers", "good_better", "good_near_human", "good_no_copy", "control")


@pytest.fixture
def texts(home: Path) -> Path:
    """A copy of the shipped folder, to plant faults in."""
    return Path(shutil.copytree(resolved("package:transcriptions"), home / "texts"))


def on(cli: Cli, texts: Path, *words: str) -> Ran:
    return cli(*AGREEMENT, f"dataset.path={texts.name}", *words)


def figure(ran: Ran, name: str, arm: str = "good") -> dict[str, Any]:
    return dict(ran.report["arms"][arm]["figures"][name])


def outcomes(ran: Ran) -> dict[str, str]:
    return {name: gate["outcome"] for name, gate in ran.report["gates"].items()}


def test_the_shipped_set_passes(cli: Cli) -> None:
    """Every gate, the control by failing; the ceiling stands beside each system, and the report obeys its schema."""
    ran = cli(*AGREEMENT)
    assert (ran.code, ran.report["verdict"]) == (0, "pass")
    Draft202012Validator(schema()).validate(ran.report)
    cer = {arm: figure(ran, "quality/cer", arm)["value"] for arm in ("good", "fair", "poor")}
    assert cer["good"] < cer["fair"] < cer["poor"]
    for arm in cer:
        human = figure(ran, "agreement/human_cer", arm)["value"]
        assert figure(ran, "agreement/cer_over_human", arm)["value"] == pytest.approx(cer[arm] / human, rel=1e-12)
        least, most = (figure(ran, f"quality/cer/{end}", arm)["value"] for end in ("min", "max"))
        assert least < cer[arm] < most
    assert ran.report["gates"]["control"]["reason"] == "failed, as it should"


def test_the_numbers_do_not_depend_on_the_folder(cli: Cli, texts: Path) -> None:
    """A copy of the texts is the same dataset with the same systems, and scores the same again."""
    shipped, copied = cli(*AGREEMENT), on(cli, texts)
    assert copied.code == 0
    assert copied.report["dataset"]["content_fp"] == shipped.report["dataset"]["content_fp"]
    for arm, told in shipped.report["arms"].items():
        assert copied.report["arms"][arm]["figures"] == told["figures"]
        assert copied.report["arms"][arm]["conditions"]["model"] == told["conditions"]["model"]
    assert copied.folder is not None
    before = copied.report["arms"]["good"]["figures"]
    assert cli("score", str(copied.folder)).code == 0
    assert copied.report["arms"]["good"]["figures"] == before


def test_a_removed_annotator_is_refused_before_anything_runs(cli: Cli, texts: Path, home: Path) -> None:
    """The file is named, and no run is left."""
    (texts / "mill.gt.B.txt").unlink()
    ran = on(cli, texts)
    assert (ran.code, len(ran.faults), (home / "outputs").exists()) == (64, 1, False)
    assert "texts/mill.gt.B.txt: there is no such file, and B read other documents; add it, or set" in ran.faults[0]


def test_a_removed_annotator_that_is_skipped_is_counted(cli: Cli, texts: Path) -> None:
    """The document is excluded wherever two readings are needed: coverage fails, and no other gate reads 15 of 16.

    Whoever means to go on without it says so to each gate.
    """
    (texts / "mill.gt.B.txt").unlink()
    ran = on(cli, texts, "dataset.missing=skip")
    assert (ran.code, ran.report["verdict"]) == (1, "fail")
    for name in ("quality/cer", "agreement/human_cer", "agreement/kappa", "agreement/alpha", "agreement/coverage"):
        told = figure(ran, name)
        assert (told["n_total"], told["n_scored"], told["n_excluded"]) == (16, 15, 1), name
    got = outcomes(ran)
    assert [name for name, outcome in got.items() if outcome == "fail"] == ["coverage"]
    assert {got[name] for name in DECIDING} == {"unreadable"}
    assert ran.report["gates"]["annotators_agree"]["reason"] == "1 of 16 were not scored"
    meant = (*(f"gates.{name}.coverage=0.9" for name in DECIDING), "gates.coverage.floor=0.9")
    assert on(cli, texts, "dataset.missing=skip", *meant).code == 0


def test_a_file_that_is_not_utf_8_is_refused(cli: Cli, texts: Path) -> None:
    """By its name, line and byte."""
    path = texts / "letter.gt.A.txt"
    path.write_bytes(path.read_bytes().replace("ſ".encode(), b"\xff", 1))
    ran = on(cli, texts)
    assert (ran.code, len(ran.faults)) == (64, 1)
    assert "texts/letter.gt.A.txt:1: not UTF-8 (invalid start byte at byte 3); save the file as UTF-8" in ran.faults[0]


def test_a_missing_output_is_an_error_row_that_names_it(cli: Cli, texts: Path) -> None:
    """No score rises by leaving out a hard document: the gate on errors fails, and the others read nothing."""
    (texts / "charter.sys.good.txt").unlink()
    ran = on(cli, texts)
    assert (ran.code, ran.report["verdict"]) == (1, "fail")
    (error,) = ran.report["arms"]["good"]["errors"]
    assert error["kind"] == "no_output" and "texts/charter.sys.good.txt: cannot be read" in error["message"]
    got = outcomes(ran)
    assert got["errors"] == "fail"
    assert {got[name] for name in ("annotators_agree", "good_better", "good_near_human")} == {"unreadable"}
    assert figure(ran, "agreement/human_cer")["n_scored"] == 16


def test_a_system_that_is_not_there_is_refused(cli: Cli, texts: Path) -> None:
    """Before anything runs: a misspelt name would be sixteen errors."""
    ran = on(cli, texts, "arms.good.model.system=goood")
    assert (ran.code, len(ran.faults)) == (64, 1)
    assert "arms.good: texts has no file DOCUMENT.sys.goood.txt; name a system" in ran.faults[0]


def test_identical_annotators_leave_the_ratio_unreadable(cli: Cli, texts: Path) -> None:
    """Kappa is 1 and the human error 0: there is no ceiling to measure by, and nothing passes on that."""
    for path in texts.glob("*.gt.A.txt"):
        shutil.copy(path, texts / path.name.replace(".gt.A.", ".gt.B."))
    ran = on(cli, texts)
    assert (ran.code, ran.report["verdict"]) == (2, "unreadable")
    assert (figure(ran, "agreement/kappa")["value"], figure(ran, "agreement/human_cer")["value"]) == (1, 0)
    assert figure(ran, "agreement/kappa")["low"] is None
    assert figure(ran, "agreement/cer_over_human")["reason"] == "the annotators do not differ"
    got = outcomes(ran)
    assert {got[name] for name in ("good_near_human", "good_no_copy", "control", "annotators_agree")} == {"unreadable"}


def test_a_system_that_copies_an_annotator_is_caught(cli: Cli, texts: Path) -> None:
    """It has half of the human error, which nothing that reads for itself has: the gate fails and says so."""
    for path in texts.glob("*.gt.A.txt"):
        shutil.copy(path, texts / path.name.replace(".gt.A.", ".sys.good."))
    ran = on(cli, texts)
    assert (ran.code, ran.report["verdict"]) == (1, "fail")
    assert figure(ran, "agreement/cer_over_human")["value"] == pytest.approx(0.5, rel=1e-12)
    assert figure(ran, "quality/cer/min")["value"] == 0
    assert [name for name, outcome in outcomes(ran).items() if outcome == "fail"] == ["good_no_copy"]
    assert "find out whether it saw one of them" in " ".join(ran.out.split())


def test_annotators_who_do_not_agree_fail(cli: Cli, texts: Path) -> None:
    """Every reading of B is another document's: kappa falls beneath its floor, and no system is measured well."""
    readings = {path: path.read_bytes() for path in sorted(texts.glob("*.gt.B.txt"))}
    for path, text in zip(readings, [*list(readings.values())[1:], next(iter(readings.values()))], strict=True):
        path.write_bytes(text)
    ran = on(cli, texts)
    assert ran.code == 1
    assert {outcomes(ran)[name] for name in ("annotators_agree", "alignment_covers")} == {"fail"}


def test_who_grades_and_what_is_evened_out_are_config(cli: Cli) -> None:
    """One annotator, and long s as s: both rates move, and the human one with them, for they share the profile."""
    plain, even = cli(*AGREEMENT), cli(*AGREEMENT, "metrics.cer.profile.long_s=true", "metrics.cer.reference=A")
    assert even.code == 0
    for name in ("quality/cer", "agreement/human_cer"):
        assert figure(even, name)["value"] < figure(plain, name)["value"]
    assert "quality/cer/min" not in even.report["arms"]["good"]["figures"]
    settings = even.report["instrument"]["metrics"]
    assert settings["cer"]["settings"]["reference"] == "A"
    assert settings["human_cer"]["settings"]["profile"] == settings["cer"]["settings"]["profile"]
    assert settings["cer"]["settings"]["profile"] != plain.report["instrument"]["metrics"]["cer"]["settings"]["profile"]


def test_labels_of_any_dataset_can_be_held_against_each_other(lab: Lab) -> None:
    """Kappa and alpha of a JSON Lines file whose items have annotators, some ratings missing, as other packages say."""
    generator = np.random.default_rng(0)
    grades = generator.integers(1, 5, (40, 1)) + generator.integers(0, 2, (40, 3))
    ratings = [[int(grade) for grade in row] for row in grades]
    read = [dict(zip("ABC", row, strict=True)) for row in ratings]
    read = [{**one, "C": None} if i < 5 else one for i, one in enumerate(read)]
    items = [{"id": f"i{i:02d}", "input": "?", "target": "x", "annotators": one} for i, one in enumerate(read)]
    order = ["1", "2", "3", "4", "5"]
    base = {"unit": "label"}
    ran = lab(
        json.loads(json.dumps(items)),
        metrics={
            "kappa": {"_target_": "evalflow.metric.kappa.Kappa", **base, "weights": "quadratic", "order": order},
            "alpha": {"_target_": "evalflow.metric.krippendorff.KrippendorffAlpha", **base, "level": "interval"},
        },
    )
    told = ran.report["arms"]["one"]["figures"]
    units = [[np.nan if one[name] is None else one[name] for one in read] for name in "ABC"]
    expected = krippendorff.alpha(reliability_data=units, level_of_measurement="interval")
    assert told["agreement/alpha"]["value"] == pytest.approx(expected, rel=1e-12)
    kappas = [
        cohen_kappa_score(
            [one[a] for one in read if one[a] and one[b]],
            [one[b] for one in read if one[a] and one[b]],
            weights="quadratic",
        )
        for a, b in (("A", "B"), ("A", "C"), ("B", "C"))
    ]
    assert told["agreement/kappa"]["value"] == pytest.approx(np.mean(kappas), rel=1e-12)
    assert told["agreement/kappa"]["low"] < told["agreement/kappa"]["value"] < told["agreement/kappa"]["high"]
