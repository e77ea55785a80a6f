"""What is evened out in a text before it is compared, stated step by step so that a figure can carry it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal, get_args

import regex

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
_AS_WRITTEN = "as written"

_LINE_END = r"(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])"
_BLANKS = r"[ \t\u00a0]*"
# these marks have no other use at the end of a line
_MARKED_BREAK = regex.compile(rf"[¬⸗\u00ad]{_BLANKS}{_LINE_END}{_BLANKS}")
# a hyphen has: only between two letters does it join, so that 1914-/1918 stays a span of years
_HYPHENATED = regex.compile(rf"(?<=[\p{{L}}\p{{M}}])[-\u2010]{_BLANKS}{_LINE_END}{_BLANKS}(?=\p{{L}})")
_ANY_LINE_END = regex.compile(_LINE_END)
_WHITE_SPACE = re.compile(r"\s+")  # what str.isspace says, which regex does not

_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "ſt", "ﬆ": "st"})
_LONG_S = str.maketrans({"ſ": "s", "\u1e9b": "\u1e61"})
# the composed letters on v and j too, and j without its dot
_U_V = str.maketrans(
    "vVjJ\u0237\u0135\u0134\u01f0\u1e7d\u1e7c\u1e7f\u1e7e", "uUiI\u0131\u00ee\u00ce\u01d0\u0169\u0168\u1ee5\u1ee4"
)


@dataclass(frozen=True)
class TextProfile:
    """Which differences between texts are none. The steps are taken in the order of the fields.

    - `form`: Unicode's normal form, None for the text as it is. It is restored after the steps that change
      letters, since folding can take a text out of it.
    - `hyphenation`: words cut at a line end are joined: `¬`, `⸗` and the soft hyphen before a line end
      always, `-` and U+2010 only between letters (`well-/known` becomes `wellknown`: the text cannot tell).
    - `line_breaks`: a line end is a blank.
    - `ligatures`: the joined types ﬀ ﬁ ﬂ ﬃ ﬄ ﬅ ﬆ are their letters. æ and œ are letters, and stay.
    - `long_s`: ſ is s. (So it is in NFKC and under `casefold`.)
    - `u_v`: v is u and j is i, capitals too, with whatever accents they carry.
    - `width`: full-width and half-width forms are the usual ones, and digits of another shape are digits. It
      is the part of NFKC that changes no meaning: 10² does not become 102.
    - `casefold`: capitals are small letters, and ß is ss.
    - `whitespace`: a run of white space is one blank, or one line end where it holds one.
    - `strip`: white space at both ends of the text goes.

    White space is what `str.isspace` says, no-break spaces included.

    Raises:
        ValueError: a form that Unicode does not have.
    """

    form: Form | None = "NFC"
    hyphenation: bool = False
    line_breaks: bool = False
    ligatures: bool = False
    long_s: bool = False
    u_v: bool = False
    width: bool = False
    casefold: bool = False
    whitespace: bool = False
    strip: bool = False

    def __post_init__(self) -> None:
        if self.form is not None and self.form not in get_args(Form):
            raise ValueError(f"form is {self.form!r}; choose {', '.join(get_args(Form))} or null")

    def apply(self, text: str) -> str:
        """The text with every step of the profile taken. Lone surrogates pass as they are.

        Raises:
            TypeError: not a text; what is missing is not an empty text.
        """
        if not isinstance(text, str):
            raise TypeError(f"{text!r} is no text; give a string")
        text = self._letters(self._lines(self._formed(text)))
        if self.whitespace:
            text = _WHITE_SPACE.sub(_one_blank, text)
        return text.strip() if self.strip else text

    def describe(self) -> str:
        """The profile for a report: the form, then the steps that are on. `read_profile` reads it back."""
        return ", ".join([self.form or _AS_WRITTEN, *(name for name in _STEPS if getattr(self, name))])

    def _formed(self, text: str) -> str:
        return text if self.form is None else unicodedata.normalize(self.form, text)

    def _lines(self, text: str) -> str:
        """What belongs to the lines that the text was written in."""
        if self.hyphenation:
            text = _HYPHENATED.sub("", _MARKED_BREAK.sub("", text))
        return _ANY_LINE_END.sub(" ", text) if self.line_breaks else text

    def _letters(self, text: str) -> str:
        """What belongs to the shapes of letters; back in the form."""
        for wanted, table in ((self.ligatures, _LIGATURES), (self.long_s, _LONG_S), (self.u_v, _U_V)):
            text = text.translate(table) if wanted else text
        if self.width and not text.isascii():
            text = "".join(map(_usual_width, text))
        return self._formed(text.casefold() if self.casefold else text)


_STEPS = tuple(step.name for step in fields(TextProfile) if step.name != "form")
NFC = TextProfile()
"""The default: composed and decomposed spellings are the same text, and nothing else is changed."""


def read_profile(description: str) -> TextProfile:
    """The profile that `TextProfile.describe` describes: a form, or "as written", then steps, by commas.

    Raises:
        ValueError: a word that is neither a form nor a step.
    """
    first, *steps = (word.strip() for word in description.split(","))
    unknown = [step for step in steps if step not in _STEPS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no step of a text profile; choose from {', '.join(_STEPS)}")
    form = None if first == _AS_WRITTEN else first
    return TextProfile(form, **dict.fromkeys(steps, True))  # type: ignore[arg-type]  # the form is checked there


def _one_blank(run: re.Match[str]) -> str:
    return "\n" if _ANY_LINE_END.search(run[0]) else " "


@lru_cache(maxsize=4096)
def _usual_width(character: str) -> str:
    """A wide, narrow or differently shaped character as the one that it stands for."""
    tag = unicodedata.decomposition(character).partition(" ")[0]
    same = tag in ("<wide>", "<narrow>") or (tag and character.isdecimal())
    return unicodedata.normalize("NFKC", character) if same else character
