"""`evalflow compare`: finished runs held against each other, and a candidate against its baseline."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from evalflow.report.compare import compare_schema
from tests.conftest import Cli, Lab
from tests.runner.scored_texts import metrics, parts

ITEMS = tuple({"id": f"q{n:02}", "input": f"question {n}", "target": "right"} for n in range(24))
EXACT = {"_target_": "evalflow.metric.exact_match.ExactMatch"}
CONTAINS = {"_target_": "evalflow.metric.contains.Contains"}
E2E = {"_target_": "evalflow.metric.latency.E2e", "percentiles": [50.0]}
GATES = {"floor": {"figure": "quality/exact", "arm": "one", "floor": 0.5}}
Run = Callable[..., str]


@pytest.fixture
def run(lab: Lab) -> Run:
    """`run(wrong, items, **parts)`: a finished run whose answers to the first `wrong` items are wrong; its folder."""
    made: list[str] = []

    def carry(wrong: int = 0, items: tuple[Mapping[str, Any], ...] = ITEMS, **parts: Any) -> str:
        answers = {item["id"]: "wrong" for item in items[:wrong]}
        # the order of its table tells two runs of one second apart, whose answers are the same
        model = {"_target_": "evalflow.model.scripted.Scripted", "answers": answers, "otherwise": "right"}
        settings = {"metrics": {"exact": EXACT, "e2e": E2E}, "gates": GATES, **parts}
        ran = lab(items, model=model, limits=[f"run {len(made)}"], **settings)
        assert ran.folder is not None and str(ran.folder) not in made
        made.append(str(ran.folder))
        return made[-1]

    return carry


def told(cli: Cli, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the document, valid under the shipped schema."""
    ran = cli("compare", *words, "--json", "-")
    document: dict[str, Any] = json.loads(ran.out)
    assert ran.err == ""
    assert [error.message for error in Draft202012Validator(compare_schema()).iter_errors(document)] == []
    assert document["exit_code"] == ran.code
    return ran.code, document


def kinds(document: dict[str, Any]) -> dict[str, str]:
    (candidate,) = document["candidates"]
    return {one["figure"]: one["kind"] for one in candidate["figures"]}


def conclusions(document: dict[str, Any]) -> dict[str, str]:
    return {
        one["figure"]: one["delta"]["conclusion"]
        for c in document["candidates"]
        for one in c["figures"]
        if one["delta"]
    }


def test_the_same_twice_is_identical(run: Run, cli: Cli) -> None:
    """Two runs of one experiment: no field differs, times are compared too, and as a gate they pass."""
    first, second = run(), run()
    code, document = told(cli, first, second)
    assert (code, document["candidates"][0]["differences"]) == (0, [])
    assert kinds(document)["quality/exact"] == kinds(document)["lat/e2e_s/p50"] == "compared"
    assert conclusions(document)["quality/exact"] == "identical"
    assert cli("compare", second, "--baseline", first).code == 0


def test_worse_and_better(run: Run, cli: Cli) -> None:
    """What lost is told without a gate, and fails one; turned round it is better, and passes."""
    good, bad = run(), run(wrong=10)
    code, document = told(cli, good, bad)
    assert (code, conclusions(document)["quality/exact"]) == (0, "worse")
    fields = [one["field"] for one in document["candidates"][0]["differences"]]
    assert fields == ["model.table"]
    failed = cli("--quiet", "compare", bad, "--baseline", good)
    assert (failed.code, failed.err) == (1, "")
    assert failed.out.splitlines()[0] == "  fail  B: quality/exact of one: worse"
    assert failed.out.splitlines()[1].startswith("Gate: fail (exit code 1)")
    code, document = told(cli, good, "--baseline", bad)
    assert (code, conclusions(document)["quality/exact"]) == (0, "better")


