"""The shipped public-domain texts: how many, of what size, by whom, and clean."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

import evalflow
from evalflow.dataset.protocol import collect
from evalflow.dataset.text_folder import TextFolder
from evalflow.record import Item
from evalflow.runner.experiments import shipped_folder

FOLDER = Path(evalflow.__file__).parent / "dataset" / "data" / "public_domain"
DOCUMENTS = {"austen": 18, "carroll": 14, "melville": 15, "milton": 19, "shakespeare": 13, "washington": 12}


@pytest.fixture(scope="module")
def documents() -> tuple[Item, ...]:
    """The items of the shipped option."""
    node = yaml.safe_load((shipped_folder() / "dataset" / "public_domain.yaml").read_text(encoding="utf-8"))
    assert node.pop("_target_") == "evalflow.dataset.text_folder.TextFolder"
    return collect(TextFolder(**node))


def test_the_works_and_their_documents(documents: tuple[Item, ...]) -> None:
    """91 documents of six works; a document's kind is its work's folder, its id its file, its cluster itself."""
    assert Counter(item.kind for item in documents) == DOCUMENTS
    assert [item.id for item in documents] == sorted(p.relative_to(FOLDER).as_posix() for p in FOLDER.rglob("*.txt"))
    assert all(re.fullmatch(r"[a-z]+/[a-z0-9_]+\.txt", item.id) and item.cluster == item.id for item in documents)


def test_there_is_text_enough(documents: tuple[Item, ...]) -> None:
    """370,235 characters, in documents of two to six and a half thousand, none of them twice."""
    sizes = [len(item.prompt) for item in documents]
    assert sum(sizes) == 370_235
    assert min(sizes) >= 2_000 and max(sizes) <= 6_500
    assert len({item.prompt for item in documents}) == len(documents)


def test_no_text_is_damaged(documents: tuple[Item, ...]) -> None:
    """ASCII and the long dash alone, no tabs or carriage returns, no blanks at a line's end, one line end at the end.

    Nothing of whoever typed or published the texts is left in them.
    """
    for item in documents:
        assert re.fullmatch("[ -~\n—]+", item.prompt), item.id
        assert not re.search(r" $|\n{3}", item.prompt, re.MULTILINE), item.id
        assert item.prompt == item.prompt.strip("\n") + "\n", item.id
        assert not re.search(r"gutenberg|\be-?texts?\b|ebook|copyright|http|www\.|\*{3}", item.prompt, re.IGNORECASE), (
            item.id
        )


def test_every_work_is_accounted_for() -> None:
    """The note beside the texts has a row for each folder, with the figures that are there."""
    note = (FOLDER / "README.md").read_text(encoding="utf-8")
    for folder, number in DOCUMENTS.items():
        characters = sum(len(path.read_text(encoding="utf-8")) for path in (FOLDER / folder).glob("*.txt"))
        assert re.search(rf"^\| `{folder}` \|.*\| {number} \| {characters:,} \|", note, re.MULTILINE), folder
