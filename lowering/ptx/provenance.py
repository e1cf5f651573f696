"""The origin of each line: `.file` and `.loc` for debuggers, a comment at the end of the line for readers."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.origin import Origin, Site, origin_of

# PTX ISA, "Debugging Directives: .loc": names of inlined functions are offsets from a label of this section.
_NAMES = "$function_names"


class Provenance:
    """The `.file` table of a module, and the directives and comment of each line in order."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._names_size = 0
        self._marks: dict[ir.Attribute, tuple[tuple[str, ...], str]] = {}
        self.start()

    def start(self) -> None:
        """Forgets the preceding lines; called at the start of each kernel."""
        self._location: ir.Location | None = None
        self._loc = self._comment = ""
        self._written: set[str] = set()

    def marks(self, location: ir.Location) -> tuple[list[str], str]:
        """The .loc directives and the comment for a line, each empty if it equals that of the previous line."""
        if self._location is not None and location == self._location:
            return [], ""
        self._location = location
        key = location.attr
        if key not in self._marks:
            found = origin_of(location)
            self._marks[key] = self._directives(found), found.comment()
        directives, comment = self._marks[key]
        changed = self._unwritten(directives), comment if comment != self._comment else ""
        self._comment = comment
        return changed

    def directives(self) -> list[str]:
        """The .file lines of all files seen so far."""
        return [f'.file {number} "{_escaped(name)}"' for name, number in self.files.items()]

    def names(self) -> list[str]:
        """The section with the names of inlined functions; empty if nothing was inlined."""
        if not self._names:
            return []
        rows = [f"    .b8 {', '.join(map(str, [*name.encode(), 0]))}" for name in self._names]
        return ["", ".section .debug_str", "{", f"{_NAMES}:", *rows, "}"]

    def _unwritten(self, directives: tuple[str, ...]) -> list[str]:
        """The directives that differ from the previous line; each caller is written once per kernel."""
        if not directives or directives[-1] == self._loc:
            return []
        *callers, self._loc = directives
        lines = [each for each in callers if each not in self._written]
        self._written.update(directives)
        return [*lines, self._loc]

    def _directives(self, found: Origin) -> tuple[str, ...]:
        """From the outermost caller inwards if every function has a name, otherwise the innermost line alone."""
        if not found.sites:
            return ()
        inlined = found.sites[:-1]
        if not all(site.function for site in inlined):
            return (f".loc {self._position(found.sites[0])}",)
        lines = [f".loc {self._position(found.sites[-1])}"]
        for site, caller in reversed(list(zip(inlined, found.sites[1:], strict=True))):
            name = f"function_name {_NAMES}+{self._name(site.function)}"
            lines.append(f".loc {self._position(site)}, {name}, inlined_at {self._position(caller)}")
        return tuple(lines)

    def _position(self, site: Site) -> str:
        source = site.source
        return f"{self.files.setdefault(source.file, len(self.files) + 1)} {source.line} {source.column}"

    def _name(self, name: str) -> int:
        if name not in self._names:
            self._names[name] = self._names_size
            self._names_size += len(name.encode()) + 1
        return self._names[name]


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')
