"""Items from a data set of Hugging Face's `datasets`: a folder that it saved, or a name on its hub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from evalflow.dataset.entries import Entries
from evalflow.dataset.plain_value import plain_entry
from evalflow.errors import DataError

_THEIRS = (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, ImportError)
"""What the package raises on a damaged folder, a name that is not there, no network, or a value that it cannot read."""


@dataclass(frozen=True)
class HfDataset(Entries):
    """A folder written by `save_to_disk`; its entries are its rows. The other settings are those of `Entries`.

    `split` names one where the folder holds several, `few_shot_split` the one of `few_shot_path` (None: as `split`).
    Only `columns` are read, and make up an item's content (empty: all of them). NaN is refused, unless `nan_is_null`.
    Nothing is fetched unless `hub` is true: then a path is a name on the hub, `subset` its configuration and
    `revision` the commit or tag to take. Needs the extra `datasets`.
    """

    unit: ClassVar[str] = "row"

    name: str = "hf"
    split: str | None = None
    few_shot_split: str | None = None
    columns: tuple[str, ...] = ()
    nan_is_null: bool = False
    hub: bool = False
    subset: str | None = None
    revision: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for key in ("subset", "revision"):
            if getattr(self, key) is not None and not self.hub:
                raise ValueError(f"{key} is of a data set on the hub; set hub to true, or leave it out")

    def entries(self, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The rows of `split`; see `Entries.entries`."""
        return self._rows(path, self.split)

    def examples(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The rows of `few_shot_split`; see `Entries.examples`."""
        return self._rows(str(self.few_shot_path), self.few_shot_split or self.split)

    def _rows(self, path: str, split: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
        try:
            table = self._chosen(self._loaded(path), path, split)
            for number, row in enumerate(table, start=1):
                where = f"{path}: row {number}"
                yield where, plain_entry(row, where, self.nan_is_null)
        except _THEIRS as fault:
            said = " ".join(f"{type(fault).__name__}: {fault}".split())
            todo = "name a data set that is there" if self.hub else "give a folder written by save_to_disk"
            raise DataError(f"{path}: cannot be read ({said}); {todo}") from None

    def _loaded(self, path: str) -> Any:
        try:
            import datasets
        except ModuleNotFoundError:
            raise DataError(f"{path}: it needs the package datasets; pip install 'evalflow[datasets]'") from None
        if self.hub:
            return datasets.load_dataset(path, self.subset, revision=self.revision)
        if not Path(path).is_dir():
            raise DataError(f"{path}: there is no such folder; give one, or set hub to true for a name on the hub")
        return datasets.load_from_disk(path)

    def _chosen(self, loaded: Any, path: str, split: str | None) -> Any:
        """The split of what was loaded, which is a mapping where there are several, in the columns asked for."""
        if isinstance(loaded, Mapping):
            if split not in loaded:
                said = "no split is named" if split is None else f"no split {split!r}"
                raise DataError(f"{path}: {said}; choose split from {', '.join(loaded)}")
            loaded = loaded[split]
        elif split not in (None, str(loaded.split)):
            raise DataError(f"{path}: it has no splits, and {split!r} is asked for; set split to null")
        absent = [name for name in self.columns if name not in loaded.column_names]
        if absent:
            raise DataError(f"{path}: no column {absent[0]!r}; choose columns from {', '.join(loaded.column_names)}")
        return loaded.with_format(None, columns=list(self.columns) or None)
