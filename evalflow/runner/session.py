"""One process working on one run: its folder opened, its arms executed, its rows read back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

import yaml

from evalflow.dataset.protocol import Selection
from evalflow.errors import DataError, ModelError, OutputLostError, StoredRunError
from evalflow.record import digest
from evalflow.runner.execute import Progress, execute
from evalflow.runner.instrument import environment
from evalflow.runner.journal import config_digest, open_run
from evalflow.runner.plan import Plan, build_plan
from evalflow.runner.stored_config import from_yaml, to_yaml
from evalflow.runner.stored_run import StoredRun, load_run
from evalflow.strict_json import misfit


def carry_out(plan: Plan, progress: Progress) -> StoredRun:
    """Execute a plan into a new folder and return what was stored there.

    Raises:
        DataError: an item cannot be stored as it is.
        OutputError: the folder cannot be written.
        OutputLostError: that, after the run was started.
        ModelError: a model tried to end the process.
        KeyboardInterrupt: the user stopped it; the rows so far are on disk and the run is marked interrupted.
    """
    for item in plan.items:
        wrong = misfit(item)
        if wrong is not None:
            raise DataError(f"dataset {plan.dataset_name}: item {item.id!r}: {wrong}; mend the dataset")
    config = to_yaml(plan.config)
    facts = {
        "resume_key": plan.resume_key(),
        "part": plan.selection.part,
        "fingerprints": dict(plan.fingerprints),
        "config_digest": config_digest(yaml.safe_load(config)),
        "environment": environment(),
    }
    journal = open_run(Path(plan.runner.outputs), plan.name, digest(dict(plan.config)), facts)
    journal.write_text("config.yaml", config)
    journal.write_items(plan.items)
    try:
        asyncio.run(execute(plan, journal, progress))
    except BaseException as fault:
        with contextlib.suppress(OutputLostError):  # the first fault is the one to tell
            journal.close("interrupted")
        if isinstance(fault, SystemExit):  # raised in a task of a model's own, where no row could catch it
            raise ModelError(f"a model tried to end the process (SystemExit: {fault.code}); mend the model") from None
        raise
    journal.close("finished")
    try:
        return load_run(journal.folder)
    except StoredRunError as fault:
        raise OutputLostError(f"after the run: {fault}") from None


def stored_plan(run: StoredRun, allow: Sequence[str]) -> Plan:
    """The plan of a stored run, by its own config and items.

    Raises:
        ConfigError: its config is none, as edited since.
        StoredRunError: its config is not there, or it has a row that the plan does not ask for.
    """
    config = from_yaml(run.folder / "config.yaml")
    plan = build_plan(config, allow, stored=Selection(run.items, run.state["part"]))
    asked = {name: set(planned.arm.seeds) for name, planned in plan.arms.items()}
    items = {item.id for item in plan.items}
    for row in run.rows:
        if row.item_id not in items or row.seed not in asked.get(row.arm, ()):
            said = f"arm {row.arm!r:.60}, seed {row.seed}, item {row.item_id!r:.60} was never asked"
            raise StoredRunError(f"{run.folder / 'rows.jsonl'}: {said}; restore the file")
    return plan
