"""One process working on one run: its folder opened, its arms executed, its rows read back."""

from __future__ import annotations

import asyncio
from pathlib import Path

from evalflow.record import digest
from evalflow.runner.execute import Progress, execute
from evalflow.runner.instrument import environment
from evalflow.runner.journal import StoredRun, load_run, open_run
from evalflow.runner.plan import Plan
from evalflow.runner.stored_config import to_yaml


def carry_out(plan: Plan, progress: Progress) -> StoredRun:
    """Execute a plan into a new folder and return what was stored there.

    Raises:
        OutputError: the folder cannot be written.
        KeyboardInterrupt: the user stopped it; the rows so far are on disk and the run is marked interrupted.
    """
    outputs = Path(plan.runner.outputs)
    facts = {"resume_key": plan.resume_key(), "part": plan.selection.part, "environment": environment()}
    journal = open_run(outputs, plan.name, digest(dict(plan.config)), facts)
    journal.write_text("config.yaml", to_yaml(plan.config))
    journal.write_items(plan.items)
    try:
        asyncio.run(execute(plan, journal, progress))
    except BaseException:
        journal.close("interrupted")
        raise
    journal.close("finished")
    return load_run(journal.folder)
