"""A recorder is its model and nothing else; what it leaves stands for the model later, and nothing is lost to it."""

import asyncio
import json
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from evalflow.errors import ModelError
from evalflow.model.forced import Forced, Walked
from evalflow.model.recorded.model import PipedLogits, RecordedLogits
from evalflow.model.recorded.recorder import Recorder
from evalflow.model.tiny_gpt.model import TinyGPT
from evalflow.record import Decoding, Request
from evalflow.runner.build import Builder, Faults
from evalflow.scoring import Scoring
from tests.model.recorded.bigram import WIDTH, Bigram, table
from tests.model.recorded.by_hand import window

TEXTS = {"a/1": "31415926535", "b": "27182818284590"}


def walked(candidate, texts, reference=None, **scoring):
    """The columns of texts and the facts, of a whole walk."""
    how = Scoring(**{"window": 6, "bos": "none", **scoring})
    model = Forced(Walked(candidate, how), None if reference is None else Walked(reference, how))

    async def run():
        try:
            await model.start()
            await model.prove(Decoding(), "cold")
            told = [(await model.complete(Request(i, text, Decoding(), 0))).columns for i, text in texts.items()]
            await model.settle()
            return told, dict(model.facts())
        finally:
            await model.close()

    return asyncio.run(run())


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_everything_else_is_the_models_own(tmp_path):
    """Its identity, regimes, facts and greedy continuation; what is asked of the recorder reaches it."""
    inner = Bigram()
    recorder = Recorder(inner, str(tmp_path / "out"))
    assert recorder.identity() == {"model": "bigram", "seed": 0}
    assert recorder.regimes == ("cold", "warm") and recorder.missing() is None
    _, facts = walked(recorder, TEXTS)
    assert inner.asked == ["start", "settle", "close"] and facts["said"] == "model"
    assert asyncio.run(recorder.greedy(np.array([1]), 2)) == [7, 7]
    with pytest.raises(AttributeError):
        _ = recorder.own_tokens
    with pytest.raises(AttributeError):
        _ = recorder.__deepcopy__


def test_a_recording_stands_for_its_model(tmp_path):
    """Bit by bit, in a walk of the same windows, in lockstep with the model and alone; its facts are the model's."""
    out = tmp_path / "out"
    alone, facts = walked(Recorder(Bigram(), str(out)), TEXTS, stride=3)
    assert facts["recording"] == {"path": str(out), "windows_written": 7, "windows_kept": 0}
    assert files(out)[:3] == ["recording.json", "texts/a%2F1/1.npz", "texts/a%2F1/6.npz"]
    again, told = walked(RecordedLogits(str(out)), TEXTS, stride=3)
    assert all((one["nll"] == other["nll"]).all() for one, other in zip(again, alone, strict=True))
    assert told["scorer"]["tokenizer"] == "digits" and told["scorer"]["bos"] == 11
    assert told["recorded_of"] == {"model": "bigram", "seed": 0}
    beside, _ = walked(RecordedLogits(str(out)), TEXTS, Bigram(), stride=3, backwards=True)
    assert all((one["max_abs"] == 0).all() for one in beside)


@pytest.mark.parametrize("bos", ["each", "first"])
def test_windows_with_a_beginning_of_text_token(tmp_path, bos):
    """What stood in front is recorded too, and a walk without it finds no such window."""
    out = tmp_path / "out"
    walked(Recorder(Bigram(), str(out)), TEXTS, bos=bos)
    columns, _ = walked(RecordedLogits(str(out)), TEXTS, Bigram(), bos=bos)
    assert all((one["max_abs"] == 0).all() and one["position"][0] == 0 for one in columns)
    said = "a window that scores from token 1 on is asked for, and recorded are those from 0, 6"
    with pytest.raises(ModelError, match=said):
        walked(RecordedLogits(str(out)), TEXTS, bos="none")


def test_other_windows_than_were_recorded_are_refused(tmp_path):
    """A longer one with the same beginning, and one after other tokens, by name."""
    out = tmp_path / "out"
    walked(Recorder(Bigram(), str(out)), TEXTS)
    with pytest.raises(ModelError, match=r"recorded is a window of 6 tokens, none .* asked for is one of 8 tokens"):
        walked(RecordedLogits(str(out)), TEXTS, window=8)
    with pytest.raises(ModelError, match="it was recorded of another text"):
        walked(RecordedLogits(str(out)), {"b": "2718281828459"})
    with pytest.raises(ModelError, match="item 'c': it was not recorded"):
        walked(RecordedLogits(str(out)), {"c": "123"})

    async def other_tokens():
        model = RecordedLogits(str(out))
        await model.start()
        await model.logits([window("b", [2, 7, 1, 9, 2, 8])], None)

    with pytest.raises(ModelError, match="token 3 is 9, and 8 in the recording"):
        asyncio.run(other_tokens())


