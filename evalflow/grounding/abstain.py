"""The authored abstain: the one sentence that says that the article does not answer, and names the nearest section."""

from __future__ import annotations

import re

from evalflow.grounding.citations import citations_of, cite

PLACE = cite("section")
"""What a template has in place of the citation."""
AUTHORED = f"The article does not answer this question; the nearest section is {PLACE}."
"""The sentence unless another is configured."""


def check_template(template: str) -> None:
    """Refuse a template without exactly one place for the section.

    Raises:
        ValueError: beginning with `abstain`, the key that it is configured under.
    """
    if citations_of(template) != ("section",) or PLACE not in template:
        raise ValueError(f"abstain is {template!r}; give a sentence that holds {PLACE} once and no other citation")


def authored(template: str, section_id: str) -> str:
    """The abstain that names a section."""
    return template.replace(PLACE, cite(section_id))


def abstains_for(text: str, template: str) -> str | None:
    """The id that a text names where it is the authored abstain, character for character; None where it is not."""
    before, after = template.split(PLACE)
    found = re.fullmatch(rf"{re.escape(before)}§ \{{#([^{{}}\n]*)\}}{re.escape(after)}", text)
    return None if found is None else found[1]
