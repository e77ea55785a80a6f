"""A config without texts."""

from __future__ import annotations

import re

from evalflow.tracking.private_config import private_config


def test_texts_are_withheld_wherever_they_stand():
    """Templates, system prompts and a scripted model's table, keys too; equal texts stay equal, others apart."""
    config = {
        "dataset": {"path": "items.jsonl", "prompt": "Say it: {input}", "n": 3},
        "model": {"_target_": "a.b.C", "answers": {"it": "Rome", "fr": "Paris"}, "by_text": {"the poet": "Rome"}},
        "arms": {"one": {"stop": ["\n", "END", "the end"], "control": False, "cache": None}},
    }
    told = private_config(config, {"Rome", "Paris"})
    assert not re.search("Rome|Paris|Say it|poet|the end", str(told))
    assert told["dataset"] == {"path": "items.jsonl", "prompt": told["dataset"]["prompt"], "n": 3}
    assert told["model"]["_target_"] == "a.b.C"
    assert list(told["model"]["answers"]) == ["it", "fr"]
    assert list(told["model"]["by_text"].values()) == [told["model"]["answers"]["it"]]
    assert told["model"]["answers"]["it"] != told["model"]["answers"]["fr"]
    assert told["arms"]["one"]["stop"][:2] == ["\n", "END"]
    assert (told["arms"]["one"]["control"], told["arms"]["one"]["cache"]) == (False, None)


def test_a_config_without_texts_is_kept():
    """Nothing is changed where there is nothing to withhold."""
    config = {"name": "case", "seed": 0, "gates": {"floor": {"figure": "quality/exact", "floor": 0.9}}}
    assert private_config(config, {"right"}) == config
