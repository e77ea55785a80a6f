"""Text profiles: each step by itself, their order, and the words that describe them."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalflow.numeric.text_profile import NFC, TextProfile, read_profile

STEPS = ("hyphenation", "line_breaks", "ligatures", "long_s", "u_v", "width", "casefold", "whitespace", "strip")
ANY_TEXT = st.text(st.characters(codec=None), max_size=30)
PROFILES = st.builds(
    TextProfile,
    form=st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]),
    **{step: st.booleans() for step in STEPS},
)


def only(step, form="NFC"):
    return TextProfile(form, **{step: True})


def test_the_default_is_nfc_and_nothing_else():
    """A decomposed accent is the composed one; case, ſ, line ends and white space stay."""
    assert TextProfile() == NFC
    assert NFC.apply(" Cafe\u0301 ſ\n ﬁ ") == " Caf\u00e9 ſ\n ﬁ "


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_a_form_is_unicodes(form):
    """Each form is what Python's own tables say; without one the text stays as it is."""
    text = "e\u0301 \u00e9 ﬁ ² \u212b Ａ"
    assert TextProfile(form).apply(text) == unicodedata.normalize(form, text)
    assert TextProfile(None).apply(text) == text


@pytest.mark.parametrize(
    ("step", "text", "even"),
    [
        ("hyphenation", "Ab-\nend, Wort¬\nteil, a⸗\nb, so\u00ad\nft", "Abend, Wortteil, ab, soft"),
        ("hyphenation", "well-\r\n  known, no\u2010 \nvel", "wellknown, novel"),
        ("hyphenation", "u\u0304-\nb", "\u016bb"),
        ("hyphenation", "1914-\n1918, - \nitem, a-b, a -\nb", "1914-\n1918, - \nitem, a-b, a -\nb"),
        ("hyphenation", "q¬\n7", "q7"),
        ("line_breaks", "a\nb\r\nc\rd\u2028e\x0bf", "a b c d e f"),
        ("ligatures", "ﬀ ﬁ ﬂ ﬃ ﬄ ﬆ", "ff fi fl ffi ffl st"),
        ("ligatures", "ﬅ æ œ Æ ĳ", "ſt æ œ Æ ĳ"),
        ("long_s", "ſoſſus \u1e9b ẜ", "sossus \u1e61 ẜ"),
        ("u_v", "vniuerſus Iulius VJ", "uniuerſus Iulius UI"),
        ("u_v", "\u0135 v\u0303 j\u0308 \u0237", "\u00ee \u0169 \u00ef \u0131"),
        ("width", "ＡＢ１ ｶﾞ \u3000𝟗", "AB1 ガ  9"),
        ("width", "10² ﬁ ½ ①", "10² ﬁ ½ ①"),
        ("casefold", "STRASSE Straße ſ", "strasse strasse s"),
        ("whitespace", "a \u00a0\t b \n\n c", "a b\nc"),
        ("strip", " \u00a0a b\n\u3000", "a b"),
    ],
)
def test_a_step_does_what_its_name_says(step, text, even):
    """Each by itself, after NFC, by hand."""
    assert only(step).apply(text) == even


def test_decomposed_texts_are_folded_too():
    """In NFD the letter stands apart from its accent, and the accent stays."""
    assert only("u_v", "NFD").apply("\u0135") == "i\u0302"
    assert only("long_s", "NFD").apply("\u1e9b") == "s\u0307"


def test_steps_are_taken_in_order():
    """Hyphens go before line ends become blanks; ligatures open before ſ; runs collapse after; ends go last."""
    every = TextProfile(**dict.fromkeys(STEPS, True))
    assert every.apply(" Diſ-\ntrict,\n  eﬅ \n  VIA\n") == "district, est uia"


def test_line_ends_survive_collapsing_unless_they_are_blanks():
    """A run with a line end in it is one line end: the lines of a page are not lost by accident."""
    text = "one  two \n\n three"
    assert only("whitespace").apply(text) == "one two\nthree"
    assert TextProfile(whitespace=True, line_breaks=True).apply(text) == "one two three"


def test_a_lone_surrogate_passes():
    """It is a character that no encoding can write, and is compared like any other."""
    every = TextProfile("NFKC", **dict.fromkeys(STEPS, True))
    assert every.apply("A\ud800 b\udfff") == "a\ud800 b\udfff"


@given(PROFILES, ANY_TEXT)
@example(TextProfile("NFKC", casefold=True), "\u0345\u0301")
@example(TextProfile("NFC", u_v=True), "j\u0308\u0323")
def test_the_result_is_in_the_form(profile, text):
    """Folding can take a text out of its normal form; the profile brings it back."""
    assert unicodedata.is_normalized(profile.form, profile.apply(text))


@given(ANY_TEXT, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_letters_are_even_after_one_application(text, form):
    """Twice is once for every step on letters and blanks."""
    profile = TextProfile(form, line_breaks=True, ligatures=True, long_s=True, u_v=True, whitespace=True, strip=True)
    once = profile.apply(text)
    assert profile.apply(once) == once


@given(PROFILES)
def test_a_description_can_be_read_back(profile):
    """What a report prints is the whole profile."""
    assert read_profile(profile.describe()) == profile


def test_descriptions():
    """The form, then the steps that are on, in order."""
    assert NFC.describe() == "NFC"
    assert TextProfile(None, strip=True, casefold=True).describe() == "as written, casefold, strip"
    assert read_profile("as written") == TextProfile(None)


def test_what_is_no_profile_is_refused():
    """An unknown form, an unknown step, and what is no text."""
    with pytest.raises(ValueError, match="form is 'nfc'; choose NFC, NFD, NFKC, NFKD or null"):
        TextProfile("nfc")
    with pytest.raises(ValueError, match="'fold' is no step of a text profile; choose from hyphenation"):
        read_profile("NFC, fold")
    with pytest.raises(TypeError, match="None is no text; give a string"):
        NFC.apply(None)
