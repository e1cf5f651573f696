"""The configuration of Sphinx for the documentation: `make docs` builds it in build/docs."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "tilec"
author = "the maintainers of tilec"
project_copyright = author
version = release = installed_version("tilec")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "architecture",
    "error_catalogue",
    "memory_picture",
    "mlir_lexer",
    "public_names",
    "source_links",
]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["editors"]

# Docstrings are written in the style of Google, with single backquotes for code.
default_role = "code"
napoleon_numpy_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
# Annotations are shown as the source writes them.
autodoc_preserve_defaults = True

html_theme = "furo"
html_title = f"tilec {release}"
html_show_sourcelink = False
html_show_copyright = False
# Blocks without a language are not highlighted.
highlight_language = "text"
html_static_path = ["_static"]
html_css_files = ["wrapped_output.css"]
