"""Teacher forcing over models whose logits are known: every column is worked out beside it, by scipy or by hand."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, rel_entr, softmax

from evalflow.columns import Columns
from evalflow.errors import ModelError
from evalflow.model.forced import Forced, Walked
from evalflow.model.protocol import Model
from evalflow.model.scorer import Encoded, Rows, TextScores, Tokens, Window
from evalflow.record import Completion, Decoding, Request
from evalflow.scoring import Scoring

T = TypeVar("T")
LETTERS = "abcde"
BOS = 5
"""The one token of the vocabulary that is no letter."""
TEXT = "abacadaebbcdeedcba"
FLOATS = ("nll", "nll_ref", "margin_ref", "kl", "gap", "dp", "max_abs")
WHOLE = ("argmax", "argmax_ref")


def table(seed: int, width: float = 3.0) -> np.ndarray:
    """Logits (6, 6) of what follows each token."""
    return np.random.default_rng(seed).normal(size=(6, 6)) * width


REF, CAND = table(1), table(1) + table(2, 0.7)


class Bigram(Model):
    """Letters a to e are tokens 0 to 4, and what follows depends on the last of them alone, by a table of logits."""

    def __init__(self, logits: np.ndarray = REF, **facts: Any) -> None:
        self.table = logits
        self.told = {
            "vocabulary": len(logits),
            "tokenizer": "letters",
            "bos": BOS,
            "adds_bos": False,
            "context": None,
            **facts,
        }
        self.calls: list[tuple[list[Window], int | None]] = []
        self.log: list[str] = []

    def identity(self) -> Mapping[str, Any]:
        return {"model": "bigram", "table": self.table.tolist()}

    async def start(self) -> None:
        self.log.append("start")

    async def prove(self, decoding: Decoding, cache: str) -> None:
        self.log.append("prove")

    async def settle(self) -> None:
        self.log.append("settle")

    async def close(self) -> None:
        self.log.append("close")

    async def complete(self, request: Request) -> Completion:
        raise AssertionError("a text that is scored is not answered")

    def facts(self) -> Mapping[str, Any]:
        return {"seen": len(self.calls)}

    def scorer_facts(self) -> Mapping[str, Any]:
        return self.told

    async def encode(self, text: str, item_id: str) -> Encoded:
        tokens = [LETTERS.index(letter) for letter in text]
        return Encoded(np.array(tokens, dtype=np.int64), np.arange(len(tokens), dtype=np.int32))

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> Sequence[Rows]:
        self.calls.append((list(windows), chunk))
        await asyncio.sleep(0)
        return [self.table[window.tokens[window.first - 1 : -1]] for window in windows]

    async def greedy(self, tokens: Tokens, count: int) -> Sequence[int]:
        written: list[int] = []
        for _ in range(count):
            written.append(int(self.table[written[-1] if written else int(tokens[-1])].argmax()))
        return written


class Pieces(Model):
    """Scores whole texts and gives no logits: pieces of a text and their log-probabilities, told beforehand."""

    def __init__(self, logprobs: Sequence[float], starts: Sequence[int] | None = None) -> None:
        n = len(logprobs)
        where = np.arange(n) if starts is None else np.array(starts)
        self.scores = TextScores(Encoded(np.full(n, -1), where.astype(np.int32)), np.array(logprobs, dtype=float))
        self.log: list[str] = []

    def identity(self) -> Mapping[str, Any]:
        return {"model": "pieces"}

    async def prove(self, decoding: Decoding, cache: str) -> None:
        self.log.append("prove")

    async def score_text(self, text: str) -> TextScores:
        return self.scores


def walked(model: Model, **settings: Any) -> Walked:
    return Walked(model, Scoring(**settings))


def during(forced: Forced, act: Callable[[Forced], Awaitable[T]]) -> T:
    """What comes of a started walk, which is closed afterwards."""

    async def run() -> T:
        try:
            await forced.start()
            await forced.prove(Decoding(), "cold")
            return await act(forced)
        finally:
            await forced.close()

    return asyncio.run(run())


def scored(forced: Forced, text: str = TEXT) -> Columns:
    """The columns of one text."""
    completion = during(forced, lambda one: one.complete(Request("i", text, Decoding(), 0)))
    assert (completion.text, completion.finish_reason) == ("", "stop")
    assert completion.columns is not None
    return completion.columns


def refused(forced: Forced, text: str = TEXT) -> ModelError:
    with pytest.raises(ModelError) as fault:
        scored(forced, text)
    return fault.value


def ids(text: str) -> np.ndarray:
    return np.array([LETTERS.index(letter) for letter in text])


def same(one: Columns, other: Columns) -> bool:
    """Whether two walks kept the same, to the bit."""
    return one.packed == other.packed and one.facts == other.facts


def test_a_model_alone() -> None:
    """Every token but the first, by the row of the one before it; the numbers are scipy's."""
    found = scored(Forced(walked(Bigram())))
    tokens = ids(TEXT)
    rows = REF[tokens[:-1]]
    assert set(found.packed) == {"position", "start", "end", "token", "context", "nll", "argmax", "margin"}
    for name in ("position", "start", "context"):
        assert found[name].tolist() == list(range(1, len(TEXT))), name
    assert found["token"].tolist() == tokens[1:].tolist()
    assert found["nll"] == pytest.approx(-log_softmax(rows, axis=1)[np.arange(len(rows)), tokens[1:]], abs=1e-12)
    assert found["argmax"].tolist() == rows.argmax(1).tolist()
    second, first = np.sort(rows, axis=1)[:, -2:].T
    assert found["margin"] == pytest.approx(first - second, abs=1e-6)
    assert found.facts == {}


