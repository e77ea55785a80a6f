"""Where a value of a composed config came from, so that a fault can name it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from evalflow.errors import Fault
from evalflow.runner.compose import Composed


def origin(where: str, composed: Composed) -> str | None:
    """Where the value at a dotted path came from: an override or a file; None where neither sets it."""
    parts = where.replace("[", ".").replace("]", "").split(".")
    for text in reversed(composed.overrides):
        key = text.split("=", 1)[0].lstrip("+~")
        if _under(parts, key.split(".")) and key not in composed.choices and "=" in text:
            return f"override {text}"
    for path, package in _files(composed):
        node = _load(path)
        if _under(parts, package) and len(parts) > len(package) and _has(node, parts[len(package) :]):
            return str(path)
    return None


def blamed(fault: Fault, composed: Composed | None) -> Fault:
    """The fault with the file or override that it came from, where that can be told."""
    source = origin(fault.where, composed) if composed and "(override " not in fault.what else None
    return Fault(fault.where, f"{fault.what} ({source})", fault.todo) if source else fault


def _files(composed: Composed) -> list[tuple[Path, list[str]]]:
    """Every chosen file with the package that it fills, the strongest first: the experiment, its options, the root."""
    chosen: list[tuple[Path, list[str]]] = []
    for choice, option in composed.choices.items():
        group, _, package = choice.partition("@")
        place = [] if group == "experiment" else (package or group).split(".")
        for folder in composed.folders:
            path = folder / group / f"{option}.yaml"
            if path.exists():
                chosen.append((path, place))
    chosen.sort(key=lambda pair: bool(pair[1]))
    return [*chosen, (composed.folders[0] / "config.yaml", [])]


def _load(path: Path) -> Any:
    try:
        return OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    except Exception:  # noqa: BLE001 - what cannot be read is not where a value came from
        return None


def _has(node: Any, parts: Sequence[str]) -> bool:
    for part in parts:
        if isinstance(node, list):
            return True
        if not isinstance(node, dict) or part not in {str(key) for key in node}:
            return False
        node = next(value for key, value in node.items() if str(key) == part)
    return True


def _under(parts: Sequence[str], prefix: Sequence[str]) -> bool:
    return list(parts[: len(prefix)]) == list(prefix)
