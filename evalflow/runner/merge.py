"""The shards of one run put together. Rows are the only raw record, so the whole is scored as if it had run at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evalflow.errors import StoredRunError
from evalflow.record import Item, Probe, digest, fingerprints
from evalflow.runner.journal import config_digest, write_run
from evalflow.runner.stored_config import as_stored, from_yaml
from evalflow.runner.stored_run import StoredRun
from evalflow.runner.trace import ArmTrace

JUDGED_BY = ("metrics", "comparisons", "gates", "limits")
"""The parts of a config that the whole is scored and judged by; where its shards were kept or logged is their own."""


def merge(shards: Sequence[StoredRun], outputs: Path) -> Path:
    """The folder of a new run that holds what all shards hold.

    Times of different shards are of different sessions, and marked so.

    Raises:
        StoredRunError: they are not all shards of one run, or one is not finished.
        OutputError: the folder cannot be written.
    """
    ordered = _ordered(shards)
    configs = [{**from_yaml(run.folder / "config.yaml"), "shard": None} for run in ordered]
    _check_same(ordered, configs)
    if configs[0].get("limit") is not None:
        raise StoredRunError(f"{ordered[0].folder}: limit was set, so its shards are no whole; run them without it")
    unsharded = ordered[0].state["shard"]["unsharded"]
    items = _dealt_back([run.items for run in ordered])
    if fingerprints(items) != unsharded:
        raise StoredRunError(f"{ordered[0].folder}: the shards together are not the items of the run; restore them")
    rows = [row for run in ordered for row in run.rows]
    state = _state(ordered, configs[0], unsharded)
    return write_run(outputs, configs[0], items, rows, _probes(ordered), _traces(ordered), state)


def _ordered(shards: Sequence[StoredRun]) -> list[StoredRun]:
    """The shards by index, which must each be there once, and finished."""
    for run in shards:
        if run.state["shard"] is None:
            raise StoredRunError(f"{run.folder}: it is no shard of a run; give the runs of all shards")
        if run.state["state"] != "finished":
            raise StoredRunError(f"{run.folder}: it is not finished; run its shard again, then merge")
    ordered = sorted(shards, key=lambda run: int(run.state["shard"]["index"]))
    times = Counter(int(run.state["shard"]["index"]) for run in ordered)
    of = int(ordered[0].state["shard"]["of"])
    wrong = [f"shard {index} of {of} is missing" for index in range(of) if not times[index]]
    wrong += [f"shard {index} is there {n} times" for index, n in times.items() if n > 1]
    if wrong:
        raise StoredRunError(f"{', '.join(wrong)}: give one run of each shard; evalflow list tells which is which")
    return ordered


def _check_same(runs: Sequence[StoredRun], configs: Sequence[Mapping[str, Any]]) -> None:
    whole = [
        {
            "experiment": run.state["experiment"],
            "shard.of": run.state["shard"]["of"],
            "dataset": run.state["shard"]["unsharded"],
            "conditions": {**run.state["conditions"], "dataset": None},
            **{key: config.get(key) for key in JUDGED_BY},
        }
        for run, config in zip(runs, configs, strict=True)
    ]
    for run, one in zip(runs, whole, strict=True):
        differs = [name for name in one if one[name] != whole[0][name]]
        if differs:
            said = f"its {' and '.join(differs)} is not that of {runs[0].folder.name}"
            raise StoredRunError(f"{run.folder}: {said}; merge shards of one run")


def _dealt_back(parts: Sequence[Sequence[Item]]) -> tuple[Item, ...]:
    """Items that were dealt round-robin, in their order again."""
    most = max(len(part) for part in parts)
    return tuple(part[turn] for turn in range(most) for part in parts if turn < len(part))


def _probes(runs: Sequence[StoredRun]) -> tuple[Probe, ...]:
    """The measurements of every shard; equal ones (a size, which no shard changes) once."""
    kept: dict[tuple[str, str], list[tuple[Probe, ...]]] = {}
    for run in runs:
        for key in dict.fromkeys((probe.arm, probe.name) for probe in run.probes):
            found = tuple(probe for probe in run.probes if (probe.arm, probe.name) == key)
            values = [probe.values for probe in found]
            if all(values != [probe.values for probe in known] for known in kept.setdefault(key, [])):
                kept[key].append(found)
    return tuple(probe for lists in kept.values() for found in lists for probe in found)


def _traces(runs: Sequence[StoredRun]) -> dict[str, tuple[ArmTrace, ...]]:
    """Every session's account; an arm that could not run in one shard could not run."""
    names = dict.fromkeys(name for run in runs for name in run.traces)
    parts = {name: [part for run in runs for part in run.traces.get(name, ())] for name in names}
    return {name: tuple(sorted(found, key=lambda part: part.unavailable is not None)) for name, found in parts.items()}


def _state(runs: Sequence[StoredRun], config: Mapping[str, Any], unsharded: Mapping[str, str]) -> dict[str, Any]:
    first = runs[0].state
    conditions = {**first["conditions"], "dataset": dict(unsharded)}
    own = config_digest(as_stored(config))
    part = str(first["part"]).removesuffix(f"shard {first['shard']['index']} of {first['shard']['of']}").rstrip(", ")
    return {
        **first,
        "conditions": conditions,
        "resume_key": digest(conditions),
        "fingerprints": dict(unsharded),
        "part": part or None,
        "shard": None,
        "merged_from": [run.run_id for run in runs],
        "sweep_id": None,
        "swept": {},
        "state": "finished",
        "started": min(str(run.state["started"]) for run in runs),
        "finished": max(str(run.state["finished"]) for run in runs),
        "sessions": [{**session, "config_digest": own} for run in runs for session in run.state["sessions"]],
    }
