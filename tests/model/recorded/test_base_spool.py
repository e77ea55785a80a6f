"""A base file grows by whole texts: nothing is lost to a killed process, nothing is kept for what it is not."""

import asyncio
import json
import multiprocessing
import os
import signal
import struct

import numpy as np
import pytest

from evalflow.errors import ModelError
from evalflow.model.recorded import base_spool
from evalflow.model.recorded.base_file import BaseFile, windows_of
from evalflow.model.recorded.model import BaseFileModel
from evalflow.model.recorded.recorder import Recorder
from tests.model.recorded.bigram import WIDTH, Bigram, table
from tests.model.recorded.test_recorder import TEXTS, walked

MORE = {**TEXTS, "c": "16180339887"}


def chunked(recorder, texts, n_ctx=6, bos=None, in_front=False):
    """The facts of llama.cpp's walk of texts, the windows of each in reverse order."""

    async def run():
        try:
            await recorder.start()
            for item_id, text in texts.items():
                tokens = (await recorder.encode(text, item_id)).tokens
                await recorder.logits(windows_of(item_id, tokens, n_ctx, bos, in_front)[::-1], None)
            await recorder.settle()
            return recorder.facts()["recording"]
        finally:
            await recorder.close()

    return asyncio.run(run())


def based(out, seed=0, **settings):
    return Recorder(Bigram(seed), str(out), format="base", n_ctx=6, **settings)


@pytest.mark.parametrize(("bos", "in_front"), [(None, False), (11, False), (11, True)])
def test_a_base_file_of_a_walk(tmp_path, bos, in_front):
    """Texts by chunks of 6 tokens, text by text; the tokens are the texts' own, the rows those of what was seen."""
    out = tmp_path / "made.base"
    counts = {"texts": 2, "chunks": 4 if in_front else 3}
    written = {"chunks_written": counts["chunks"], "chunks_kept": 0}
    assert chunked(based(out), TEXTS, bos=bos, in_front=in_front) == {"path": str(out), **counts, **written}
    base = BaseFile(out)
    streams = [[*([11] if in_front else []), *map(int, text)] for text in TEXTS.values()]
    chunks = [stream[at : at + 6] for stream in streams for at in range(0, len(stream) - 5, 6)]
    assert base.tokens_cn.tolist() == chunks
    for place, chunk in enumerate(chunks):
        exact = table(0)[chunk[3:5]].astype(float)
        exact -= np.log(np.exp(exact).sum(axis=1, keepdims=True))
        assert base.rows(place, 0, 2)[0] == pytest.approx(exact, abs=8 / 65535 + 1e-5)
    assert out.read_bytes()[:20] == b"_logits_" + struct.pack("<iii", 6, WIDTH, len(chunks))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made.base", "made.base.json"]


def test_a_base_file_says_whose_it_is_beside_it(tmp_path):
    """So it is the same model's facts that come back; a note of other tokens is refused."""
    out = tmp_path / "made.base"
    chunked(based(out), TEXTS)

    async def told():
        model = BaseFileModel(str(out), tokenizer="unknown")
        await model.start()
        return dict(model.scorer_facts()), dict(model.facts())

    facts, about = asyncio.run(told())
    assert (facts["tokenizer"], facts["bos"], about["recorded_of"]["model"]) == ("digits", 11, "bigram")
    note = json.loads((tmp_path / "made.base.json").read_text())
    (tmp_path / "made.base.json").write_text(json.dumps(note | {"tokens_sha256": "0" * 64}))
    with pytest.raises(ModelError, match=r"made\.base\.json: it is of other tokens than made\.base; remove it"):
        BaseFile(out)


def test_a_base_file_is_kept_or_replaced_as_asked(tmp_path):
    """Of the same model it is kept; one of another, or of nobody knows which, is refused, or replaced when asked."""
    out = tmp_path / "made.base"
    chunked(based(out), TEXTS)
    before = out.read_bytes()
    facts = chunked(based(out), {"b": TEXTS["b"]})
    assert (facts["chunks_written"], facts["chunks_kept"], facts["chunks"]) == (0, 2, 3)
    assert out.read_bytes() == before
    other = based(out, seed=1)
    assert other.missing() == f"{out} is there, and not known to be of this model; give another path, or overwrite=true"
    with pytest.raises(ModelError, match="not known to be of this model"):
        chunked(other, TEXTS)
    (tmp_path / "made.base.json").unlink()
    with pytest.raises(ModelError, match="not known to be of this model"):
        chunked(based(out), TEXTS)
    assert out.read_bytes() == before
    chunked(based(out, seed=1, overwrite=True), TEXTS)
    assert out.read_bytes() != before and BaseFile(out).about["model"]["seed"] == 1


