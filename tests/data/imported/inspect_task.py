"""Facts, asked of a model that answers from a list; the question called `broken` raises."""

import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Target, includes, mean, scorer, stderr
from inspect_ai.solver import Generate, TaskState, generate, solver

ROWS = [json.loads(line) for line in (Path(__file__).parent / "questions.jsonl").read_text().splitlines()][:4]


@scorer(metrics=[mean(), stderr()])
def brevity():
    async def score(state: TaskState, target: Target) -> Score:
        n = len(state.output.completion.split())
        return Score(value=1 / n if n else float("nan"))

    return score


@solver
def fragile(broken: str | None):
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == broken:
            raise RuntimeError("the tool broke")
        return state

    return solve


@task
def facts(broken: str | None = None):
    asked = "Question: {question}\nShort answer:"
    return Task(
        dataset=[Sample(input=asked.format(**row), target=row["answer"], id=row["id"]) for row in ROWS],
        solver=[fragile(broken), generate()],
        scorer=[includes(), brevity()],
    )
