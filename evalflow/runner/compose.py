"""From the command line's overrides to one plain config, with every fault of the overrides found at once.

Hydra composes untyped nodes; the types are the plan's business. What Hydra would stop at, or let through in silence,
is looked for here first.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from evalflow.errors import ConfigError, Fault, StoredRunError
from evalflow.runner.build import MISSING, Faults, nearest
from evalflow.runner.experiments import shipped_folder

SETS = ("arms", "metrics", "comparisons", "gates")


@dataclass(frozen=True)
class Composed:
    """A plain config, the overrides that made it, and which option of each group was chosen."""

    config: dict[str, Any]
    overrides: tuple[str, ...]
    choices: Mapping[str, str]
    folders: tuple[Path, ...]


def compose_config(overrides: Sequence[str], folders: Sequence[Path], faults: Faults) -> Composed | None:
    """The config of a command line; None (and faults) where nothing could be composed.

    `folders` holds the user's config folders; the shipped one comes first and names may not collide.
    """
    register_resolvers()
    tree = ConfigTree((shipped_folder(), *folders), faults)
    checked = [parsed for text in overrides if (parsed := _parse(text, faults)) is not None]
    sound = [o for o in checked if not _swept(o, faults) and tree.knows(o, faults)]
    if any(o.key_or_group == "experiment" for o in checked if o not in sound):
        return None  # without its experiment, nothing that follows would be about what the user meant
    groups = [o for o in sound if tree.is_group(o.key_or_group) or _is_hydra(o)]
    values = [o for o in sound if o not in groups]
    base = _compose(tree, [_text(o) for o in groups], faults)
    if base is None:
        return None
    placed = [o for o in values if _place(o, base, faults)]
    whole = _compose(tree, [_text(o) for o in groups] + [forced(o) for o in placed], faults) if placed else base
    if whole is None:
        return None
    choices = {str(k): str(v) for k, v in whole.hydra.runtime.choices.items()}
    whole = whole.copy()
    OmegaConf.set_struct(whole, False)
    del whole["hydra"]
    plain = {str(key): _plain(whole, key, str(key), faults) for key in whole}
    return Composed(plain, tuple(overrides), choices, tree.folders)


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
                faults.add(_text(override), "it removes an option, not the part", f"write ~{override.package}")
            return override.package is None
        values = override.value()
        asked = ["null" if one is None else str(one) for one in (values if isinstance(values, list) else [values])]
        unknown = [option for option in asked if option not in self.options[key]]
        for option in unknown:
            said = f"there is no {key} {option} (override {_text(override)})"
            faults.add(key, said, nearest(option, self.options[key]))
        return not unknown


def forced(override: Override) -> str:
    """The override as Hydra shall see it: a plain value may set a key that its untyped node does not show yet."""
    text = _text(override)
    plain = not (override.is_delete() or override.is_add() or override.is_force_add())
    return f"++{text}" if plain else text


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


def register_resolvers() -> None:
    """Make `${bank:...}` known: a value of the composed dataset's bank, read anew at each use."""
    OmegaConf.register_new_resolver("bank", _bank, replace=True)


def _bank(path: str, *, _root_: DictConfig) -> Any:
    """The value at a dotted path of the JSON file that `dataset.bank` names."""
    file = OmegaConf.select(_root_, "dataset.bank")
    if file is None:
        raise ValueError("the dataset has no bank; compose one that has")
    value = json.loads(Path(str(file)).read_text(encoding="utf-8"))
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            raise ValueError(f"{file} has no {path}; name a value that it holds")
        value = value[key]
    return value


def _parse(text: str, faults: Faults) -> Override | None:
    if text.startswith("-"):
        faults.add(text, "there is no such flag", "see evalflow --help")
        return None
    said = "it is not of the form key=value"
    try:
        parsed = OverridesParser.create().parse_overrides([text])[0]
        if parsed.key_or_group:
            return parsed
    except HydraException as fault:
        if "=" in text and "mismatched" not in str(fault):
            said = "its value cannot be parsed"
    faults.add(f"override {text}", said, "write key=value, quoting a value that has = , { } [ ] in it")
    return None


def _swept(override: Override, faults: Faults) -> bool:
    if bool(override.is_sweep_override()):
        faults.add(_text(override), "several values make a sweep", "add -m, or give a list as [a,b]")
        return True
    return False


def _is_hydra(override: Override) -> bool:
    return bool(override.key_or_group.split(".")[0].split("/")[0] == "hydra")


def _place(override: Override, base: DictConfig, faults: Faults) -> bool:
    """Whether a value override has a node to go to. A new key of a node is the plan's to judge."""
    parts = override.key_or_group.split(".")
    if override.is_delete():
        if _exists(base, parts):
            return True
        parent = OmegaConf.select(base, ".".join(parts[:-1])) if parts[:-1] else base
        known = [str(key) for key in parent] if isinstance(parent, DictConfig) else []
        said = f"there is nothing to remove (override {_text(override)})"
        faults.add(".".join(parts), said, nearest(parts[-1], known))
        return False
    if override.is_add() or override.is_force_add():
        return True
    depth = 2 if parts[0] in SETS else 1
    node: Any = base
    for count, part in enumerate(parts[:depth], start=1):
        known = [str(key) for key in node if key != "hydra"] if isinstance(node, DictConfig) else []
        if part not in known:
            faults.add(
                ".".join(parts[:count]), f"there is no such key (override {_text(override)})", nearest(part, known)
            )
            return False
        node = node._get_node(part)
    return True


