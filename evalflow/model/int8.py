"""Dynamic int8 quantisation of a linear map: weights once, per output; activations at each product, per row."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

LARGEST = 127


@dataclass(frozen=True)
class Int8Matrix:
    """A matrix (I, O) as whole numbers from -127 to 127 and a scale per output (O,), symmetric about 0."""

    whole_io: Tensor
    scale_o: Tensor

    @classmethod
    def of(cls, matrix_io: Tensor) -> Int8Matrix:
        """The nearest such matrix; a column of zeros stays one."""
        scale_o = _scale(matrix_io.float(), 0)
        return cls((matrix_io / scale_o).round().to(torch.int8), scale_o)

    def product(self, x_ni: Tensor) -> Tensor:
        """`x_ni` (N, I) float32 times the matrix: (N, O) float32, summed exactly in int32."""
        scale_n1 = _scale(x_ni, 1).unsqueeze(1)
        whole_ni = (x_ni / scale_n1).round().to(torch.int8)
        return torch._int_mm(whole_ni, self.whole_io) * (scale_n1 * self.scale_o)


def _scale(matrix: Tensor, over: int) -> Tensor:
    """What one step is worth, so that the largest entry over a dimension is 127 steps; NaN where one of them is."""
    step = matrix.abs().amax(over) / LARGEST
    return torch.where(step == 0, torch.ones_like(step), step)
