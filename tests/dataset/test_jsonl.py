"""Items from JSON Lines: what a file may hold, what is refused and where, and which examples are shown."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalflow.dataset.jsonl import Jsonl
from evalflow.dataset.protocol import collect
from evalflow.errors import DataError
from evalflow.record import Item, fingerprints

Write = Callable[[bytes | str], Jsonl]
GOOD = '{"id": "a", "input": "x"}\n'


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Jsonl]:
    """`written(content, **settings)`: a dataset over a file of this content."""

    def write(content: bytes | str, **settings: Any) -> Jsonl:
        path = tmp_path / "items.jsonl"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return Jsonl(str(path), **settings)

    return write


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def refusal(dataset: Jsonl) -> str:
    with pytest.raises(DataError) as refused:
        collect(dataset)
    return str(refused.value)


def test_a_line_becomes_an_item(written):
    """Our names are read from the keys that `fields` maps, the others under their own; the line is kept whole."""
    row = {"key": 7, "q": "2+2?", "answer": 4, "kind": "sum", "group": "g", "prefix_group": "p", "more": [1]}
    dataset = written(
        lines([row]), fields={"id": "key", "input": "q", "target": "answer", "cluster": "group"}, prompt="Q: {input}"
    )
    (item,) = collect(dataset)
    assert (item.id, item.prompt, item.target) == ("7", "Q: 2+2?", "4")
    assert (item.kind, item.cluster, item.prefix_group) == ("sum", "g", "p")
    assert item.fields == row


def test_a_group_numbered_0_is_a_group(written):
    """Cluster 0 is a cluster, not the lack of one: its items would else count as independent."""
    dataset = written(lines([{"id": i, "input": "x", "cluster": 0, "kind": 0, "prefix_group": 0} for i in range(2)]))
    assert [(item.dependence, item.kind, item.prefix_group) for item in collect(dataset)] == [("0", "0", "0")] * 2


@pytest.mark.parametrize("group", ["true", '["k"]', '{"k": 1}'])
@pytest.mark.parametrize("name", ["id", "kind", "cluster", "prefix_group"])
def test_an_id_or_group_that_is_no_text_is_refused(written, name, group):
    """A list or a truth value has no text of its own: Python's would make two spellings two groups."""
    assert f"items.jsonl:1: {name} is " in refusal(written(f'{{"input": "x", "{name}": {group}}}'))


def test_an_example_that_is_the_question_itself_is_never_shown(tmp_path):
    """The same question under another id would give its own answer away."""
    (tmp_path / "d.jsonl").write_text('{"id": "a", "input": "x", "target": "1"}\n', encoding="utf-8")
    shots = '{"input": "x", "target": "1"}\n{"input": "y", "target": "2"}\n'
    (tmp_path / "shots.jsonl").write_text(shots, encoding="utf-8")
    dataset = Jsonl(str(tmp_path / "d.jsonl"), few_shot=1, few_shot_path=str(tmp_path / "shots.jsonl"))
    assert [item.prompt for item in dataset.items()] == ["y\n2\n\nx"]


def test_absent_groups_are_empty(written):
    """A line without kind, cluster, prefix group or target has none, and depends on itself alone."""
    (item,) = collect(written('{"id": "a", "input": "x", "kind": null}'))
    assert (item.kind, item.cluster, item.prefix_group, item.target) == ("", "", "", None)
    assert item.dependence == Item("a", "").dependence


def test_derived_ids_depend_on_content_alone(written):
    """Lines without an id get one from their content: equal whatever the key order, and the line's place."""
    first = collect(written('{"input": "x", "n": 1}\n{"input": "y", "n": 1}\n'))
    second = collect(written('{"n":1,"input":"y"}\n\n{"n":1,"input":"x"}\n'))
    assert [item.id for item in first] == [item.id for item in second][::-1]
    assert first[0].id != first[1].id
    assert len(first[0].id) == 16


def test_the_same_line_twice_is_refused(written):
    """Two lines of one content have one derived id, and both places are named."""
    said = refusal(written('{"input": "x"}\n{"input": "y"}\n{ "input":"x" }\n'))
    assert "items.jsonl:3: id " in said and "items.jsonl:1; make ids unique" in said


