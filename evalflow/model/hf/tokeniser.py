"""Texts to tokens and back, with no token that nobody asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalflow.errors import ModelError
from evalflow.model.scorer import Encoded

PROBE = (
    "The quick brown fox, 3.14159 and 2,718: isn't it?\tTab\n\n  two  spaces\r\n"
    "Straße, naïve café, cafe\u0301, \u212b; привет мир; 你好，世界; नमस्ते; العربية; "
    "\U0001f9d1\u200d\U0001f4bb \ufeff\u00a0x\n"
    "def f(x_1): return {'a': [x**2 != 0]}  # 0x1F <b>&amp;</b> https://example.org/?q=%20\n"
)
"""A text of many kinds: two tokenisers with the same tokens that read it alike are held to be one."""


@dataclass(frozen=True)
class Tokeniser:
    """A tokeniser of transformers', asked for plain texts and conversations alike; `name` is its model's."""

    tokenizer: Any
    name: str

    def encode(self, text: str, item_id: str) -> Encoded:
        """A text's tokens, none added; where each begins in the text, -1 of all where the tokeniser cannot say.

        Raises:
            ModelError: the text holds half a character, or cannot be read.
        """
        self._check(text, f"item {item_id!r}")
        fast = bool(getattr(self.tokenizer, "is_fast", False))
        read = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=fast)
        tokens = np.array(read["input_ids"], dtype=np.int64)
        starts = [start for start, _ in read["offset_mapping"]] if fast else [-1] * len(tokens)
        return Encoded(tokens, np.array(starts, dtype=np.int32))

    def prompt(self, text: str, system: str | None, chat: bool) -> list[int]:
        """What a model is given to answer: the text as a user's message, or as it is after the tokens that the
        tokeniser itself puts before a text.

        Raises:
            ModelError: the text cannot be read, or the model's template refuses the messages.
        """
        self._check(text, "the prompt")
        if not chat:
            return [*self.before(), *self._ids(text)]
        messages = [{"role": "user", "content": text}]
        if system is not None:
            self._check(system, "model.system")
            messages.insert(0, {"role": "system", "content": system})
        try:
            written = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        except Exception as fault:  # noqa: BLE001 - the template is a program of the model's own
            said = f"its chat template refuses this ({fault})"
            raise ModelError(f"{self.name}: {said}; leave model.system out, or set model.chat=never") from None
        return self._ids(written)

    def text(self, tokens: Sequence[int]) -> str:
        """The text of tokens; those that only steer add nothing."""
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))

    @property
    def has_template(self) -> bool:
        """Whether it knows how its model wants a conversation written."""
        return bool(getattr(self.tokenizer, "chat_template", None))

    def before(self) -> list[int]:
        """The tokens that it puts before a text by itself."""
        bare = self._ids("a")
        full = list(self.tokenizer("a").input_ids)
        for start in range(len(full) - len(bare) + 1):
            if full[start : start + len(bare)] == bare:
                return full[:start]
        return []

    def facts(self) -> Mapping[str, Any]:
        """`tokenizer` (a digest of its tokens and of how it reads `PROBE`), `bos`, `adds_bos`, and `adds_before`: all
        that it puts before a text."""
        bos, before = self.tokenizer.bos_token_id, self.before()
        return {
            "tokenizer": self.digest(),
            "bos": bos,
            "adds_bos": bos is not None and bos in before,
            "adds_before": before,
        }

    def digest(self) -> str:
        """SHA-256 (64 hex digits) of what two tokenisers share that turn texts into the same tokens."""
        tokens = sorted(self.tokenizer.get_vocab().items())
        told = json.dumps([tokens, self._ids(PROBE)], ensure_ascii=True)
        return hashlib.sha256(told.encode("ascii")).hexdigest()

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False).input_ids)

    def _check(self, text: str, what: str) -> None:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as fault:
            code = ord(text[fault.start])
            said = f"{what} holds half a character (U+{code:04X}, character {fault.start})"
            raise ModelError(f"{self.name}: {said}; mend the text") from None
