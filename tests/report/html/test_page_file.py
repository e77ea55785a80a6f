"""The page's file: beside the report, of this scoring or not there, and never at the cost of the verdict."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evalflow.report.html import page as page_module
from evalflow.report.html.page_file import PAGE, drop_page, private_page, write_page
from tests.conftest import Cli, Lab
from tests.report.by_hand import made

GATE = {"floor": {"figure": "quality/exact", "arm": "one", "floor": 0.9}}


def breaks(*given: Any, **named: Any) -> str:
    raise RuntimeError("no page\ntoday")


def test_it_lies_beside_the_report(lab: Lab):
    """A run leaves report.html, which is its own."""
    ran = lab(gates=GATE)
    assert (ran.code, ran.err) == (0, "")
    assert ran.folder is not None
    text = (ran.folder / PAGE).read_text(encoding="utf-8")
    assert f"<title>pass: case {ran.folder.name}</title>" in text


def test_a_page_that_cannot_be_made_costs_no_verdict(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    """The run ends with its verdict, exit code and report; one line says that the page is missing, and what to do."""
    monkeypatch.setattr(page_module, "rendered", breaks)
    ran = lab(gates=GATE)
    assert (ran.code, ran.report["verdict"]) == (0, "pass")
    assert ran.folder is not None and not (ran.folder / PAGE).exists()
    (line,) = ran.faults
    assert line.startswith("evalflow: no page: RuntimeError: no page today; evalflow report outputs/case/")
    assert "Verdict: pass" in ran.out


def test_neither_does_what_it_is_made_with(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    """A broken installation of a library of the page's is told in the same line."""
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name == "evalflow.report.html.page":
            raise ImportError("jinja2 is broken")
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    ran = lab(gates=GATE)
    assert (ran.code, ran.faults[0].split(";")[0]) == (0, "evalflow: no page: ImportError: jinja2 is broken")


def test_no_page_of_an_earlier_scoring_is_left(lab: Lab, cli: Cli, monkeypatch: pytest.MonkeyPatch):
    """Scored again, a run whose page fails has none: it would show another answer."""
    ran = lab(gates=GATE)
    assert ran.folder is not None
    with monkeypatch.context() as broken:
        broken.setattr(page_module, "rendered", breaks)
        again = cli("score", ran.folder.name)
    assert (again.code, len(again.faults)) == (0, 1)
    assert not (ran.folder / PAGE).exists()
    assert cli("score", ran.folder.name).code == 0 and (ran.folder / PAGE).exists()


def test_one_that_cannot_be_written_is_told(tmp_path: Path):
    """With the system's reason; what is in its place is left alone."""
    report, scores = made(tmp_path)
    told = write_page(tmp_path / "absent", report, scores.rows, scores.plan.items)
    assert told == (
        f"no page: it cannot be written (No such file or directory); evalflow report {tmp_path / 'absent'} tries again"
    )
    drop_page(tmp_path / "absent")


def test_a_private_page_that_cannot_be_made_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What else is logged goes on."""
    report, scores = made(tmp_path)
    found = private_page(report, scores.rows, scores.plan.items)
    assert found is not None and "Private copy" in found
    monkeypatch.setattr(page_module, "rendered", breaks)
    assert private_page(report, scores.rows, scores.plan.items) is None


def test_the_same_rows_give_the_same_page_whenever_it_is_made(lab: Lab, cli: Cli):
    """At the run's end, by scoring again, and from the stored files."""
    ran = lab(
        gates=GATE,
        arms={"one": {}, "two": {"seeds": [0, 1]}},
        model={"_target_": "tests.stand_ins.Raising", "fails": ["b"]},
    )
    assert ran.folder is not None
    path = ran.folder / PAGE
    first = path.read_bytes()
    assert cli("--allow", "tests", "score", ran.folder.name).code in (0, 1, 2)
    assert path.read_bytes() == first
    path.unlink()
    assert cli("report", ran.folder.name).code == 0
    assert path.read_bytes() == first


def test_a_report_is_not_changed_by_its_page(tmp_path: Path):
    """What is logged after it is what was judged."""
    report, scores = made(tmp_path)
    before = repr(report)
    assert write_page(tmp_path, report, scores.rows, scores.plan.items) is None
    assert repr(report) == before and isinstance(report, Mapping)


@pytest.mark.parametrize("private", [True, False])
def test_what_is_logged_of_the_page_holds_texts_only_where_it_may(lab: Lab, home: Path, private: bool):
    """The artifact is the page as it lies beside the report, or, privately, one without a prompt or answer."""
    tracking = {"_target_": "evalflow.tracking.mlflow_store.MLflow", "private": private}
    items = [{"id": "a", "input": "zebraprompt", "target": "right"}]
    model = {"_target_": "evalflow.model.scripted.Scripted", "otherwise": "zebraanswer"}
    ran = lab(items, gates=GATE, model=model, tracking=tracking)
    assert ran.code == 1 and ran.folder is not None
    (logged,) = (home / "outputs" / "mlartifacts").rglob(PAGE)
    text, own = logged.read_text(encoding="utf-8"), (ran.folder / PAGE).read_text(encoding="utf-8")
    assert "zebraprompt" in own and "zebraanswer" in own
    assert (text == own) != private
    assert ("zebra" in text) != private
