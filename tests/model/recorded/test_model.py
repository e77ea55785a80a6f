"""Recordings as an arm's model: the rows that were asked for, facts, and what a recording cannot do."""

import asyncio
import json
import os
import sys

import numpy as np
import pytest

from evalflow.dataset.token_chunks import TokenChunks
from evalflow.errors import ModelError
from evalflow.model.forced import Forced, Walked
from evalflow.model.recorded.base_file import BaseFileWriter, windows_of
from evalflow.model.recorded.model import BaseFileModel, PipedLogits, RecordedLogits
from evalflow.model.scorer import SCORES
from evalflow.numeric.base_file import head_kl
from evalflow.record import Decoding, Request
from evalflow.runner.build import Builder, Faults
from evalflow.scoring import Scoring
from tests.model.recorded.bigram import WIDTH, Bigram, table
from tests.model.recorded.by_hand import TOKENS, base_bytes, logits_of, window

ROWS = logits_of(len(TOKENS))


def used(model, use):
    """What `use` makes of the started model, which is then settled and closed."""

    async def run():
        try:
            await model.start()
            made = await use(model)
            await model.settle()
            return made, dict(model.facts())
        finally:
            await model.close()

    return asyncio.run(run())


def rows_of(model, *windows):
    return used(model, lambda started: started.logits(windows, None))[0]


def failing(model, use, said):
    with pytest.raises(ModelError, match=said) as refused:
        used(model, use)
    assert "\n" not in str(refused.value)


@pytest.fixture
def folder(tmp_path):
    for name in ("a", "b"):
        np.savez(tmp_path / f"{name}.npz", logits=ROWS + (name == "b"), tokens=TOKENS)
    return tmp_path


@pytest.fixture
def base(tmp_path):
    """Three chunks of 6 tokens over 12, of a bigram model."""
    tokens = np.random.default_rng(5).integers(0, 10, (3, 6))
    with BaseFileWriter(tmp_path / "a.base", tokens, WIDTH) as writer:
        for chunk in tokens:
            writer.add(table(0)[chunk[3:5]])
    return tmp_path / "a.base"


def test_each_is_a_scorer(folder):
    """They have what a model has that gives logits, and need nothing to be built."""
    models = [RecordedLogits("x"), BaseFileModel("x"), PipedLogits(3, path="x")]
    assert all(hasattr(model, part) for model in models for part in SCORES)
    assert [model.identity()["model"] for model in models] == ["recorded logits", "base file", "piped logits"]
    assert all(model.missing() == "x is not there; record it, or give another path" for model in models)
    assert RecordedLogits(str(folder)).missing() is None
    assert PipedLogits(3, command=("x",)).missing() is None


def test_rows_of_several_windows_of_several_texts(folder):
    """Each has its own text's, for its own targets, whatever order they are asked in."""
    asked = (window("b", TOKENS), window("a", TOKENS[4:], first=1, position=5), window("a", TOKENS[:5]))
    given = rows_of(RecordedLogits(str(folder)), *asked)
    assert [np.array_equal(one, of) for one, of in zip(given, (ROWS[:7] + 1, ROWS[4:7], ROWS[:4]), strict=True)] == [
        True
    ] * 3


@pytest.mark.parametrize("kind", ["rows", "base"])
def test_concurrency_changes_nothing(folder, base, kind):
    """Windows asked for at once give the very rows of those asked for one after another."""
    if kind == "rows":
        model = RecordedLogits(str(folder))
        asked = [window(name, TOKENS[: n + 2]) for n in range(6) for name in "ab"]
    else:
        model = BaseFileModel(str(base))
        asked = [
            one
            for item in TokenChunks(str(base)).items()
            for one in windows_of(item.id, np.array(item.fields["tokens"]), 6)
        ]
    assert model.concurrency_free

    async def at_once(started):
        return [(await one)[0] for one in [asyncio.create_task(started.logits([each], None)) for each in asked]]

    together = used(model, at_once)[0]
    alone = [rows_of(type(model)(model.path), each)[0] for each in asked]
    assert all(np.array_equal(one, other) for one, other in zip(together, alone, strict=True))


def test_facts_are_the_recordings_or_the_settings(folder):
    """A bare file says its width alone, so the settings say the rest."""
    model = RecordedLogits(str(folder), tokenizer="abc", bos=1, adds_bos=True)

    async def told(started):
        return dict(started.scorer_facts()), started.own_tokens

    facts, own = used(model, told)[0]
    assert facts == {"vocabulary": 10, "tokenizer": "abc", "bos": 1, "adds_bos": True, "context": None}
    assert own is True


