"""Hydra's own views of the config: `--cfg job`, `--info`, shell completion."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from evalflow.runner.build import Faults
from evalflow.runner.compose import register_resolvers
from evalflow.runner.config_tree import ConfigTree
from evalflow.runner.experiments import shipped_folder
from evalflow.runner.overrides import forced, is_hydra, parse


def hydra_view(words: Sequence[str], folders: Sequence[Path]) -> bool:
    """Let Hydra print its own view of the config (`--cfg job`, `--info`, completion); whether it could."""
    import hydra

    def job(config: DictConfig) -> None:
        """Nothing: only Hydra's views are asked for."""

    register_resolvers()
    completing = any(word in ("-sc", "--shell-completion") for word in words)
    plain = [word if completing or word.startswith("-") or "=" not in word else _forced_word(word) for word in words]
    search = [f"hydra.searchpath=[{','.join(f'file://{folder.resolve()}' for folder in folders)}]"] if folders else []
    sys.argv = ["evalflow", *_overrides_first([*plain, *search])]
    try:
        hydra.main(version_base="1.3", config_path=str(shipped_folder().resolve()), config_name="config")(job)()
    except SystemExit as ended:
        return ended.code in (None, 0)
    return True


def _forced_word(word: str) -> str:
    parsed = parse(word, Faults())
    tree = ConfigTree((shipped_folder(),), Faults())
    if parsed is None or tree.is_group(parsed.key_or_group) or is_hydra(parsed):
        return word
    return forced(parsed)


def _overrides_first(words: Sequence[str]) -> list[str]:
    """Overrides, then flags with their values: argparse takes positional words in one run only."""
    overrides: list[str] = []
    flags: list[str] = []
    for before, word in zip(["", *words], words, strict=False):
        completes = before in ("-sc", "--shell-completion")
        is_value = before.startswith("-") and (completes or "=" not in word)
        (flags if word.startswith("-") or is_value else overrides).append(word)
    return overrides + flags
