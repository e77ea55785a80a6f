"""How well a text was expected: nats per token, perplexity and bits per byte, of one text or of a corpus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalflow.numeric.moments import listed_mean
from evalflow.numeric.undefined import Undefined, floats


@dataclass(frozen=True)
class TextNLL:
    """The scored tokens of a text, and the sum of their NLL in nats (+inf where one is)."""

    n_tokens: int
    n_missing: int
    """Tokens that were to be scored and have no number (NaN or -inf): they are never 0, and leave no figure."""
    total: float

    def nll_mean(self) -> float:
        """Nats per scored token; +inf where a token was ruled out.

        Raises:
            Undefined: "no token scored", or "non-finite value" where a number is missing.
        """
        if self.n_missing:
            raise Undefined("non-finite value")
        if not self.n_tokens:
            raise Undefined("no token scored")
        return self.total / self.n_tokens

    def ppl(self) -> float:
        """exp(nll_mean); +inf where that is beyond a float, which the mean is not.

        Raises:
            Undefined: as `nll_mean`.
        """
        return exp_mean(self.nll_mean())

    def bits_per_byte(self, utf8_bytes: int | None) -> float:
        """sum NLL / (ln 2 * bytes), given the UTF-8 bytes of what was scored: comparable over tokenisers.

        Raises:
            Undefined: as `nll_mean`, or "no bytes".
            ValueError: fewer than 0 bytes, or a number that counts none (NaN, infinity).
        """
        if utf8_bytes is not None and not 0 <= utf8_bytes < math.inf:
            raise ValueError(f"utf8_bytes is {utf8_bytes}; give 0 or more")
        self.nll_mean()
        if not utf8_bytes:
            raise Undefined("no bytes")
        return self.total / (math.log(2) * utf8_bytes)


@dataclass(frozen=True)
class CorpusNLL:
    """The texts of a corpus, those without a scored token too."""

    texts: tuple[TextNLL, ...]

    @property
    def whole(self) -> TextNLL:
        """All of it as one text: each token weighs the same, so its `ppl` is exp(sum NLL / sum tokens) (micro)."""
        return TextNLL(
            sum(text.n_tokens for text in self.texts),
            sum(text.n_missing for text in self.texts),
            _sum([text.total for text in self.texts]),
        )

    def per_document_ppl_mean(self) -> float:
        """The mean of the texts' own perplexities (macro), of those with a token to score; +inf where one is.

        Raises:
            Undefined: as `TextNLL.nll_mean`, or "non-finite result".
        """
        own = [text.ppl() for text in self.texts if text.n_tokens or text.n_missing]
        if not own:
            raise Undefined("no token scored")
        return math.inf if math.inf in own else listed_mean(own)


def text_nll(token_nll: ArrayLike, mask: ArrayLike | None = None) -> TextNLL:
    """The sum of `token_nll` (N,), in nats, where `mask` (N,) is 1: everywhere, where it is None.

    A masked token counts in neither sum nor denominator, whatever its number is.

    Raises:
        ValueError: no numbers (`floats`), not one-dimensional, a mask of another length, or of other numbers than 0
            and 1.
    """
    column = floats(token_nll)
    if column.ndim != 1:
        raise ValueError(f"token_nll has shape {column.shape}; give one number per token")
    wanted = column if mask is None else column[_checked(mask, column.size)]
    scored = wanted[wanted > -math.inf]
    return TextNLL(scored.size, wanted.size - scored.size, _sum(scored.tolist()))


def corpus_nll(documents: Sequence[ArrayLike]) -> CorpusNLL:
    """The token NLL of each document (N_d,), in nats.

    Raises:
        ValueError: a document that is not one-dimensional, or no numbers.
    """
    return CorpusNLL(tuple(text_nll(document) for document in documents))


def exp_mean(nll_mean: float) -> float:
    """exp of a mean NLL, +inf where it is beyond a float."""
    try:
        return math.exp(nll_mean)
    except OverflowError:
        return math.inf


def _checked(mask: ArrayLike, n_tokens: int) -> NDArray[np.bool_]:
    """Which tokens are to be scored (N,)."""
    flags = np.asarray(mask)
    if flags.shape != (n_tokens,):
        raise ValueError(f"mask has shape {flags.shape} for {n_tokens} tokens; give one number per token")
    if not np.isin(flags, (0, 1)).all():
        raise ValueError("mask has other numbers than 0 and 1; give 1 where a token is scored")
    return flags.astype(np.bool_)


def _sum(values: list[float]) -> float:
    """Correctly rounded, so that no order can move it; +inf where it is beyond a float."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf
