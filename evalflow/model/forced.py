"""Teacher forcing as an arm's model: a request is a text to score, alone or in lockstep with a reference.

In lockstep both models see the same windows, a few at a time; of every position a handful of numbers is kept and the
logits are dropped, so that a walk needs no more memory however long it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evalflow.columns import Columns
from evalflow.errors import ModelError
from evalflow.model.protocol import Model
from evalflow.model.recorded.base_file import windows_of
from evalflow.model.reduction import here, nll, paired
from evalflow.model.scorer import SCORES, Encoded, Rows, Window
from evalflow.numeric.base_file import head_kl
from evalflow.numeric.windows import Bos, strided_plan
from evalflow.record import Cache, Completion, Decoding, Request
from evalflow.scoring import Scoring

Kept = dict[str, NDArray[Any]]
NOTHING = "nothing_to_score"
"""The class of a text without a token that could be scored."""
SHARED = ("vocabulary", "tokenizer", "bos")
"""What two models must have in common to be held against each other, where both say."""


@dataclass(frozen=True)
class Walked:
    """A model that scores, and how it is to."""

    model: Any
    scoring: Scoring

    @property
    def gives_logits(self) -> bool:
        """Whether it gives logits, and not each token's own log-probability alone."""
        return all(hasattr(self.model, part) for part in SCORES)

    @property
    def own_tokens(self) -> bool:
        """Whether it reads texts by itself; a recording without tokens takes the other arm's."""
        return bool(getattr(self.model, "own_tokens", True))

    @property
    def gives_tokens(self) -> bool:
        """Whether the other arm must take its tokens, because nobody knows the text that they are of."""
        return bool(getattr(self.model, "gives_tokens", False))

    @property
    def bos(self) -> Bos:
        """Where the beginning-of-text token stands: `none`, `first`, `each`."""
        if self.scoring.bos != "auto":
            return self.scoring.bos
        return "each" if self.model.scorer_facts()["adds_bos"] else "none"

    @property
    def stride(self) -> int:
        """Tokens between the beginnings of windows."""
        return self.scoring.stride or self.scoring.window - (self.bos != "each")

    async def rows(self, windows: Sequence[Window]) -> list[Rows]:
        """The logits of windows, `batch` of them at once, in reverse order where the scoring says so."""
        given = list(reversed(windows)) if self.scoring.backwards else list(windows)
        found: list[Rows] = []
        for start in range(0, len(given), self.scoring.batch):
            batch = given[start : start + self.scoring.batch]
            rows = await self.model.logits(batch, self.scoring.chunk_tokens)
            for window, one in zip(batch, rows, strict=True):
                if len(one) != len(window.targets):
                    said = f"{len(one)} rows of logits for {len(window.targets)} positions"
                    raise ModelError(f"{window.item_id} from {window.position}: {said}; mend the model", "bad_rows")
                if isinstance(one, np.ma.MaskedArray):
                    raise ModelError("its logits are a masked array, whose mask would be lost; give -inf", "bad_rows")
            found += rows
        return found[::-1] if self.scoring.backwards else found


