"""The outputs of three systems that do not exist, for the shipped transcriptions: an annotator's text with errors.

`python -m tests.dataset.transcription_errors` writes them. What a system confuses is what readers of early print
confuse: long s and f, u and n, c and e, minims, thin letters, marks above letters, commas and points, word spaces.
"""

from __future__ import annotations

import random
from pathlib import Path

import regex

import evalflow

FOLDER = Path(evalflow.__file__).parent / "dataset" / "data" / "transcriptions"
SYSTEMS = {"good": 0.011, "fair": 0.055, "poor": 0.22}
"""The share of characters that each gets wrong, before those that happen to come out right."""
LOOKALIKES = {
    "ſ": ("f", "f", "s", "l"),
    "s": ("ſ", "5", "f"),
    "f": ("ſ", "t", "ſ"),
    "u": ("n", "v", "ii"),
    "v": ("u", "y", "r"),
    "n": ("u", "ri", "r"),
    "m": ("rn", "in", "nu"),
    "w": ("vv", "m"),
    "h": ("b", "li", "k"),
    "b": ("h", "l"),
    "k": ("h", "lc"),
    "e": ("c", "c", "o", ""),
    "c": ("e", "t"),
    "a": ("o", "u", "e"),
    "o": ("a", "0", "e"),
    "i": ("l", "j", "1", ""),
    "l": ("1", "i", "t"),
    "t": ("r", "l", "c"),
    "r": ("t", "n", "v"),
    "d": ("cl", "o"),
    "g": ("q", "y"),
    "q": ("g", "p"),
    "p": ("y", "þ"),
    "y": ("v", "g"),
    "x": ("r", "k"),
    "z": ("s", "2"),
    "I": ("J", "l", "T"),
    "T": ("I", "C"),
    "S": ("8", "B"),
    "B": ("R", "8"),
    "W": ("VV", "V"),
    ",": (".", "", ";"),
    ".": (",", ""),
    ";": (":", ","),
    ":": (";", "."),
    "&": ("8", "et", "G"),
    "-": ("", "~"),
    "¬": ("-", "", "."),
    " ": ("", "", ". "),
    "ﬁ": ("fi", "ſi", "h"),
    "ﬂ": ("fl", "ſl"),
}
"""What a character is taken for, one of these as likely as another."""
BLOTS = (".", "'", " ", "i", ",")


def output(document: str, text: str, system: str) -> str:
    """What the system makes of a document."""
    draws = random.Random(f"{document}/{system}")

    def one_of(choices: tuple[str, ...]) -> str:
        return choices[int(draws.random() * len(choices))]

    made = []
    for character in regex.findall(r"\X", text):
        chance, kind = draws.random(), draws.random()
        if chance >= SYSTEMS[system] or character == "\n":
            made.append(character)
        elif kind < 0.08:
            made.append(character + one_of(BLOTS))
        elif character in LOOKALIKES:
            made.append(one_of(LOOKALIKES[character]))
        else:
            bare = regex.sub(r"\p{M}", "", character)  # what it does not know it reads without the marks above it
            made.append(bare if bare != character or kind < 0.5 else "")
    return "".join(made)


def outputs() -> dict[str, str]:
    """File name -> text of every system's output: of every second document annotator B's text is the ground."""
    made = {}
    for place, path in enumerate(sorted(FOLDER.glob("*.gt.A.txt"))):
        document = path.name.removesuffix(".gt.A.txt")
        ground = (FOLDER / f"{document}.gt.{'AB'[place % 2]}.txt").read_text(encoding="utf-8")
        for system in SYSTEMS:
            made[f"{document}.sys.{system}.txt"] = output(document, ground, system)
    return made


if __name__ == "__main__":
    for name, text in outputs().items():
        (FOLDER / name).write_bytes(text.encode())
