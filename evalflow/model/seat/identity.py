"""Who a seat says that it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from evalflow.model.seat.client import Client
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.reply import words_of

LIMIT_S = 30.0
PROPS = ("build_info", "model_path", "n_ctx", "total_slots")
MODEL_FACTS = ("max_model_len", "n_ctx", "n_params", "ftype", "owned_by")


@dataclass(frozen=True)
class Identity:
    """The models that a seat lists, its version, and what else it tells of itself; None where it tells nothing."""

    models: tuple[str, ...] = ()
    version: str | None = None
    facts: tuple[tuple[str, str], ...] = ()

    def told(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "models": list(self.models), "facts": dict(self.facts)}


async def identity_of(client: Client) -> Identity:
    """Ask a seat who it is. Routes that it lacks tell nothing.

    Raises:
        SeatError: it cannot be reached, or refuses us (401, 403).
    """
    status, listed = await client.get("/models", LIMIT_S)
    if status in (401, 403):
        said = f": {words_of(listed)}" if isinstance(listed, Mapping) else ""
        raise SeatError(f"http_{status}", f"status {status} for GET /models{said}", status)
    entries = [one for one in _list(listed, "data") if isinstance(one, Mapping) and "id" in one]
    facts = {f"{one['id']}.{key}": str(value) for one in entries for key, value in _facts(one).items()}
    version = await _optional(client, "//version")
    props = await _optional(client, "//props")
    facts |= {key: str(props[key]) for key in PROPS if key in props}
    said = version.get("version", props.get("build_info"))
    return Identity(tuple(str(one["id"]) for one in entries), None if said is None else str(said), _sorted(facts))


def changed(before: Identity, after: Identity) -> str | None:
    """What differs of what was told both times, in words; None where nothing does.

    What one of them did not tell is unknown, and no change.
    """
    if before.models and after.models and before.models != after.models:
        return f"its models were {', '.join(before.models)}, are {', '.join(after.models)}"
    if before.version and after.version and before.version != after.version:
        return f"its version was {before.version}, is {after.version}"
    old, new = dict(before.facts), dict(after.facts)
    differing = next((key for key in sorted(old.keys() & new.keys()) if old[key] != new[key]), None)
    return None if differing is None else f"its {differing} was {old[differing]}, is {new[differing]}"


async def _optional(client: Client, path: str) -> Mapping[str, Any]:
    try:
        status, told = await client.get(path, LIMIT_S)
    except SeatError:
        return {}
    return told if status == 200 and isinstance(told, Mapping) else {}


def _list(told: Any, key: str) -> list[Any]:
    found = told.get(key) if isinstance(told, Mapping) else None
    return found if isinstance(found, list) else []


def _facts(entry: Mapping[str, Any]) -> dict[str, Any]:
    nested = entry.get("meta")
    whole = {**(nested if isinstance(nested, Mapping) else {}), **entry}
    return {key: whole[key] for key in MODEL_FACTS if key in whole}


def _sorted(facts: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(facts.items()))
