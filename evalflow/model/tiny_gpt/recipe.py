"""What makes a checkpoint: everything that training reads, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

CheckpointName = Literal["short", "long", "untrained", "shuffled"]


@dataclass(frozen=True)
class Recipe:
    """How weights come to be: seeded init, then pre-training on a stream, then tuning on the string tasks.

    The stream is one training word, drawn with `stream_seed` and repeated: predicting it teaches copying,
    which is what the tasks ask for. `labels` "shuffled" gives each prompt the answer of another word.
    """

    steps: int
    labels: Literal["right", "shuffled"] = "right"
    init_seed: int = 0
    stream_seed: int = 1
    stream_repeats: int = 4000
    pretrain_steps: int = 150
    pretrain_rate: float = 3e-3
    pretrain_decay: float = 0.1
    window: int = 64
    tuning_seed: int = 2
    tuning_rate: float = 1e-3
    batch: int = 32
    clip: float = 1.0


RECIPES: Mapping[CheckpointName, Recipe] = MappingProxyType(
    {
        "short": Recipe(steps=550),
        "long": Recipe(steps=1500),
        "untrained": Recipe(steps=0, pretrain_steps=0),
        "shuffled": Recipe(steps=1500, labels="shuffled"),
    }
)
"""The checkpoints that ship. The last two are negative controls: a gate that passes them shows nothing."""