def _exists(base: DictConfig, parts: Sequence[str]) -> bool:
    node: Any = base
    for part in parts:
        if not isinstance(node, DictConfig) or part not in [str(key) for key in node]:
            return False
        node = node._get_node(part)
    return True


def _compose(tree: ConfigTree, overrides: Sequence[str], faults: Faults) -> DictConfig | None:
    extra = [f"file://{folder.resolve()}" for folder in tree.folders[1:]]
    search = [f"hydra.searchpath=[{','.join(extra)}]"] if extra else []
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(tree.folders[0].resolve()), version_base="1.3", job_name="evalflow"):
            composed: DictConfig = compose("config", [*search, *overrides], return_hydra_config=True)
            return composed
    except (HydraException, OmegaConfBaseException) as fault:
        faults.add("config", _one_line(fault), "mend the file or override that it names")
    except Exception as fault:  # noqa: BLE001 - a YAML scanner error is no HydraException, and has no common base with it
        faults.add("config", _one_line(fault), "mend the YAML that it names")
    return None


def _plain(node: Any, key: Any, where: str, faults: Faults) -> Any:
    """The node's value as plain Python, interpolations resolved, a missing value as `???`."""
    if OmegaConf.is_missing(node, key):
        return MISSING
    try:
        value = node[key]
    except (OmegaConfBaseException, ValueError) as fault:
        faults.add(where, _one_line(fault), "mend the reference")
        return None
    if isinstance(value, DictConfig):
        return {k: _plain(value, k, f"{where}.{k!s}", faults) for k in value}
    if isinstance(value, ListConfig):
        return [_plain(value, i, f"{where}[{i}]", faults) for i in range(len(value))]
    return value


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


def _text(override: Override) -> str:
    return str(override.input_line)


def _one_line(fault: BaseException) -> str:
    return " ".join(str(fault).split()) or type(fault).__name__


def to_yaml(config: Mapping[str, Any]) -> str:
    """A plain config as YAML."""
    return yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)


def from_yaml(path: Path) -> dict[str, Any]:
    """The plain config that `to_yaml` wrote.

    Raises:
        StoredRunError: the file is not there or is no YAML mapping.
    """
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as fault:
        raise StoredRunError(f"{path}: cannot be read ({_one_line(fault)}); restore it") from None
    if not isinstance(config, dict):
        raise StoredRunError(f"{path}: no YAML mapping; restore it")
    return {str(key): value for key, value in config.items()}


def expand_sweep(overrides: Sequence[str], folders: Sequence[Path] = ()) -> list[tuple[str, ...]]:
    """The jobs of a sweep: every combination of the swept values, the last one varying fastest.

    Raises:
        ConfigError: an override is not of the form key=value.
    """
    faults = Faults()
    parsed = [one for text in overrides if (one := _parse(text, faults)) is not None]
    if faults.found:
        raise ConfigError(faults.found)
    tree = ConfigTree((shipped_folder(), *folders), Faults())

    def values(one: Override) -> list[str]:
        if isinstance(one.value(), Glob):
            return list(one.value().filter(sorted(tree.options.get(one.key_or_group, ()))))
        return list(one.sweep_string_iterator())

    choices = [
        [f"{one.get_key_element()}={value}" for value in values(one)] if one.is_sweep_override() else [_text(one)]
        for one in parsed
    ]
    return list(itertools.product(*choices))


def hydra_view(words: Sequence[str], folders: Sequence[Path]) -> bool:
    """Let Hydra print its own view of the config (`--cfg job`, `--info`, completion); whether it could."""
    import hydra

    def job(config: DictConfig) -> None:
        """Nothing: only Hydra's views are asked for."""

    register_resolvers()
    completing = any(word in ("-sc", "--shell-completion") for word in words)
    plain = [word if completing or word.startswith("-") or "=" not in word else _forced_text(word) for word in words]
    search = [f"hydra.searchpath=[{','.join(f'file://{folder.resolve()}' for folder in folders)}]"] if folders else []
    sys.argv = ["evalflow", *plain, *search]
    try:
        hydra.main(version_base="1.3", config_path=str(shipped_folder().resolve()), config_name="config")(job)()
    except SystemExit as ended:
        return ended.code in (None, 0)
    return True


def _forced_text(word: str) -> str:
    parsed = _parse(word, Faults())
    tree = ConfigTree((shipped_folder(),), Faults())
    if parsed is None or tree.is_group(parsed.key_or_group) or _is_hydra(parsed):
        return word
    return forced(parsed)
