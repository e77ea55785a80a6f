"""What is served of a grounded answer, against drafts that were labelled by hand before there was code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from evalflow.errors import DataError
from evalflow.record import Item
from evalflow.runner.build import Builder, Faults
from evalflow.serving.gates import AnswerGate, Blocked, Citations, Figures, Ground, Names, Redaction
from evalflow.serving.grounded import Grounded
from tests.grounding.mill import LABELLED, MILL, VISITORS, mill_item

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = LABELLED["settings"]
GATES = ("figures", "citations", "redaction", "blocked", "names")
SERVING = Grounded(
    {
        "figures": Figures(),
        "citations": Citations(),
        "redaction": Redaction(tuple(SETTINGS["redaction"])),
        "blocked": Blocked(tuple(SETTINGS["blocked"])),
        "names": Names(tuple(SETTINGS["allowed"])),
    },
    SETTINGS["abstain"],
    tuple(SETTINGS["refusals"]),
)


@pytest.mark.parametrize("label", LABELLED["drafts"], ids=lambda label: label["id"])
def test_a_labelled_draft_is_served_as_labelled(label: Mapping[str, Any]):
    """The gates that fire and no others, what is served to the letter, by whom, and how many sentences were kept."""
    served = SERVING.serve(mill_item(label["question"]), label["draft"])
    detail = served.detail
    assert list(detail["fired"]) == label["fires"]
    assert detail["passed_every_gate"] is (not label["fires"])
    assert (detail["outcome"], detail["source"]) == (label["outcome"], label["source"])
    assert served.text == label["served"]
    assert (detail["sentences_written"], detail["sentences_kept"]) == (label["written"], label["kept"])


def test_the_labels_cover_every_gate_alone_and_every_pair():
    """And passes, partial releases and abstains of both sources: at least thirty drafts."""
    drafts = LABELLED["drafts"]
    fired = {tuple(label["fires"]) for label in drafts}
    assert fired == {(), *combinations(GATES, 1), *combinations(GATES, 2)}
    assert {(label["outcome"], label["source"]) for label in drafts} == {
        ("draft", None),
        ("partial", None),
        ("abstained", "model"),
        ("abstained", "gate"),
    }
    assert len({label["id"] for label in drafts}) == len(drafts) >= 30


def served(draft: str, question: str = "How wide are the wheels?") -> Mapping[str, Any]:
    return SERVING.serve(mill_item(question), draft).detail


def test_findings_say_what_fired():
    """Each gate's own words, the redacted terms by their place in the list alone."""
    draft = "As an AI, Telford put 9 sluice keepers and a sluice keeper here § {#x}."
    assert served(draft)["fired"] == {
        "figures": {"not_in_article": ["9"]},
        "citations": {"cited": 1, "unknown": ["x"]},
        "redaction": {"places": [1]},
        "blocked": {"phrases": ["as an AI"]},
        "names": {"refused": ["AI", "Telford"], "withheld": 0},
    }
    assert served("Nothing.")["fired"] == {
        "citations": {"cited": 0, "unknown": []},
        "names": {"refused": ["Nothing"], "withheld": 0},
    }


def test_refused_names_can_be_withheld_from_the_report():
    """The first ones are left out and counted; the gate fires all the same."""
    ground = Ground(MILL, "?")
    text = "Telford met Brunel and Watt."
    assert Names(withhold=2).findings(text, ground) == {"refused": ["Watt"], "withheld": 2}
    assert Names(withhold=9).findings(text, ground) == {"refused": [], "withheld": 3}
    assert Names(("Telford and Brunel", "watt"), 9).findings(text, ground) is None


def test_facts_of_the_draft_are_counted_on_a_partial_row():
    """Its figures and citations are those that were written, not those that were served."""
    detail = served("There are 7 wheels § {#nowhere}. Each is 5.5 m across § {#machinery}. It is 9 § {#history}.")
    assert detail["outcome"] == "partial"
    assert detail["kept"] == ["Each is 5.5 m across § {#machinery}."]
    assert detail["figures"] == ["7", "5.5", "9"]
    assert detail["figures_not_in_article"] == ["7", "9"]
    assert detail["citations"] == ["nowhere", "machinery", "history"]
    assert detail["valid_citations"] == ["machinery", "history"]
    # history has "it" and lacks "is" and "9"; machinery has "each", "5", "m", "across" and lacks "is"
    assert detail["citation_overlaps"] == [pytest.approx(4 / 5), pytest.approx(1 / 3)]


def test_a_partial_release_is_words_of_the_draft():
    """Sentences over several lines are kept as they were written, with one blank between them."""
    draft = "It weighs 9 tons.\n\nTwo wheels drive six\npairs of stones.\nEach is 5.5 m across. § {#machinery}"
    answer = SERVING.serve(mill_item("How wide are the wheels?"), draft)
    assert answer.text == "Two wheels drive six\npairs of stones. Each is 5.5 m across. § {#machinery}"
    assert answer.detail["sentences_written"] == 3


def test_an_id_full_of_digits_yields_no_figure():
    """Inside a citation it is an address, so that no figure is unknown and the draft is served."""
    detail = served(f"Entry is free § {{#{VISITORS}}}.", "Is entry free?")
    assert (detail["figures"], detail["outcome"]) == ([], "draft")