def test_an_identity_is_of_the_content(folder):
    """Another byte, another name or another setting is another model; a hidden file or the folder's place is not."""
    first = RecordedLogits(str(folder)).identity()
    (folder / ".c.npz.part").write_bytes(b"half")
    moved = folder.rename(folder.with_name("moved"))
    assert RecordedLogits(str(moved)).identity() == first
    assert RecordedLogits(str(moved), bos=1).identity() != first
    whole = (moved / "a.npz").read_bytes()
    (moved / "a.npz").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    changed = RecordedLogits(str(moved)).identity()
    assert changed != first
    (moved / "a.npz").rename(moved / "c.npz")
    assert RecordedLogits(str(moved)).identity() not in (first, changed)
    json.dumps(changed, allow_nan=False)


@pytest.mark.parametrize("kind", ["rows", "base", "pipe"])
def test_a_recording_answers_and_writes_nothing(folder, base, kind):
    """Neither a prompt nor a text's continuation; the error says what to do."""
    row = f"import sys; sys.stdout.buffer.write(bytes({4 * WIDTH}))"
    model = {
        "rows": RecordedLogits(str(folder)),
        "base": BaseFileModel(str(base)),
        "pipe": PipedLogits(WIDTH, command=(sys.executable, "-c", row)),
    }[kind]
    request = Request("a", "text", Decoding(), 0)
    failing(model, lambda started: started.complete(request), "answers nothing; compose .scoring")
    failing(model, lambda started: started.prove(Decoding(), "cold"), "answers nothing; compose .scoring")
    failing(model, lambda started: started.greedy(np.array([1]), 3), "cannot write on; set scoring.free_run=0")


def test_chunks_of_a_base_file(base):
    """A chunk's text is its tokens' ids; its rows are those of its second half, in steps."""
    items = TokenChunks(str(base)).items()
    tokens = np.array(items[1].fields["tokens"])

    async def both(started):
        encoded = await started.encode(items[1].prompt, items[1].id)
        return encoded, (await started.logits(windows_of(items[1].id, encoded.tokens, 6), None))[0]

    (encoded, rows), facts = used(BaseFileModel(str(base)), both)
    assert encoded.tokens.tolist() == tokens.tolist() and encoded.starts.tolist() == [-1] * 6
    exact = table(0)[tokens[3:5]].astype(float)
    assert head_kl(rows, exact) == pytest.approx([0, 0], abs=5e-5)
    assert rows == pytest.approx(exact - np.log(np.exp(exact).sum(axis=1, keepdims=True)), abs=8 / 65535 + 1e-5)
    assert facts == {"rows": 2, "tail_mass_mean": 0.0, "tail_mass_max": 0.0, "tail_targets": 0}


def test_a_beginning_of_text_token_may_stand_for_a_chunks_first(base):
    """As llama.cpp puts it there; any other token at any other place is refused."""
    model = BaseFileModel(str(base), bos=11)
    (item, *_) = TokenChunks(str(base)).items()
    tokens = np.array(item.fields["tokens"])
    (begun,) = windows_of(item.id, tokens, 6, bos=11)
    assert np.array_equal(rows_of(model, begun)[0], rows_of(model, *windows_of(item.id, tokens, 6))[0])
    other = tokens.copy()
    other[1] += 1
    failing(model, lambda started: started.logits(windows_of(item.id, other, 6, bos=11), None), "token 1 is ")


def test_what_a_base_file_does_not_hold_is_refused(base):
    """Its first half, windows that begin elsewhere, chunks that it has not, other tokens than the item's."""
    items = TokenChunks(str(base)).items()
    tokens = list(items[0].fields["tokens"])
    model = BaseFileModel(str(base))
    said = "asked for, and it holds 3 chunks of 6, scored from their token 4 on; walk it as llama.cpp does"
    for asked in (
        window("chunk 0001", tokens, first=3),  # its first half
        window("chunk 0001", tokens[1:], first=4, position=5),  # which begins elsewhere
        window("chunk 0001", [*tokens, 1], first=4),  # which is longer
        window("chunk 0001", tokens, first=4, position=10),  # of a text that has another chunk
    ):
        failing(model, lambda m, asked=asked: m.logits([asked], None), said)
    failing(model, lambda m: m.logits(windows_of("chunk 9999", np.array(tokens), 6), None), "it has no 'chunk 9999'")
    failing(model, lambda m: m.encode("1", "chunk 0004"), "it has no 'chunk 0004', but chunk 0001 to chunk 0003; walk")
    failing(model, lambda m: m.encode("1 2", "chunk 0001"), "its tokens are not the item's; walk the dataset base_file")


