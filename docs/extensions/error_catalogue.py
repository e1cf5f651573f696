"""A Sphinx extension: writes the messages of tests/frontend/mistakes into the page `errors`, one section per class."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MISTAKES = Path(__file__).parents[2] / "tests" / "frontend" / "mistakes"
MARKER = "<!-- catalogue of errors -->"
# The last part of the output of a script: the class, with its module if it is not a builtin one, and the message.
RAISED = re.compile(r"^(?:tilec\.errors\.)?(\w+): (.*)\Z", re.MULTILINE | re.DOTALL)


def catalogue() -> str:
    """The sections in Markdown."""
    sections: dict[str, list[str]] = defaultdict(list)
    for path in sorted(MISTAKES.glob("*.txt")):
        output = path.read_text().rpartition("-" * 40 + "\n")[2]
        if raised := RAISED.search(output):
            title = path.stem.replace("_", " ")
            sections[raised[1]].append(f"**{title[0].upper()}{title[1:]}**\n\n```text\n{raised[2].rstrip()}\n```\n")
    return "\n".join(f"## {name}\n\n" + "\n".join(entries) for name, entries in sorted(sections.items()))


def _insert(_app: Sphinx, page: str, source: list[str]) -> None:
    if page == "errors":
        source[0] = source[0].replace(MARKER, catalogue())


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
