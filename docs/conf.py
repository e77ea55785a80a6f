"""The site: `make docs` builds it, warnings being errors, without the network."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

from evalflow.version import __version__  # noqa: E402 - the path above is what finds it

project = "evalflow"
author = "the authors of evalflow"
copyright = "the authors of evalflow"  # noqa: A001 - the name is Sphinx's
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "made_here"]
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
nitpick_ignore_regex = [
    # the site fetches nothing, so what other packages document is not linked
    ("py:(class|exc)", r"(collections\.abc|pathlib|numpy|pandas|typing)\..*|Path|Undefined"),
    ("py:class", r".* .*"),  # the beginning of a sentence with a colon, which napoleon takes for a type
]
exclude_patterns = ["_build", "_ext"]
templates_path: list[str] = []
html_theme = "furo"
html_title = f"evalflow {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