def test_a_given_id_twice_is_refused_whatever_its_type(written):
    """Id 1 and id "1" are one id."""
    said = refusal(written('{"id": 1, "input": "x"}\n{"id": "1", "input": "y"}\n'))
    assert "items.jsonl:2: id '1' is already on " in said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("not json", "not JSON (Expecting value at column 1)"),
        ('{"id": "b", "input": "x"', "not JSON"),
        ('{"id": "b", "input": "x"} trailing', "not JSON (Extra data"),
        ('["b", "x"]', "a list, not an object"),
        ('"text"', "a str, not an object"),
        ("null", "a NoneType, not an object"),
        ('{"id": "b", "input": "x", "n": NaN}', "NaN is not JSON"),
        ('{"id": "b", "input": "x", "n": [-Infinity]}', "-Infinity is not JSON"),
        ('{"id": "b", "input": "x", "n": 1e999}', "1e999 is beyond a float"),
        ('{"id": "b", "input": "x", "n": ' + "9" * 5000 + "}", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ('{"id": "b"}', "the line has no 'input', which the prompt asks for"),
        ('{"id": "b", "input": null}', "the line has no 'input', which the prompt asks for"),
        ('{"id": "b", "input": "x", "target": ["x"]}', "the target is list"),
        ('{"id": "b", "input": "x", "target": true}', "the target is bool"),
    ],
)
def test_a_malformed_line_is_named(written, line: str, said: str):
    """What is wrong is said with file and line, blank lines counted, in one line that ends in what to do."""
    dataset = written(f"{GOOD}\n{line}\n{GOOD}")
    message = refusal(dataset)
    where, _, rest = message.partition(": ")
    assert where == f"{dataset.path}:3"
    assert said in rest
    assert "; " in rest
    assert "\n" not in message


def test_a_byte_order_mark_is_named(written):
    """A file that begins with a byte order mark is refused by that name, on its first line."""
    dataset = written(b"\xef\xbb\xbf" + GOOD.encode())
    message = refusal(dataset)
    assert message.startswith(f"{dataset.path}:1: ")
    assert "BOM" in message


def test_a_line_that_is_not_utf_8_is_named(written):
    """The line of the bad byte is named, not the first of the file."""
    dataset = written(GOOD.encode() + b'{"id": "b", "input": "caf\xe9"}\n')
    assert refusal(dataset).startswith(f"{dataset.path}:2: not UTF-8")


def test_a_missing_file_is_named(tmp_path: Path):
    """Building a dataset reads nothing; asking it for items names the file that is not there."""
    dataset = Jsonl(str(tmp_path / "absent.jsonl"))
    assert refusal(dataset).startswith(f"{tmp_path / 'absent.jsonl'}: cannot be read (No such file")


@pytest.mark.parametrize("content", ["", "\n \n\t\n"])
def test_a_file_without_items_is_refused(written, content: str):
    """An empty file, or one of blank lines, is no dataset."""
    dataset = written(content)
    assert refusal(dataset) == f"{dataset.path}: it has no items; give at least one line"


def test_blank_lines_and_carriage_returns_are_no_content(written):
    """The same lines with blank ones between and other line ends are the same dataset."""
    rows = ['{"id": "a", "input": "x"}', '{"id": "b", "input": "y"}']
    plain = collect(written("\n".join(rows)))
    spaced = collect(written("\n" + "\r\n\r\n".join(rows) + "\r\n"))
    assert len(plain) == 2
    assert fingerprints(plain) == fingerprints(spaced)


def test_a_mapped_key_must_be_on_every_line(written):
    """A line without the key that `fields` names is refused, even where the key is optional by itself."""
    dataset = written('{"id": "a", "input": "x", "label": "k"}\n{"id": "b", "input": "y"}\n', fields={"kind": "label"})
    assert refusal(dataset).startswith(f"{dataset.path}:2: no key 'label', which fields.kind names")


