"""Short questions: facts, questions on a shared context, and hard choices that a small model can only guess."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalflow.dataset.template import fill, places
from evalflow.errors import DataError
from evalflow.record import Item
from evalflow.shipped import resolved
from evalflow.strict_json import fits, parse_json

QUESTION: Mapping[str, Any] = {"id": str, "question": str, "answer": str}
CHOICE: Mapping[str, Any] = {**QUESTION, "choices": tuple[str, ...]}
LETTERS = "ABCD"


@dataclass(frozen=True)
class QuestionBank:
    """A JSON bank of questions with short answers, and choices from another as a negative control.

    `bank` holds `contexts` (id -> text) and `questions` with `id`, `question`, `answer`, and, where it is asked about
    one, `context`. Other keys, such as proposed floors, may stand beside them. A question's kind is `context` or
    `fact`; those of one context share a prefix (it comes first in the prompt), and an error bar.
    `control` holds `questions` with four `choices` and the key's letter as their `answer`; their kind is `control`, and
    the answer looked for is the right choice's text. Paths may be `package:NAME`. `facts`, `controls` cut each
    list short; None takes it whole.
    """

    bank: str
    name: str = "question_bank"
    control: str | None = None
    facts: int | None = None
    controls: int | None = None
    fact_prompt: str = "{question}"
    """What a question without a context is asked as: a template over `question`."""
    context_prompt: str = "{context}\n\n{question}"
    """What a question on a context is asked as: a template over `context` and `question`."""
    control_prompt: str = "{question}\n{choices}"
    """What a control is asked as: a template over `question` and its four choices."""

    def __post_init__(self) -> None:
        known = {"fact_prompt": "question", "context_prompt": "context question", "control_prompt": "question choices"}
        for key, names in known.items():
            asked = set(places(getattr(self, key)))
            if asked != set(names.split()):
                raise ValueError(f"{key} asks for {', '.join(sorted(asked)) or 'nothing'}; ask for {names}")
        for key in ("facts", "controls"):
            value = getattr(self, key)
            if value is not None and value < 0:
                raise ValueError(f"{key} is {value}; give at least 0, or null for all")

    def items(self) -> tuple[Item, ...]:
        """Contexts first, then facts, then controls; see `Dataset.items`."""
        bank = _loaded(self.bank, QUESTION)
        contexts = bank.get("contexts", {})
        if not fits(contexts, Mapping[str, str]):
            raise DataError(f"{self.bank}: contexts is no mapping of texts; write {{id: text}}")
        on_context = [one for one in bank["questions"] if one.get("context") is not None]
        for one in on_context:
            if not isinstance(one["context"], str):
                raise DataError(
                    f"{self.bank}: question {one['id']!r} has a context that is no text; name one by its id"
                )
            if one["context"] not in contexts:
                said = f"{self.bank}: question {one['id']!r} asks about context {one['context']!r}, which is not there"
                raise DataError(f"{said}; add it")
        facts = [one for one in bank["questions"] if one.get("context") is None][: self.facts]
        items = [*(self._on_context(one, contexts) for one in on_context), *map(self._fact, facts), *self._controls()]
        twice = [one for one, times in Counter(item.id for item in items).items() if times > 1]
        if twice:
            raise DataError(f"{self.bank}: question id {twice[0]!r} occurs twice; make ids unique")
        return tuple(items)

    def _on_context(self, one: Mapping[str, Any], contexts: Mapping[str, str]) -> Item:
        prompt = fill(self.context_prompt, {"context": contexts[one["context"]], "question": one["question"]})
        group = str(one["context"])
        return Item(one["id"], prompt, one["answer"], "context", cluster=group, prefix_group=group)

    def _fact(self, one: Mapping[str, Any]) -> Item:
        return Item(one["id"], fill(self.fact_prompt, one), one["answer"], "fact")

    def _controls(self) -> Iterator[Item]:
        if self.control is None:
            return
        for one in _loaded(self.control, CHOICE)["questions"][: self.controls]:
            if one["answer"] not in tuple(LETTERS) or len(one["choices"]) != len(LETTERS):
                said = f"{self.control}: question {one['id']!r} needs four choices and a letter of {LETTERS}"
                raise DataError(f"{said}; mend it")
            listed = "\n".join(f"- {choice}" for choice in one["choices"])
            prompt = fill(self.control_prompt, {"question": one["question"], "choices": listed})
            yield Item(one["id"], prompt, one["choices"][LETTERS.index(one["answer"])], "control")


def _loaded(path: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A bank, its questions checked.

    Raises:
        DataError: it cannot be read, or a question lacks what is needed.
    """
    file: Path = resolved(path)
    try:
        bank = parse_json(file.read_text(encoding="utf-8-sig"))
    except OSError as fault:
        raise DataError(f"{file}: cannot be read ({fault.strerror}); give a readable file") from None
    except ValueError as fault:
        raise DataError(f"{file}: no UTF-8 JSON ({fault}); write an object with a list of questions") from None
    questions = bank.get("questions") if isinstance(bank, dict) else None
    if not isinstance(questions, list) or not questions:
        raise DataError(f"{file}: it has no list of questions; write an object with one")
    for number, one in enumerate(questions, start=1):
        for key, hint in wanted.items():
            if not isinstance(one, dict) or not fits(one.get(key), hint) or not one[key]:
                raise DataError(f"{file}: question {number} has no {key}; give it one")
    return dict(bank)
