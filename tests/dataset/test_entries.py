"""What every source of entries does alike: mapping, prompts, ids, examples, and one fingerprint for one content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalflow.dataset.protocol import collect
from evalflow.record import fingerprints
from tests.dataset.sources import EVERY, Made, Rows, refusal

HARNESS = Path(__file__).parents[1] / "numeric" / "data" / "harness_public.json"


@pytest.fixture(params=list(EVERY))
def made(request: pytest.FixtureRequest) -> Made:
    """The writer of one kind of source."""
    return EVERY[request.param]


@pytest.fixture(scope="module")
def hc10() -> dict[str, Any]:
    """The case of mlflow/mlflow#22275: its rows by letter, E and F worked out from what the case says of them."""
    (case,) = (one for one in json.loads(HARNESS.read_text(encoding="utf-8")) if one["id"] == "hc10")
    rows = {letter: one for letter, one in case["input"].items() if isinstance(one, list)}
    rows["E"] = [{"q": f"q{number}", "choices": ["x", "y"]} for number in range(10_001)]
    rows["F"] = [*rows["E"][:-1], {"q": "q10000", "choices": ["x", "z"]}]
    return {"rows": rows, "expected": case["expected"]}


def prints(made: Made, path: Path, rows: Rows) -> dict[str, str]:
    return fingerprints(collect(made(path, rows, prompt="{q}")))


def test_the_case_of_digests_that_saw_no_change(made: Made, tmp_path: Path, hc10: dict[str, Any]) -> None:
    """A changed list, order, or last row of 10,001 shows in the fingerprint that it must show in, and in no other."""
    found = {letter: prints(made, tmp_path / letter, rows) for letter, rows in hc10["rows"].items()}
    for kind in ("content_fp", "ordered_fp"):
        for pair, equal in hc10["expected"][kind].items():
            one, other = pair.split("==")
            assert (found[one][kind] == found[other][kind]) is equal, (kind, pair)


def test_derived_ids_are_of_the_content_alone(made: Made, tmp_path: Path, hc10: dict[str, Any]) -> None:
    """The order of keys and of rows moves none; a changed list does."""
    ids = {
        letter: {item.id for item in made(tmp_path / letter, hc10["rows"][letter], prompt="{q}").items()}
        for letter in "ABCD"
    }
    assert ids["A"] == ids["C"] == ids["D"]
    assert len(ids["A"] & ids["B"]) == 1  # q = a is in both, q = b has other choices


@pytest.mark.parametrize("letter", "ACDE")
def test_one_content_has_one_fingerprint_whatever_holds_it(
    made: Made, tmp_path: Path, hc10: dict[str, Any], letter: str
) -> None:
    """A file may be converted to another kind without the dataset becoming another."""
    rows = hc10["rows"][letter]
    assert prints(made, tmp_path / "given", rows) == prints(EVERY["jsonl"], tmp_path / "lines", rows)


def test_values_of_every_kind_survive(made: Made, tmp_path: Path) -> None:
    """Numbers, truth, null, nested values and any text come out of each source as they went in."""
    rows = [
        {"input": 'a "quoted", cell\nof two lines', "n": 3, "x": 0.1, "yes": True, "deep": {"a": [1, None]}, "no": "z"},
        {"input": "ümlaut \u2028 {n} ", "n": -(2**53), "x": 1e300, "yes": False, "deep": {"a": []}, "no": None},
    ]
    items = collect(made(tmp_path / "file", rows, prompt="{n}: {input}"))
    assert [item.fields for item in items] == rows
    assert [item.prompt for item in items] == [f"{row['n']}: {row['input']}" for row in rows]


def test_fields_are_mapped_alike(made: Made, tmp_path: Path) -> None:
    """Our names are read from the keys that `fields` maps, the others under their own."""
    rows = [{"key": "a1", "q": "2+2?", "answer": 4, "kind": "sum", "group": "g"}]
    fields = {"id": "key", "input": "q", "target": "answer", "cluster": "group"}
    (item,) = collect(made(tmp_path / "file", rows, fields=fields, prompt="Q: {input}"))
    assert (item.id, item.prompt, item.target, item.kind, item.cluster) == ("a1", "Q: 2+2?", "4", "sum", "g")


def test_examples_are_drawn_alike(made: Made, tmp_path: Path) -> None:
    """The same items and examples give the same prompts as JSON Lines of them do."""
    items = [{"id": f"q{number}", "input": f"ask{number}"} for number in range(6)]
    shots = [{"id": f"e{number}", "input": f"in{number}", "target": f"out{number}"} for number in range(9)]

    def prompts(kind: Made, where: str) -> list[str]:
        path = str(kind(tmp_path / f"{where}-shots", shots).path)
        return [one.prompt for one in kind(tmp_path / where, items, few_shot=2, few_shot_path=path).items()]

    assert prompts(made, "given") == prompts(EVERY["jsonl"], "lines")


def test_a_missing_value_of_the_prompt_is_named(made: Made, tmp_path: Path) -> None:
    """The place of the entry is said, whatever it is called there."""
    dataset = made(tmp_path / "file", [{"id": "a", "input": "x"}, {"id": "b", "input": None}])
    said = refusal(dataset)
    assert said.startswith(str(tmp_path / "file"))
    assert f"the {dataset.unit} has no 'input', which the prompt asks for" in said


def test_an_id_twice_is_refused_with_both_places(made: Made, tmp_path: Path) -> None:
    """Both are named as the source counts them."""
    said = refusal(made(tmp_path / "file", [{"id": "a", "input": "x"}, {"id": "b", "input": "x"}] * 2))
    assert said.count(str(tmp_path / "file")) == 2
    assert "id 'a' is already on " in said


def test_what_is_not_there_is_named(made: Made, tmp_path: Path) -> None:
    """Building a dataset reads nothing; asking it for items names the file or folder that is not there."""
    kind = type(made(tmp_path / "file", [{"input": "x"}]))
    said = refusal(kind(str(tmp_path / "absent")))
    assert said.startswith(f"{tmp_path / 'absent'}: ") and "o such f" in said


def test_settings_that_cannot_be_meant_are_refused_everywhere(made: Made, tmp_path: Path) -> None:
    """A wrong setting of what all have in common is found on building, before anything is read."""
    kind = type(made(tmp_path / "file", [{"input": "x"}]))
    for settings, said in (
        ({"fields": {"prompt": "q"}}, "fields names prompt"),
        ({"few_shot": 2}, "few_shot is 2; give 0, or a count and few_shot_path"),
        ({"few_shot_format": "{answer}"}, "few_shot_format asks for answer"),
    ):
        with pytest.raises(ValueError, match=said):
            kind("absent", **settings)
