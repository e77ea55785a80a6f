"""From the command line's overrides to one plain config, with every fault of the overrides found at once.

Hydra composes untyped nodes; the types are the plan's business. What Hydra would stop at, or let through in silence,
is looked for here first.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import InterpolationToMissingValueError, OmegaConfBaseException

from evalflow.runner.build import MISSING, Faults, nearest
from evalflow.runner.config_tree import ConfigTree
from evalflow.runner.experiments import shipped_folder
from evalflow.runner.overrides import forced, is_hydra, is_swept, parse, text_of
from evalflow.shipped import resolved

_OF_A_MODEL = re.compile(r"(arms\.[^.]+\.)?model\.")
_ONE_AT_A_TIME = threading.Lock()
"""Hydra's own state is the process', whatever its threads."""
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
    checked = [parsed for text in overrides if (parsed := parse(text, faults)) is not None]
    sound = [o for o in checked if not is_swept(o, faults) and tree.knows(o, faults)]
    if any(o.key_or_group == "experiment" for o in checked if o not in sound):
        return None  # without its experiment, nothing that follows would be about what the user meant
    groups = [o for o in sound if tree.is_group(o.key_or_group) or is_hydra(o)]
    values = [o for o in sound if o not in groups]
    base = compose_tree(tree, [text_of(o) for o in groups], faults)
    if base is None:
        return None
    placed = [o for o in values if _place(o, base, faults)]
    whole = compose_tree(tree, [text_of(o) for o in groups] + [forced(o) for o in placed], faults) if placed else base
    if whole is None:
        return None
    choices = {str(k): str(v) for k, v in whole.hydra.runtime.choices.items()}
    whole = whole.copy()
    OmegaConf.set_struct(whole, False)
    del whole["hydra"]
    plain = {str(key): plain_of(whole, key, str(key), faults) for key in whole}
    return Composed(plain, tuple(overrides), choices, tree.folders)


def register_resolvers() -> None:
    """Make known `${bank:...}`, read from the composed dataset's bank at each use, and `${name_of_arm:}`."""
    OmegaConf.register_new_resolver("bank", _bank, replace=True)
    OmegaConf.register_new_resolver("name_of_arm", _name_of_arm, replace=True)


def _bank(path: str, *, _root_: DictConfig) -> Any:
    """The value at a dotted path of the JSON file that `dataset.bank` names."""
    file = OmegaConf.select(_root_, "dataset.bank")
    if file is None:
        raise ValueError("the dataset has no bank; compose one that has")
    try:
        value = json.loads(resolved(str(file)).read_text(encoding="utf-8"))
    except OSError as fault:
        raise ValueError(f"{file}: cannot be read ({fault.strerror})") from None
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            raise ValueError(f"{file} has no {path}; name a value that it holds")
        value = value[key]
    return value


def _name_of_arm(*, _parent_: DictConfig) -> str:
    """How the arm is called that the value stands in."""
    path = str(_parent_._get_full_key(None)).split(".")
    if path[0] != "arms" or len(path) < 2:
        raise ValueError("it stands in no arm; write the name itself")
    return path[1]


def _place(override: Override, base: DictConfig, faults: Faults) -> bool:
    """Whether a value override has a node to go to. A new key of a node is the plan's to judge."""
    parts = override.key_or_group.split(".")
    if override.is_delete():
        if _exists(base, parts):
            return True
        parent = OmegaConf.select(base, ".".join(parts[:-1])) if parts[:-1] else base
        known = [str(key) for key in parent] if isinstance(parent, DictConfig) else []
        said = f"there is nothing to remove (override {text_of(override)})"
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
                ".".join(parts[:count]), f"there is no such key (override {text_of(override)})", nearest(part, known)
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


def compose_tree(tree: ConfigTree, overrides: Sequence[str], faults: Faults) -> DictConfig | None:
    """What Hydra composes of checked overrides, its own node included; None (and a fault) where it refuses."""
    with _ONE_AT_A_TIME:
        return _composed(tree, overrides, faults)


def _composed(tree: ConfigTree, overrides: Sequence[str], faults: Faults) -> DictConfig | None:
    extra = [f"file://{folder.resolve()}" for folder in tree.folders[1:]]
    search = [f"hydra.searchpath=[{','.join(extra)}]"] if extra else []
    before = GlobalHydra.instance().hydra  # a program of Hydra's own may be calling
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(tree.folders[0].resolve()), version_base="1.3", job_name="evalflow"):
            composed: DictConfig = compose("config", [*search, *overrides], return_hydra_config=True)
            return composed
    except (HydraException, OmegaConfBaseException) as fault:
        _raise_interrupt(fault)
        faults.add("config", _one_line(fault), "mend the file or override that it names")
    except Exception as fault:  # noqa: BLE001 - a YAML scanner error is no HydraException, and has no common base with it
        _raise_interrupt(fault)
        faults.add("config", _one_line(fault), "mend the YAML that it names")
    finally:
        GlobalHydra.instance().hydra = before
    return None


def plain_of(node: Any, key: Any, where: str, faults: Faults) -> Any:
    """The node's value as plain Python, interpolations resolved, a missing value as `???`."""
    if OmegaConf.is_missing(node, key):
        return MISSING
    if _OF_A_MODEL.match(where) and _reads_environment(node, key):
        said = "the value of an environment variable would be written into the run's folder"
        faults.add(where, said, "name the variable instead: key_env, headers_env, base_url=env:NAME")
        return None
    try:
        value = node[key]
    except InterpolationToMissingValueError as fault:
        named = _one_line(fault).rpartition(": ")[2]
        faults.add(where, f"it is that of {named}, which is missing", f"give {named}")
        return None
    except (OmegaConfBaseException, ValueError) as fault:
        faults.add(where, _one_line(fault), "mend the reference")
        return None
    if isinstance(value, DictConfig):
        return {k: plain_of(value, k, f"{where}.{k!s}", faults) for k in value}
    if isinstance(value, ListConfig):
        return [plain_of(value, i, f"{where}[{i}]", faults) for i in range(len(value))]
    return value


def _reads_environment(node: Any, key: Any) -> bool:
    """Whether a value is an interpolation that reads the environment: models have keys, and a config is kept."""
    raw = node._get_node(key)
    value = raw._value() if raw is not None else None
    return isinstance(value, str) and "oc.env:" in value


def _raise_interrupt(fault: BaseException) -> None:
    """Hydra makes a Ctrl-C during composing an error of its own; let it be a Ctrl-C again."""
    cause = fault.__cause__ or fault.__context__
    if isinstance(cause, KeyboardInterrupt):
        raise cause


def _one_line(fault: BaseException) -> str:
    """The fault's own words, without Hydra's list of where it looked; the cause's where it has none."""
    said = " ".join(re.split("Config search path|full_key:", str(fault))[0].split())
    cause = fault.__cause__ or fault.__context__
    return said or (_one_line(cause) if cause else type(fault).__name__)