class Forced(Model):
    """Scores the prompts that it is given as texts, one at a time; its answers have columns and no text.

    Columns of every scored token: `position` in the text (tokens), `start` and `end` (characters, -1 unknown), `token`,
    `context` (tokens seen before it), `nll` (nats), `argmax`, `margin`; beside a reference also `nll_ref`,
    `argmax_ref`, `margin_ref`, `kl`, `gap`, `dp`, `max_abs` (see `numeric.logits`). A position without a finite row has
    NaN.
    """

    concurrency_free: ClassVar[bool] = True

    def __init__(self, candidate: Walked, reference: Walked | None = None) -> None:
        self.candidate = candidate
        self.reference = reference
        self._sides = [candidate] if reference is None else [candidate, reference]
        self._alone = asyncio.Lock()

    def identity(self) -> Mapping[str, Any]:
        """The candidate's own."""
        told: Mapping[str, Any] = self.candidate.model.identity()
        return told

    def missing(self) -> str | None:
        """What either model lacks."""
        return next((told for side in self._sides if (told := side.model.missing())), None)

    async def start(self) -> None:
        """Start both models."""
        for side in self._sides:
            await side.model.start()

    async def prove(self, decoding: Decoding, cache: Cache) -> None:
        """Show that windows fit, and that both models read texts by the same tokens.

        Raises:
            ModelError: they do not.
        """
        lockstep = all(side.gives_logits for side in self._sides)
        for side in self._sides:
            if not side.gives_logits:
                await side.model.prove(decoding, cache)
            else:  # in lockstep both see the candidate's windows
                _check_fits(side, (self.candidate if lockstep else side).scoring.window)
        if self.reference is None or not lockstep:
            return
        ours, theirs = (side.model.scorer_facts() for side in self._sides)
        for name in SHARED:
            if ours[name] is not None and theirs[name] is not None and ours[name] != theirs[name]:
                said = f"its {name} is {ours[name]}, the reference's {theirs[name]}"
                raise ModelError(f"{said}; hold models of one tokeniser against each other, others by bits_per_byte")
        if self.candidate.bos != self.reference.bos:
            said = f"a beginning-of-text token stands before {self.candidate.bos} of its windows"
            raise ModelError(f"{said}, and {self.reference.bos} of the reference's; set scoring.bos")

    async def complete(self, request: Request) -> Completion:
        """Score one text.

        Raises:
            ModelError: it cannot be scored, or the two models do not read it as the same tokens.
        """
        async with self._alone:
            try:
                columns, n_tokens = await self._scored(request.prompt, request.item_id)
            except ValueError as fault:  # of numeric: rows and targets that do not fit
                raise ModelError(f"{fault}; mend the model", "bad_rows") from None
        return Completion("", "stop", tokens_in=n_tokens, tokens_source="local", columns=columns)

    async def measure(self, probe: str) -> Sequence[Mapping[str, float]] | None:
        """The candidate's own measurement."""
        measured: Sequence[Mapping[str, float]] | None = await self.candidate.model.measure(probe)
        return measured

    async def settle(self) -> None:
        """Let both look at themselves once more."""
        for side in self._sides:
            await side.model.settle()

    def facts(self) -> Mapping[str, Any]:
        """The candidate's, how it scored, and the reference's under that name."""
        told = [{**side.model.facts(), "scorer": _scorer(side)} for side in self._sides]
        if self.reference is None:
            return told[0]
        fault = told[1].get("instrument_fault")
        lifted = {} if fault is None else {"instrument_fault": f"the reference: {fault}"}
        return {**lifted, **told[0], "reference": told[1]}

    async def close(self) -> None:
        """Close both, the second whatever becomes of the first."""
        try:
            await self.candidate.model.close()
        finally:
            if self.reference is not None:
                await self.reference.model.close()

    async def _scored(self, text: str, item_id: str) -> tuple[Columns, int]:
        if all(side.gives_logits for side in self._sides):
            encoded = await self._encoded(text, item_id)
            kept = await self._walk(self._sides, encoded, text, item_id)
            facts = await self._free_run(encoded)
            return Columns.of(kept, facts), len(encoded.tokens)
        own = [await self._alone_in(side, text, item_id) for side in self._sides]
        (kept, n_tokens), *others = own
        if others:
            _check_same(kept["start"], others[0][0]["start"], "starts in the text")
            if (kept["start"] < 0).any():  # as many of them need not be the same ones
                raise ModelError("no arm says where its tokens begin in this text; leave it out", "other_tokens")
            kept = {**kept, "nll_ref": others[0][0]["nll"]}
        return Columns.of(kept), n_tokens

    async def _alone_in(self, side: Walked, text: str, item_id: str) -> tuple[Kept, int]:
        """One side's own columns, where the other gives no logits."""
        if side.gives_logits:
            encoded = await side.model.encode(text, item_id)
            return await self._walk([side], encoded, text, item_id), len(encoded.tokens)
        scores = await side.model.score_text(text)
        n = len(scores.logprobs)
        if n < 2:
            raise ModelError(f"the text has {n} tokens: none can be scored; leave it out", NOTHING)
        place = np.arange(1, n, dtype=np.int32)
        kept = {
            "position": place,
            "start": scores.encoded.starts[1:],
            "end": _ends(scores.encoded, text)[1:],
            "token": scores.encoded.tokens[1:].astype(np.int32),
            "context": place,
            "nll": -scores.logprobs[1:],
        }
        return kept, n

    async def _encoded(self, text: str, item_id: str) -> Encoded:
        """The tokens that both models read the text as."""
        asked = [side for side in self._sides if side.gives_tokens] or [side for side in self._sides if side.own_tokens]
        read: list[Encoded] = [await side.model.encode(text, item_id) for side in asked]
        if not read:
            said = "neither arm says what its tokens are; let one be a model that reads texts"
            raise ModelError(f"{said}, and mark a reference that has none control: true", "no_tokens")
        for other in read[1:]:
            _check_same(read[0].tokens, other.tokens, "token ids")
        return next((one for one in read if (one.starts >= 0).all()), read[0])

    async def _walk(self, sides: Sequence[Walked], encoded: Encoded, text: str, item_id: str) -> Kept:
        """The columns of a text, by the sides that are given, the candidate first."""
        ends = _ends(encoded, text)
        windows = _windows(sides[0], encoded, item_id, any(side.gives_tokens for side in sides))
        if not windows:
            raise ModelError(f"the text has {len(encoded.tokens)} tokens: none can be scored; leave it out", NOTHING)
        least = sides[-1].model.scorer_facts().get("kl_least_logp") if len(sides) == 2 else None
        at_once = max(side.scoring.batch for side in sides)
        kept: list[Kept] = []
        for start in range(0, len(windows), at_once):
            group = windows[start : start + at_once]
            rows = [await side.rows(group) for side in sides]
            _check_apart([block for one in rows for block in one])
            for place, window in enumerate(group):
                scored = await asyncio.to_thread(_reduced, window, [one[place] for one in rows], least)
                kept.append({**_placed(window, encoded, ends), **scored})
        return {name: np.concatenate([part[name] for part in kept]) for name in kept[0]}

    async def _free_run(self, encoded: Encoded) -> dict[str, float | None]:
        """How far two arms write the same after the text's beginning, each on its own."""
        scoring, begins = self.candidate.scoring, encoded.tokens[: self.candidate.scoring.free_from]
        if self.reference is None or scoring.free_run == 0:
            return {}
        ours, theirs = [list(await side.model.greedy(begins, scoring.free_run)) for side in self._sides]
        n = min(len(ours), len(theirs))
        if n == 0:
            return {"free_run_tokens": 0, "free_run_shared": None, "free_run_parted": None}
        parted = next((place for place in range(n) if ours[place] != theirs[place]), None)
        shared = n if parted is None else parted
        at = None if parted is None else len(begins) + parted
        return {"free_run_tokens": n, "free_run_shared": shared / n, "free_run_parted": at}