def test_the_id_of_a_heading_grounds_nothing():
    """What stands in it alone is no figure and no name of the article."""
    fired = served("It took 38-49 Calls § {#machinery}.")["fired"]
    assert fired["figures"] == {"not_in_article": ["38-49"]}
    assert fired["names"]["refused"] == ["Calls"]


def test_an_abstain_that_names_another_section_is_still_the_abstain():
    """The model's own choice of section stands, though a search of the question finds another."""
    written = "The article does not answer this question; the nearest section is § {#history}."
    answer = SERVING.serve(mill_item("How wide are the wheels?"), written)
    assert answer.text == written
    assert (answer.detail["outcome"], answer.detail["source"], answer.detail["section"]) == (
        "abstained",
        "model",
        "history",
    )
    by_gate = SERVING.serve(mill_item("How wide are the wheels?"), "They are 9 m § {#history}.")
    assert by_gate.detail["section"] == "machinery"


def test_a_phrase_across_two_kept_sentences_is_not_released():
    """Every sentence passes by itself, what is kept does not."""
    serving = Grounded({"citations": Citations(), "blocked": Blocked(("stones. Each",))})
    answer = serving.serve(mill_item("How wide are the wheels?"), "It has stones. Each is wide § {#machinery}.")
    assert (answer.detail["outcome"], answer.detail["sentences_kept"]) == ("abstained", 0)


def test_a_partial_release_needs_a_citation_even_without_that_gate():
    """What a gate fired on is only released with a section to look it up in."""
    serving = Grounded({"figures": Figures()})
    item = mill_item("How wide are the wheels?")
    assert serving.serve(item, "Two wheels. It has 9 stones.").detail["outcome"] == "abstained"
    assert serving.serve(item, "Two wheels.").detail["outcome"] == "draft"
    assert serving.serve(item, "I do not know.").text.endswith("§ {#machinery}.")


@dataclass(frozen=True)
class Short(AnswerGate):
    """A team's own: at most so many words."""

    words: int

    def findings(self, text: str, ground: Ground) -> Mapping[str, Any] | None:
        return {"words": len(text.split())} if len(text.split()) > self.words else None


def test_a_gate_of_a_teams_own_stands_beside_the_others():
    """It is named by its class, and fires and keeps sentences as ours do."""
    faults = Faults()
    node = {
        "_target_": "evalflow.serving.grounded.Grounded",
        "gates": {"short": {"_target_": f"{__name__}.Short", "words": 6}},
    }
    serving = Builder(("evalflow", "tests"), faults).build(node, "serving")
    assert faults.found == [] and serving is not None
    answer = serving.serve(mill_item("?"), "The wheels are old § {#machinery}. The wheels are very very very old.")
    assert answer.detail["fired"] == {"short": {"words": 13}}
    assert answer.text == "The wheels are old § {#machinery}."


def test_the_shipped_option_is_the_default():
    """The five gates in the contract's order, the authored sentence, the usual refusals."""
    faults = Faults()
    node = yaml.safe_load((ROOT / "conf/serving/grounded.yaml").read_text(encoding="utf-8"))
    built = Builder(("evalflow",), faults).build(node, "serving")
    assert faults.found == []
    assert built == Grounded()
    assert tuple(built.gates) == GATES


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"gates": {}}, "gates is empty; name classes that derive"),
        ({"gates": {"figures": "Figures"}}, "gates is no gate under figures; name classes that derive"),
        ({"abstain": "No."}, "abstain is 'No.'; give a sentence"),
        ({"refusals": ("",)}, "refusals is "),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: Mapping[str, Any], said: str):
    """On building, with the key first."""
    with pytest.raises(ValueError, match=said):
        Grounded(**settings)


@pytest.mark.parametrize("gate", [lambda: Redaction(("",)), lambda: Blocked((" ",)), lambda: Names(withhold=-1)])
def test_a_gate_refuses_settings_that_cannot_be_meant(gate):
    """An empty phrase, or fewer than no words."""
    with pytest.raises(ValueError, match="; give"):
        gate()


@pytest.mark.parametrize("fields", [{}, {"question": "?"}, {"article": "text", "question": "?"}, {"article": {}}])
def test_an_item_of_another_dataset_is_refused(fields: Mapping[str, Any]):
    """There is nothing to hold its answer against."""
    with pytest.raises(DataError, match="item 'x': it has no article and question"):
        Grounded().serve(Item("x", "p", fields=fields), "draft")


PIECES = [
    *(label["draft"] for label in LABELLED["drafts"] if label["draft"]),
    *(
        "§ {#history}",
        "{#history}",
        "§ {#x. Y}",
        "\n\n",
        "\n- ",
        "1. ",
        "9",
        "Telford.",
        "e.g. Mr. ",
        "I do not know.",
        ".",
    ),
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=6), st.sampled_from(["", " ", "\n"]))
def test_what_is_served_would_be_served_again(pieces: list[str], between: str):
    """A draft that passed and a partial release pass by themselves; an abstain is the model's own, word for word."""
    draft = between.join(pieces)
    first = SERVING.serve(mill_item("How wide are the wheels?"), draft)
    again = SERVING.serve(mill_item("How wide are the wheels?"), first.text)
    assert again.text == first.text
    expected = ("abstained", "model") if first.detail["outcome"] == "abstained" else ("draft", None)
    assert (again.detail["outcome"], again.detail["source"]) == expected
    assert all(sentence in draft for sentence in first.detail["kept"])
    assert first.detail["sentences_kept"] <= first.detail["sentences_written"]
