"""A recording that grows a window at a time: each is there whole or not at all, and none is written over unasked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalflow.errors import ModelError
from evalflow.model.recorded.about import read_about, write_about
from evalflow.model.recorded.archive import open_archive
from evalflow.model.recorded.on_disk import foreign, remove_known, save_arrays, writing
from evalflow.model.recorded.rows_file import ABOUT, TEXT, TEXTS, file_name
from evalflow.model.recorded.text import check_same_window, check_tokens, read_meaning, text_digest, window_name
from evalflow.model.scorer import Encoded, Window
from evalflow.whole_file import PART

FILES = r"(text|\d+)\.npz|\.(text|\d+)\.npz\.part"
OF_TEXTS = re.compile(rf"[^/]+/({FILES})?")
KNOWN = re.compile(rf"recording\.json|\.recording\.json{PART}|texts/({OF_TEXTS.pattern})?")
"""What is written here, files and folders."""


class WindowFolder:
    """A folder of windows; layout: see `evalflow.model.recorded`.

    A recording of the same model is gone on with: what it has is held against what comes and kept, or, with
    `overwrite`, written anew. One of another model is refused, or removed first, if it is nothing but a recording.
    """

    def __init__(self, path: Path, overwrite: bool) -> None:
        self._path = path
        self._overwrite = overwrite
        self._counts = {"windows_written": 0, "windows_kept": 0}

    def conflict(self, identity: Mapping[str, Any]) -> str | None:
        """Why this model cannot be recorded here, and what to do; None where it can."""
        if not self._path.exists() or (self._path.is_dir() and not any(self._path.iterdir())):
            return None
        if not (self._path / ABOUT).is_file():
            return f"{self._path} is there and no recording; give another path"
        if read_about(self._path / ABOUT)["model"] == identity:
            return None
        if not self._overwrite:
            return f"{self._path} is the recording of another model; give another path, or overwrite=true"
        return self._beside()

    def begin(self, about: Mapping[str, Any]) -> None:
        """Make the folder, or go on with it.

        Raises:
            ModelError: it is of another model, or cannot be written.
        """
        told = self.conflict(about["model"])
        if told is not None:
            raise ModelError(told, "recorded")
        with writing(self._path):
            if (self._path / ABOUT).is_file() and read_about(self._path / ABOUT) != about:
                if not self._overwrite:
                    said = f"{self._path} is a recording of this model under other settings"
                    raise ModelError(f"{said}; give another path, or overwrite=true", "recorded")
                told = self._beside()
                if told is not None:
                    raise ModelError(told, "recorded")
                remove_known(self._path / TEXTS, OF_TEXTS)
            (self._path / TEXTS).mkdir(parents=True, exist_ok=True)
            write_about(self._path / ABOUT, about)

    def text(self, item_id: str, text: str, encoded: Encoded) -> None:
        """Keep what a text's tokens are.

        Raises:
            ModelError: another text was recorded of this item, or nothing can be written.
        """
        path = self._folder(item_id) / TEXT
        if path.is_file() and not self._overwrite:
            own = read_meaning(path).encoded(text, str(path)).tokens
            check_tokens(encoded.tokens, own, 0, str(path))
            check_tokens(own, encoded.tokens, 0, str(path))
            return
        held = {"tokens": encoded.tokens, "starts": encoded.starts, "text_sha256": np.array(text_digest(text))}
        save_arrays(path, held)

    def window(self, window: Window, rows_nv: NDArray[np.floating]) -> None:
        """Keep a window's rows.

        Raises:
            ModelError: another window was recorded in its place, or nothing can be written.
        """
        path = self._folder(window.item_id) / window_name(window)
        if path.is_file() and not self._overwrite:
            check_same_window(open_archive(path), window)
            self._counts["windows_kept"] += 1
            return
        seen = {"tokens": window.tokens, "first": np.int64(window.first), "bos": np.bool_(window.bos)}
        save_arrays(path, {"logits": rows_nv, **seen})
        self._counts["windows_written"] += 1

    def finish(self) -> None:
        """Nothing: every window is there."""

    def facts(self) -> Mapping[str, Any]:
        """How many windows were written, and how many were there."""
        return {"path": str(self._path), **self._counts}

    def close(self) -> None:
        """Nothing: no file is open."""

    def _beside(self) -> str | None:
        """Why the recording that is there may not be removed, and what to do."""
        stranger = foreign(self._path, KNOWN)
        if stranger is None:
            return None
        return f"{self._path} holds {stranger}, which no recorder wrote; move it away, or give another path"

    def _folder(self, item_id: str) -> Path:
        folder = self._path / TEXTS / file_name(item_id)
        with writing(folder):
            folder.mkdir(exist_ok=True)
        return folder
