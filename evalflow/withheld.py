"""Settings for readers who get no texts: a config, and what a sweep changes in it, can hold prompts and answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
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


def private_words(words: Iterable[str]) -> list[str]:
    """Overrides of a command line with digests in place of the texts that they set."""
    parted = (word.partition("=") for word in words)
    return [f"{key}{mark}{private_config(value, ())}" if mark else key for key, mark, value in parted]


def private_sweep(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A sweep's summary with digests in place of the texts that were swept or set."""
    jobs = [
        {**job, "overrides": private_words(job["overrides"]), "swept": private_config(job["swept"], ())}
        for job in summary["jobs"]
    ]
    grid = [
        {**line, "cells": [{**cell, "at": private_config(cell["at"], ())} for cell in line["cells"]]}
        for line in summary["grid"]
    ]
    words, axes = private_words(summary["overrides"]), private_config(summary["axes"], ())
    return {**summary, "overrides": words, "axes": axes, "jobs": jobs, "grid": grid}