def test_two_models_side_by_side() -> None:
    """Each is graded on the text, and the candidate's choice priced by the reference; the numbers are scipy's."""
    found = scored(Forced(walked(Bigram(CAND)), walked(Bigram(REF))))
    tokens = ids(TEXT)
    ref, cand = REF[tokens[:-1]], CAND[tokens[:-1]]
    log_p, log_q = log_softmax(ref, axis=1), log_softmax(cand, axis=1)
    place = np.arange(len(ref))
    target, picked = tokens[1:], cand.argmax(1)
    wanted = {
        "nll": -log_q[place, target],
        "nll_ref": -log_p[place, target],
        "argmax": picked,
        "argmax_ref": ref.argmax(1),
        "kl": rel_entr(softmax(ref, axis=1), softmax(cand, axis=1)).sum(1),
        "gap": log_p.max(1) - log_p[place, picked],
        "dp": np.exp(log_q[place, target]) - np.exp(log_p[place, target]),
        "max_abs": np.abs(ref - cand).max(1),
    }
    for name, values in wanted.items():
        assert found[name] == pytest.approx(values, abs=1e-12), name
    second, first = np.sort(ref, axis=1)[:, -2:].T
    assert found["margin_ref"] == pytest.approx(first - second, abs=1e-6)
    assert set(found.packed) == {*wanted, "margin_ref", "position", "start", "end", "token", "context"}
    assert (found["argmax"] != found["argmax_ref"]).any(), "the two must differ somewhere for this to say anything"


def test_one_position_by_hand() -> None:
    """P = (1/4, 3/4) and Q = (1/2, 1/2) on the token that P gives 1/4: KL = 1/4 ln 1/2 + 3/4 ln 3/2, and the rest."""
    ref, cand = np.log([[1.0, 3.0]] * 2), np.zeros((2, 2))
    found = scored(Forced(walked(Bigram(cand)), walked(Bigram(ref))), "ba")
    numbers = {name: found[name].tolist()[0] for name in (*FLOATS, *WHOLE)}
    assert numbers == pytest.approx(
        {
            "nll": math.log(2),
            "nll_ref": math.log(4),
            "margin_ref": math.log(3),
            "kl": 0.25 * math.log(0.5) + 0.75 * math.log(1.5),
            "gap": math.log(3),  # the candidate's tie goes to the first, which the reference likes less
            "dp": 0.25,
            "max_abs": math.log(3),
            "argmax": 0,
            "argmax_ref": 1,
        },
        abs=1e-7,
    )