def test_text_survives_as_it_is(written):
    """Braces, escapes and lone surrogates of a value reach the prompt untouched."""
    text = "{target} {{x}} \ud835 \x00 \u2028 {input}"
    (item,) = collect(written(lines([{"id": "a", "input": text, "target": "T"}]), prompt="<{input}>"))
    assert item.prompt == f"<{text}>"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fields": {"prompt": "q"}}, "fields names prompt"),
        ({"few_shot": -1}, "few_shot is -1"),
        ({"few_shot": 2}, "few_shot is 2; give 0, or a count and few_shot_path"),
        ({"few_shot_format": "{prompt} {answer}"}, "few_shot_format asks for answer"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: Mapping[str, Any], said: str):
    """A wrong setting is found on building, before any file is read."""
    with pytest.raises(ValueError, match=said):
        Jsonl("absent.jsonl", **settings)


EXAMPLES = [{"id": f"e{i}", "input": f"in{i}", "target": f"out{i}"} for i in range(9)]
ITEMS = [{"id": f"q{i}", "input": f"ask{i}", "target": "t"} for i in range(6)]


def prompts(folder: Path, items: Sequence[Mapping[str, Any]], examples: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    (folder / "items.jsonl").write_text(lines(items))
    (folder / "shots.jsonl").write_text(lines(examples))
    dataset = Jsonl(str(folder / "items.jsonl"), few_shot=3, few_shot_path=str(folder / "shots.jsonl"))
    return {item.id: item.prompt for item in collect(dataset)}


def test_examples_stand_before_the_prompt(tmp_path: Path):
    """Each prompt shows three different examples in the given form, then asks its own question."""
    for key, prompt in prompts(tmp_path, ITEMS, EXAMPLES).items():
        *shots, asked = prompt.split("\n\n")
        assert asked == key.replace("q", "ask")
        assert len(set(shots)) == 3
        assert set(shots) <= {f"in{i}\nout{i}" for i in range(9)}


def test_examples_are_drawn_by_item_id_and_not_by_order(tmp_path: Path):
    """Shuffling the items, dropping some, or shuffling the examples changes no prompt; items differ in their draw."""
    before = prompts(tmp_path, ITEMS, EXAMPLES)
    rng = random.Random(1)
    for _ in range(3):
        items, examples = rng.sample(ITEMS, len(ITEMS)), rng.sample(EXAMPLES, len(EXAMPLES))
        assert prompts(tmp_path, items, examples) == before
    assert prompts(tmp_path, ITEMS[3:4], EXAMPLES) == {"q3": before["q3"]}
    assert len({prompt.rpartition("\n\n")[0] for prompt in before.values()}) > 1


def test_an_item_is_never_its_own_example(tmp_path: Path):
    """Where the examples are the items themselves, no prompt shows its own answer."""
    for key, prompt in prompts(tmp_path, EXAMPLES, EXAMPLES).items():
        assert f"{key.replace('e', 'in')}\n" not in prompt


@pytest.mark.parametrize(
    ("examples", "said"),
    [
        ([], "0 examples for item 'q0'; few_shot=3 needs more"),
        (EXAMPLES[:2], "2 examples for item 'q0'; few_shot=3 needs more"),
        ([*EXAMPLES[:2], {**ITEMS[0]}], "2 examples for item 'q0'"),
        ([*EXAMPLES, {"id": "bare", "input": "x"}], "example 'bare' has no target"),
    ],
)
def test_too_few_examples_are_refused(tmp_path: Path, examples: Sequence[Mapping[str, Any]], said: str):
    """A prompt is never short of examples in silence: the file and the item are named."""
    with pytest.raises(DataError) as refused:
        prompts(tmp_path, ITEMS, examples)
    assert str(refused.value).startswith(f"{tmp_path / 'shots.jsonl'}: ")
    assert said in str(refused.value)


def test_examples_are_no_content_but_are_requests(tmp_path: Path):
    """Adding examples changes the prompts' fingerprint and leaves the content's."""
    prompts(tmp_path, ITEMS, EXAMPLES)
    path = str(tmp_path / "items.jsonl")
    plain = fingerprints(Jsonl(path).items())
    shown = fingerprints(Jsonl(path, few_shot=1, few_shot_path=str(tmp_path / "shots.jsonl")).items())
    assert plain["content_fp"] == shown["content_fp"]
    assert plain["request_fp"] != shown["request_fp"]
