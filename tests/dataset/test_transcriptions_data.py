"""What the shipped transcriptions promise, and their figures by other people's packages."""

from __future__ import annotations

import unicodedata

import jiwer
import krippendorff
import numpy as np
import pytest
import regex
from rapidfuzz.distance import Levenshtein
from sklearn.metrics import cohen_kappa_score

from evalflow.dataset.protocol import collect
from evalflow.dataset.transcriptions import Transcriptions
from evalflow.metric.agreement import AgreementRate, AlignmentCoverage
from evalflow.metric.human_error_rate import HumanErrorRate
from evalflow.metric.kappa import Kappa
from evalflow.metric.krippendorff import KrippendorffAlpha
from evalflow.metric.protocol import Answer
from evalflow.numeric.error_rate import pooled, text_edits
from evalflow.numeric.text_profile import TextProfile
from tests.dataset.transcription_errors import FOLDER, SYSTEMS, outputs
from tests.metric.by_hand import row, stacked

ITEMS = collect(Transcriptions("package:transcriptions"))
PROFILE = TextProfile(hyphenation=True, line_breaks=True, whitespace=True, strip=True)
READ = {item.id: item.fields["annotators"] for item in ITEMS}


def even(text: str) -> str:
    """NFC, words joined over line ends, white space as single blanks: the experiment's profile, done another way."""
    joined = regex.sub(r"[¬⸗]\n|(?<=\p{L})-\n(?=\p{L})", "", unicodedata.normalize("NFC", text))
    return " ".join(joined.split())


def graphemes(text: str) -> list[str]:
    return regex.findall(r"\X", even(text))


def faced(a: str, b: str) -> list[tuple[str, str]]:
    """The graphemes of two readings that face each other, from rapidfuzz's blocks."""
    one, other = graphemes(a), graphemes(b)
    pairs = []
    for tag, i, end, j, _ in Levenshtein.opcodes(one, other):
        if tag in ("equal", "replace"):
            pairs += list(zip(one[i:end], other[j : j + end - i], strict=True))
    return pairs


def test_there_are_sixteen_documents_by_two_annotators_who_differ() -> None:
    """Each of 200 to 400 characters, whose readings differ in two to fifteen, in letters and not in line ends alone."""
    assert len(ITEMS) == 16
    for name, read in READ.items():
        assert list(read) == ["A", "B"]
        assert all(200 <= len(text) <= 400 for text in read.values()), name
        assert 2 <= Levenshtein.distance(graphemes(read["A"]), graphemes(read["B"])) <= 15, name


def test_the_usual_differences_are_all_there() -> None:
    """Long s, u and v, ligatures, decomposed marks, abbreviations, hyphens at line ends."""
    a, b = ("".join(read[name] for read in READ.values()) for name in "AB")
    assert "ſ" in a and "ſ" in b and a.count("ſ") > b.count("ſ")
    assert any(ligature in a for ligature in "ﬁﬂ") and "ᵗʰ" in a and "¬\n" in a and "-\n" in b
    assert unicodedata.is_normalized("NFC", a) and not unicodedata.is_normalized("NFC", b)
    assert not any("\r" in text or text.startswith("\ufeff") for text in (a, b))


def test_the_systems_are_what_the_script_makes() -> None:
    """Byte for byte, on any machine; nothing else lies in the folder but what it says of itself."""
    made = outputs()
    assert {name: (FOLDER / name).read_bytes() for name in made} == {n: text.encode() for n, text in made.items()}
    others = {path.name for path in FOLDER.iterdir()} - set(made)
    assert others == {"README.md", *(f"{name}.gt.{who}.txt" for name in READ for who in "AB")}


def test_the_error_rates_are_those_of_jiwer() -> None:
    """Of each system against each annotator, character by character over all documents: CER, and WER too."""
    for system in SYSTEMS:
        made = {name: (FOLDER / f"{name}.sys.{system}.txt").read_text(encoding="utf-8") for name in READ}
        for who in "AB":
            pairs = [(READ[name][who], made[name]) for name in READ]
            references, answers = [even(a) for a, _ in pairs], [even(b) for _, b in pairs]
            for unit, peer in (("codepoint", jiwer.cer), ("word", jiwer.wer)):
                ours = pooled(text_edits(a, b, unit, PROFILE) for a, b in pairs).rate
                assert ours == pytest.approx(peer(references, answers), abs=1e-15), (system, who, unit)


def test_the_figures_of_agreement_are_those_of_other_packages() -> None:
    """What `experiment=agreement` prints of annotators: human CER, kappa, alpha, the rate and the coverage."""
    units = [Answer(item, row("")) for item in ITEMS]
    pairs = [pair for read in READ.values() for pair in faced(read["A"], read["B"])]
    a, b = zip(*pairs, strict=True)
    lengths = [len(graphemes(text)) for read in READ.values() for text in read.values()]
    edits = sum(Levenshtein.distance(graphemes(read["A"]), graphemes(read["B"])) for read in READ.values())
    codes = {label: code for code, label in enumerate(dict.fromkeys(a + b))}
    ratings = np.array([[codes[label] for label in reading] for reading in (a, b)])
    longest = sum(max(len(graphemes(read["A"])), len(graphemes(read["B"]))) for read in READ.values())
    expected = {
        HumanErrorRate(profile=PROFILE): 2 * edits / sum(lengths),
        AgreementRate(profile=PROFILE): sum(x == y for x, y in pairs) / len(pairs),
        AlignmentCoverage(profile=PROFILE): len(pairs) / longest,
    }
    for metric, value in expected.items():
        assert metric.value(stacked(metric, *units)) == pytest.approx(value, rel=1e-12), metric
    kappa, alpha = Kappa(profile=PROFILE), KrippendorffAlpha(profile=PROFILE)
    assert kappa.value(kappa.stack(units)) == pytest.approx(cohen_kappa_score(a, b), rel=1e-12)
    peer = krippendorff.alpha(reliability_data=ratings, level_of_measurement="nominal")
    assert alpha.value(alpha.stack(units)) == pytest.approx(peer, rel=1e-12)
    # as the experiment's comment has them
    assert round(2 * edits / sum(lengths), 3) == 0.019
    assert round(cohen_kappa_score(a, b), 3) == 0.988
