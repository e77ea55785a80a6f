"""Recorded outputs of a system, where a model would stand."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from evalflow.errors import ModelError
from evalflow.model.transcript import Transcript
from evalflow.record import Decoding, Request

OUTPUTS = {"a": "one\r\ntwo\n", "b.c": "", "d": "\ufeffthrée"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in OUTPUTS.items():
        (tmp_path / f"{name}.sys.ocr.txt").write_bytes(text.encode())
    (tmp_path / "a.sys.other.txt").write_text("another's", encoding="utf-8")
    return tmp_path


def answer(item: str, model: Transcript, seed: int = 0) -> str:
    return asyncio.run(model.complete(Request(item, item, Decoding(), seed))).text


def test_it_answers_with_what_was_recorded(folder: Path) -> None:
    """To the byte, but for a byte order mark; an empty output is an answer too."""
    model = Transcript(str(folder), "ocr")
    assert [answer(item, model) for item in OUTPUTS] == ["one\r\ntwo\n", "", "thrée"]
    assert answer("a", Transcript(str(folder), "other")) == "another's"
    completion = asyncio.run(model.complete(Request("a", "a", Decoding(), 0)))
    assert (completion.finish_reason, completion.tokens_out, completion.times.end) == ("stop", None, None)


@pytest.mark.parametrize("item", ["z", "../a", "sub/a"])
def test_a_document_without_output_is_an_error_that_names_it(folder: Path, item: str) -> None:
    """A name that leads out of the folder is none of its documents."""
    with pytest.raises(ModelError) as failed:
        answer(item, Transcript(str(folder), "ocr"))
    assert failed.value.kind == "no_output"
    assert str(failed.value) == (
        f"{folder}/{item}.sys.ocr.txt: cannot be read (No such file or directory); "
        "add the system's output, or leave the document out"
    )


def test_an_output_that_is_not_utf_8_is_an_error_that_names_the_byte(folder: Path) -> None:
    """Nothing is guessed."""
    (folder / "a.sys.ocr.txt").write_bytes(b"on\xe9")
    with pytest.raises(ModelError, match=r"a\.sys\.ocr\.txt: not UTF-8 \(unexpected end of data at byte 2\)") as failed:
        answer("a", Transcript(str(folder), "ocr"))
    assert failed.value.kind == "unreadable"


def test_its_identity_is_what_it_recorded(folder: Path) -> None:
    """The same outputs in another folder are the same system's; one changed byte makes them another's."""
    before = Transcript(str(folder), "ocr").identity()
    assert (before["model"], before["system"]) == ("transcript", "ocr")
    copy = folder / "copy"
    copy.mkdir()
    for file in folder.glob("*.sys.ocr.txt"):
        (copy / file.name).write_bytes(file.read_bytes())
    assert Transcript(str(copy), "ocr").identity() == before
    (copy / "d.sys.ocr.txt").write_bytes(b"three")
    assert Transcript(str(copy), "ocr").identity() != before
    assert Transcript(str(folder), "other").identity()["outputs"] != before["outputs"]


def test_what_is_missing_is_told_before_anything_starts(folder: Path) -> None:
    """A system without a single output, or no folder; it then has an identity all the same."""
    assert Transcript(str(folder), "ocr").missing() is None
    for path in (folder, folder / "absent"):
        model = Transcript(str(path), "orc")
        said = f"{path} has no file DOCUMENT.sys.orc.txt; name a system whose outputs lie there"
        assert model.missing() == said
        assert model.identity()["system"] == "orc"


def test_it_is_free_of_concurrency(folder: Path) -> None:
    """The same texts one after another and all at once, in any order and under any seed."""
    model = Transcript(str(folder), "ocr")
    alone = {item: answer(item, model) for item in OUTPUTS}

    async def together() -> list[tuple[str, str]]:
        asked = [item for item in OUTPUTS for _ in range(5)]
        random.Random(0).shuffle(asked)
        requests = [Request(item, item, Decoding(temperature=1.0), seed) for seed, item in enumerate(asked)]
        said = await asyncio.gather(*(model.complete(one) for one in requests))
        return [(item, completion.text) for item, completion in zip(asked, said, strict=True)]

    assert Transcript.concurrency_free
    assert all(text == alone[item] for item, text in asyncio.run(together()))


@pytest.mark.parametrize("system", ["", "a.b", "../a", "a/b", "a\\b"])
def test_a_system_that_no_file_could_name_is_refused(system: str) -> None:
    """On building."""
    with pytest.raises(ValueError, match=r"give SYSTEM as it stands in DOCUMENT\.sys\.SYSTEM\.txt"):
        Transcript("package:transcriptions", system)


def test_no_experiment_on_recorded_outputs_needs_torch(tmp_path: Path) -> None:
    """In a fresh interpreter the whole of `experiment=agreement` runs, and nothing has imported it."""
    script = (
        "import sys; from evalflow.cli import main; "
        "code = main(['experiment=agreement', 'tracking=none', '--quiet']); "
        "print(code, 'torch' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == ["pass", "0 False"]
