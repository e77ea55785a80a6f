"""Bytes, counted by hand."""

import numpy as np
import pytest

from evalflow.metric.memory import KvBytes, ParamBytes
from evalflow.metric.protocol import figure_names
from evalflow.record import Probe

SHAPE = Probe("a", "memory", {"param_bytes": 450_000.0, "layers": 2, "kv_width": 64, "bytes_per_value": 4})


def test_keys_and_values_of_a_hundred_tokens():
    """Keys and values (2) of 2 layers, 64 wide, 100 tokens, 4 bytes each are 102,400 bytes."""
    assert KvBytes().stats(SHAPE) == (102_400,)


def test_twice_the_tokens_are_twice_the_bytes():
    """The context's length is a setting."""
    assert KvBytes(tokens=200).stats(SHAPE) == (204_800,)


@pytest.mark.parametrize("tokens", [0, -1])
def test_no_tokens_are_refused(tokens):
    """A context without tokens is a mistake."""
    with pytest.raises(ValueError, match=f"tokens is {tokens}; give at least 1"):
        KvBytes(tokens=tokens)


def test_parameters_are_as_the_model_counts_them():
    """The model's own count is taken."""
    assert ParamBytes().stats(SHAPE) == (450_000.0,)


def test_bytes_are_counted_and_not_estimated():
    """They have no interval; fewer are better; they come from the memory probe."""
    for metric in (KvBytes(), ParamBytes()):
        assert metric.interval(np.array([[1.0], [2.0]]), np.array(["a", "b"], dtype=object), 0.95) is None
        assert (metric.measured_in, metric.higher_is_better, metric.grain) == ("bytes", False, "probe")
        assert metric.probe == "memory"
    assert figure_names("k", KvBytes()) + figure_names("p", ParamBytes()) == ("mem/kv_bytes", "mem/param_bytes")
