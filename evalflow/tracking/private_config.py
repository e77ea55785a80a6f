"""A run's config for a store that gets no texts: a config too can hold prompts and answers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from evalflow.record import digest


def private_config(config: Any, said: Collection[str]) -> Any:
    """The config with digests in place of texts, as values and as keys; names, numbers, paths and switches stay.

    A text is what has a blank in it (a template, a system prompt, the examples in it), or is one of `said`: a scripted
    model's answers stand in its config. Equal texts have equal digests, so that two configs can still be told apart.
    """
    if isinstance(config, dict):
        return {private_config(key, said): private_config(value, said) for key, value in config.items()}
    if isinstance(config, list):
        return [private_config(value, said) for value in config]
    if isinstance(config, str) and (config in said or len(config.split()) > 1):
        return f"withheld.{digest(config)[:12]}"
    return config
