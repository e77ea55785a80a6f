"""What must be equal for two numbers to be comparable."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from evalflow.metric.protocol import Metric
from evalflow.record import SCHEMA_VERSION, digest
from evalflow.runner.plan import Plan
from evalflow.serving.protocol import Serving
from evalflow.version import __version__

PACKAGES = ("numpy", "scipy", "torch", "hydra-core", "mlflow", "numba", "rapidfuzz", "regex", "transformers")


def environment() -> dict[str, Any]:
    """Versions and machine, as they are now. Nothing is imported to find out."""
    return {
        "evalflow": __version__,
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": _processor(),
            "cores": os.cpu_count(),
        },
    }


def instrument(plan: Plan, taken: Mapping[str, Any], seats: Mapping[str, Any]) -> dict[str, Any]:
    """The instrument of a run that was taken in the environment `taken`; `seats` is what was found out about those.

    `hash` is over all of it; `quality_hash` over what can move a quality figure, `latency_hash` over what can move a
    time: the machine and the concurrency too.
    """
    conditions = {name: arm.conditions() for name, arm in plan.arms.items()}
    quality = {
        "schema_version": SCHEMA_VERSION,
        "content_fp": plan.fingerprints["content_fp"],
        "metrics": {key: described(metric) for key, metric in plan.metrics.items()},
        "serving": None if plan.serving is None else described(plan.serving),
    }
    latency = {"environment": dict(taken), "conditions": conditions, "seats": dict(seats)}
    judging = {
        "comparisons": {name: asdict(part) for name, part in plan.comparisons.items()},
        "gates": {name: asdict(gate) for name, gate in plan.gates.items()},
    }
    whole = {**quality, **latency, "seed": plan.seed, "judging_hash": digest(judging)}
    return {
        **whole,
        "hash": digest(whole),
        "quality_hash": digest(quality),
        "latency_hash": digest({**quality, **latency}),
        "not_comparable_with": [],
    }


def described(part: Metric | Serving) -> dict[str, Any]:
    """A metric's or the serving's class, version and settings, as the instrument holds them."""
    kind = type(part)
    # a setting may be any object of the user's; what has no plain form is told by its repr
    settings = {name: value if _is_plain(value) else repr(value) for name, value in vars(part).items()}
    version = getattr(part, "version", 1)
    return {"class": f"{kind.__module__}.{kind.__qualname__}", "version": version, "settings": settings}


def _is_plain(value: Any) -> bool:
    try:
        digest(value)
    except (TypeError, ValueError):
        return False
    return True


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """The processor's name; Linux alone says more than its architecture."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
