"""Texts of a folder: the prompt is the text, the id its place, and what is no text is named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalflow.dataset.protocol import collect
from evalflow.dataset.text_folder import TextFolder
from evalflow.record import fingerprints
from tests.dataset.sources import refusal


def written(folder: Path, files: dict[str, bytes | str], **settings: Any) -> TextFolder:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return TextFolder(str(folder), **settings)


def ids(dataset: TextFolder) -> list[str]:
    return [item.id for item in collect(dataset)]


def test_a_file_is_an_item_and_its_text_the_prompt(tmp_path: Path) -> None:
    """To the byte: line ends, blanks and braces stay; a byte order mark does not. There is no target."""
    text = "  {input}\r\n\ttwo \n\n"
    (item,) = collect(written(tmp_path, {"a.txt": b"\xef\xbb\xbf" + text.encode()}))
    assert (item.id, item.prompt, item.target) == ("a.txt", text, None)
    assert (item.kind, item.cluster, item.fields) == ("", "a.txt", {"text": text})


def test_a_changed_text_is_another_content(tmp_path: Path) -> None:
    """A prompt is no part of the content by itself, so the text is."""
    before = fingerprints(collect(written(tmp_path, {"a.txt": "x"})))
    after = fingerprints(collect(written(tmp_path, {"a.txt": "x "})))
    assert all(before[name] != after[name] for name in before)


def test_files_are_taken_by_their_names_and_sorted_by_path(tmp_path: Path) -> None:
    """Sub-folders only where that is said, hidden names never; the order is that of the path's parts."""
    files = ["b.txt", "a.txt", "a/z.txt", "a-b/c.txt", "a/b/c.txt", "n.md", ".h.txt", ".h/x.txt", "A.TXT"]
    dataset = written(tmp_path, dict.fromkeys(files, "x"))
    assert ids(dataset) == ["a.txt", "b.txt"]
    assert ids(TextFolder(str(tmp_path), glob="*.md")) == ["n.md"]
    everything = collect(TextFolder(str(tmp_path), recursive=True))
    assert [item.id for item in everything] == ["a/b/c.txt", "a/z.txt", "a-b/c.txt", "a.txt", "b.txt"]
    assert [item.kind for item in everything] == ["a/b", "a", "a-b", "", ""]
    assert [item.cluster for item in everything] == [item.id for item in everything]


def test_a_paragraph_is_an_item_of_its_files_cluster(tmp_path: Path) -> None:
    """The lines between blank ones, indents kept; only the line end that it ends in is left out."""
    text = "\n \n  one\n two \n\t\n\n\nthree\r\n\r\n \r\n four\r\n"
    found = collect(written(tmp_path, {"s/a.txt": text}, split="paragraph", recursive=True))
    assert [(item.id, item.prompt) for item in found] == [
        ("s/a.txt#1", "  one\n two "),
        ("s/a.txt#2", "three"),
        ("s/a.txt#3", " four"),
    ]
    assert {(item.kind, item.cluster) for item in found} == {("s", "s/a.txt")}