@pytest.mark.parametrize(
    ("scoring", "said"),
    [
        ({}, "item 'a/1': 6 tokens, scored from token 6 on, are no chunk of 6; walk texts as llama.cpp does"),
        ({"bos": "each"}, "7 tokens, scored from token 0 on, are no chunk of 6"),
        ({"window": 8}, "8 tokens, scored from token 1 on, are no chunk of 6"),
    ],
)
def test_windows_that_are_no_chunks_make_no_base_file(tmp_path, scoring, said):
    """Overlapping, with a token in front, or longer."""
    with pytest.raises(ModelError, match=said):
        walked(based(tmp_path / "a.base"), TEXTS, **scoring)
    assert not (tmp_path / "a.base").exists()


def test_a_walk_without_a_chunk_makes_no_base_file(tmp_path):
    """Texts that are all too short are named as the reason."""
    with pytest.raises(ModelError, match="no chunk of 6 tokens came; give longer texts"):
        chunked(based(tmp_path / "a.base"), {"a": "12345"})
    assert not list(tmp_path.iterdir())


def texts_in(out):
    return [(one["id"], one["chunks"]) for one in json.loads((out.parent / f"{out.name}.json").read_text())["texts"]]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


async def walk_and_die(out, n_chunks, kill_in, settings):
    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    recorder = based(out, **settings)
    await recorder.start()
    for item_id, text in MORE.items():
        for one in windows_of(item_id, (await recorder.encode(text, item_id)).tokens, 6):
            if n_chunks == 0:
                die()
            await recorder.logits([one], None)
            n_chunks -= 1
    setattr(base_spool, kill_in, die)
    await recorder.settle()


def killed(out, n_chunks=99, kill_in="BaseFileWriter", **settings):
    """A process of its own that is killed after so many chunks, or where it puts the file together."""
    running = multiprocessing.get_context("fork").Process(
        target=lambda: asyncio.run(walk_and_die(out, n_chunks, kill_in, settings))
    )
    running.start()
    running.join(60)
    assert running.exitcode == -signal.SIGKILL


def whole_file(folder, texts, seed=0):
    chunked(based(folder / "whole.base", seed), texts)
    return (folder / "whole.base").read_bytes()


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_killed_recording_is_completed_by_the_next(tmp_path, overwrite):
    """Killed in its third text, and again; the last session walks only what no row is there of, and the file is whole,
    byte for byte the one of a walk that nobody killed."""
    out = tmp_path / "a" / "made.base"
    killed(out, 2, overwrite=overwrite)
    assert names(out.parent) == ["made.base.spool"]
    killed(out, 3, overwrite=overwrite)
    facts = chunked(based(out, overwrite=overwrite), {"c": MORE["c"]})
    assert facts["texts"] == 3 and facts["chunks"] == 4 and "unfinished" not in facts
    assert out.read_bytes() == whole_file(tmp_path, MORE)
    assert names(out.parent) == ["made.base", "made.base.json"]


@pytest.mark.parametrize("before", ["nothing", "its own", "another's"])
@pytest.mark.parametrize("kill_in", ["BaseFileWriter", "write_about"])
def test_a_kill_while_the_file_is_put_together_costs_nothing(tmp_path, kill_in, before):
    """Before it has its name and after, before its note has; whether it replaces an older file or none."""
    out = tmp_path / "a" / "made.base"
    if before != "nothing":
        chunked(based(out, seed=int(before == "another's")), {"a/1": TEXTS["a/1"]})
    killed(out, kill_in=kill_in, overwrite=before == "another's")
    facts = chunked(based(out, overwrite=before == "another's"), {})
    assert facts["texts"] == 3 and "unfinished" not in facts
    assert texts_in(out) == [("a/1", 1), ("b", 2), ("c", 1)]
    assert BaseFile(out).about["model"]["seed"] == 0
    assert out.read_bytes() == whole_file(tmp_path, MORE)
    assert names(out.parent) == ["made.base", "made.base.json"]


def test_a_text_that_was_cut_short_is_not_in_the_file(tmp_path):
    """A session that is stopped within a text leaves the whole ones in the file, says which one is not, and keeps what
    there is of it; the note says so too, and the model that reads the file."""
    out = tmp_path / "made.base"

    async def stopped():
        recorder = based(out)
        await recorder.start()
        for item_id, n_windows in (("a/1", 1), ("b", 1)):
            tokens = (await recorder.encode(TEXTS[item_id], item_id)).tokens
            await recorder.logits(windows_of(item_id, tokens, 6)[:n_windows], None)
        await recorder.settle()
        return recorder.facts()["recording"]

    facts = asyncio.run(stopped())
    assert (facts["unfinished"], facts["unfinished_texts"], facts["spool"]) == (1, ["b"], f"{out}.spool")
    assert texts_in(out) == [("a/1", 1)] and BaseFile(out).layout.n_chunk == 1

    async def told():
        model = BaseFileModel(str(out))
        await model.start()
        return model.facts()

    facts = asyncio.run(told())
    assert (facts["recorded_texts"], facts["recorded_unfinished"]) == (1, 1)
    facts = chunked(based(out), {"b": TEXTS["b"]})
    assert (facts["chunks_written"], facts["chunks_kept"], facts["texts"]) == (1, 1, 2)
    assert out.read_bytes() == whole_file(tmp_path, TEXTS)
    assert "recorded_unfinished" not in asyncio.run(told())