def test_a_model_beside_itself_differs_by_nothing() -> None:
    """KL, gap and differences are 0 to the bit."""
    found = scored(Forced(walked(Bigram()), walked(Bigram())))
    for name in ("kl", "gap", "dp", "max_abs"):
        assert not found[name].any(), name
    assert found["nll"].tobytes() == found["nll_ref"].tobytes()


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 40),
    window=st.integers(2, 12),
    lag=st.integers(0, 11),
    bos=st.sampled_from(["none", "first", "each"]),
    batch=st.integers(1, 5),
)
def test_every_token_is_scored_once_with_the_context_it_should_have(
    n: int, window: int, lag: int, bos: str, batch: int
) -> None:
    """All but the first of the text (and that too after a BOS), in order, by windows that show what lies before."""
    stride = None if lag == 0 else max(1, window - lag)
    text = "".join(LETTERS[i % 5] for i in range(n))
    model = Bigram()
    forced = Forced(walked(model, window=window, stride=stride, bos=bos, batch=batch))
    if n == 1 and bos == "none":
        assert refused(forced, text).kind == "nothing_to_score"
        return
    found = scored(forced, text)
    begins = 1 if bos == "none" else 0
    assert found["position"].tolist() == list(range(begins, n))
    assert found["token"].tolist() == ids(text)[begins:].tolist()
    least = np.minimum(found["position"], window - (stride or window))
    assert (found["context"] >= least).all()
    context = []
    for one in (one for windows, _ in model.calls for one in windows):
        seen = one.tokens[one.bos :]
        start = one.position - one.first + one.bos  # of the first of them in the text
        assert seen.tolist() == ids(text)[start : start + len(seen)].tolist()
        assert len(seen) <= window and one.first >= 1
        assert one.bos == (bos == "each" or (bos == "first" and start == 0))
        assert not one.bos or one.tokens[0] == BOS
        context += [one.position + i - start for i in range(len(one.targets))]
    assert found["context"].tolist() == context


def test_strided_windows_by_hand() -> None:
    """Ten tokens in windows of 4 that advance by 2: 0-3, 2-5, 4-7, 6-9; each but the first scores two with two before.

    So the contexts are 1 2 3, then 2 3 three times.
    """
    model = Bigram()
    found = scored(Forced(walked(model, window=4, stride=2)), "abcdeabcde")
    seen = [one.tokens.tolist() for windows, _ in model.calls for one in windows]
    assert seen == [[0, 1, 2, 3], [2, 3, 4, 0], [4, 0, 1, 2], [1, 2, 3, 4]]
    assert found["context"].tolist() == [1, 2, 3, 2, 3, 2, 3, 2, 3]


@pytest.mark.parametrize(
    ("bos", "adds", "seen"),
    [
        ("none", True, [[0, 1, 2], [2, 3, 4]]),
        ("first", False, [[5, 0, 1, 2], [2, 3, 4]]),
        ("each", False, [[5, 0, 1, 2], [5, 2, 3, 4]]),
        ("auto", True, [[5, 0, 1, 2], [5, 2, 3, 4]]),
        ("auto", False, [[0, 1, 2], [2, 3, 4]]),
    ],
)
def test_where_the_beginning_of_text_stands(bos: str, adds: bool, seen: list[list[int]]) -> None:
    """Before no window, the first or each; `auto` does as the tokeniser does. It is no context and has no position."""
    model = Bigram(adds_bos=adds)
    found = scored(Forced(walked(model, window=3, stride=2, bos=bos)), "abcde")
    assert [one.tokens.tolist() for windows, _ in model.calls for one in windows] == seen
    after = seen[0][0] == BOS
    assert found["position"].tolist() == [*([0] if after else []), 1, 2, 3, 4]
    assert found["context"].tolist() == [*([0] if after else []), 1, 2, 1, 2]
    assert (found["nll"][0] == pytest.approx(-log_softmax(REF[BOS])[0])) == after


def test_a_nan_row_is_nothing_and_the_others_stand() -> None:
    """Of either arm: its position has no number, and every other position has what it had."""
    sound = scored(Forced(walked(Bigram(CAND)), walked(Bigram())))
    for side in range(2):
        tables = [CAND.copy(), REF.copy()]
        tables[side][LETTERS.index("d"), 2] = np.nan
        found = scored(Forced(*(walked(Bigram(one)) for one in tables)))
        bad = ids(TEXT)[:-1] == LETTERS.index("d")
        assert bad.sum() == 3
        for name in FLOATS:
            assert np.isnan(found[name][bad]).all(), name
            assert found[name][~bad].tobytes() == sound[name][~bad].tobytes(), name
        for name in WHOLE:
            assert (found[name][bad] == -1).all(), name
            assert (found[name][~bad] == sound[name][~bad]).all(), name


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_other_rows_that_are_not_finite(value: float) -> None:
    """+inf spoils a row; a single -inf rules a token out, and its own NLL is then infinite."""
    ruled = REF.copy()
    ruled[0, 1] = value
    nll = scored(Forced(walked(Bigram(ruled))), "ab")["nll"].tolist()
    assert math.isnan(nll[0]) if value > 0 else nll == [math.inf]


