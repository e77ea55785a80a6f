"""python inspect_run.py FOLDER: runs the task four times, and keeps the logs without their events and tracebacks."""

import sys
from pathlib import Path

from inspect_ai import eval as run
from inspect_ai.log import write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_task import facts

SAID = {"France": "Paris.", "Italy": "It is Rome.", "Germany": "Berlin — 柏林", "Spain": ""}


def model(wrong: str):
    """Answers each question in its own words, the second time of Italy otherwise; does not know `wrong`."""
    times = dict.fromkeys(SAID, 0)

    def answer(messages, tools, tool_choice, config):
        asked = next(land for land in SAID if land in messages[-1].text)
        times[asked] += 1
        text = (
            "I do not know." if asked == wrong else "Milan" if asked == "Italy" and times[asked] == 2 else SAID[asked]
        )
        output = ModelOutput.from_content(
            "mockllm/model", text, stop_reason="max_tokens" if asked == "Germany" else "stop"
        )
        n = len(text.split())
        output.usage = ModelUsage(input_tokens=10, output_tokens=n, total_tokens=12 + n, input_tokens_cache_read=2)
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


folder = Path(sys.argv[1])
for name, wrong, broken, fails in (
    ("good", "Spain", None, True),
    ("worse", "France", None, True),
    ("errored", "Spain", "capital-italy", False),
    ("stopped", "Spain", "capital-italy", True),
):
    (log,) = run(
        facts(broken=broken),
        model=model(wrong),
        epochs=2,
        log_dir=str(folder / "whole"),
        log_format="json",
        max_samples=1,
        max_connections=1,
        display="none",
        fail_on_error=fails,
        log_model_api=False,
    )
    for sample in log.samples or []:
        sample.events, sample.error_retries = [], None
        if sample.error:
            sample.error.traceback = sample.error.traceback_ansi = ""
    if log.error:
        log.error.traceback = log.error.traceback_ansi = ""
    log.eval.model_args = {}
    write_eval_log(log, str(folder / f"{name}.json"), format="json")
    scores = log.results.scores if log.results else []
    told = {score.name: {key: metric.value for key, metric in score.metrics.items()} for score in scores}
    sys.stdout.write(f"{name} {log.status} {told}\n")