def test_texts_that_a_file_lacks_are_added(tmp_path):
    """Two texts and then three of them: the file has all three, as if it had been made at once; a third session that
    brings nothing new leaves it alone."""
    out = tmp_path / "made.base"
    chunked(based(out), TEXTS)
    facts = chunked(based(out), MORE)
    assert (facts["chunks_written"], facts["chunks_kept"], facts["texts"]) == (1, 3, 3)
    assert texts_in(out) == [("a/1", 1), ("b", 2), ("c", 1)]
    assert out.read_bytes() == whole_file(tmp_path, MORE)
    was = out.stat()
    chunked(based(out), MORE)
    assert (out.stat().st_mtime_ns, out.stat().st_ino) == (was.st_mtime_ns, was.st_ino)


def test_another_text_in_an_items_place_is_refused_or_replaced(tmp_path):
    """Shorter, longer, or different in one token, and whether tokens are told whole or a window at a time."""
    out = tmp_path / "made.base"
    chunked(based(out), TEXTS)
    before = out.read_bytes()
    for other in ("271828", TEXTS["b"] + "123456", "27182818284591"):
        with pytest.raises(ModelError, match="item 'b': it was recorded of another text; give another path, or over"):
            chunked(based(out), {"b": other})

    async def window_alone():
        recorder = based(out)
        await recorder.start()
        await recorder.logits(windows_of("b", np.array([2, 7, 1, 9, 2, 8]), 6), None)

    with pytest.raises(ModelError, match=r"item 'b': token 3 is 9, and 8 in the recording"):
        asyncio.run(window_alone())
    with pytest.raises(ModelError, match="recorded with no beginning-of-text token, not a beginning-of-text token in"):
        chunked(based(out), TEXTS, bos=11)
    assert out.read_bytes() == before and names(tmp_path) == ["made.base", "made.base.json"]
    replaced = {"a/1": "999999", "b": "271828"}
    chunked(based(out, overwrite=True), replaced)
    assert out.read_bytes() == whole_file(tmp_path, replaced)


def test_other_settings_are_refused_or_replaced(tmp_path):
    """Chunks of another length, and a note that names no texts; of a file and of what a killed process left."""
    out = tmp_path / "made.base"
    chunked(based(out), TEXTS)
    longer = {"format": "base", "n_ctx": 8}
    with pytest.raises(ModelError, match=r"made\.base is of this model under other settings; give another path"):
        chunked(Recorder(Bigram(), str(out), **longer), TEXTS, n_ctx=8)
    chunked(Recorder(Bigram(), str(out), **longer, overwrite=True), TEXTS, n_ctx=8)
    assert BaseFile(out).layout.n_ctx == 8
    note = tmp_path / "made.base.json"
    note.write_text(json.dumps({name: said for name, said in json.loads(note.read_text()).items() if name != "texts"}))
    with pytest.raises(ModelError, match="does not say whose texts it has; give another path, or overwrite=true"):
        chunked(Recorder(Bigram(), str(out), **longer), TEXTS, n_ctx=8)
    other = tmp_path / "other.base"
    killed(other, 2)
    with pytest.raises(ModelError, match=r"other\.base\.spool holds chunks of this model under other settings"):
        chunked(Recorder(Bigram(), str(other), **longer), TEXTS, n_ctx=8)
    assert "holds chunks of another model" in based(other, seed=1).missing()
    chunked(based(other, seed=1, overwrite=True), {"b": TEXTS["b"]})
    assert texts_in(other) == [("b", 2)] and not (tmp_path / "other.base.spool").exists()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("made.base", "is there and no base file; give another path"),
        ("made.base.json", "is there and no recording's; give another path"),
        ("made.base.spool/notes.txt", "holds notes.txt, which no recorder wrote; move it away, or give another path"),
        ("made.base.spool", "holds made.base.spool, which no recorder wrote"),
    ],
)
def test_what_no_recorder_wrote_is_left_alone(tmp_path, name, said, overwrite):
    """In the file's place, in its note's, in the folder of its chunks, whatever `overwrite` says."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    recorder = based(tmp_path / "made.base", overwrite=overwrite)
    assert said in recorder.missing()
    with pytest.raises(ModelError, match=r"made\.base"):
        chunked(recorder, TEXTS)
    assert path.read_text() == "mine" and len(list(tmp_path.rglob("*"))) == 1 + (path.parent != tmp_path)


def test_a_damaged_chunk_is_named(tmp_path):
    """One line with its path, and nothing is put together without it."""
    out = tmp_path / "made.base"
    killed(out, 3)
    (tmp_path / "made.base.spool" / "00000001.npz").write_bytes(b"PK")
    with pytest.raises(ModelError, match=r"made\.base\.spool/00000001\.npz: is damaged"):
        chunked(based(out), TEXTS)
    assert not out.exists()
