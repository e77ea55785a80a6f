"""Overrides and files become one plain config, and every value knows where it came from."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evalflow.errors import Fault, StoredRunError
from evalflow.runner.build import Faults
from evalflow.runner.compose import Composed, compose_config
from evalflow.runner.experiments import experiments, shipped_folder
from evalflow.runner.origin import origin
from evalflow.runner.stored_config import from_yaml, to_yaml


def compose(*overrides: str) -> Composed:
    faults = Faults()
    composed = compose_config(overrides, [], faults)
    assert composed is not None
    assert faults.found == []
    return composed


@pytest.fixture(scope="module")
def shipped() -> Composed:
    return compose()


def test_the_config_is_plain(shipped: Composed) -> None:
    """What comes out is made of mappings, lists and scalars, with every reference resolved and nothing of Hydra's."""

    def check(node: object) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                assert type(key) is str
                check(value)
        elif isinstance(node, list):
            for value in node:
                check(value)
        else:
            assert node is None or type(node) in (str, int, float, bool)
            assert "${" not in str(node)

    assert type(shipped.config) is dict
    assert "hydra" not in shipped.config
    check(shipped.config)


def test_a_shared_knob_reaches_every_arm() -> None:
    """`concurrency=5` is every arm's, since their files refer to it."""
    arms = compose("concurrency=5").config["arms"]
    assert {arm["concurrency"] for arm in arms.values()} == {5}


def test_an_option_of_a_group_is_chosen_and_changed_in_one_line() -> None:
    """A group's option and a value inside it may be given together, in any order."""
    config = compose("dataset.path=x.jsonl", "dataset=jsonl").config
    assert config["dataset"]["_target_"] == "evalflow.dataset.jsonl.Jsonl"
    assert config["dataset"]["path"] == "x.jsonl"


def test_values_keep_their_type() -> None:
    """Numbers, booleans, nulls, lists and quoted text arrive as such."""
    config = compose("limit=3", "dry_run=true", "where.kind=[a,b]", "description='1'", "shard=null").config
    assert (config["limit"], config["dry_run"], config["where"], config["description"], config["shard"]) == (
        3,
        True,
        {"kind": ["a", "b"]},
        "1",
        None,
    )


def test_a_value_knows_its_file_or_override() -> None:
    """The last override of a key is its source, else the strongest file that holds it."""
    composed = compose("seed=1", "++seed=2")
    conf = shipped_folder()
    assert origin("seed", composed) == "override ++seed=2"
    assert origin("name", composed) == str(conf / "experiment/tiny_gpt.yaml")
    assert origin("arms.long.model.checkpoint", composed) == str(conf / "experiment/tiny_gpt.yaml")
    assert origin("dataset.held_out", composed) == str(conf / "dataset/strings.yaml")
    assert origin("limit", composed) == str(conf / "config.yaml")
    assert origin("no.such.key", composed) is None


def test_a_chosen_option_is_not_the_source_of_its_values() -> None:
    """`dataset=jsonl` chooses a file; a fault in a value of that file is the file's."""
    composed = compose("dataset=jsonl")
    assert origin("dataset.path", composed) == str(shipped_folder() / "dataset/jsonl.yaml")


def test_a_config_survives_its_file(shipped: Composed, tmp_path: Path) -> None:
    """Written as YAML and read back it is the same, so that a run can be scored from its own folder."""
    path = tmp_path / "config.yaml"
    odd = {**shipped.config, "limits": ["on", "1", "ä", "a: b"]}
    path.write_text(to_yaml(odd), encoding="utf-8")
    assert from_yaml(path) == odd


@pytest.mark.parametrize("text", [None, "- a", "a: [", "\ud800"])
def test_a_damaged_config_is_refused_by_name(tmp_path: Path, text: str | None) -> None:
    """A stored config that is not there, or is no YAML mapping, is one sentence with its path."""
    path = tmp_path / "config.yaml"
    if text is not None:
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(StoredRunError, match=r"config\.yaml: .*restore it"):
        from_yaml(path)


def test_experiments_are_listed_with_their_first_comment(tmp_path: Path) -> None:
    """The line of an experiment is the first comment after its header; one without has none."""
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment/b.yaml").write_text("# @package _global_\n# Says b.\n# More.\nname: b\n", encoding="utf-8")
    (tmp_path / "experiment/a.yaml").write_text("# @package _global_\nname: a\n", encoding="utf-8")
    assert experiments([tmp_path]) == [("a", ""), ("b", "Says b.")]


def test_threads_may_compose_at_once() -> None:
    """Hydra's state is the process' own; each still gets what it asked for, and no fault."""

    def composed(seed: int) -> tuple[int, list[Fault]]:
        faults = Faults()
        whole = compose_config([f"seed={seed}"], (), faults)
        assert whole is not None, faults.found
        return whole.config["seed"], faults.found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(composed, range(12))) == [(seed, []) for seed in range(12)]


@pytest.mark.parametrize("place", ["model", "arms.one.model"])
def test_a_models_value_from_the_environment_is_refused(place, tmp_path, monkeypatch):
    """It would be written into the run's folder; elsewhere the environment may be read."""
    monkeypatch.setenv("SECRET", "hush")
    extra = ["+arm@arms.one=greedy"] if place.startswith("arms") else []
    faults = Faults()
    composed = compose_config([*extra, f"+{place}.headers={{x: '${{oc.env:SECRET}}'}}"], [], faults)
    assert [fault.where for fault in faults.found] == [f"{place}.headers.x"]
    assert "name the variable instead" in str(faults.found[0])
    assert composed is not None and "hush" not in str(composed.config)
    fine = Faults()
    elsewhere = compose_config(["tracking.uri=${oc.env:SECRET}"], [], fine)
    assert not fine.found and elsewhere is not None and elsewhere.config["tracking"]["uri"] == "hush"
