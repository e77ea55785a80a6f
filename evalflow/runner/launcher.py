"""Running a sweep's jobs by one of Hydra's launchers (joblib, submitit, ...)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hydra._internal.callbacks import Callbacks
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from evalflow.runner.build import Faults
from evalflow.runner.experiments import shipped_folder
from evalflow.runner.overrides import is_hydra, parse, text_of

NUMBER = "evalflow_job"
"""The key that tells a job its number; everything else it composes by itself."""


def launch(
    numbers: Sequence[int],
    work: Callable[[int], None],
    overrides: Sequence[str],
    folders: Sequence[Path],
    scratch: Path,
) -> None:
    """Let the launcher that `overrides` choose call `work` with each number, wherever it runs its jobs.

    Its own files go to the folder `scratch`.
    `work` must be picklable and must not raise. What it gives is on disk: a launcher that loses a job, or stops at the
    first one that died, is no reason to lose the others.

    Raises:
        Exception: whatever the launcher raises.
    """
    parsed = [one for text in overrides if (one := parse(text, Faults())) is not None]
    common = [text_of(one) for one in parsed if not one.is_sweep_override() and _is_for_launcher(one)]
    common += ["hydra/hydra_logging=none", "hydra/job_logging=none", f"hydra.sweep.dir='{scratch}'"]
    search = [f"hydra.searchpath=[{','.join(f'file://{folder.resolve()}' for folder in folders)}]"] if folders else []
    before = GlobalHydra.instance().hydra  # a program of Hydra's own may be calling
    GlobalHydra.instance().clear()
    try:
        hydra = Hydra.create_main_hydra2("evalflow", create_config_search_path(str(shipped_folder().resolve())))
        config = hydra.compose_config("config", [*search, *common], RunMode.MULTIRUN, with_log_configuration=False)
        context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks(config))
        task = _Task(work)
        launcher = Plugins.instance().instantiate_launcher(hydra_context=context, task_function=task, config=config)
        launcher.launch([[f"+{NUMBER}={number}"] for number in numbers], initial_job_idx=0)
    finally:
        GlobalHydra.instance().hydra = before
        _end_idle_workers()


def _end_idle_workers() -> None:
    """joblib keeps its processes for a next time; there is none, and they would outlive this one."""
    loky = sys.modules.get("joblib.externals.loky")
    if loky is not None:
        loky.get_reusable_executor().shutdown(wait=True, kill_workers=True)


class _Task:
    """What a launcher calls with a job's composed config."""

    def __init__(self, work: Callable[[int], None]) -> None:
        self.work = work

    def __call__(self, config: DictConfig) -> Any:
        self.work(int(config[NUMBER]))


def _is_for_launcher(one: Override) -> bool:
    """Whether an override may matter to the launcher: Hydra's own, and the experiment's file that may choose one."""
    return is_hydra(one) or one.key_or_group == "experiment" or one.key_or_group.startswith("runner.")