@pytest.mark.parametrize("batch", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("backwards", [False, True])
def test_batch_and_order_move_nothing(batch: int, backwards: bool) -> None:
    """So many windows at once, in reverse where that is asked; the columns are the same and in the text's order."""
    plain = scored(Forced(walked(Bigram(CAND), window=4, stride=3), walked(Bigram(), window=4, stride=3)))
    model = Bigram(CAND)
    settings = {"window": 4, "stride": 3, "batch": batch, "backwards": backwards}
    found = scored(Forced(walked(model, **settings), walked(Bigram(), window=4, stride=3)))
    assert same(found, plain)
    sizes = [len(windows) for windows, _ in model.calls]
    assert sizes == [*[batch] * (6 // batch), *([6 % batch] if 6 % batch else [])]
    begun = [windows[0].position for windows, _ in model.calls]
    last = [windows[-1].position for windows, _ in model.calls]
    assert all(a > b if backwards else a < b for a, b in zip(begun, last, strict=True) if a != b)


@pytest.mark.parametrize(("path", "chunk"), [("whole", None), ("chunks", 7), ("tokens", 1)])
def test_the_path_is_handed_on(path: str, chunk: int | None) -> None:
    """What is computed at once is the model's to do, each arm's as it was asked."""
    ours, theirs = Bigram(CAND), Bigram()
    scored(Forced(walked(ours, path=path, chunk=7), walked(theirs)))
    assert ({chunk for _, chunk in ours.calls}, {chunk for _, chunk in theirs.calls}) == ({chunk}, {None})


def test_the_reference_sees_the_candidates_windows() -> None:
    """Whatever its own arm would have, in lockstep both see the same."""
    ours, theirs = Bigram(CAND), Bigram()
    scored(Forced(walked(ours, window=4, stride=2, batch=3), walked(theirs, window=9)))
    seen = [[one.tokens.tolist() for windows, _ in model.calls for one in windows] for model in (ours, theirs)]
    assert seen[0] == seen[1]


def test_a_reference_whose_context_is_too_short_for_the_candidates_windows_is_refused() -> None:
    """Although its own windows would fit."""
    fault = refused(Forced(walked(Bigram(CAND), window=8), walked(Bigram(context=6), window=6)))
    assert "windows of 8 tokens, and its context is 6" in str(fault)


class Other(Bigram):
    """Reads e as a."""

    async def encode(self, text: str, item_id: str) -> Encoded:
        return await super().encode(text.replace("e", "a"), item_id)


class Longer(Bigram):
    """Reads one token more."""

    async def encode(self, text: str, item_id: str) -> Encoded:
        return await super().encode(f"{text}a", item_id)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Other, "token ids differ at position 7: 4, and 0 in the reference"),
        (Longer, "token ids differ at position 18: its end, and 0 in the reference"),
    ],
)
def test_arms_that_do_not_read_a_text_alike_are_not_compared(model: type[Bigram], said: str) -> None:
    """Though they say that they share a tokeniser: the text has no row of figures, and the first place is named."""
    fault = refused(Forced(walked(Bigram(CAND)), walked(model())))
    assert (fault.kind, str(fault)) == ("other_tokens", f"{said}; hold models of one tokeniser against each other")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"vocabulary": 7}, "its vocabulary is 6, the reference's 7; hold models of one tokeniser"),
        ({"tokenizer": "words"}, "its tokenizer is letters, the reference's words; hold models of one tokeniser"),
        ({"bos": 4}, "its bos is 5, the reference's 4; hold models of one tokeniser"),
        ({"adds_bos": True}, "stands before none of its windows, and each of the reference's; set scoring.bos"),
    ],
)
def test_arms_of_other_tokens_are_refused_before_the_first_text(facts: dict[str, Any], said: str) -> None:
    """Another vocabulary, another tokeniser, another beginning; nothing is computed."""
    models = Bigram(CAND), Bigram(**facts)
    assert said in str(refused(Forced(*map(walked, models))))
    assert [model.calls for model in models] == [[], []]