def test_a_base_files_limits_are_told(base):
    """Beside what the settings say of its model: the step, the floor of a KL, and how far the KL goes."""

    async def told(started):
        return dict(started.scorer_facts())

    facts = used(BaseFileModel(str(base), tokenizer="t"), told)[0]
    own = {"vocabulary": 12, "tokenizer": "t", "bos": None, "adds_bos": False, "context": 6}
    assert facts == own | {"step_nats": 16 / 65535, "kl_floor_nats": 1e-5, "kl_least_logp": -16.0}
    assert BaseFileModel(str(base)).gives_tokens and BaseFileModel(str(base)).own_tokens


@pytest.mark.parametrize(("bos", "in_front"), [(None, False), (11, False), (11, True)])
def test_the_text_that_a_base_file_was_made_of(tmp_path, bos, in_front):
    """Walked as llama.cpp does, with the other arm's tokens: those of the file, or it is refused by position."""
    tokens = np.random.default_rng(6).integers(0, 10, 20)
    asked = windows_of("wiki", tokens, 6, bos, in_front)
    stream = np.concatenate([[11], tokens]) if in_front else tokens
    with BaseFileWriter(tmp_path / "a.base", stream[: 6 * len(asked)].reshape(-1, 6), WIDTH) as writer:
        for one in asked:
            writer.add(table(0)[one.tokens[3:5]])
    model = BaseFileModel(str(tmp_path / "a.base"), items="text")
    assert not model.own_tokens and not model.gives_tokens
    given = rows_of(model, *reversed(asked))[::-1]
    for one, rows in zip(asked, given, strict=True):
        assert head_kl(rows, table(0)[one.tokens[3:5]]) == pytest.approx([0, 0], abs=5e-5)
    failing(model, lambda m: m.encode("a text", "wiki"), "how it reads a text is not known; let the other arm")
    other = tokens.copy()
    other[9] += 1
    said = f"wiki: token 9 is {other[9]}, and {tokens[9]} in the recording"
    failing(model, lambda m: m.logits(windows_of("wiki", other, 6, bos, in_front), None), said)
    longer = windows_of("wiki", np.tile(tokens, 2), 6, bos, in_front)
    failing(model, lambda m: m.logits(longer[3:], None), "it holds 3 chunks of 6")


@pytest.mark.parametrize(("target", "n_unknown"), [(0, 0), (1, 0), (7, 1)])
def test_the_mass_of_the_tails_is_told(tmp_path, target, n_unknown):
    """Of two rows of 1,000 tokens one has all but two beyond the reach, which share what these leave of 1: 4e-5.

    Where the text's own token is among them, what its NLL was is not known.
    """
    scale, left, below = 16 / 65535, 4e-5, 2535
    top = np.log((1 - left) / (1 + np.exp(-below * scale)))
    far = (scale, float(top) - 16, [65535, 65535 - below, *[0] * 998])
    near = (scale / 2, -8.0, [0, 30000, *range(998)])
    tokens = [0, 1, 2, 3, target, 0]
    (tmp_path / "a.base").write_bytes(base_bytes([tokens], 1000, [[far, near]]))
    asked = windows_of("chunk 0001", np.array(tokens), 6)
    (rows,), facts = used(BaseFileModel(str(tmp_path / "a.base")), lambda m: m.logits(asked, None))
    assert rows[0, 2:] == pytest.approx(np.full(998, np.log(left / 998)), abs=0.1)
    assert rows[1, 0] == -8
    assert facts["tail_mass_max"] == pytest.approx(left, rel=0.1)
    assert facts["tail_mass_mean"] == pytest.approx(left / 2, rel=0.1)
    assert (facts["rows"], facts["tail_targets"]) == (2, n_unknown)


PROGRAM = f"""
import json, struct, sys
for line in sys.stdin:
    told = json.loads(line)
    for token in told["tokens"][told["first"] - 1 : -1]:
        sys.stdout.buffer.write(struct.pack("<{WIDTH}f", *[token * 10 + place for place in range({WIDTH})]))
    sys.stdout.flush()
"""


def test_a_program_that_is_sent_windows_answers_each(tmp_path):
    """A line of JSON a window, with the item, the tokens and the first that is scored; rows come back for each."""
    model = PipedLogits(WIDTH, command=(sys.executable, "-I", "-S", "-c", PROGRAM), send_tokens=True)
    asked = (window("a", [3, 1, 4]), window("b", [9, 2, 6, 5], first=3), window("a", [5, 0], position=7))
    given = rows_of(model, *asked)
    assert [one[:, 0].tolist() for one in given] == [[30, 10], [60], [50]]
    assert given[0][0].tolist() == [30 + place for place in range(WIDTH)]


