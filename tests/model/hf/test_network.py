"""Logits of windows, by every path, and greedy tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evalflow.errors import ModelError
from evalflow.model.hf.model import HF, Dtype
from tests.model.hf.by_hand import logits_of, plain, started, window

TOKENS = [0, *np.random.default_rng(3).integers(2, 300, 39).tolist()]

HF_BYTES = 37792 * 4
"""Its parameters in float32: embeddings and output 2 x 300 x 32, norms 5 x 32, and in each of 2 blocks 2 x 32 x 32 and
2 x 32 x 16 for attention, 3 x 32 x 64 for the rest."""


def test_logits_are_those_of_a_plain_forward_pass(tiny: Path) -> None:
    """Row i of a window predicts its target i, from everything before it; rows before `first` are left out."""
    expected = plain(tiny, TOKENS)
    whole, late = logits_of(HF(str(tiny)), [window(TOKENS), window(TOKENS, first=30)])
    assert (whole.dtype, whole.shape, late.shape) == (np.float32, (39, 300), (10, 300))
    np.testing.assert_allclose(whole, expected[:-1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(late, expected[29:-1], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("chunk", [1, 7, 32, 100])
def test_every_path_computes_the_same(tiny: Path, chunk: int) -> None:
    """Whole, in chunks and token by token: the cache of what came before moves no logit by more than rounding."""
    windows = [window(TOKENS), window(TOKENS[:20], first=13), window(TOKENS[5:25])]
    for whole, part in zip(logits_of(HF(str(tiny)), windows), logits_of(HF(str(tiny)), windows, chunk), strict=True):
        np.testing.assert_allclose(part, whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("batch", [1, 4, 8])
def test_neighbours_move_nothing(tiny: Path, batch: int) -> None:
    """A window's logits are the same alone, among windows of its length and among shorter and longer ones."""
    windows = [window(TOKENS[start : start + length]) for start in range(6) for length in (12, 13, 30)]
    together = logits_of(HF(str(tiny), max_batch=batch), windows)
    for rows, each in zip(together, windows, strict=True):
        assert rows.shape == (len(each.tokens) - 1, 300)
    for rows, alone in zip(together, logits_of(HF(str(tiny), max_batch=1), windows), strict=True):
        np.testing.assert_allclose(rows, alone, rtol=1e-5, atol=1e-5)


def test_a_window_without_targets_has_no_rows(tiny: Path) -> None:
    """Beside one that has some."""
    empty, full = logits_of(HF(str(tiny)), [window(TOKENS[:5], first=5), window(TOKENS[:5], first=4)])
    assert (empty.shape, full.shape) == ((0, 300), (1, 300))


@pytest.mark.parametrize(
    ("dtype", "given", "atol"),
    [("float64", np.float64, 1e-6), ("bfloat16", np.float32, 0.15), ("float16", np.float32, 0.02)],
)
def test_other_types_agree_within_their_own_rounding(tiny: Path, dtype: Dtype, given: type, atol: float) -> None:
    """Narrow logits come as float32, wide ones as they are; they are those of a plain pass in that type."""
    (rows,) = logits_of(HF(str(tiny), dtype=dtype), [window(TOKENS)])
    assert rows.dtype == given
    np.testing.assert_allclose(rows, plain(tiny, TOKENS, dtype)[:-1], atol=atol)


def test_int8_is_near_and_is_not_float(tiny: Path) -> None:
    """Every linear layer of both blocks and the output layer is quantised: 2 x 7 + 1; the logits move by a little."""
    model = HF(str(tiny), dtype="int8")
    (rows,) = logits_of(model, [window(TOKENS)])
    expected = plain(tiny, TOKENS)[:-1]
    apart = np.abs(rows - expected)
    assert model.facts()["int8_layers"] == 15
    assert 0 < apart.mean() < 0.1 * np.abs(expected).mean()
    assert model.facts()["param_bytes"] < 0.5 * HF_BYTES


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch's own, while it compiles
def test_a_compiled_network_computes_the_same(tiny: Path) -> None:
    """Whole windows of several shapes by the compiled code, chunks as ever."""
    windows = [window(TOKENS), window(TOKENS[:20], first=13)]
    for chunk in (None, 7):
        compiled = logits_of(HF(str(tiny), compile=True), windows, chunk)
        for rows, expected in zip(compiled, logits_of(HF(str(tiny)), windows), strict=True):
            np.testing.assert_allclose(rows, expected, rtol=1e-4, atol=1e-4)


def test_greedy_takes_the_best_of_each_step(tiny: Path) -> None:
    """As a loop of plain forward passes over the growing text does."""
    written = started(HF(str(tiny)), lambda model: model.greedy(np.array(TOKENS[:10]), 8))
    text = TOKENS[:10]
    for _ in range(8):
        text = [*text, int(plain(tiny, text)[-1].argmax())]
    assert list(written) == text[10:]


def test_greedy_ends_where_the_context_does(tiny: Path) -> None:
    """Of 64 places 60 are taken: the last logits are those of the 64th, and a 65th token needs none."""
    assert len(started(HF(str(tiny)), lambda model: model.greedy(np.arange(2, 62), 20))) == 5


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (list(range(2, 67)), "its window of 65 tokens is longer than its context of 64; lower scoring.window"),
        ([0, 300], "holds a token beyond its 300; use its own tokeniser"),
        ([-1, 3], "holds a token beyond"),
    ],
)
def test_a_window_that_it_cannot_read_is_refused(tiny: Path, tokens: list[int], message: str) -> None:
    """Too long, or with a token of another model; the item is named."""
    with pytest.raises(ModelError, match=message) as refused:
        logits_of(HF(str(tiny)), [window(tokens)])
    assert "item 'a'" in str(refused.value)


def test_memory_is_counted(tiny: Path) -> None:
    """37,792 parameters of 4 bytes; 2 layers, each with 2 key-value heads of width 8, so 16, of 4 bytes."""
    assert started(HF(str(tiny)), lambda model: model.measure("memory")) == [
        {"param_bytes": HF_BYTES, "layers": 2, "kv_width": 16, "bytes_per_value": 4}
    ]
    assert started(HF(str(tiny), dtype="bfloat16"), lambda model: model.measure("memory")) == [
        {"param_bytes": HF_BYTES / 2, "layers": 2, "kv_width": 16, "bytes_per_value": 2}
    ]


@pytest.mark.gpu
def test_an_accelerator_keeps_its_logits(tiny: Path) -> None:
    """They come as tensors that lie on it, near those of the CPU by every path; and it writes the same tokens."""
    import torch

    device = torch.accelerator.current_accelerator()
    if device is None:
        pytest.skip("no accelerator")
    there, here = HF(str(tiny), device=device.type), HF(str(tiny))
    for chunk in (None, 1, 7):
        (far,) = logits_of(there, [window(TOKENS)], chunk)
        (near,) = logits_of(here, [window(TOKENS)], chunk)
        assert far.device.type == device.type
        np.testing.assert_allclose(far.cpu().numpy(), near, rtol=1e-3, atol=1e-3)
    start = np.array(TOKENS[:10])
    assert started(there, lambda each: each.greedy(start, 5)) == started(here, lambda each: each.greedy(start, 5))