def test_another_concurrency_refuses_times_and_nothing_else(run: Run, cli: Cli) -> None:
    """Accuracy is compared; the time is not, unless the load is what is tested."""
    runs = run(), run(arms={"one": {"concurrency": 3}})
    _, document = told(cli, *runs)
    assert (kinds(document)["quality/exact"], kinds(document)["lat/e2e_s/p50"]) == ("compared", "refused")
    refused = next(one for one in document["candidates"][0]["figures"] if one["kind"] == "refused")
    assert refused["reasons"] == ["a time depends on how many requests are under way"]
    _, document = told(cli, *runs, "--vary", "concurrency")
    assert kinds(document)["lat/e2e_s/p50"] == "compared"


def test_other_items_are_paired_where_they_are_the_same(run: Run, cli: Cli) -> None:
    """Changed and missing items are named, the rest is compared; without any in common nothing is: exit code 2."""
    changed = ({**ITEMS[0], "target": "left"}, *ITEMS[1:20])
    whole, part = run(), run(items=changed)
    code, document = told(cli, whole, part)
    items = document["candidates"][0]["items"]
    assert (code, items["n_shared"], items["changed"]) == (0, 19, ["q00"])
    assert items["only_reference"] == ["q20", "q21", "q22", "q23"]
    assert kinds(document)["n/error_share"] == "refused"
    other = run(items=tuple({**item, "id": f"x{item['id']}"} for item in ITEMS))
    code, document = told(cli, whole, other)
    assert (code, document["n_compared"]) == (2, 0)
    assert told(cli, other, "--baseline", whole)[0] == 2


def test_scored_texts_are_compared_text_by_text(lab: Lab, cli: Cli) -> None:
    """Document by document, per token where the tokens are the same; a text that was changed speaks for no other."""
    items = tuple({"id": name, "input": f"question {name}"} for name in "abcd")
    changed = ({"id": "a", "input": "another and longer text"}, *items[1:])
    folders = []
    for listed in (items, changed):
        ran = lab(listed, **parts(arms={"ref": {}}, metrics=metrics("nll", "bpb")))
        folders.append(str(ran.folder))
    code, document = told(cli, *folders)
    assert code == 0
    deltas = {one["figure"]: one["delta"] for one in document["candidates"][0]["figures"] if one["delta"]}
    assert {figure: (delta["conclusion"], delta["n_pairs"], delta["unpaired"]) for figure, delta in deltas.items()} == {
        "quality/nll": ("identical", 3, ["a"]),
        "quality/bpb": ("identical", 3, ["a"]),
    }


def test_a_smoke_run_does_not_pass_for_the_whole(run: Run, cli: Cli) -> None:
    """Five of twenty-four items are compared and marked as a part; the gate is not read, unless it is allowed."""
    whole, smoke = run(), run(limit=5)
    code, document = told(cli, whole, smoke)
    assert (code, document["candidates"][0]["items"]["n_shared"]) == (0, 5)
    assert document["candidates"][0]["run"]["part"] in " ".join(document["notes"])
    assert cli("compare", smoke, "--baseline", whole).code == 2
    assert cli("compare", smoke, "--baseline", whole, "--coverage", "0.2").code == 0
    assert cli("compare", whole, "--baseline", smoke).code == 0


def test_another_metric_refuses_its_figure(run: Run, cli: Cli) -> None:
    """The same name for another class: refused, and as a gate unreadable until it is left out."""
    both = {"exact": EXACT, "loose": CONTAINS}
    first, second = run(metrics=both), run(metrics={**both, "exact": CONTAINS})
    _, document = told(cli, first, second)
    assert (kinds(document)["quality/exact"], kinds(document)["quality/loose"]) == ("refused", "compared")
    assert cli("compare", second, "--baseline", first).code == 2
    assert cli("compare", second, "--baseline", first, "--figures", "quality/loose").code == 0


