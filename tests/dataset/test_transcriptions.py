"""Documents by several annotators: what becomes an item, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalflow.dataset.protocol import collect
from evalflow.dataset.transcriptions import Transcriptions
from evalflow.record import fingerprints
from tests.dataset.sources import refusal

TWO = {"p-1.gt.A.txt": "ſo it was\n", "p-1.gt.B.txt": "so it was\n", "p-2.gt.A.txt": "x\n", "p-2.gt.B.txt": "y\n"}


def written(folder: Path, files: dict[str, bytes | str], **settings: Any) -> Transcriptions:
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return Transcriptions(str(folder), **settings)


def test_a_document_is_an_item(tmp_path: Path) -> None:
    """Named by its files; the first annotator's text is the target, and every reading is a field, to the byte."""
    first, second = collect(written(tmp_path, {**TWO, "p-1.sys.ocr.txt": "fo it was\n", "README.md": "not read"}))
    assert (first.id, first.prompt, first.target) == ("p-1", "p-1", "ſo it was\n")
    assert first.fields == {"annotators": {"A": "ſo it was\n", "B": "so it was\n"}}
    assert (second.id, first.cluster, second.cluster) == ("p-2", "p-1", "p-2")


def test_names_may_hold_points(tmp_path: Path) -> None:
    """The last three parts say what a file is; annotators are whoever has files, in order of their names."""
    (item,) = collect(written(tmp_path, {"f.1.gt.v2.gt.zoe.txt": "z", "f.1.gt.v2.gt.Ann.txt": "a"}))
    assert item.id == "f.1.gt.v2"
    assert list(item.fields["annotators"]) == ["Ann", "zoe"]
    assert item.target == "a"


def test_pages_of_one_book_are_a_cluster(tmp_path: Path) -> None:
    """Where a mark in their names is given; a name without it is a cluster of its own."""
    items = collect(written(tmp_path, {**TWO, "q.gt.A.txt": "x", "q.gt.B.txt": "x"}, cluster_until="-"))
    assert [item.cluster for item in items] == ["p", "p", "q"]


def test_a_changed_reading_is_another_content(tmp_path: Path) -> None:
    """Any annotator's; what a system made of a document is no part of the dataset, but of the model's identity."""
    before = fingerprints(collect(written(tmp_path, TWO)))
    assert fingerprints(collect(written(tmp_path, {"p-1.sys.ocr.txt": "?"}))) == before
    assert fingerprints(collect(written(tmp_path, {"p-2.gt.B.txt": "z\n"}))) != before


def test_a_byte_order_mark_is_no_text_and_is_noted(tmp_path: Path) -> None:
    """The field names the files that began with one."""
    first, second = collect(written(tmp_path, {**TWO, "p-1.gt.B.txt": b"\xef\xbb\xbfso"}))
    assert first.fields["annotators"]["B"] == "so"
    assert first.fields["byte_order_marks"] == ["p-1.gt.B.txt"]
    assert "byte_order_marks" not in second.fields


def test_a_missing_annotator_is_refused_or_skipped(tmp_path: Path) -> None:
    """Skipped it is None, so that metrics can tell; where it is the first annotator's, there is no target."""
    files = {**TWO, "p-3.gt.B.txt": "z\n", "p-4.sys.ocr.txt": "w\n"}
    said = refusal(written(tmp_path, files))
    assert said == (
        f"{tmp_path}/p-3.gt.A.txt: there is no such file (nor 2 others that are missing), and A read other documents; "
        "add it, or set missing to skip"
    )
    *_, third, fourth = collect(Transcriptions(str(tmp_path), missing="skip"))
    assert (third.target, third.fields["annotators"]) == (None, {"A": None, "B": "z\n"})
    assert fourth.fields["annotators"] == {"A": None, "B": None}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "{}: it has no annotator's file; add those of two, such as DOCUMENT.gt.B.txt"),
        ({"a.sys.x.txt": "x"}, "{}: it has no annotator's file; add those of two, such as a.gt.B.txt"),
        ({"a.gt.A.txt": "x"}, "{}: A is its only annotator; add those of two, such as a.gt.B.txt"),
        ({"a.gt.B.txt": "x"}, "{}: B is its only annotator; add those of two, such as a.gt.A.txt"),
        (
            {**TWO, "p-1.gt.B.txt": " \n"},
            "{}/p-1.gt.B.txt: it has no text; give it one, or remove it and set missing to skip",
        ),
        (
            {**TWO, "p-1.gt.B.txt": b"\xef\xbb\xbf"},
            "{}/p-1.gt.B.txt: it has no text; give it one, or remove it and set missing to skip",
        ),
        (
            {**TWO, "p-2.gt.B.txt": b"one\ntw\xff"},
            "{}/p-2.gt.B.txt:2: not UTF-8 (invalid start byte at byte 6); save the file as UTF-8",
        ),
        (
            {**TWO, "p-2.GT.B.txt": "x"},
            "{}/p-2.GT.B.txt: it is called neither DOCUMENT.gt.ANNOTATOR.txt nor DOCUMENT.sys.SYSTEM.txt; "
            "rename it, or move it away",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, files: dict[str, bytes | str], said: str) -> None:
    """In one line that names the folder or the file."""
    assert refusal(written(tmp_path, files)) == said.format(tmp_path)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """By its path as given."""
    said = refusal(Transcriptions(str(tmp_path / "absent")))
    assert said == f"{tmp_path}/absent: cannot be read (No such file or directory); give a readable folder"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"missing": "keep"}, "missing is 'keep'; choose from refuse, skip"),
        ({"cluster_until": ""}, "cluster_until is empty; give a mark"),
        ({"path": "package:../x"}, "path is 'package:../x'"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any], said: str) -> None:
    """On building, before anything is read."""
    with pytest.raises(ValueError, match=said):
        Transcriptions(**{"path": "absent", **settings})
