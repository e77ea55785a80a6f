"""A comparison as a reader sees it on a terminal."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from evalflow.report.compare_console import print_answer, print_comparison
from evalflow.runner.regression import Regression
from tests.report.test_compare import RIGHT, document
from tests.runner.compared import EXACT, ITEMS, compared, one


def shown(told: dict[str, Any], answer: bool = False, width: int = 160) -> str:
    out = io.StringIO()
    show = print_answer if answer else print_comparison
    show(told, Console(file=out, width=width, highlight=False, markup=False))
    return out.getvalue()


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def test_two_runs_that_are_one(tmp_path: Path) -> None:
    """No field differs, every pair is level, and the last line counts what was compared."""
    lines = squeezed(shown(document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", RIGHT)])))
    assert "no field nothing it is one instrument" in lines
    assert any(line.startswith("quality/exact base 1 1 0 [-0.265, +0.265] 1 1 12 0/0/12 identical") for line in lines)
    assert "the same in A and B: n/coverage, n/error_share, n/truncated_share of base" in lines
    assert lines[-1] == "Compared: 1 figure: 1 identical (exit code 0)"


def test_differences_come_first_with_what_they_forbid(tmp_path: Path) -> None:
    """Before any number: the field, both values, the figures and the reason; arms that differ alike share a line."""
    slow = compared(
        tmp_path, "B", arms={name: {"concurrency": 6} for name in ("base", "new", "bad")}, comparisons={}, gates={}
    )
    lines = squeezed(shown(document([compared(tmp_path, "A"), slow]), width=200))
    at = next(place for place, line in enumerate(lines) if line.startswith("concurrency of base, new, bad 1 6"))
    assert "lat/ttft_s/p50, lat/ttft_s/p95 a time depends on how many requests are under way" in lines[at]
    compared_at = next(place for place, line in enumerate(lines) if line.startswith("Compared item by item"))
    assert at < compared_at
    assert lines[compared_at] == "Compared item by item, Holm over 3"


def test_many_figures_that_are_identical_share_a_line(tmp_path: Path) -> None:
    """Nine arms that answered alike are told at once; what differs keeps its line."""
    arms = {f"arm{n}": {} for n in range(10)}
    plain = {"arms": arms, "items": ITEMS, "metrics": {"exact": EXACT}, "comparisons": {}, "gates": {}, "later": ()}
    said = {(arm, 0): RIGHT for arm in arms}
    runs = [compared(tmp_path, "A", said=said, **plain)]
    runs.append(compared(tmp_path, "B", said={**said, ("arm9", 0): "w" * 12}, **plain))
    lines = squeezed(shown(document(runs)))
    assert "identical on every pair in A and B: quality/exact of arm0, arm1, arm2, arm3 and 5 more" in lines
    (told,) = [line for line in lines if line.startswith("quality/exact")]
    assert told.startswith("quality/exact arm9 1 0 -1")
    assert lines[-1] == "Compared: 10 figures: 1 worse, 9 identical (exit code 0)"


def test_several_candidates_have_a_column(tmp_path: Path) -> None:
    """With two of them each line says whose it is."""
    told = document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", RIGHT), one(tmp_path, "C", "w" * 12)])
    lines = squeezed(shown(told))
    assert any(line.startswith("C quality/exact base 1 0 -1") and line.endswith("worse") for line in lines)
    assert any(line.startswith("B quality/exact base 1 1 0") for line in lines)
    assert lines[-1] == "Compared: 2 figures: 1 worse, 1 identical (exit code 0)"


def test_a_failed_gate_names_the_figure(tmp_path: Path) -> None:
    """The answer alone says what failed, against whom, and the exit code."""
    told = document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", "w" * 12)], Regression())
    assert shown(told, answer=True).splitlines() == [
        "  fail  B: quality/exact of base: worse",
        "Gate: fail (exit code 1); wanted against A: not shown worse; 0 of 1 figures of quality are so",
    ]


def test_a_gate_that_held_nothing_says_so(tmp_path: Path) -> None:
    """Nothing held is no pass, and the arm that is gone is named."""
    other = compared(
        tmp_path,
        "B",
        said={("hot", 0): RIGHT},
        arms={"hot": {}},
        items=ITEMS,
        metrics={"exact": EXACT},
        comparisons={},
        gates={},
        later=(),
    )
    runs = [one(tmp_path, "A", RIGHT), other]
    lines = squeezed(shown(document(runs, Regression())))
    assert "unreadable B: arm base: the candidate has no such arm" in lines
    assert "arm base only A has it" in lines and "arm hot only B has it" in lines
    (answer,) = squeezed(shown(document(runs, Regression(), arms={"base": "cold"}), answer=True))[-1:]
    assert answer.startswith("Gate: unreadable (exit code 2)")


def test_what_is_not_compared_says_why_once(tmp_path: Path) -> None:
    """Arms that share a reason share a line."""
    told = document([compared(tmp_path, "A"), compared(tmp_path, "B")])
    lines = squeezed(shown(told, width=200))
    assert "stability/seed_sd of base, bad undefined: one seed" in lines


@pytest.mark.parametrize("name", ["\x1b[31mred", "[bold]b[/]", "a\u202eb", "\ud800", "<script>"])
def test_hostile_names_only_print(tmp_path: Path, name: str) -> None:
    """An item's id, an arm's name and an error cannot drive the terminal or the markup, in any table."""
    items = tuple({**item, "id": f"{name}{item['id']}"} for item in ITEMS)
    arms: dict[str, Any] = {name: {}}
    parts: dict[str, Any] = {
        "arms": arms,
        "metrics": {"exact": EXACT},
        "comparisons": {},
        "gates": {},
        "later": (),
        "items": items,
    }
    runs = [compared(tmp_path, "A", said={(name, 0): RIGHT}, **parts)]
    runs.append(
        compared(
            tmp_path,
            "B",
            said={(name, 0): "r" * 6},
            **{**parts, "items": items[:6], "arms": {name: {"concurrency": 2}}},
        )
    )
    text = shown(document(runs, Regression()))
    assert not set(text) & set("\x1b\u202e\ud800")
    text.encode("utf-8")
    if name in ("[bold]b[/]", "<script>"):
        assert name in text


def test_it_fits_a_narrow_terminal(tmp_path: Path) -> None:
    """At eighty columns cells fold, no line is longer, and what leads to the answer makes room for it."""
    text = shown(document([one(tmp_path, "A", RIGHT), one(tmp_path, "B", "w" * 12)]), width=80)
    assert max(len(line) for line in text.splitlines()) <= 80
    (head,) = [line for line in squeezed(text) if line.startswith("figure arm in A")]
    assert head.endswith("Holm shown")
    assert any(line.startswith("quality/exact base 1 0") and line.endswith("worse") for line in squeezed(text))
