"""What nothing that is kept or said of a seat may hold: keys, and the host where that is withheld."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

SHOWN = "***"
SHORTEST_REST = 4
"""Of a secret that a message was cut off in, this many characters at its end are taken out."""


class Hidden:
    """Takes secrets out of words and values."""

    def __init__(self, secrets: Iterable[str]) -> None:
        given = {secret for secret in secrets if secret}
        spelt = given | {secret.replace("/", "\\/") for secret in given}  # as some write it in JSON
        self._secrets = sorted(spelt, key=len, reverse=True)

    def words(self, said: str) -> str:
        """A message without them, not even the beginning of one that the message's own end cut off."""
        for secret in self._secrets:
            said = said.replace(secret, SHOWN)
        for secret in self._secrets:
            for size in range(len(secret) - 1, SHORTEST_REST - 1, -1):
                if said.endswith(secret[:size]):
                    return said[:-size] + SHOWN
        return said

    def value(self, told: Any) -> Any:
        """A value of JSON, its texts and names without them."""
        if isinstance(told, str):
            return self.words(told)
        if isinstance(told, list):
            return [self.value(one) for one in told]
        if isinstance(told, Mapping):
            return {self.words(name): self.value(one) for name, one in told.items()}
        return told