def test_a_recording_is_gone_on_with(tmp_path):
    """A second run of the same model writes what is missing and keeps what is there, byte by byte."""
    out = tmp_path / "out"
    walked(Recorder(Bigram(), str(out)), {"b": TEXTS["b"]})
    kept = {name: ((out / name).read_bytes(), (out / name).stat().st_mtime_ns) for name in files(out)[1:]}
    _, facts = walked(Recorder(Bigram(), str(out)), TEXTS)
    assert facts["recording"] == {"path": str(out), "windows_written": 2, "windows_kept": 3}
    assert {name: ((out / name).read_bytes(), (out / name).stat().st_mtime_ns) for name in kept} == kept


def test_nothing_of_another_model_is_replaced_unasked(tmp_path):
    """Told before anything is started; with `overwrite` the old recording is gone and the new one is whole."""
    out = tmp_path / "out"
    walked(Recorder(Bigram(), str(out)), TEXTS)
    before = {name: (out / name).read_bytes() for name in files(out)}
    other = Recorder(Bigram(seed=1), str(out))
    assert other.missing() == f"{out} is the recording of another model; give another path, or overwrite=true"
    with pytest.raises(ModelError, match="the recording of another model"):
        walked(other, TEXTS)
    assert {name: (out / name).read_bytes() for name in files(out)} == before
    anew = Recorder(Bigram(seed=1), str(out), overwrite=True)
    assert anew.missing() is None
    walked(anew, {"b": TEXTS["b"]})
    assert not any("a%2F1" in name for name in files(out))
    columns, _ = walked(RecordedLogits(str(out)), {"b": TEXTS["b"]}, Bigram(seed=1))
    assert (columns[0]["max_abs"] == 0).all()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_other_windows_in_a_recordings_place_are_refused(tmp_path):
    """The same model walked another way is not mixed into what is there; `overwrite` replaces it window by window."""
    out = tmp_path / "out"
    walked(Recorder(Bigram(), str(out)), TEXTS)
    with pytest.raises(ModelError, match="recorded is a window of 6 tokens"):
        walked(Recorder(Bigram(), str(out)), TEXTS, window=8)
    with pytest.raises(ModelError, match="it was recorded of another text"):
        walked(Recorder(Bigram(), str(out)), {"b": "271828"})
    walked(Recorder(Bigram(), str(out), overwrite=True), TEXTS, window=8)
    assert walked(RecordedLogits(str(out)), TEXTS, window=8)[0][0].n == 10


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_recording_is_left_alone(tmp_path, overwrite):
    """A folder of something else, or a file, whatever `overwrite` says; an empty folder will do."""
    for name in ("folder/notes.txt", "file"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
        out = tmp_path / name.split("/")[0]
        recorder = Recorder(Bigram(), str(out), overwrite=overwrite)
        assert recorder.missing() == f"{out} is there and no recording; give another path"
        with pytest.raises(ModelError, match="no recording"):
            walked(recorder, TEXTS)
        assert path.read_text() == "mine"
    (tmp_path / "empty").mkdir()
    walked(Recorder(Bigram(), str(tmp_path / "empty")), TEXTS)


@pytest.mark.parametrize("name", ["notes.txt", "texts/b/plot.png", "texts/readme", "old/1.npz", "texts/link"])
def test_a_recording_with_something_else_in_it_is_not_removed(tmp_path, name):
    """With `overwrite`, of another model and of other settings: what no recorder wrote is named, and all is as it was.

    What a killed process left is the recorder's own, and goes."""
    out = tmp_path / "out"
    walked(Recorder(Bigram(), str(out)), TEXTS)
    (out / "texts" / "b" / ".7.npz.part").write_bytes(b"PK")
    mine = out / name
    mine.parent.mkdir(exist_ok=True)
    if name.endswith("link"):
        mine.symlink_to(tmp_path)
    else:
        mine.write_text("mine")
    before = files(out)
    anew = Recorder(Bigram(seed=1), str(out), overwrite=True)
    first = name.split("/")[0] if name.startswith("old") else name
    assert anew.missing() == f"{out} holds {first}, which no recorder wrote; move it away, or give another path"
    with pytest.raises(ModelError, match="which no recorder wrote"):
        walked(anew, TEXTS)
    note = json.loads((out / "recording.json").read_text())
    (out / "recording.json").write_text(json.dumps(note | {"own_tokens": False}))
    with pytest.raises(ModelError, match="which no recorder wrote"):
        walked(Recorder(Bigram(), str(out), overwrite=True), TEXTS)
    assert files(out) == before
    mine.unlink()
    if name.startswith("old"):
        mine.parent.rmdir()
    walked(anew, {"b": TEXTS["b"]})
    assert files(out) == ["recording.json", "texts/b/1.npz", "texts/b/11.npz", "texts/b/6.npz", "texts/b/text.npz"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_are_recorded_in_their_own_precision(tmp_path, dtype):
    """bfloat16, which numpy lacks, as the float32 that it is; what the runner gets is the tensor itself."""

    class Torch(Bigram):
        async def logits(self, windows, chunk):
            self.given = [torch.tensor(rows).to(dtype) for rows in await super().logits(windows, chunk)]
            return self.given

    async def run():
        recorder = Recorder(inner := Torch(), str(tmp_path / "out"))
        await recorder.start()
        asked = window("a", [3, 1, 4])
        (rows,) = await recorder.logits([asked], None)
        assert rows is inner.given[0]
        await recorder.encode("314", "a")
        replay = RecordedLogits(str(tmp_path / "out"))
        await replay.start()
        (again,) = await replay.logits([asked], None)
        assert again.dtype == np.dtype({torch.bfloat16: "f4"}.get(dtype, str(dtype).removeprefix("torch.")))
        assert (torch.from_numpy(again.copy()).to(dtype) == rows).all()

    asyncio.run(run())


def test_a_recording_of_a_stream_has_no_tokens_either(tmp_path):
    """A program's rows can be kept: the tokens are then the other arm's, as they were."""
    script = f"import os; os.write(1, bytes({4 * WIDTH * 21}))"
    piped = PipedLogits(WIDTH, command=(sys.executable, "-c", script))
    texts = {"a": "3141592653", "b": "2718281828459"}
    walked(Recorder(piped, str(tmp_path / "out")), texts, Bigram(), window=32)
    replay = RecordedLogits(str(tmp_path / "out"))
    columns, _ = walked(replay, texts, Bigram(), window=32)
    assert columns[0]["nll"] == pytest.approx(np.full(9, np.log(WIDTH)), abs=1e-12)
    with pytest.raises(ModelError, match="a model that reads texts, and mark a reference that has none control: true"):
        walked(replay, texts, window=32)


KILLED = """
import asyncio, sys
from tests.model.recorded.bigram import Bigram
from tests.model.recorded.by_hand import window
from evalflow.model.recorded.recorder import Recorder

async def run(path):
    recorder = Recorder(Bigram(), path)
    await recorder.start()
    place = 0
    while True:
        await recorder.logits([window("a", [1, 2, 3, 4, 5, 6], first=4, position=4 + 6 * place)], None)
        place += 1
        print(place, flush=True)

asyncio.run(run(sys.argv[1]))
"""


def test_a_process_that_is_killed_leaves_nothing_half(tmp_path):
    """Every window that has its name is whole."""
    out = tmp_path / "out"
    running = subprocess.Popen([sys.executable, "-c", KILLED, str(out)], stdout=subprocess.PIPE)
    with running:
        while int(running.stdout.readline()) < 5:
            pass
        time.sleep(0.05)
        running.kill()

    async def read_all():
        replay = RecordedLogits(str(out))
        await replay.start()
        (out / "texts" / "a" / "text.npz").unlink(missing_ok=True)
        np.savez(out / "texts" / "a" / "text.npz", tokens=[0], starts=[0], text_sha256=np.array(""))
        whole = list((out / "texts" / "a").glob("[0-9]*.npz"))
        for path in whole:
            place = int(path.stem)
            (rows,) = await replay.logits([window("a", [1, 2, 3, 4, 5, 6], first=4, position=place)], None)
            assert (rows == table(0)[[4, 5]]).all()
        return len(whole)

    assert asyncio.run(read_all()) >= 5


def test_the_embedded_model_recorded_and_replayed(tmp_path):
    """TinyGPT's logits of a string task, in float32: the recording lies nothing apart from it."""
    texts = {"twice/cat": "say twice: cat"[:12]}
    probe, _ = walked(Recorder(TinyGPT(), str(tmp_path / "out")), texts, window=8)
    columns, _ = walked(RecordedLogits(str(tmp_path / "out")), texts, TinyGPT(), window=8)
    assert (columns[0]["max_abs"] == 0).all() and (columns[0]["nll"] == probe[0]["nll"]).all()


def test_a_recorder_is_built_from_a_config(tmp_path):
    """The model within is a part of its own; one that gives no logits is refused, as is a base file of no length."""
    node = {"_target_": "evalflow.model.recorded.recorder.Recorder", "path": str(tmp_path / "out")}
    inner = {"_target_": "evalflow.model.tiny_gpt.model.TinyGPT", "dtype": "float64"}
    faults = Faults()
    built = Builder(("evalflow",), faults).build({**node, "model": inner}, "model")
    assert not faults.found and built.identity()["dtype"] == "float64"
    for settings, said in (
        (
            {"model": {"_target_": "evalflow.model.scripted.Scripted"}},
            "model.model: it is Scripted, which has no encode",
        ),
        ({"model": {**inner, "dtype": "int3"}}, "model.model.dtype: "),
        ({"model": 5}, "model.model: it is int, which has no encode"),
        ({"model": inner, "format": "base"}, "model.n_ctx: it is None; give the tokens of a chunk"),
        ({"model": inner, "n_ctx": 512}, "model.n_ctx: it is 512; give the tokens of a chunk with format=base"),
        ({"model": inner, "format": "base", "n_ctx": 2}, "model.n_ctx: it is 2; give at least 3"),
        ({"model": inner, "format": "npy"}, "model.format: 'npy' is no choice"),
    ):
        faults = Faults()
        assert Builder(("evalflow",), faults).build({**node, **settings}, "model") is None
        assert str(faults.found[0]).startswith(said), str(faults.found[0])
