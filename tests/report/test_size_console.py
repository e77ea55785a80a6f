"""Sizes as they are printed."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from evalflow.report.size_console import print_answers, print_sizes
from tests.report.test_size import GATE, documented
from tests.runner.pilots import UP_6_DOWN_2, items, pilot_run

SAMPLED: dict[str, Any] = {"decoding": {"temperature": 1.0}, "seeds": [0, 1]}


def printed(document: Mapping[str, Any], show: Any = print_sizes, width: int = 160) -> str:
    out = io.StringIO()
    show(document, Console(file=out, width=width, highlight=False, markup=False))
    return out.getvalue()


def row(text: str, begins: str) -> list[str]:
    """The cells of the table's row that begins so."""
    line = next(line for line in text.splitlines() if line.strip().startswith(begins))
    return line.split()


def test_a_difference_on_one_screen(tmp_path: Path) -> None:
    """Values, spread, items, what decides, costs, and which are undefined and why; more than there are is marked."""
    document = documented(pilot_run(tmp_path, gates={"high": GATE}), difference=0.1)
    text, size = printed(document), document["figures"][0]["sizes"][0]
    assert "pair on quality/exact: new 0.900, old 0.700, difference 0.200 [" in text
    assert "MDE: by a t-test these 20 items could show 0.407 (two-sided alpha 0.05, power 0.8)" in text
    assert "sd of the differences: 0.616, with 80% confidence under" in text
    cells = row(text, "0.100")
    assert cells[1:5] == [f"{size['asked']}*", str(size["asked_upper"]), str(2 * size["asked"]), "-"]
    assert "*: more than the 20 items that the dataset has" in text
    assert "what decides is the exact sign test with the report's interval" in text
    assert "seeds: both arms are greedy, so another seed gives the same answers" in text
    assert "tokens in of old and new: undefined: 20 of 20 answers lack a count of tokens" in text
    assert row(text, "high")[-6:] == ["0.8,", "were", "0.900", "the", "true", "rate"]
    assert "price" not in text


def test_clusters_losses_and_seeds(tmp_path: Path) -> None:
    """Clusters stand beside items, what was lost is counted and named, and the cheapest number of seeds is marked."""
    said = {("old", 0): "ee" + UP_6_DOWN_2["old", 0][2:], ("old", 1): UP_6_DOWN_2["old", 0]}
    said |= {("new", 0): UP_6_DOWN_2["new", 0], ("new", 1): "r" * 17 + "www"}
    run = pilot_run(tmp_path, said, per_cluster=2, arms={"old": SAMPLED, "new": SAMPLED})
    text = printed(documented(run, difference=0.2))
    assert "these 18 items in 9 clusters could show" in text
    assert "counted in clusters, at 2 items a cluster; design effect" in text
    assert "2 of 20 items were unpaired (q000, q001); as large a share is allowed for" in text
    assert "arm old: 2 error rows and 0 missing of 40" in text
    assert "of the variance under one seed" in text
    assert row(text, "1 ")[-1] == "cheapest" and row(text, "2   ")[-3:] == ["as", "the", "pilot"]


def test_texts_of_others_only_print(tmp_path: Path) -> None:
    """An item's id that would drive the terminal is shown, not obeyed."""
    questions = ({**items(20)[0], "id": "\x1b[2Jq"}, *items(20)[1:])
    said = {("old", 0): "e" + UP_6_DOWN_2["old", 0][1:], ("new", 0): UP_6_DOWN_2["new", 0]}
    text = printed(documented(pilot_run(tmp_path, said, items=questions), difference=0.1))
    assert "\x1b" not in text and "\\x1b[2Jq" in text


def test_what_has_no_size_says_why(tmp_path: Path) -> None:
    """In place of a table."""
    text = printed(documented(pilot_run(tmp_path, {("old", 0): "www", ("new", 0): "rrr"})))
    assert "pair on quality/exact: undefined: zero variance" in text


def test_the_answers_alone(tmp_path: Path) -> None:
    """A line for each comparison and gate."""
    document = documented(pilot_run(tmp_path, gates={"high": GATE}), difference=0.1)
    asked, gate = document["figures"][0]["sizes"][0]["asked"], document["gates"][0]["asked"]
    assert printed(document, print_answers).splitlines() == [
        f"pair on quality/exact: 0.100: {asked} items",
        f"gate high of new: {gate} items",
    ]


def test_names_are_whole_on_a_narrow_terminal(tmp_path: Path) -> None:
    """Where the gates' table does not fit, each gate is a line that goes on further in; nothing is too wide."""
    document = documented(pilot_run(tmp_path, gates={"the_new_one_is_good_enough_for_all": GATE}), difference=0.1)
    lines = printed(document, width=60).splitlines()
    assert all(len(line) <= 60 for line in lines)
    (at,) = [n for n, line in enumerate(lines) if line.startswith("  the_new_one_is_good_enough_for_all: ")]
    assert lines[at + 1].startswith("    ") and " items, " in " ".join(lines[at : at + 4])


@pytest.mark.parametrize(
    ("minutes", "said"),
    [(0.00011, "under 1 s"), (0.0262, "1.57 s"), (0.999, "59.9 s"), (2.5, "2.50 min"), (90, "1.50 h"), (None, "-")],
)
def test_times_are_in_the_unit_that_one_would_say(tmp_path: Path, minutes: float | None, said: str) -> None:
    """Seconds, minutes or hours; what is not known is no number."""
    document = documented(pilot_run(tmp_path), difference=0.1)
    size = document["figures"][0]["sizes"][0]
    size["cost"]["minutes"] = minutes
    cells = row(printed(document), "0.100")
    assert f" {said} " in f" {' '.join(cells)} " and "minutes" not in printed(document)
