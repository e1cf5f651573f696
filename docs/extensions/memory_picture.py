"""A Sphinx extension: draws the memory plan of the example of the page `memory`, which it compiles."""

from __future__ import annotations

import re
import runpy
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import tilec
from tilec.explain.reports import memory_picture

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MARKER = "<!-- picture of the memory plan -->"
PROGRAM = re.compile(r"```python (\S+)\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"tilec compile (\S+):(\w+) --sig \"(.*?)\"")


def picture(page: str) -> str:
    """The picture of the kernel that the first command of a page compiles, as SVG."""
    programs, command = dict(PROGRAM.findall(page)), COMMAND.search(page)
    assert command is not None
    file, kernel, signature = command.groups()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        path.write_text(programs[file])
        compiled = tilec.compile(runpy.run_path(str(path))[kernel], signature=signature, target="sm_100a", stop="gpu")
    return memory_picture(compiled)


def _insert(_app: Sphinx, page: str, source: list[str]) -> None:
    if page == "memory":
        drawn = f'<div class="picture">\n{picture(source[0])}</div>'
        source[0] = source[0].replace(MARKER, drawn)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
