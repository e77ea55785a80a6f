"""A comparison of runs on one screen: what is shown first, and the rest counted."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from evalflow.report.compare_screen import print_comparison_screen
from evalflow.runner.regression import Regression
from tests.report.test_compare import RIGHT, document
from tests.runner.compared import EXACT, ITEMS, compared, one

WRONG = "w" * 12


def shown(told: dict[str, Any], width: int = 80, height: int = 24) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, highlight=False, markup=False)
    print_comparison_screen(told, console)
    lines = out.getvalue().splitlines()
    assert all(cell_len(line) <= width for line in lines)
    return lines


def squeezed(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize("width", [40, 80, 160])
def test_two_runs_fit_a_screen_with_the_answer_last(tmp_path: Path, width: int) -> None:
    """Which runs, what differs, what is shown and what is not compared; what stands side by side is counted."""
    lines = shown(document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", WRONG)]), width)
    assert len(lines) + 1 <= 24
    told = squeezed(lines)
    assert lines[0].startswith("A  ") and "reference" in told and "12 shared" in told
    assert "differs: no field" in told
    assert "quality/exact" in told and "worse" in told
    assert told.endswith("Compared: 1 figure: 1 worse (exit code 0)")
    assert "3 figures side by side: by --full, or --html FILE" in told


def test_what_differs_is_told_apart_from_the_arms_that_have_it(tmp_path: Path) -> None:
    """The arms of both runs come first, then each value with the run that has it."""
    told = document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", RIGHT)])
    differs = {"field": "model.checkpoint", "arms": ["long", "short"], "reference": "long", "candidate": "short"}
    told["candidates"][0]["differences"] = [{**differs, "figures": [], "why": "it is what is asked about"}]
    assert "differs: model.checkpoint of long → short: long in A, short in B; makes" in squeezed(shown(told))


def test_figures_stand_in_columns_where_they_fit(tmp_path: Path) -> None:
    """Both values, the difference with its interval, pairs, p and what is shown."""
    lines = shown(document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", WRONG)]), 160)
    (at,) = [n for n, line in enumerate(lines) if line.split()[:2] == ["figure", "arm"]]
    assert lines[at].split() == ["figure", "arm", "in", "A", "in", "B", "difference", "n", "Holm", "shown"]
    cells = lines[at + 1].split()
    assert cells[:5] == ["quality/exact", "base", "1", "0", "-1"] and cells[-1] == "worse"


def test_what_is_the_same_on_every_pair_shares_a_line(tmp_path: Path) -> None:
    """Ten arms, of which one answered otherwise: it has a line, the others one together."""
    arms = {f"arm{n}": {} for n in range(10)}
    plain = {"arms": arms, "items": ITEMS, "metrics": {"exact": EXACT}, "comparisons": {}, "gates": {}, "later": ()}
    said = {(arm, 0): RIGHT for arm in arms}
    runs = [compared(tmp_path, "A", said=said, **plain)]
    runs.append(compared(tmp_path, "B", said={**said, ("arm9", 0): WRONG}, **plain))
    lines = shown(document(runs))
    assert "identical on every pair: quality/exact of arm0, arm1, arm2, arm3 and 5 more" in squeezed(lines)
    assert squeezed(lines).count("worse") == 2  # of arm9, and in the last line


def test_several_candidates_are_told_apart(tmp_path: Path) -> None:
    """Each line says whose it is."""
    told = document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", RIGHT), one(tmp_path, "C", WRONG)])
    lines = shown(told, 160)
    assert any(line.split()[:3] == ["C", "quality/exact", "base"] for line in lines)
    assert "identical on every pair in B: quality/exact of base" in lines


def test_very_many_figures_are_cut_and_counted(tmp_path: Path) -> None:
    """Sixty arms that differ: the screen is kept, and the sum is right."""
    arms = {f"arm{n}": {} for n in range(60)}
    plain = {"arms": arms, "items": ITEMS, "metrics": {"exact": EXACT}, "comparisons": {}, "gates": {}, "later": ()}
    runs = [
        compared(tmp_path, label, said={(arm, 0): said for arm in arms}, **plain)
        for label, said in (("A", RIGHT), ("B", WRONG))
    ]
    lines = shown(document(runs))
    assert len(lines) + 1 <= 24
    told = sum(line.startswith("quality/exact") for line in lines)
    assert f"{60 - told} compared figures" in squeezed(lines)


def test_a_gate_names_what_it_did_not_pass(tmp_path: Path) -> None:
    """Above the answer, whatever else there is room for."""
    lines = shown(document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", WRONG)], Regression()))
    assert lines[-3] == "  fail  B: quality/exact of base: worse"
    assert lines[-2].startswith("Gate: fail (exit code 1)")


@pytest.mark.parametrize("name", ["\x1b[31mred", "[bold]b[/]", "a\u202eb", "\ud800"])
def test_hostile_names_only_print(tmp_path: Path, name: str) -> None:
    """An arm's name cannot drive the terminal or the markup."""
    parts: dict[str, Any] = {
        "arms": {name: {}},
        "metrics": {"exact": EXACT},
        "comparisons": {},
        "gates": {},
        "later": (),
    }
    runs = [
        compared(tmp_path, label, said={(name, 0): said}, items=ITEMS, **parts)
        for label, said in (("A", RIGHT), ("B", WRONG))
    ]
    text = "".join(shown(document(runs)))
    assert not set(text) & set("\x1b\u202e\ud800")
    text.encode("utf-8")
