"""Where each line comes from: `.file` and `.loc` for debuggers, a comment in the margin for people."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.lowering.ptx.place import Place, place


class Provenance:
    """The `.file` table of a module, and the marks of one line after another."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self._marks: dict[ir.Attribute, tuple[str, str]] = {}
        self.start()

    def start(self) -> None:
        """Forget the line before, as at the start of a kernel."""
        self._location: ir.Location | None = None
        self._loc = self._comment = ""

    def marks(self, location: ir.Location) -> tuple[str, str]:
        """The .loc directive and the comment for a line, each empty where it is as for the line before."""
        if self._location is not None and location == self._location:
            return "", ""
        self._location = location
        key = location.attr
        if key not in self._marks:
            found = place(location)
            self._marks[key] = self._directive(found), found.comment()
        loc, comment = self._marks[key]
        changed = loc if loc != self._loc else "", comment if comment != self._comment else ""
        self._loc, self._comment = loc or self._loc, comment
        return changed

    def directives(self) -> list[str]:
        """The .file lines of all files met so far."""
        return [f'.file {number} "{_escaped(name)}"' for name, number in self.files.items()]

    def _directive(self, found: Place) -> str:
        if found.source is None:
            return ""
        number = self.files.setdefault(found.source.file, len(self.files) + 1)
        return f".loc {number} {found.source.line} {found.source.column}"


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')
