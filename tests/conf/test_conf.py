"""Every shipped config file does what its folder says."""

from __future__ import annotations

import pydoc
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalflow.runner.build import Builder, Faults
from evalflow.runner.compose import compose_config
from evalflow.runner.experiments import experiments, shipped_folder
from evalflow.runner.plan import build_plan
from tests.graded import finished
from tests.imported.by_hand import INSPECT

CONF = shipped_folder()
OPTIONS = sorted(path.relative_to(CONF).as_posix() for path in CONF.glob("*/*.yaml"))
EXPERIMENTS = [name for name in OPTIONS if name.startswith("experiment/")]
PARTS = [name for name in OPTIONS if not name.startswith("experiment/")]
DEFAULTS = {"gate": "evalflow.gate.Gate"}
CANDIDATE = "arms.candidate.model.path"
TIMED_SHARES = ("goodput",)
"""Metrics that count answers by how long they took."""


def load(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((CONF / name).read_text(encoding="utf-8")))


def nodes(name: str) -> dict[str, Any]:
    """The parts that a file describes: itself, or each of a set's."""
    loaded = load(name)
    loaded.pop("defaults", None)
    default = DEFAULTS.get(name.split("/")[0])
    if "_target_" in loaded or default is None:
        return {"": loaded}
    return {key: {"_target_": default, **node} for key, node in loaded.items()}


def test_the_folders_are_those_of_the_contract() -> None:
    """Groups are named in the singular, as the rooms of the package are."""
    known = "dataset model decoding arm metric gate comparison experiment runner tracking serving scoring"
    assert {name.split("/")[0] for name in OPTIONS} == set(known.split())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_composes_and_becomes_a_plan(name: str, home: Path) -> None:
    """Every shipped one can be planned as it stands; only a seat, a graded run and its arms, or logs, must be said."""
    faults = Faults()
    stem, defaults = Path(name).stem, load(name)["defaults"]
    where = ["model.base_url=http://127.0.0.1:9/v1"] if {"override /model": "seat"} in defaults else []
    if {"override /dataset": "graded_run"} in defaults:
        where = [f"dataset.run={finished()}", "+arm@arms.one=graded"]
    if {"override /dataset": "imported"} in defaults:
        logs = [f"{key}={INSPECT / name}" for key, name in (("dataset.path", "good.json"), (CANDIDATE, "worse.json"))]
        where = [*logs, "metrics.score.score=includes"]
    composed = compose_config([f"experiment={stem}", "tracking=none", *where], [], faults)
    assert composed is not None, [str(fault) for fault in faults.found]
    plan = build_plan(composed.config, (), faults)
    assert plan.name == stem
    assert plan.arms and plan.gates and plan.limits


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_begins_with_its_header_and_one_line(name: str) -> None:
    """The package header is the first line, since a comment above it breaks it; then one line says what it asks."""
    lines = (CONF / name).read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# @package _global_"
    said = dict(experiments([CONF]))[Path(name).stem]
    assert 20 <= len(said) <= 120


@pytest.mark.parametrize("name", PARTS)
def test_a_folder_targets_its_own_room(name: str) -> None:
    """`conf/X` names classes of `evalflow.X` alone; decoding, which is a record, is the one exception."""
    group = name.split("/")[0]
    home = "evalflow.record.Decoding" if group == "decoding" else f"evalflow.{group}."
    assert all(node["_target_"].startswith(home) for node in nodes(name).values())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_targets_nothing(name: str) -> None:
    """An experiment only composes and sets values."""
    assert "_target_" not in (CONF / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PARTS)
def test_an_option_builds_as_it_stands(name: str) -> None:
    """Its class exists and takes every value; where the file leaves values open, those and no others are missing."""
    for node in nodes(name).values():
        faults = Faults()
        wanted = sorted(f"it.{key}" for key, value in node.items() if value == "???")
        # what another part gives, where it has it, is this part's default where it stands alone
        own = {key: value for key, value in node.items() if not str(value).startswith("${oc.select:")}
        shown = {key: 1 if value == "${concurrency}" else value for key, value in own.items()}
        built = Builder(("evalflow",), faults).build(shown, "it")
        assert sorted(fault.where for fault in faults.found) == wanted
        assert (built is None) == bool(wanted)


@pytest.mark.parametrize("name", [name for name in PARTS if name.startswith("metric/")])
def test_a_metric_of_time_says_that_it_is_one(name: str) -> None:
    """Seconds, what is per second and shares by time are marked over several sessions; the others have none."""
    (node,) = nodes(name).values()
    metric: Any = pydoc.locate(node["_target_"])
    of_time = metric.measured_in in ("s", "tokens/s", "requests/s") or Path(name).stem in TIMED_SHARES
    assert (metric.clocked or metric.timed) is of_time


def test_no_file_uses_a_key_that_yaml_reads_as_a_boolean() -> None:
    """on, off, yes and no are booleans to YAML 1.1; no shipped file has one as a key."""

    def keys(node: Any) -> list[Any]:
        if isinstance(node, dict):
            return [*node, *(key for value in node.values() for key in keys(value))]
        return [key for value in node for key in keys(value)] if isinstance(node, list) else []

    for name in [*OPTIONS, "config.yaml"]:
        assert all(isinstance(key, str) for key in keys(load(name))), name


def test_the_experiment_comes_after_the_roots_own_values() -> None:
    """`_self_` stands before `experiment` in config.yaml, else it would beat the experiment's values."""
    order = load("config.yaml")["defaults"]
    assert order.index("_self_") < next(
        i for i, one in enumerate(order) if isinstance(one, dict) and "experiment" in one
    )
