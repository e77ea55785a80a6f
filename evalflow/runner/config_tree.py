"""The config folders as Hydra will see them: groups, and the options of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hydra.core.override_parser.types import Override

from evalflow.runner.build import Faults, nearest
from evalflow.runner.overrides import text_of

HEADER = "# @package _global_"
"""What makes an experiment fill the whole config; Hydra looks for it in the first line alone."""


class ConfigTree:
    """The config folders as Hydra will see them: groups, and the options of each."""

    def __init__(self, folders: Sequence[Path], faults: Faults) -> None:
        self.folders = tuple(folder for folder in folders if folder.is_dir())
        self.options: dict[str, dict[str, Path]] = {}
        for folder in folders:
            if not folder.is_dir():
                faults.add(str(folder), "it is no folder", "give an existing one with --config-dir")
            for path in sorted(folder.glob("**/*.yaml")):
                group = path.parent.relative_to(folder).as_posix()
                known = self.options.setdefault("" if group == "." else group, {})
                if path.stem in known:
                    faults.add(str(path), f"{known[path.stem]} has the same name", "rename one of the two")
                known.setdefault(path.stem, path)
            for path in sorted((folder / "experiment").glob("*.yaml")):
                if path.read_text(encoding="utf-8", errors="replace").splitlines()[:1] != [HEADER]:
                    faults.add(str(path), "its first line is another", f"begin it with `{HEADER}`")

    def is_group(self, key: str) -> bool:
        """Whether a key on the command line names a group."""
        return key in self.options and key != ""

    def knows(self, override: Override, faults: Faults) -> bool:
        """Whether every option that a group override asks for exists; a fault where one does not."""
        key = override.key_or_group
        if not self.is_group(key):
            return True
        if override.is_delete():
            if override.package is not None:
                # Hydra would drop the option and keep what the experiment's own file says of the part
                faults.add(text_of(override), "it removes an option, not the part", f"write ~{override.package}")
            return override.package is None
        values = override.value()
        asked = ["null" if one is None else str(one) for one in (values if isinstance(values, list) else [values])]
        unknown = [option for option in asked if option not in self.options[key]]
        for option in unknown:
            said = f"there is no {key} {option} (override {text_of(override)})"
            faults.add(key, said, nearest(option, self.options[key]))
        return not unknown