@pytest.mark.parametrize("name", ["tokenizer", "bos"])
def test_what_one_arm_does_not_know_is_not_held_against_it(name: str) -> None:
    """A recording may not say which tokeniser it had; the tokens themselves are still compared."""
    scored(Forced(walked(Bigram(CAND)), walked(Bigram(**{name: None}))))
    fault = refused(Forced(walked(Bigram(CAND)), walked(Other(**{name: None}))))
    assert fault.kind == "other_tokens"


@pytest.mark.parametrize(
    ("facts", "settings", "said"),
    [
        ({"context": 6}, {"window": 7}, "windows of 7 tokens, and its context is 6; set scoring.window to at most 6"),
        (
            {"context": 6},
            {"window": 6, "bos": "each"},
            "windows of 7 tokens, and its context is 6; set scoring.window to at most 5",
        ),
        ({"bos": None}, {"bos": "each"}, "no beginning-of-text token to put before each; set scoring.bos=none"),
        ({"bos": None}, {"bos": "first"}, "no beginning-of-text token to put before first; set scoring.bos=none"),
        (
            {},
            {"window": 4, "stride": 4},
            "stride is the whole window, and no token stands before each; set scoring.bos",
        ),
    ],
)
def test_windows_that_do_not_fit_are_refused(facts: dict[str, Any], settings: dict[str, Any], said: str) -> None:
    """Of the candidate and of the reference alike."""
    odd = walked(Bigram(**facts), **settings)
    for forced in (Forced(odd), Forced(walked(Bigram(), **settings), odd)):
        assert said in str(refused(forced))


def test_windows_that_just_fit() -> None:
    """The context's whole length, the beginning of the text among it."""
    for window, bos in ((6, "none"), (5, "each")):
        scored(Forced(walked(Bigram(context=6), window=window, bos=bos)))
    scored(Forced(walked(Bigram(adds_bos=True), window=4, stride=4)))


@pytest.mark.parametrize(("bos", "begun"), [("none", [1, 4, 7]), ("first", [0, 4, 7]), ("each", [0, 4, 8])])
def test_windows_overlap_as_little_as_they_can(bos: str, begun: list[int]) -> None:
    """By one token, which the next window needs to score its first; by none where a beginning of text does that."""
    model = Bigram()
    found = scored(Forced(walked(model, window=4, bos=bos)), "abcdeabcde")
    assert [one.position for windows, _ in model.calls for one in windows] == begun
    assert found["position"].tolist() == list(range(begun[0], 10))
    assert (
        found["context"].tolist()
        == {
            "none": [1, 2, 3, 1, 2, 3, 1, 2, 3],
            "first": [0, 1, 2, 3, 1, 2, 3, 1, 2, 3],
            "each": [0, 1, 2, 3, 0, 1, 2, 3, 0, 1],
        }[bos]
    )


@pytest.mark.parametrize(
    ("text", "bos", "n"), [("a", "none", None), ("", "none", None), ("", "each", None), ("a", "each", 1)]
)
def test_a_text_without_a_token_to_score_is_an_error(text: str, bos: str, n: int | None) -> None:
    """One token can be scored after a beginning of text alone, and none never."""
    forced = Forced(walked(Bigram(), bos=bos))
    if n is None:
        fault = refused(forced, text)
        assert (fault.kind, str(fault)) == (
            "nothing_to_score",
            f"the text has {len(text)} tokens: none can be scored; leave it out",
        )
    else:
        assert scored(forced, text).n == n


class FewRows(Bigram):
    """Lacks the last row."""

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> Sequence[Rows]:
        return [rows[:-1] for rows in await super().logits(windows, chunk)]


