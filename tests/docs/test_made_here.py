"""What the site takes from the code: keys and their meanings, metrics and their formulas, texts as Markdown."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pytest

from tests.docs.page import ROOT

sys.path.insert(0, str(ROOT / "docs" / "_ext"))

import made_here
from made_here import keys, markdown, yaml_file
from made_here.configs import ORDER, _nested, root_keys
from made_here.metrics import metrics


@dataclass(frozen=True)
class Inner:
    """What is inside. `deep` is how far."""

    deep: int = 3


@dataclass(frozen=True)
class Part:
    """A part, of which `size` is how large.

    - `mode`: how it works;
    - another thing.
    """

    size: int | None
    mode: Literal["fast", "slow"] = "fast"
    inner: Inner = field(default_factory=Inner)
    words: tuple[str, ...] = ()
    said: str = ""
    """What stands below it."""


def test_a_key_has_its_type_its_default_and_what_is_said_of_it() -> None:
    """From a sentence, a list's item, a string below the field, or a comment in YAML; inner parts by their path."""
    found = {key.name: key for key in keys.keys_of(Part, {"size": "???"}, {"words": "from the file"})}
    assert list(found) == ["size", "mode", "inner", "inner.deep", "words", "said"]
    assert found["size"] == keys.Key(
        "size", "whole number or null", "**required**", "A part, of which `size` is how large."
    )
    assert found["mode"] == keys.Key("mode", "`fast`, `slow`", "`fast`", "how it works;")
    assert found["inner.deep"] == keys.Key("inner.deep", "whole number", "`3`", "`deep` is how far.")
    assert found["words"] == keys.Key("words", "list of text", "`[]`", "From the file.")
    assert found["said"] == keys.Key("said", "text", '`""`', "What stands below it.")


def test_every_key_of_every_option_says_what_it_means() -> None:
    """A key without a meaning is a gap in a docstring; `docs/reference/config.md` would show it empty."""
    silent = []
    for group in (*ORDER, "metric"):
        for option in yaml_file.options(group):
            parts: list[tuple[Mapping[str, object], Mapping[str, str]]] = []
            if "_target_" in option.values:
                parts = [(option.values, option.comments), *((node, {}) for _, node in _nested(option.values))]
            for values, comments in parts:
                cls = keys.class_of(str(values["_target_"]))
                silent += [
                    f"{group}={option.name}: {key.name} of {cls.__qualname__}"
                    for key in keys.keys_of(cls, values, comments)
                    if not key.meaning
                ]
    assert silent == []
    assert "|  |" not in root_keys()


def test_every_group_is_described() -> None:
    """A new folder under `conf/` does not go unnoticed."""
    assert set(yaml_file.groups()) == {*ORDER, "metric", "experiment"}


def test_a_metric_has_its_figures_and_what_it_rests_on() -> None:
    """Of a percentile the figures per percentile, of a share Wilson's interval, of an overridden method none."""
    text = metrics()
    ttft = text.split("\n### ttft\n")[1].split("\n### ")[0]
    assert "`lat/ttft_s/p50`, `lat/ttft_s/p95`" in ttft
    assert "numeric.quantile.quantile_interval" in ttft
    exact = text.split("\n### exact_match\n")[1].split("\n### ")[0]
    assert "numeric.proportion.rate_interval" in exact
    assert "numeric.cluster.mean_interval" not in exact
    assert "Wilson" in text.split("\n### numeric.proportion.rate_interval\n")[1].split("\n### ")[0]


def test_what_html_would_read_is_escaped() -> None:
    """Outside of code, where it is text already; sections for programmers are left out."""
    said = markdown.text("Where a < b and `a < b`.\n\nRaises:\n    ValueError: no.\n")
    assert said == "Where a &lt; b and `a < b`."
    assert markdown.table(("a",), [("x|y",)]).endswith("| x\\|y |")
    assert markdown.table(("a",), []) == ""


def test_a_sentence_ends_where_it_ends() -> None:
    """Not inside of backticks or parentheses."""
    assert markdown.sentences("One `a.B c` (see X. Y). Two.") == ["One `a.B c` (see X. Y).", "Two."]


def test_a_place_is_filled_in_and_an_unknown_one_refused() -> None:
    """`<!-- made here: experiment of tiny_gpt -->` on a line of its own."""
    made = made_here.filled_in("# Page\n\n<!-- made here: experiment of tiny_gpt -->\n")
    assert "long_floor" in made
    assert "made here" not in made
    with pytest.raises(KeyError):
        made_here.filled_in("<!-- made here: coffee -->")