@given(st.lists(st.text(alphabet="ab \t\r\n\u2028", min_size=1), min_size=1).map("\n".join))
@settings(deadline=None)
def test_paragraphs_lose_nothing_but_blanks(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Every line that is not blank is in one of them, in order, as it was; none is blank or has a blank line inside."""
    if not text.strip():
        return
    dataset = written(tmp_path_factory.mktemp("p"), {"a.txt": text}, split="paragraph")
    prompts = [item.prompt for item in collect(dataset)]
    lines = [line for prompt in prompts for line in prompt.split("\n")]
    assert all(line.strip() for line in lines)
    assert [line.rstrip("\r") for line in lines] == [one.rstrip("\r") for one in text.split("\n") if one.strip()]


@pytest.mark.parametrize("split", ["file", "paragraph"])
def test_a_file_of_blanks_is_refused_or_skipped(tmp_path: Path, split: str) -> None:
    """Nothing can be scored on it; that it is there is an error unless said otherwise."""
    files = {"a.txt": "x", "b.txt": " \n\t\n", "c.txt": ""}
    said = f"{tmp_path}/b.txt: it has no text; give it one, or set empty to skip"
    assert refusal(written(tmp_path, files, split=split)) == said
    assert len(collect(TextFolder(str(tmp_path), split=split, empty="skip"))) == 1  # type: ignore[arg-type]
    (tmp_path / "a.txt").unlink()
    assert "every file of it that matches *.txt is empty" in refusal(TextFolder(str(tmp_path), empty="skip"))


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    """With its line and the offset of the byte."""
    said = f"{tmp_path}/s/b.txt:3: not UTF-8 (invalid start byte at byte 4); save the file as UTF-8"
    files = {"s/a.txt": "x", "s/b.txt": b"a\nb\n\xffc"}
    assert refusal(written(tmp_path, files, recursive=True)) == said


def test_a_folder_without_such_files_is_refused(tmp_path: Path) -> None:
    """One that is not there, a file, and one whose files are called otherwise or lie deeper."""
    assert refusal(TextFolder(f"{tmp_path}/no")).startswith(f"{tmp_path}/no: cannot be read (No such file")
    dataset = written(tmp_path, {"s/a.txt": "x", "b.md": "x"})
    assert refusal(TextFolder(f"{tmp_path}/b.md")).startswith(f"{tmp_path}/b.md: cannot be read (Not a directory")
    assert refusal(dataset) == f"{tmp_path}: no file of it matches *.txt; change glob or recursive"
    deep = TextFolder(str(tmp_path), recursive=True, glob="*.text")
    assert refusal(deep) == f"{tmp_path}: no file of it or its sub-folders matches *.text; change glob or recursive"


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    """A loop would never end; a link to a file is that file, and one to nothing is named."""
    dataset = written(tmp_path, {"s/a.txt": "x"}, recursive=True)
    (tmp_path / "s" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "s" / "b.txt").symlink_to(tmp_path / "s" / "a.txt")
    assert ids(dataset) == ["s/a.txt", "s/b.txt"]
    (tmp_path / "s" / "c.txt").symlink_to(tmp_path / "gone")
    assert refusal(dataset).startswith(f"{tmp_path}/s/c.txt: cannot be read (No such file")


def test_a_pipe_is_no_text(tmp_path: Path) -> None:
    """Reading one would wait for whoever writes into it."""
    dataset = written(tmp_path, {"a.txt": "x"})
    os.mkfifo(tmp_path / "b.txt")
    assert refusal(dataset) == f"{tmp_path}/b.txt: it is no regular file; move it, or change glob"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"split": "sentence"}, "split is 'sentence'; choose from file, paragraph"),
        ({"empty": "keep"}, "empty is 'keep'; choose from refuse, skip"),
        ({"glob": "s/*.txt"}, "glob is 's/\\*.txt'; give a pattern of file names"),
        ({"glob": ""}, "glob is ''"),
        ({"path": "package:../x"}, "path is 'package:../x'"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any], said: str) -> None:
    """On building, before anything is read."""
    with pytest.raises(ValueError, match=said):
        TextFolder(**{"path": "absent", **settings})


def test_named_folders_alone_are_taken(tmp_path: Path) -> None:
    """Of three sub-folders the two that are named, and no file beside them; one that is not there is refused."""
    files = {"a/one.txt": "a", "b/one.txt": "b", "c/one.txt": "c", "beside.txt": "beside"}
    assert ids(written(tmp_path, files, recursive=True, folders=("c", "a"))) == ["a/one.txt", "c/one.txt"]
    assert "it has no folder z; change folders" in refusal(TextFolder(str(tmp_path), recursive=True, folders=("z",)))
    with pytest.raises(ValueError, match="recursive is false"):
        TextFolder(str(tmp_path), folders=("a",))