def test_arms_are_paired_by_name_or_map(run: Run, cli: Cli) -> None:
    """An arm that is gone makes the gate unreadable; mapped, it pairs with its successor; within one run too."""
    old, new = run(arms={"one": {}, "two": {}}), run(arms={"one": {}, "next": {}})
    assert cli("compare", new, "--baseline", old).code == 2
    for words in (["two=next"], ["two=next", "--arms", "one=one"], ["two=next,one=one"]):
        code, document = told(cli, new, "--baseline", old, "--arms", *words)
        assert code == 0
        assert document["candidates"][0]["arms"]["paired"] == [["two", "next"], ["one", "one"]]
    code, document = told(cli, old, old, "--arms", "one=two")
    assert (code, conclusions(document)["quality/exact"]) == (0, "identical")


def test_three_runs_share_one_family(run: Run, cli: Cli) -> None:
    """Candidates are corrected together; each p times the number still in play, by Holm."""
    figures = ("--figures", "quality/exact")
    runs = run(), run(wrong=10), run(wrong=7)
    _, document = told(cli, *runs, *figures)
    assert document["family"]["n_tested"] == 2
    deltas = [candidate["figures"][0]["delta"] for candidate in document["candidates"]]
    assert [delta["p"] for delta in deltas] == pytest.approx([2 / 2**10, 2 / 2**7])
    assert [delta["p_adjusted"] for delta in deltas] == pytest.approx([4 / 2**10, 2 / 2**7])


def test_the_last_run_that_passed_is_the_baseline(run: Run, cli: Cli, home: Path) -> None:
    """Not the candidate, no failed run, no other experiment's; without one there is nothing to compare: exit code 2."""
    first = run()
    none = cli("compare", first, "--baseline", "last-passed")
    assert (none.code, len(none.faults)) == (2, 1)
    assert "no other finished run of case under" in none.faults[0]
    run(wrong=20)
    run(name="other")
    candidate = run(wrong=1)
    code, document = told(cli, Path(candidate).name, "--baseline", "last-passed")
    assert (code, document["reference"]["run_id"]) == (0, Path(first).name)
    (home / "outputs").rename(home / "moved")
    code, document = told(cli, str(home / "moved" / "case" / Path(candidate).name), "--baseline", "last-passed")
    assert (code, document["reference"]["run_id"]) == (0, Path(first).name)


def test_a_margin_that_must_be_shown(run: Run, cli: Cli) -> None:
    """Twenty-four level pairs exclude a loss of 1 - 0.05^(1/24) = 0.117: a margin above it passes, below is code 2."""
    first, second = run(), run()
    only = ("--figures", "quality/exact")
    assert cli("compare", second, "--baseline", first, "--max-loss", "0.13", *only).code == 0
    small = cli("--quiet", "compare", second, "--baseline", first, "--max-loss", "0.1", *only)
    assert small.code == 2
    assert "a margin of 0.1 is beyond this run's reach (0.117)" in small.out


