"""Linear layers in dynamic int8, for a CPU: see `Int8Matrix`."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from evalflow.model.int8 import Int8Matrix


class Int8Linear(nn.Module):
    """An affine map whose weights are whole numbers and whose inputs are made so, row by row."""

    def __init__(self, weight_oi: Tensor, bias_o: Tensor | None) -> None:
        super().__init__()
        self._matrix = Int8Matrix.of(weight_oi.detach().t())
        self._bias_o = None if bias_o is None else bias_o.detach()

    @property
    def quantised(self) -> tuple[Tensor, ...]:
        """What it holds in place of weights."""
        bias = () if self._bias_o is None else (self._bias_o,)
        return (self._matrix.whole_io, self._matrix.scale_o, *bias)

    def forward(self, x: Tensor) -> Tensor:
        """(..., I) float32 -> (..., O)."""
        product = self._matrix.product(x.reshape(-1, x.shape[-1])).reshape(*x.shape[:-1], -1)
        return product if self._bias_o is None else product + self._bias_o


def quantise(network: nn.Module) -> int:
    """Put an `Int8Linear` in place of every linear layer of a float32 network; how many there were.

    Embeddings and norms stay as they are, an output layer that shares its weights with the embeddings among them no
    more: it gets whole numbers of its own.
    """
    count = 0
    for parent in list(network.modules()):
        for name, layer in list(parent.named_children()):
            matrix = _matrix(layer)
            if matrix is not None:
                setattr(parent, name, Int8Linear(matrix, layer.bias))
                count += 1
    return count


def _matrix(layer: Any) -> Tensor | None:
    """The weights (O, I) of a linear layer; None of any other."""
    if isinstance(layer, nn.Linear):
        return layer.weight
    if type(layer).__name__ == "Conv1D":  # GPT-2's linear layer, which keeps its weights the other way round
        return layer.weight.t()
    return None
