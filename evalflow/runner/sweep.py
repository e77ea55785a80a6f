"""The jobs of a sweep, and what holds for the sweep as a whole."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException
from omegaconf import OmegaConf

from evalflow.errors import ConfigError, UsageError
from evalflow.runner.build import Faults
from evalflow.runner.compose import compose_tree, plain_of
from evalflow.runner.config_tree import ConfigTree
from evalflow.runner.experiments import shipped_folder
from evalflow.runner.overrides import forced, is_hydra, parse, text_of
from evalflow.runner.plan import NEW

BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
"""Hydra's launcher of one job after another."""
WHOLE = ("hydra", "runner", "tracking")
"""Nodes of a config that a sweep reads for itself."""


@dataclass(frozen=True)
class Sweep:
    """Every job's overrides, the swept keys with their values, and the config nodes that hold for all jobs.

    `fresh` says that a new sweep was asked for, whatever lies unfinished.
    """

    overrides: tuple[str, ...]
    jobs: tuple[tuple[str, ...], ...]
    axes: Mapping[str, tuple[str, ...]]
    swept: tuple[Mapping[str, str], ...]
    whole: Mapping[str, Any]
    fresh: bool

    def told(self) -> dict[str, Any]:
        """What is kept of it."""
        return {
            "overrides": list(self.overrides),
            "jobs": [list(job) for job in self.jobs],
            "axes": {name: list(values) for name, values in self.axes.items()},
        }

    @property
    def outputs(self) -> Path:
        """Where its jobs' runs are kept."""
        return Path(str(self.whole["runner"]["outputs"]))

    @property
    def launched(self) -> bool:
        """Whether another launcher than Hydra's basic one was asked for: jobs may run at the same time."""
        return bool(self.whole["hydra"]["launcher"]["_target_"] != BASIC)


def expand_sweep(overrides: Sequence[str], folders: Sequence[Path] = ()) -> Sweep:
    """The jobs of a command line: every combination of the swept values, the last key varying fastest.

    Values may also come from the config itself, as `hydra.sweeper.params`; the command line overrules those by key.

    Raises:
        ConfigError: an override is not of the form key=value, or gives no value; the experiment cannot be composed.
        UsageError: one run is to be resumed by many jobs.
    """
    faults = Faults()
    tree = ConfigTree((shipped_folder(), *folders), faults)
    given = _parsed(overrides, faults)
    whole = _whole(given, tree, faults)
    asked = {_name(one) for one in given}
    params = whole["hydra"]["sweeper"].get("params") or {}
    given += _parsed([f"{key}={value}" for key, value in params.items() if key not in asked], faults)
    for one in given:
        if one.key_or_group == "resume" and one.value() != NEW:
            raise UsageError(f"{text_of(one)}: a sweep has many runs; drop it, or write resume={NEW} for a new sweep")
        if one.key_or_group == "dry_run" and one.is_sweep_override():
            raise UsageError(f"{text_of(one)}: all jobs are dry or none is; give one value")
    given = [one for one in given if not is_hydra(one)]
    choices = [_values(one, tree, faults) if one.is_sweep_override() else [text_of(one)] for one in given]
    if faults.found:
        raise ConfigError(faults.found)
    axes = {
        _name(one): tuple(dict.fromkeys(_value(text) for text in chosen))
        for one, chosen in zip(given, choices, strict=True)
        if one.is_sweep_override()
    }
    jobs = tuple(itertools.product(*choices))
    places = {place: _name(one) for place, one in enumerate(given) if one.is_sweep_override()}
    swept = tuple({name: _value(job[place]) for place, name in places.items()} for job in jobs)
    fresh = any(one.key_or_group == "resume" for one in given)  # with the one value that was let through
    return Sweep(tuple(overrides), jobs, axes, swept, whole, fresh)


def _parsed(texts: Sequence[str], faults: Faults) -> list[Override]:
    parsed = [one for text in texts if (one := parse(text, faults)) is not None]
    if faults.found:
        raise ConfigError(faults.found)
    return parsed


def _whole(given: Sequence[Override], tree: ConfigTree, faults: Faults) -> dict[str, Any]:
    """The nodes that a sweep reads for itself, composed without what is swept."""
    fixed = [one for one in given if not one.is_sweep_override()]
    groups = [text_of(one) for one in fixed if (tree.is_group(one.key_or_group) and tree.knows(one, faults))]
    values = [forced(one) for one in fixed if one.key_or_group.split(".")[0] in WHOLE and not _is_option(one, tree)]
    options = [text_of(one) for one in fixed if is_hydra(one) and _is_option(one, tree)]
    composed = None if faults.found else compose_tree(tree, [*groups, *options, *values], faults)
    if composed is None:
        raise ConfigError(faults.found)
    OmegaConf.set_struct(composed, False)
    return {key: plain_of(composed, key, key, Faults()) for key in WHOLE}


def _is_option(one: Override, tree: ConfigTree) -> bool:
    """Whether it chooses an option of a group, ours or Hydra's (`hydra/launcher=joblib`)."""
    return tree.is_group(one.key_or_group) or "/" in one.key_or_group


def _values(one: Override, tree: ConfigTree, faults: Faults) -> list[str]:
    value = one.value()
    try:
        if isinstance(value, Glob):
            texts = list(value.filter(sorted(tree.options.get(one.key_or_group, ()))))
        else:
            texts = list(one.sweep_string_iterator())
        if not texts:
            faults.add(text_of(one), "it gives no value", "give at least one")
    except HydraException:
        texts = []
        faults.add(text_of(one), "its values cannot be listed", "give them, as a,b or range(0,3)")
    return [f"{one.get_key_element()}={text}" for text in texts]


def _name(one: Override) -> str:
    return str(one.get_key_element()).lstrip("+~")


def _value(word: str) -> str:
    return word.partition("=")[2]