def test_files_are_written(run: Run, cli: Cli, home: Path) -> None:
    """JSON, CSV and a page beside what is printed; the same runs give the same bytes."""
    runs = run(), run(wrong=3)
    words = ("--json", "made/für mich.json", "--csv", "made/t.csv", "--html", "made/c.html")
    ran = cli("compare", *runs, *words)
    assert ran.code == 0 and ran.out.splitlines()[-1].startswith("Compared: 2 figures")
    document = json.loads((home / "made" / "für mich.json").read_text(encoding="utf-8"))
    table = list(csv.DictReader(io.StringIO((home / "made" / "t.csv").read_text(encoding="utf-8"), newline="")))
    assert len(table) == len(document["candidates"][0]["figures"])
    page = (home / "made" / "c.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "not shown" in page and Path(runs[1]).name in page
    before = [path.read_bytes() for path in sorted((home / "made").iterdir())]
    assert cli("compare", *runs, *words).code == 0
    assert [path.read_bytes() for path in sorted((home / "made").iterdir())] == before
    (home / "file").touch()
    refused = cli("compare", *runs, "--csv", "file/t.csv")
    assert (refused.code, refused.out) == (64, "") and "give another file" in refused.faults[0]


def test_a_run_that_cannot_be_read_is_refused(run: Run, cli: Cli) -> None:
    """One that is not there, was not scored, is damaged, or did not finish: one line, exit code 64."""
    first, second = run(), run()
    assert cli("compare", first, "20261130-000000-abcdef").code == 64
    (Path(second) / "scores.jsonl").unlink()
    refused = cli("compare", first, second)
    assert (refused.code, len(refused.faults)) == (64, 1)
    assert f"evalflow score {second}" in refused.faults[0]
    assert cli("score", second).code == 0
    assert cli("compare", first, second).code == 0
    rows = Path(second) / "rows.jsonl"
    rows.write_text(rows.read_text(encoding="utf-8").replace('"draft":"right"', '"draft":{}', 1), encoding="utf-8")
    assert cli("compare", first, second).code == 64
    state = Path(first) / "run.json"
    state.write_text(state.read_text(encoding="utf-8").replace('"finished",', '"interrupted",'), encoding="utf-8")
    assert "did not finish" in cli("compare", first, second).faults[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "runs"),
        (["A"], "one run is named, and there is no --baseline"),
        (["A", "A"], "a run is named twice"),
        (["A", "--baseline", "A"], "a run is named twice"),
        (["A", "B", "--max-loss", "0.1"], "--max-loss is of a gate, and there is no --baseline"),
        (["A", "B", "--coverage", "0.9"], "--coverage is of a gate"),
        (["A", "--baseline", "B", "--max-loss", "0"], "give a number above 0"),
        (["A", "--baseline", "B", "--max-loss", "nan"], "max-loss"),
        (["A", "--baseline", "B", "--coverage", "2"], "give a share above 0"),
        (["A", "B", "--arms", "one"], "it is no OLD=NEW"),
        (["A", "B", "--arms", "two=one"], "there is no arm two in A; "),
        (["A", "B", "--arms", "one=onne"], "there is no arm onne in B; did you mean one?"),
        (["A", "B", "--arms", "one=one", "--arms", "one=one"], "one is named twice"),
        (["A", "B", "--figures", "quality/exat"], "there is none; did you mean quality/exact?"),
        (["A", "B", "--vary", "model"], "--vary model: there is none"),
    ],
)
def test_words_that_make_no_comparison_are_refused(run: Run, cli: Cli, words: list[str], said: str) -> None:
    """One line that says what is wrong, exit code 64, and nothing on standard output."""
    named = {"A": run(), "B": run()} if words else {}
    ran = cli("compare", *(named.get(word, word) for word in words))
    assert (ran.code, ran.out, len(ran.faults)) == (64, "", 1)
    assert said in ran.faults[0]


def test_an_mlflow_run_id_names_its_run(run: Run, cli: Cli, home: Path) -> None:
    """Any MLflow run of a logged run leads to its folder; one that is not there is a mistake of the command line."""
    first, second = run(), run(wrong=10)
    assert cli("--quiet", "track", first).code == 0
    from tests.tracking.conftest import client_of

    client = client_of(home / "outputs")
    (experiment,) = client.search_experiments(filter_string="name = 'case'")
    entries = client.search_runs([experiment.experiment_id])
    assert len(entries) == 2
    for entry in entries:
        code, document = told(cli, entry.info.run_id, second)
        assert (code, document["reference"]["run_id"]) == (0, Path(first).name)
    refused = cli("compare", "0" * 32, second)
    assert (refused.code, len(refused.faults)) == (64, 1)
    assert "it has no MLflow run" in refused.faults[0]
    state = Path(first) / "run.json"
    sessions = json.loads(state.read_text(encoding="utf-8"))["sessions"]
    state.write_text(state.read_text(encoding="utf-8").replace(sessions[0]["session"], "deadbeef"), encoding="utf-8")
    lost = cli("compare", entries[0].info.run_id, second)
    assert (lost.code, len(lost.faults)) == (64, 1)
    assert f"it is of run {Path(first).name!r} of 'case', which is not under outputs" in lost.faults[0]
