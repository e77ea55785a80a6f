"""The jobs of a sweep's command line, and what holds for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalflow.errors import ConfigError, ExitCode, UsageError
from evalflow.runner.sweep import expand_sweep

pytestmark = pytest.mark.usefixtures("home")


def test_a_sweep_is_every_combination() -> None:
    """The last swept key varies fastest; ranges count; unswept overrides ride along and are no axis."""
    family = expand_sweep(["a=1,2", "b=x", "c=range(0,2)"])
    assert family.jobs == (
        ("a=1", "b=x", "c=0"),
        ("a=1", "b=x", "c=1"),
        ("a=2", "b=x", "c=0"),
        ("a=2", "b=x", "c=1"),
    )
    assert family.axes == {"a": ("1", "2"), "c": ("0", "1")}
    assert family.swept[2] == {"a": "2", "c": "0"}
    assert expand_sweep([]).jobs == ((),)


def test_an_added_part_is_swept_by_its_place() -> None:
    """The sign that adds is the override's and no part of the axis' name."""
    family = expand_sweep(["+arm@arms.x=greedy,sampled"])
    assert family.jobs == (("+arm@arms.x=greedy",), ("+arm@arms.x=sampled",))
    assert family.swept == ({"arm@arms.x": "greedy"}, {"arm@arms.x": "sampled"})


def test_a_value_that_is_given_twice_is_one_point_of_its_axis() -> None:
    """Both jobs run; the axis has the value once."""
    family = expand_sweep(["seed=1,1"])
    assert (len(family.jobs), family.axes) == (2, {"seed": ("1",)})


def test_a_sweep_of_nonsense_is_refused_before_any_job() -> None:
    """One override that cannot be parsed stops the whole sweep; so does a range of nothing."""
    with pytest.raises(ConfigError, match="override name=a=b: it is not of the form key=value"):
        expand_sweep(["seed=1,2", "name=a=b"])
    with pytest.raises(ConfigError, match=r"seed=range\(0,0\): it gives no value; give at least one"):
        expand_sweep(["seed=range(0,0)"])


def test_one_run_cannot_be_resumed_by_many_jobs() -> None:
    """A run named is refused, with what to write instead; a new sweep may be asked for."""
    with pytest.raises(UsageError, match=r"resume=x: a sweep has many runs; drop it, or write resume=new") as refused:
        expand_sweep(["seed=1,2", "resume=x"])
    assert refused.value.exit_code == ExitCode.USAGE
    assert expand_sweep(["seed=1,2", "resume=new"]).fresh
    assert not expand_sweep(["seed=1,2"]).fresh


def test_what_holds_for_the_whole_sweep_is_read_from_its_config() -> None:
    """Where runs are kept, whether only plans are wanted, and whether jobs may run at the same time."""
    family = expand_sweep(["seed=1,2"])
    assert (family.outputs, family.launched) == (Path("outputs"), False)
    family = expand_sweep(["seed=1,2", "runner.outputs=elsewhere", "dry_run=true"])
    assert family.outputs == Path("elsewhere")