class FewWindows(Bigram):
    """Lacks the last window."""

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> Sequence[Rows]:
        return (await super().logits(windows, chunk))[:-1]


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        (FewRows(), "i from 1: 16 rows of logits for 17 positions; mend the model"),
        (FewWindows(), "mend the model"),
        (Bigram(REF[:, :5], vocabulary=6), "mend the model"),
        (Bigram(REF.astype(int)), "mend the model"),
    ],
)
def test_rows_that_do_not_fit_are_the_models_fault(reference: Bigram, said: str) -> None:
    """Too few, too narrow or no floats: one line, an error of this text alone, and no figure of it."""
    fault = refused(Forced(walked(Bigram(CAND)), walked(reference)))
    assert (fault.kind, str(fault)[-len(said) :]) == ("bad_rows", said)


class Unstartable(Bigram):
    """Cannot be started."""

    async def start(self) -> None:
        raise ModelError("no such device")


class Unclosable(Bigram):
    """Cannot be closed."""

    async def close(self) -> None:
        raise ModelError("stuck")


def test_a_reference_that_cannot_start_is_the_arms_fault() -> None:
    """Its own words are told, and both are closed: the candidate was started before it."""
    models = Bigram(), Unstartable()
    assert str(refused(Forced(*map(walked, models)))) == "no such device"
    assert [model.log for model in models] == [["start", "close"], ["close"]]


def test_the_reference_is_closed_whatever_becomes_of_the_candidate() -> None:
    """And the candidate's trouble is told."""
    reference = Bigram()
    with pytest.raises(ModelError, match="stuck"):
        scored(Forced(walked(Unclosable()), walked(reference)))
    assert reference.log == ["start", "close"]


class Lacking(Bigram):
    """Lacks a file."""

    def missing(self) -> str | None:
        return "no weights; give model.path"


def test_what_either_lacks_is_said_before_anything_is_started() -> None:
    """Nothing where both are whole."""
    for models in ((Lacking(), Bigram()), (Bigram(), Lacking()), (Lacking(),)):
        assert Forced(*map(walked, models)).missing() == "no weights; give model.path"
    assert Forced(walked(Bigram()), walked(Bigram())).missing() is None


def test_both_look_at_themselves_once_more_and_the_identity_is_the_candidates() -> None:
    """The reference's own identity stands in its arm's conditions."""
    ours, theirs = Bigram(CAND), Bigram()
    forced = Forced(walked(ours), walked(theirs))
    during(forced, lambda one: one.settle())
    assert ours.log == theirs.log == ["start", "settle", "close"]
    assert forced.identity() == ours.identity()


def test_what_is_told_of_a_walk() -> None:
    """The candidate's facts and how it scored, the reference's beside it."""
    forced = Forced(walked(Bigram(adds_bos=True), bos="none"), walked(Bigram(), bos="none"))
    facts = forced.facts()
    scorer = {"vocabulary": 6, "tokenizer": "letters", "bos": 5, "context": None, "bos_before": "none"}
    note = {"bos_note": "its tokeniser puts one before a text, and here none stands"}
    assert facts == {
        "seen": 0,
        "scorer": {**scorer, "adds_bos": True, **note},
        "reference": {"seen": 0, "scorer": {**scorer, "adds_bos": False}},
    }
    assert Forced(walked(Pieces([0.0]))).facts() == {"scorer": {"gives": "each token's own log-probability"}}


def test_texts_are_scored_one_at_a_time() -> None:
    """However many are asked at once, so that memory does not grow and a model need not be able to do two."""

    async def both(forced: Forced) -> None:
        await asyncio.gather(*(forced.complete(Request(item, TEXT, Decoding(), 0)) for item in "xyz"))

    model = Bigram()
    during(Forced(walked(model, window=4, stride=3)), both)
    asked = [window.item_id for windows, _ in model.calls for window in windows]
    assert asked == [*"x" * 6, *"y" * 6, *"z" * 6]


class Recorded(Bigram):
    """Has logits, and takes the other arm's tokens."""

    own_tokens = False

    async def encode(self, text: str, item_id: str) -> Encoded:
        raise AssertionError("it reads no texts")


class Placeless(Bigram):
    """Does not know where its tokens begin."""

    async def encode(self, text: str, item_id: str) -> Encoded:
        encoded = await super().encode(text, item_id)
        return Encoded(encoded.tokens, np.full(len(encoded.tokens), -1, dtype=np.int32))


