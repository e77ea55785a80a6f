"""A config and a sweep without texts."""

from __future__ import annotations

import re

from evalflow.withheld import private_config, private_sweep, private_words


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


def test_of_an_override_the_key_stays():
    """What is set to a text is withheld; paths, numbers and words without a value stay as they are."""
    told = private_words(["model.system=Be brief.", "seed=1", "~gates.floor", "+arm@arms.hot=sampled"])
    assert told[0].startswith("model.system=withheld.")
    assert told[1:] == ["seed=1", "~gates.floor", "+arm@arms.hot=sampled"]


def test_a_swept_text_is_withheld_wherever_a_summary_has_it():
    """Axes, jobs and the grid's places get the same digest, so that they still fit together."""
    text, swept = "You are kind.", {"model.system": "You are kind.", "seed": "1"}
    summary = {
        "overrides": [f"model.system={text}"],
        "axes": {"model.system": [text, "terse"], "seed": ["1"]},
        "jobs": [{"job": 0, "overrides": [f"model.system={text}"], "swept": swept, "said": None}],
        "grid": [{"arm": "a", "figure": "f", "cells": [{"at": {"model.system": text}, "mean": 1.0}]}],
    }
    told = private_sweep(summary)
    assert "kind" not in str(told)
    name = told["axes"]["model.system"][0]
    assert told["axes"]["model.system"][1] == "terse"
    assert told["jobs"][0]["swept"] == {"model.system": name, "seed": "1"}
    assert told["grid"][0]["cells"][0] == {"at": {"model.system": name}, "mean": 1.0}
    assert told["overrides"] == [f"model.system={name}"]
