"""What torch computes with: a device that is really there, and switches that are set for a while."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from evalflow.errors import ModelError
from evalflow.model.tiny_gpt.pinned import torch_threads


def device_of(name: str) -> torch.device:
    """The device of that name (`cpu`, `cuda`, `cuda:1`, `mps`, `xpu`), never another in its place.

    Raises:
        ModelError: this machine has none that this torch can use.
    """
    device = torch.device(name)
    count = _count(device.type)
    if (device.index or 0) < count:
        return device
    said = (
        f"this machine has {count or 'no'} {device.type} device{'s' * (count > 1)} that torch {torch.__version__} sees"
    )
    raise ModelError(f"device {name} is absent: {said}; set model.device to another, or mark the arm optional")


def _count(kind: str) -> int:
    if kind == "cuda":
        return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
    if kind == "xpu":
        return int(torch.xpu.device_count()) if torch.xpu.is_available() else 0
    return int(kind == "cpu" or torch.backends.mps.is_available())


def device_name(device: torch.device) -> str:
    """What the device calls itself; of a CPU its machine and the instructions that torch uses of it."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    if device.type == "xpu":
        return str(torch.xpu.get_device_name(device))
    return f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}" if device.type == "cpu" else device.type


@dataclass(frozen=True)
class Arithmetic:
    """How torch computes: its CPU `threads`, whether float32 products may round to TF32, and whether it keeps to
    algorithms that give the same bits each time."""

    threads: int
    tf32: bool
    deterministic: bool

    def prepare(self, device: torch.device) -> None:
        """What must be set before a device is first used."""
        if self.deterministic and device.type == "cuda":
            os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # else cuBLAS may sum in any order

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Compute so; afterwards the process is as it was. The switches are the process's own: one model at a time."""
        products, convolutions = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
        strict, lenient = (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        )
        filled = torch.utils.deterministic.fill_uninitialized_memory
        torch.set_float32_matmul_precision("high" if self.tf32 else "highest")
        torch.backends.cudnn.allow_tf32 = self.tf32
        torch.use_deterministic_algorithms(self.deterministic)
        torch.utils.deterministic.fill_uninitialized_memory = False  # costs a write of everything, and decides nothing
        try:
            with torch_threads(self.threads):
                yield
        finally:
            torch.set_float32_matmul_precision(products)
            torch.backends.cudnn.allow_tf32 = convolutions
            torch.use_deterministic_algorithms(strict, warn_only=lenient)
            torch.utils.deterministic.fill_uninitialized_memory = filled

    def facts(self) -> Mapping[str, Any]:
        """What is really set; to be asked while it is applied."""
        return {
            "threads": torch.get_num_threads(),
            "float32_products": torch.get_float32_matmul_precision(),
            "tf32_convolutions": torch.backends.cudnn.allow_tf32,
            "deterministic": torch.are_deterministic_algorithms_enabled(),
        }