def test_a_recording_takes_the_other_arms_tokens() -> None:
    """On either side; where neither reads texts, there is nothing to walk."""
    both = scored(Forced(walked(Bigram(CAND)), walked(Bigram())))
    assert same(scored(Forced(walked(Recorded(CAND)), walked(Bigram()))), both)
    assert same(scored(Forced(walked(Bigram(CAND)), walked(Recorded()))), both)
    assert refused(Forced(walked(Recorded(CAND)), walked(Recorded()))).kind == "no_tokens"
    assert refused(Forced(walked(Recorded(CAND)))).kind == "no_tokens"


class HalfPlaced(Bigram):
    """Does not know where every second token begins."""

    async def encode(self, text: str, item_id: str) -> Encoded:
        encoded = await super().encode(text, item_id)
        return Encoded(encoded.tokens, np.where(encoded.starts % 2, encoded.starts, -1).astype(np.int32))


def test_where_tokens_begin_is_told_by_the_arm_that_knows() -> None:
    """Whichever it is, and of all of them; -1 where none does."""
    wanted = scored(Forced(walked(Bigram(CAND)), walked(Bigram())))["start"].tolist()
    odd = ((Placeless(CAND), Bigram()), (Bigram(CAND), Placeless()), (HalfPlaced(CAND), Bigram()))
    for models in odd:
        assert scored(Forced(*map(walked, models)))["start"].tolist() == wanted
    assert set(scored(Forced(walked(Placeless())))["start"].tolist()) == {-1}


def test_a_model_that_scores_texts_alone() -> None:
    """Its own log-probabilities, of every piece but the first; one that it says nothing of is nothing."""
    model = Pieces([np.nan, -1.5, np.nan, -0.25], [0, 3, 4, 9])
    found = scored(Forced(walked(model)))
    assert set(found.packed) == {"position", "start", "end", "token", "context", "nll"}
    assert found["nll"] == pytest.approx([1.5, np.nan, 0.25], nan_ok=True)
    assert found["position"].tolist() == found["context"].tolist() == [1, 2, 3]
    assert (found["start"].tolist(), found["token"].tolist()) == ([3, 4, 9], [-1, -1, -1])
    assert model.log == ["prove"], "a seat proves itself that its scores are aligned"


@pytest.mark.parametrize("n", [0, 1])
def test_a_text_of_one_piece_has_no_score(n: int) -> None:
    """Of the first nothing is said."""
    assert refused(Forced(walked(Pieces([np.nan] * n)))).kind == "nothing_to_score"


def test_text_scores_beside_logits() -> None:
    """Both NLLs, and nothing that would need the other's distribution, on either side."""
    own = -log_softmax(REF[ids("abcd")[:-1]], axis=1)[np.arange(3), ids("abcd")[1:]]
    pieces = [np.nan, -1.0, -2.0, -3.0]
    found = scored(Forced(walked(Pieces(pieces)), walked(Bigram())), "abcd")
    assert (found["nll"].tolist(), found["nll_ref"]) == ([1.0, 2.0, 3.0], pytest.approx(own))
    turned = scored(Forced(walked(Bigram()), walked(Pieces(pieces))), "abcd")
    assert (turned["nll_ref"].tolist(), turned["nll"]) == ([1.0, 2.0, 3.0], pytest.approx(own))
    assert "kl" not in found and "kl" not in turned


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        ([0, 1, 3, 4], "starts in the text differ at position 1: 3, and 2 in the reference"),
        ([0, 1, 2], "starts in the text differ at position 2: its end, and 3 in the reference"),
        ([0, 0, 1, 2, 3], "starts in the text differ at position 0: 0, and 1 in the reference"),
    ],
)
def test_text_scores_of_other_pieces_are_not_compared(starts: list[int], said: str) -> None:
    """Where they are cut otherwise, position by position is no comparison."""
    pieces = Pieces([np.nan, *[-1.0] * (len(starts) - 1)], starts)
    fault = refused(Forced(walked(pieces), walked(Bigram())), "abcd")
    assert (fault.kind, str(fault).split(";")[0]) == ("other_tokens", said)


def test_pieces_whose_place_nobody_knows_are_not_compared() -> None:
    """As many on both sides need not be the same ones."""
    unknown = [np.nan, -1.0, -2.0], [-1, -1, -1]
    fault = refused(Forced(walked(Pieces(*unknown)), walked(Pieces(*unknown))))
    assert fault.kind == "other_tokens"


