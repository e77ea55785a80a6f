"""The items and answers of a finished run, for whoever asks something about them: a dataset of its items, a judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import yaml

from evalflow.errors import StoredRunError
from evalflow.record import Item, Status, digest, fingerprints
from evalflow.run_folder import find_run
from evalflow.stored_file import RESTORE, check_fields, lines_of, object_of, unusable
from evalflow.stored_record import check_schema, item_from_json, row_from_json

STATE: Mapping[str, Any] = {
    "run_id": str,
    "state": str,
    "part": str | None,
    "fingerprints": Mapping[str, str],
}
"""What is read of run.json beside its schema version."""
FILES = ("run.json", "config.yaml", "items.jsonl", "rows.jsonl")
Key = tuple[int, str]
"""(seed, item id)."""


@dataclass(frozen=True)
class StoredAnswer:
    """What an arm answered to an item under a seed; `why` says why there is no text."""

    status: Status
    text: str | None
    why: str | None


@dataclass(frozen=True)
class StoredAnswers:
    """A finished run: its items in their order, and its arms' answers by (seed, item id).

    `part` is why it is of a part of its dataset, None where it is of all; `serves` says whether its readers get
    something else than what its models wrote.
    """

    run_id: str
    part: str | None
    items: tuple[Item, ...]
    arms: Mapping[str, Mapping[Key, StoredAnswer]]
    serves: bool = False

    @cached_property
    def by_id(self) -> Mapping[str, Item]:
        """Its items by id."""
        return {item.id: item for item in self.items}

    def seeds(self, arm: str) -> tuple[int, ...]:
        """The passes of an arm."""
        return tuple(sorted({seed for seed, _ in self.arms[arm]}))

    def digest_of(self, arm: str) -> str:
        """The digest of what an arm was asked and answered, however the rows came in."""
        answers = [[seed, item, vars(said)] for (seed, item), said in sorted(self.arms[arm].items())]
        return digest([fingerprints(self.items), answers])


def stored_answers(named: str, outputs: Path = Path("outputs")) -> StoredAnswers:
    """The answers of a finished run named by its folder or its id; read anew whenever a file of it is another.

    Raises:
        StoredRunError: there is none, it is not finished, damaged, or of an unknown schema version.
    """
    folder = find_run(named, outputs)
    return _answers(folder, tuple(_stamp(folder / name) for name in FILES))


@lru_cache(maxsize=2)  # the arms of an experiment read the same one or two runs
def _answers(folder: Path, stamps: tuple[tuple[int, int], ...]) -> StoredAnswers:  # noqa: ARG001 - a file's state
    path = folder / "run.json"
    state = object_of(path)
    check_schema(state.get("schema_version"), str(path))
    check_fields(state, STATE, path)
    if state["state"] != "finished":
        raise unusable(folder, f"the run is {state['state']}", "let it finish: the command that began it goes on")
    items = tuple(item_from_json(line, where) for where, line in lines_of(folder / "items.jsonl"))
    if fingerprints(items) != state["fingerprints"]:
        raise unusable(folder / "items.jsonl", "these are not the items that were asked")
    arms: dict[str, dict[Key, StoredAnswer]] = {}
    for where, line in lines_of(folder / "rows.jsonl"):
        row = row_from_json(line, where)
        if row.run_id != state["run_id"]:
            raise unusable(where, f"a row of run {row.run_id!r:.60}, not of {state['run_id']}", "restore the file")
        why = None if row.error is None else f"{row.error.kind}: {row.error.message}"
        answer = StoredAnswer(row.status, row.draft, why)
        if arms.setdefault(row.arm, {}).setdefault((row.seed, row.item_id), answer) != answer:
            said = f"another row than the first of arm {row.arm}, seed {row.seed}, item {row.item_id!r:.60}"
            raise unusable(where, said, "restore the file")
    return StoredAnswers(state["run_id"], state["part"], items, arms, _serves(folder / "config.yaml"))


def _serves(path: Path) -> bool:
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as fault:
        raise unusable(path, f"cannot be read ({' '.join(str(fault).split())})") from None
    return isinstance(config, Mapping) and config.get("serving") is not None


def _stamp(path: Path) -> tuple[int, int]:
    """What of a file is another when it is written anew."""
    try:
        found = path.stat()
    except OSError as fault:
        todo = "give the folder of a finished run" if path.name == "run.json" else RESTORE
        raise StoredRunError(f"{path}: cannot be read ({fault.strerror}); {todo}") from None
    return found.st_mtime_ns, found.st_size
