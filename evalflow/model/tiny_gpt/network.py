"""The network as named weights and one function: pre-norm blocks, GELU, learned positions, untied head.

Letters of shapes: B sequences, T positions, W width, H heads, D width of a head, V vocabulary.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from evalflow.model.tiny_gpt.shape import HEAD_WIDTH, HEADS, LAYERS, WIDTH, shapes

Weights = dict[str, Tensor]


def init_weights(seed: int) -> Weights:
    """Fresh float32 weights: normal, deviation 0.02, less by depth where they add to the residual stream."""
    generator = torch.Generator().manual_seed(seed)
    weights: Weights = {}
    for name, shape in shapes().items():
        if name.endswith(".scale"):
            weights[name] = torch.ones(shape)
        elif name.endswith((".shift", ".bias")):
            weights[name] = torch.zeros(shape)
        else:
            deviation = 0.02 / math.sqrt(2 * LAYERS) if name.endswith(".out.matrix") else 0.02
            weights[name] = torch.empty(shape).normal_(0.0, deviation, generator=generator)
    return weights


def forward(weights: Weights, ids_bt: Tensor) -> Tensor:
    """Logits (B, T, V) of every position of `ids_bt` (int64, T at most 96), no cache: the reference."""
    batch, length = ids_bt.shape
    x_nw = (weights["token"][ids_bt] + weights["position"][:length]).view(-1, WIDTH)  # N = B * T
    for layer in range(LAYERS):
        qkv_nw = project(weights, f"{layer}.attend.qkv", norm(weights, f"{layer}.attend.norm", x_nw))
        q_bhtd, k_bhtd, v_bhtd = qkv_nw.view(batch, length, 3, HEADS, HEAD_WIDTH).permute(2, 0, 3, 1, 4)
        mixed_bhtd = F.scaled_dot_product_attention(q_bhtd, k_bhtd, v_bhtd, is_causal=True)
        mixed_nw = mixed_bhtd.transpose(1, 2).reshape(-1, WIDTH)
        x_nw = x_nw + project(weights, f"{layer}.attend.out", mixed_nw)
        x_nw = x_nw + think(weights, layer, x_nw)
    return (norm(weights, "norm", x_nw) @ weights["head"]).view(batch, length, -1)


def norm(weights: Weights, name: str, x_nw: Tensor) -> Tensor:
    """Layer norm of each row (N, W)."""
    return torch.layer_norm(x_nw, (WIDTH,), weights[f"{name}.scale"], weights[f"{name}.shift"])


def project(weights: Weights, name: str, x_ni: Tensor) -> Tensor:
    """The affine map `name` of each row: (N, in) -> (N, out)."""
    return torch.addmm(weights[f"{name}.bias"], x_ni, weights[f"{name}.matrix"])


def think(weights: Weights, layer: int, x_nw: Tensor) -> Tensor:
    """What the layer's perceptron adds to each row (N, W)."""
    up = project(weights, f"{layer}.think.up", norm(weights, f"{layer}.think.norm", x_nw))
    return project(weights, f"{layer}.think.out", F.gelu(up))
