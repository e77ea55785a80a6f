"""The jobs of a sweep."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.types import Glob, Override

from evalflow.errors import ConfigError
from evalflow.runner.build import Faults
from evalflow.runner.config_tree import ConfigTree
from evalflow.runner.experiments import shipped_folder
from evalflow.runner.overrides import parse, text_of


def expand_sweep(overrides: Sequence[str], folders: Sequence[Path] = ()) -> list[tuple[str, ...]]:
    """The jobs of a sweep: every combination of the swept values, the last one varying fastest.

    Raises:
        ConfigError: an override is not of the form key=value.
    """
    faults = Faults()
    parsed = [one for text in overrides if (one := parse(text, faults)) is not None]
    if faults.found:
        raise ConfigError(faults.found)
    tree = ConfigTree((shipped_folder(), *folders), Faults())

    def values(one: Override) -> list[str]:
        if isinstance(one.value(), Glob):
            return list(one.value().filter(sorted(tree.options.get(one.key_or_group, ()))))
        return list(one.sweep_string_iterator())

    choices = [
        [f"{one.get_key_element()}={value}" for value in values(one)] if one.is_sweep_override() else [text_of(one)]
        for one in parsed
    ]
    for one, chosen in zip(parsed, choices, strict=True):
        if not chosen:
            faults.add(text_of(one), "it gives no value", "give at least one")
    if faults.found:
        raise ConfigError(faults.found)
    return list(itertools.product(*choices))
