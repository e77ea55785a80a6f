"""The prompt of grounded reading: instructions, the whole article, and the question last.

Questions on one article share everything before the question, so that a prompt cache can.
"""

from __future__ import annotations

OPEN, CLOSE, ASK = "\n\n<article>\n", "\n</article>\n\n", "Question: "
INSTRUCTIONS = """Answer the question from the article alone, in at most three sentences.
End each sentence with the citation of the section that it rests on, written § {#section-id} with that section's id.
If the article does not answer the question, write this sentence alone, with the id of the nearest section in it:
{abstain}"""
"""The instructions unless others are configured."""


def build_prompt(instructions: str, article: str, question: str) -> str:
    """The prompt over an article's text; see `fits` for what each part may hold."""
    return f"{instructions}{OPEN}{article}{CLOSE}{ASK}{question}"


def parse_prompt(prompt: str) -> tuple[str, str]:
    """The article's text and the question, as `build_prompt` was given them.

    Raises:
        ValueError: it is no such prompt.
    """
    _, opened, rest = prompt.partition(OPEN)
    article, closed, question = rest.partition(f"{CLOSE}{ASK}")
    if not opened or not closed:
        raise ValueError("the prompt holds no article followed by a question")
    return article, question


def fits(part: str) -> bool:
    """Whether a part of the prompt leaves its layout readable: it has no line that opens or closes an article."""
    return not {"<article>", "</article>"} & {line.strip() for line in part.splitlines()}
