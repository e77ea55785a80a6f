"""Lines and logs as the two tools write them, made by hand, and the stored ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evalflow.imported.log import open_log
from evalflow.imported.sample import Choice, Sample

DATA = Path(__file__).parents[1] / "data" / "imported"
INSPECT = DATA / "inspect"
LM_EVAL = DATA / "lm_eval"


def written(**changes: Any) -> dict[str, Any]:
    """A line of a text that was written."""
    return {
        "doc_id": 0,
        "doc": {"question": "Why?"},
        "target": "Because.",
        "arguments": {"gen_args_0": {"arg_0": "Why?", "arg_1": {"until": ["\n"]}}},
        "resps": [[" Because."]],
        "filtered_resps": [" Because."],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": "d",
        "prompt_hash": "p",
        "target_hash": "t",
        "exact_match": 1.0,
        **changes,
    }


def weighed(sums: list[Any], contexts: list[str], continuations: list[str], **changes: Any) -> dict[str, Any]:
    """A line of choices that were weighed, with their log-probabilities."""
    pairs = zip(contexts, continuations, strict=True)
    asked = {f"gen_args_{i}": {"arg_0": context, "arg_1": text} for i, (context, text) in enumerate(pairs)}
    pairs_back = [[str(one), "False"] for one in sums]
    return (
        written(
            arguments=asked, resps=[[pair] for pair in pairs_back], filtered_resps=pairs_back, metrics=["acc"], acc=1.0
        )
        | changes
    )


def lines_in(path: Path, *lines: dict[str, Any]) -> Path:
    """A file of lines."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def samples_of(path: Path, **wanted: Any) -> list[Sample]:
    """The samples of a log."""
    return list(open_log(str(path), Choice(**wanted)).samples())


def inspect_log(*samples: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A log of Inspect."""
    about = {"task": "t", "model": "m", "dataset": {"samples": len(samples)}, "config": {"epochs": 1}}
    return {"version": 2, "status": "success", "eval": about, "plan": {}, "samples": list(samples)} | changes


def inspect_sample(**changes: Any) -> dict[str, Any]:
    """A sample of it."""
    choice = {"message": {"role": "assistant", "content": "Because."}, "stop_reason": "stop"}
    return {
        "id": 1,
        "epoch": 1,
        "input": "Why?",
        "target": "Because.",
        "output": {"choices": [choice], "completion": "Because."},
        "scores": {"match": {"value": "C"}},
    } | changes
