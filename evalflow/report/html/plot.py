"""A plot as SVG that belongs to the page: its colours, fonts and width, and bytes that depend on its content alone."""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from evalflow.report.html.shown_text import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

WIDTH = 400
"""Of every plot (pt): it is drawn as wide as its column, and text of 11 pt can still be read on a phone."""
FONT_SIZE = 11.0
LONGEST_CAPTION = 3000
PART = "is-"
"""What is drawn with a `gid` that begins so is of that class in the page."""
# drawn in colours that stand for the page's own, which are others in the dark
INK, MUTED, RULE, ACCENT, PAPER = (f"#00000{n}" for n in range(1, 6))
_OF_THE_PAGE = dict(zip((INK, MUTED, RULE, ACCENT, PAPER), ("ink", "muted", "rule", "accent", "paper"), strict=True))
_ATTRIBUTES = {
    *("fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-dasharray", "stroke-dashoffset"),
    *("stroke-linecap", "stroke-linejoin", "stroke-opacity", "opacity", "font-size", "font-weight", "text-anchor"),
}
_SETTINGS = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib: text takes the same room on every machine
    "font.size": FONT_SIZE,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": MUTED,
    "axes.linewidth": 0.8,
    "axes.unicode_minus": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "text.color": INK,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "legend.frameon": False,
    "legend.fontsize": FONT_SIZE,
}
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
_WIDTHS = (1.6, 2.8, 0.9)
LINES: tuple[Mapping[str, Any], ...] = tuple(
    {"color": (ACCENT, INK, MUTED)[n % 3], "linestyle": _DASHES[n % 4], "linewidth": _WIDTHS[n // 4]} for n in range(12)
)
"""How curves of one plot are told apart, in order: no two differ by colour alone."""


_LONG = re.compile(r"-?\d+\.\d{3,}")
"""A coordinate to more than a hundredth of a point."""


@dataclass(frozen=True)
class Plot:
    """An SVG element, made of our own drawing and escaped names, and what it shows in words."""

    svg: str
    caption: str


def plot(name: str, caption: str, height: float, draw: Callable[[Axes], None]) -> Plot:
    """Draw into axes of a figure `height` pt tall. `name` keeps apart what two plots of a page refer to by id.

    Whoever draws gives names as `shown_text.short` leaves them: an SVG cannot hold every character.
    """
    caption = short(caption, LONGEST_CAPTION)
    with _matplotlib(name):
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH / 72, height / 72), layout="constrained")
        canvas = FigureCanvasSVG(figure)
        draw(figure.add_subplot())
        drawn = io.StringIO()
        canvas.print_svg(drawn, metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return Plot(_of_the_page(drawn.getvalue(), name, caption), caption)


@contextmanager
def _matplotlib(salt: str) -> Iterator[None]:
    """matplotlib as it comes, whatever the caller's process has set, with our settings; and as it was afterwards.

    It is imported here: over half a second, which a run without a plot does not spend. A character that its font lacks
    is written all the same, and drawn by the browser's.
    """
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)  # on its first use on a machine it tells of its font cache
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import matplotlib

            with matplotlib.rc_context():
                matplotlib.rcdefaults()
                matplotlib.rcParams.update({**_SETTINGS, "svg.hashsalt": salt})
                yield
    finally:
        log.setLevel(level)


def _of_the_page(drawn: str, name: str, caption: str) -> str:
    """The drawing without what a page has no use for: style sheets and attributes, fonts, metadata, sizes, ids.

    A style sheet of its own, and `style` attributes, the page's policy forbids; attributes of presentation it does not.
    """
    root = ElementTree.fromstring(drawn)
    for parent in list(root.iter()):
        for child in [one for one in parent if _local(one.tag) in ("metadata", "style")]:
            parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        kept = {_local(key): value for key, value in element.attrib.items()}
        if re.fullmatch(r"rotate\(-?0 .*\)", kept.get("transform", "")):
            del kept["transform"]
        element.attrib = dict(_presented(kept, name))
        element.tail = None
        if element.text is not None and not element.text.strip():
            element.text = None
    # it is read as a whole: its caption says what it shows, and the tables of the page every number
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": caption, "class": "plot"}
    return ElementTree.tostring(root, encoding="unicode")


def _presented(attributes: dict[str, str], name: str) -> Iterator[tuple[str, str]]:
    """The attributes in the page's terms."""
    for key, value in attributes.items():
        if key == "style":
            for part in value.split(";"):
                what, _, how = (word.strip() for word in part.partition(":"))
                if what in _ATTRIBUTES:
                    yield what, f"var(--{_OF_THE_PAGE[how]})" if how in _OF_THE_PAGE else how
        elif key == "id":
            if value.startswith(PART):
                yield "class", value
            elif re.fullmatch("[mp][0-9a-f]+", value):  # what is referred to: markers and clipping paths
                yield key, f"{name}-{value}"
        elif key == "href":
            yield key, f"#{name}-{value.removeprefix('#')}"
        elif key == "clip-path":
            yield key, value.replace("(#", f"(#{name}-")
        else:
            yield key, " ".join(_LONG.sub(lambda found: f"{float(found[0]):.2f}", value).split())


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]