def test_rows_of_a_file_in_the_walks_order(tmp_path):
    """Window after window; a file that ends too late makes the figures unreadable, and one too early is an error."""
    path = tmp_path / "rows.f32"
    path.write_bytes(ROWS.astype("<f4").tobytes())
    asked = (window("a", TOKENS[:4]), window("b", TOKENS[:6]))
    given, facts = used(PipedLogits(10, path=str(path)), lambda m: m.logits(asked, None))
    assert np.array_equal(np.concatenate(given), ROWS) and facts == {}
    _, facts = used(PipedLogits(10, path=str(path)), lambda m: m.logits(asked[:1], None))
    assert "there is more in the stream than the 3 rows" in facts["instrument_fault"]
    said = r"row 9 \(item 'b' from token 1 on\): the stream ended; it must"
    failing(PipedLogits(10, path=str(path)), lambda m: m.logits([asked[1], asked[1]], None), said)
    failing(
        PipedLogits(10, path=str(path)), lambda m: m.logits([window("a", [1, 10])], None), "token 1 is 10, and a row"
    )
    assert PipedLogits(10, path=str(path)).identity()["source"] is not None


def test_a_stream_has_no_tokens():
    """The other arm's are taken, and `own_tokens` says so."""
    model = PipedLogits(3, command=("true",))
    assert model.own_tokens is False
    with pytest.raises(ModelError, match="a stream of rows has no tokens"):
        asyncio.run(model.encode("text", "a"))


def test_a_pipe_is_no_file_to_be_digested(tmp_path):
    """Its identity says that there is none to be had, and takes no byte of it."""
    os.mkfifo(tmp_path / "pipe")
    assert PipedLogits(3, path=str(tmp_path / "pipe")).identity()["source"] is None
    assert PipedLogits(3, path=str(tmp_path / "pipe")).missing() is None


def test_a_cancelled_read_ends_the_stream():
    """Nobody knows whose row would be next, so there is none."""
    model = PipedLogits(3, command=(sys.executable, "-c", "import time; time.sleep(60)"))

    async def cancelled(started):
        task = asyncio.create_task(started.logits([window("a", [1, 2])], None))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await started.logits([window("b", [1, 2])], None)

    failing(model, cancelled, r"row 1 \(item 'a' from token 1 on\): given up; it must")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"width": 0, "path": "x"}, "width is 0; give the size"),
        ({"width": 3}, "command or path must be given, and not both"),
        ({"width": 3, "path": "x", "command": ("y",)}, "command or path must be given, and not both"),
        ({"width": 3, "command": ()}, "command or path must be given"),
        ({"width": 3, "path": "x", "send_tokens": True}, "send_tokens is true, and a path cannot be sent any"),
        ({"width": 3, "path": "x", "row_timeout_s": 0.0}, "row_timeout_s is 0; give a time above 0"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings, said):
    """Before anything is started."""
    with pytest.raises(ValueError, match=said):
        PipedLogits(**settings)


def test_a_program_is_given_as_a_list_of_words():
    """In a config a command is a list, and a text is none: nothing is split as a shell would."""
    node = {"_target_": "evalflow.model.recorded.model.PipedLogits", "width": 3}
    faults = Faults()
    built = Builder(("evalflow",), faults).build({**node, "command": ["a b", "c"], "path": None}, "model")
    assert built.command == ("a b", "c") and not faults.found
    assert Builder(("evalflow",), faults).build({**node, "command": "a b c"}, "model") is None
    assert str(faults.found[0]) == "model.command: 'a b c' is no list; write it as [a, b]"


def columns_of(candidate, reference, text="3141592653589793"):
    """What a lockstep walk keeps of a text."""
    scoring = Scoring(window=6, stride=3, bos="none")
    model = Forced(Walked(candidate, scoring), Walked(reference, scoring))

    async def walk(started):
        await started.prove(Decoding(), "cold")
        return await started.complete(Request("a", text, Decoding(), 0))

    return used(model, walk)[0].columns


def test_recorded_rows_and_the_models_own_lie_nothing_apart(tmp_path):
    """A recording, with or without tokens, stands in lockstep for the model that it was taken of."""
    tokens = np.array([int(one) for one in "3141592653589793"])
    np.savez(tmp_path / "with.npz", logits=table(0)[tokens], tokens=tokens)
    np.save(tmp_path / "without.npy", table(0)[tokens])
    for name in ("with.npz", "without.npy"):
        columns = columns_of(RecordedLogits(str(tmp_path / name)), Bigram())
        assert columns.n == 15
        assert (columns["max_abs"] == 0).all() and (columns["nll"] == columns["nll_ref"]).all()
    far = columns_of(RecordedLogits(str(tmp_path / "with.npz")), Bigram(seed=1))
    assert (far["kl"] > 0.01).any()