def test_two_models_that_score_texts() -> None:
    """Their NLLs side by side, where they cut the text alike."""
    found = scored(Forced(walked(Pieces([np.nan, -1.0, -2.0])), walked(Pieces([np.nan, -3.0, -4.0]))))
    assert (found["nll"].tolist(), found["nll_ref"].tolist()) == ([1.0, 2.0], [3.0, 4.0])


CHAIN = np.eye(6)[[1, 2, 3, 4, 0, 0]]
"""After each letter the next, after e the first."""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (None, {"free_run_tokens": 6, "free_run_shared": 1.0, "free_run_parted": None}),
        ("c", {"free_run_tokens": 6, "free_run_shared": 0.5, "free_run_parted": 2 + 3}),
        ("b", {"free_run_tokens": 6, "free_run_shared": 2 / 6, "free_run_parted": 2 + 2}),
    ],
)
def test_where_two_arms_part_when_each_reads_its_own(change: str | None, told: dict[str, Any]) -> None:
    """After d e the chain goes a b c d e a; an arm that writes e after a letter parts with it there, for good."""
    other = CHAIN.copy()
    if change:
        other[LETTERS.index(change)] = np.eye(6)[4]
    found = scored(Forced(walked(Bigram(other), free_run=6, free_from=2), walked(Bigram(CHAIN))), "deabc")
    assert found.facts == told


def test_a_free_run_needs_another_arm_and_a_length() -> None:
    """Alone there is nothing to part from; by default nothing is written."""
    assert scored(Forced(walked(Bigram(), free_run=6))).facts == {}
    assert scored(Forced(walked(Bigram()), walked(Bigram(), free_run=6))).facts == {}


class Silent(Bigram):
    """Has no room to write."""

    async def greedy(self, tokens: Tokens, count: int) -> Sequence[int]:
        return []


def test_an_arm_that_cannot_write_shares_nothing_undefined() -> None:
    """No token written is no share of any, not one of 0."""
    found = scored(Forced(walked(Bigram(), free_run=6), walked(Silent())))
    assert found.facts == {"free_run_tokens": 0, "free_run_shared": None, "free_run_parted": None}


class Brief(Bigram):
    """Writes two tokens at most."""

    async def greedy(self, tokens: Tokens, count: int) -> Sequence[int]:
        return (await super().greedy(tokens, count))[:2]


def test_what_both_wrote_is_what_is_shared() -> None:
    """Where one arm has less room, the share is of what it wrote: two of two, and they have not parted."""
    for models in ((Brief(CHAIN), Bigram(CHAIN)), (Bigram(CHAIN), Brief(CHAIN))):
        found = scored(Forced(walked(models[0], free_run=6), walked(models[1])))
        assert found.facts == {"free_run_tokens": 2, "free_run_shared": 1.0, "free_run_parted": None}


def test_a_text_shorter_than_the_free_runs_beginning_is_its_own() -> None:
    """What is written then follows all of it."""
    other = np.roll(CHAIN, 1, axis=1)
    found = scored(Forced(walked(Bigram(other), free_run=2, free_from=99), walked(Bigram(CHAIN))), "abc")
    assert found.facts["free_run_parted"] == 3


class Reused(Bigram):
    """A model that writes all its logits into one buffer, as an engine may that saves memory."""

    buffer = np.zeros((64, 64))

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> list[Any]:
        given = []
        for rows in await super().logits(windows, chunk):
            place = self.buffer[: len(rows), : rows.shape[1]]
            place[:] = rows
            given.append(place)
        return given


class Masked(Bigram):
    """A model whose logits are a masked array."""

    async def logits(self, windows: Sequence[Window], chunk: int | None) -> list[Any]:
        return [np.ma.masked_less(rows, 0) for rows in await super().logits(windows, chunk)]


@pytest.mark.parametrize(("model", "said"), [(Reused, "lie in one memory"), (Masked, "masked array")])
def test_logits_that_do_not_stay_as_they_are_given_are_refused(model: type[Bigram], said: str) -> None:
    """Two arms that write into one buffer would be held each against itself."""
    with pytest.raises(ModelError, match=said):
        scored(Forced(walked(model()), walked(model())))