def _windows(side: Walked, encoded: Encoded, item_id: str, is_chunk: bool) -> list[Window]:
    """The windows of a text; each scores what none before it did. A chunk of a walk is one window of llama.cpp's."""
    scoring, bos, n = side.scoring, side.bos, len(encoded.tokens)
    if scoring.walk == "llama_cpp":
        first = None if bos == "none" else side.model.scorer_facts()["bos"]
        return list(windows_of(item_id, encoded.tokens, scoring.window, first, in_front=not is_chunk))
    windows = []
    for part in strided_plan(n, scoring.window, side.stride, bos):
        seen = encoded.tokens[part.start : part.stop]
        if part.bos:
            seen = np.concatenate([[side.model.scorer_facts()["bos"]], seen])
        windows.append(Window(item_id, seen, part.first - part.start + part.bos, part.first, part.bos))
    return windows


def _ends(encoded: Encoded, text: str) -> NDArray[np.int32]:
    """Where each token ends in the text (T,), -1 where the model cannot say where they begin."""
    if (encoded.starts < 0).any():
        return np.full(len(encoded.starts), -1, dtype=np.int32)
    return np.append(encoded.starts[1:], len(text)).astype(np.int32)


def _placed(window: Window, encoded: Encoded, ends: NDArray[np.int32]) -> Kept:
    """Where a window's scored tokens lie in the text, and how many of its tokens each could see."""
    n = len(window.targets)
    part = slice(window.position, window.position + n)
    return {
        "position": np.arange(part.start, part.stop, dtype=np.int32),
        "start": encoded.starts[part],
        "end": ends[part],
        "token": window.targets.astype(np.int32),
        "context": np.arange(n, dtype=np.int32) + np.int32(window.first - window.bos),
    }


