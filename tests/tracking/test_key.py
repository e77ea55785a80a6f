"""Names and texts: what stays as it is, and what is changed so that MLflow takes it."""

from __future__ import annotations

import pytest

from evalflow.runner.sweep_record import axis_labels
from evalflow.tracking.key import safe_key, safe_text, short_text


@pytest.mark.parametrize("name", ["quality/exact", "lat/ttft_s/p95", "a b-c.d:e", "n/größe"])
def test_a_legal_name_stays_as_it_is(name: str) -> None:
    """Letters of any alphabet, digits, spaces and the signs that MLflow takes are left alone."""
    assert safe_key(name) == name


def test_names_that_differ_only_in_illegal_characters_stay_different() -> None:
    """Four names that differ only in a sign that MLflow refuses become four keys."""
    assert len({safe_key(name) for name in ("f@1", "f=1", "f_1", "f(1")}) == 4


@pytest.mark.parametrize("name", ["", "/", "..", "../../etc", "a//b", "/a", "a/", "a/../b", "x" * 300, "a\nb", "."])
def test_any_name_becomes_one_that_mlflow_takes(name: str) -> None:
    """Empty, path-like, overlong and broken names all become keys that pass MLflow's own check."""
    from mlflow.utils.validation import _validate_metric_name

    key = safe_key(name)
    _validate_metric_name(key)
    assert len(key) <= 250


def test_a_swept_key_is_its_last_part_unless_two_would_be_one() -> None:
    """Keys are shortened to their last part, but for those that share it."""
    labels = axis_labels(["seed", "arms.warm.concurrency", "arms.cold.seeds", "runner.seed"])
    assert list(labels.values()) == ["seed", "concurrency", "seeds", "runner.seed"]


def test_what_a_database_refuses_is_written_out() -> None:
    """A lone surrogate and a NUL are written out as escapes."""
    assert safe_text("a\ud800b\x00c") == "a\\ud800b\\x00c"


def test_a_long_text_is_cut_and_says_which_text_it_was() -> None:
    """A text over the limit is cut to it, and two texts with the same beginning stay different."""
    one, other = short_text("x" * 300), short_text("x" * 301)
    assert len(one) <= 250
    assert one != other
