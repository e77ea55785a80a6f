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
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_ext"]
templates_path: list[str] = []
html_theme = "furo"
html_title = f"evalflow {release}"
html_static_path: list[str] = []
html_copy_source = False
html_show_sourcelink = False