def _reduced(window: Window, rows: Sequence[Rows], least: float | None) -> Kept:
    """What is kept of a window's logits: the candidate's alone, or held against the reference's.

    A reference whose log-probabilities are known down to `least` alone has a KL over those, no NLL of a target beneath,
    and no largest difference.
    """
    if len(rows) == 1:
        own = nll(rows[0], window.targets)
        return {"nll": own.nll, "argmax": _whole(own.argmax), "margin": own.margin}
    both = paired(rows[1], rows[0], window.targets)
    kept: Kept = {
        "nll": both.nll_cand,
        "argmax": _whole(both.argmax_cand),
        "nll_ref": both.nll_ref,
        "argmax_ref": _whole(both.argmax_ref),
        "margin_ref": both.margin,
        "kl": both.kl,
        "gap": both.gap,
        "dp": both.dp,
        "max_abs": both.max_abs,
    }
    if least is not None:
        ref_nv = here(rows[1])
        known_n = ref_nv[np.arange(len(ref_nv)), window.targets] > least
        kept |= {"nll_ref": np.where(known_n, both.nll_ref, np.nan), "kl": head_kl(ref_nv, here(rows[0]), least)}
        del kept["max_abs"]
    return kept


def _whole(indices: NDArray[Any]) -> NDArray[np.int32]:
    return indices.astype(np.int32)


def _check_same(ours: NDArray[Any], theirs: NDArray[Any], what: str) -> None:
    """Refuse two arms that do not read a text alike."""
    if len(ours) == len(theirs) and (ours == theirs).all():
        return
    shared = min(len(ours), len(theirs))
    differ = np.flatnonzero(ours[:shared] != theirs[:shared])
    at = int(differ[0]) if differ.size else shared
    said = [str(side[at]) if at < len(side) else "its end" for side in (ours, theirs)]
    where = f"{what} differ at position {at}: {said[0]}, and {said[1]} in the reference"
    raise ModelError(f"{where}; hold models of one tokeniser against each other", "other_tokens")


def _check_apart(blocks: Sequence[Rows]) -> None:
    """Refuse logits of two windows in one memory: a model that uses a buffer again has written over the first."""
    arrays = [block for block in blocks if isinstance(block, np.ndarray)]
    places = [block.data_ptr() for block in blocks if not isinstance(block, np.ndarray) and hasattr(block, "data_ptr")]
    shared = any(np.may_share_memory(one, other) for at, one in enumerate(arrays) for other in arrays[:at])
    if shared or len(set(places)) < len(places):
        raise ModelError("logits of two windows lie in one memory; let the model give each its own", "bad_rows")


def _check_fits(side: Walked, window: int) -> None:
    """Refuse windows (tokens) beyond the model's context, and a beginning-of-text token that it lacks."""
    facts = side.model.scorer_facts()
    if side.bos != "none" and facts["bos"] is None:
        raise ModelError(f"it has no beginning-of-text token to put before {side.bos}; set scoring.bos=none")
    if side.scoring.walk == "strided" and side.stride == side.scoring.window and side.bos != "each":
        raise ModelError("stride is the whole window, and no token stands before each; set scoring.bos or stride")
    longest = window + (side.bos != "none" and side.scoring.walk == "strided")
    if facts["context"] is not None and longest > facts["context"]:
        said = f"windows of {longest} tokens, and its context is {facts['context']}"
        raise ModelError(f"{said}; set scoring.window to at most {facts['context'] - (side.bos != 'none')}")


def _scorer(side: Walked) -> dict[str, Any]:
    if not side.gives_logits:
        return {"gives": "each token's own log-probability"}
    told = side.model.scorer_facts()
    note = {"bos_note": "its tokeniser puts one before a text, and here none stands"}
    return {**told, "bos_before": side.bos, **(note if told["adds_bos"] and side.bos == "none" else {})}
