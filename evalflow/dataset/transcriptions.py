"""Documents that several annotators transcribed, beside what systems made of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evalflow.dataset.text_file import read_text
from evalflow.errors import DataError
from evalflow.record import Item
from evalflow.shipped import resolved

_NAME = re.compile(r"(?P<document>.+)\.(?P<part>gt|sys)\.(?P<who>[^.]+)\.txt", re.DOTALL)
_MARK = b"\xef\xbb\xbf"

Files = dict[str, dict[str, str]]
"""Document -> annotator -> file name."""


@dataclass(frozen=True)
class Transcriptions:
    """A folder (a path, or `package:NAME`) with a file `DOCUMENT.gt.ANNOTATOR.txt` for each of two or more annotators.

    An item is a document. Its target is the reading of the first annotator by name, and its field `annotators` holds
    all of them. Nothing is asked: the prompt is the document's name, by which the model `transcript` finds what a
    system made of it (`DOCUMENT.sys.SYSTEM.txt` of the same folder). Other files than `.txt` may lie beside them.

    A document that lacks an annotator's file is refused; with `missing: skip` that reading is None, and metrics that
    need it exclude the document, and count it. The pages of one book depend on one another: documents whose names
    agree up to `cluster_until`, say a hyphen, are one cluster.
    """

    path: str
    """The folder."""
    name: str = "transcriptions"
    missing: Literal["refuse", "skip"] = "refuse"
    cluster_until: str | None = None

    def __post_init__(self) -> None:
        if self.missing not in ("refuse", "skip"):
            raise ValueError(f"missing is {self.missing!r}; choose from refuse, skip")
        if self.cluster_until == "":
            raise ValueError("cluster_until is empty; give a mark that names hold, such as a hyphen, or null")
        resolved(self.path)

    def items(self) -> tuple[Item, ...]:
        """Document by document; see `Dataset.items`."""
        files = self._files()
        annotators = sorted({name for read in files.values() for name in read})
        if len(annotators) < 2:
            said = f"{annotators[0]} is its only annotator" if annotators else "it has no annotator's file"
            named = f"{next(iter(files), 'DOCUMENT')}.gt.{'B' if annotators != ['B'] else 'A'}.txt"
            raise DataError(f"{self.path}: {said}; add those of two, such as {named}")
        absent = [(document, name) for document, read in files.items() for name in annotators if name not in read]
        if absent and self.missing == "refuse":
            document, name = absent[0]
            others = f" (nor {len(absent) - 1} others that are missing)" if len(absent) > 1 else ""
            said = f"there is no such file{others}, and {name} read other documents"
            raise DataError(f"{self.path}/{document}.gt.{name}.txt: {said}; add it, or set missing to skip")
        return tuple(self._item(document, annotators, files[document]) for document in sorted(files))

    def _files(self) -> Files:
        """The annotators' files of every document, a document of systems' files alone too."""
        try:
            names = sorted(file.name for file in resolved(self.path).iterdir())
        except OSError as fault:
            raise DataError(f"{self.path}: cannot be read ({fault.strerror}); give a readable folder") from None
        files: Files = {}
        for name in names:
            if name.startswith(".") or not name.endswith(".txt"):
                continue
            found = _NAME.fullmatch(name)
            if found is None:
                said = "it is called neither DOCUMENT.gt.ANNOTATOR.txt nor DOCUMENT.sys.SYSTEM.txt"
                raise DataError(f"{self.path}/{name}: {said}; rename it, or move it away")
            read = files.setdefault(found["document"], {})
            if found["part"] == "gt":
                read[found["who"]] = name
        return files

    def _item(self, document: str, annotators: list[str], files: dict[str, str]) -> Item:
        readings = {name: self._text(files[name]) if name in files else None for name in annotators}
        fields: dict[str, Any] = {"annotators": readings}
        marked = [file for file in files.values() if _is_marked(resolved(self.path) / file)]
        if marked:
            fields["byte_order_marks"] = marked
        cluster = document.partition(self.cluster_until)[0] if self.cluster_until else document
        return Item(document, document, target=readings[annotators[0]], cluster=cluster, fields=fields)

    def _text(self, file: str) -> str:
        text = read_text(resolved(self.path) / file, f"{self.path}/{file}")
        if not text.strip():
            said = "it has no text; give it one, or remove it and set missing to skip"
            raise DataError(f"{self.path}/{file}: {said}")
        return text


def _is_marked(path: Path) -> bool:
    """Whether a file begins with a byte order mark, which is no part of its text."""
    with path.open("rb") as handle:
        return handle.read(len(_MARK)) == _MARK
