"""A verified module of the ptx dialect -> PTX text."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.dialect.origin import Origin, Site, origin_of
from tilec.dialect.walk import operations_in
from tilec.errors import CompileError
from tilec.lowering.ptx.body import Body, write_body
from tilec.lowering.ptx.program import read_program

# PTX ISA, "Debugging Directives: .loc": names of inlined functions are offsets from a label of this section.
_NAMES = "$function_names"
# The newest version that ptxas of CUDA 13.0 reads; sm_100a needs 8.6.
_PTX_VERSION = "9.0"
INDENT = "    "
# The column of comments, on the last line of an instruction; a longer line is followed by its comment.
COMMENT_COLUMN = 70
# Instructions with many registers are wrapped, but only lines beyond LONGEST_LINE.
WRAP_COLUMN, LONGEST_LINE = 112, 140


def emit(module: ir.Module) -> str:
    """The PTX text of a module of entries, functions and variables; CompileError for operations without PTX."""
    operations = operations_in(module.body)
    entries = [operation for operation in operations if operation.name == "ptx.entry"]
    functions, variables = (_texts(operations, name) for name in ("ptx.function", "ptx.variable"))
    if not entries:
        raise CompileError("the module has no 'ptx.entry'")
    targets = sorted({entry.attributes["target"].value for entry in entries})
    if len(targets) > 1:
        raise CompileError(f"one PTX file has one target, got {', '.join(targets)}")
    provenance = _Provenance()
    bodies = [line for entry in entries for line in ["", *_entry(entry, provenance)]]
    head = _module_head(targets[0], functions, variables, entries, provenance.directives())
    return "\n".join([*head, *bodies, *provenance.names(), ""])


def _texts(operations: list[ir.Operation], name: str) -> list[str]:
    return [operation.attributes["text"].value for operation in operations if operation.name == name]


def _entry(entry: ir.Operation, provenance: _Provenance) -> list[str]:
    body = write_body(read_program(entry))
    declarations = [INDENT + line for line in body.declarations + _static_shared(entry)]
    provenance.start()
    return [*_entry_head(entry), *declarations, "", *_lines(body, provenance), "}"]


def _lines(body: Body, provenance: _Provenance) -> list[str]:
    lines: list[str] = []
    for text, location in body.lines:
        if location is None:
            lines.append(text)
            continue
        line = INDENT + text
        if len(line) > LONGEST_LINE or "\n" in text:
            line = _wrapped(text)
        loc, comment = provenance.marks(location)
        if loc:
            lines += [INDENT + each for each in loc]
        lines.append(_commented(line, comment) if comment else line)
    return lines


def _commented(line: str, comment: str) -> str:
    before, newline, last = line.rpartition("\n")
    return f"{before}{newline}{last.ljust(COMMENT_COLUMN)}  // {comment}"


def _wrapped(text: str) -> str:
    """The statement broken between words; continuation lines are indented twice."""
    lines = []
    for statement in text.split("\n"):
        line = INDENT
        for word in statement.split(" "):
            if len(line) + len(word) > WRAP_COLUMN and line.strip():
                lines.append(line.rstrip())
                line = INDENT * 2
            line += word + " "
        lines.append(line.rstrip())
    return "\n".join(lines)


def _module_head(
    target: str, functions: list[str], variables: list[str], entries: list[ir.Operation], files: list[str]
) -> list[str]:
    """Version, target, source files, dynamic shared memory, device functions and variables."""
    lines = [f".version {_PTX_VERSION}", f".target {target}", ".address_size 64"]
    if files:
        lines += ["", *files]
    dynamic = _dynamic_shared(entries)
    if dynamic:
        lines += ["", *dynamic]
    for text in functions:
        lines += ["", text.strip()]
    return [*lines, "", *variables] if variables else lines


def _entry_head(entry: ir.Operation) -> list[str]:
    """`.visible .entry` with parameters and performance directives, up to the opening brace."""
    attributes = entry.attributes
    name = attributes["sym_name"].value
    parameters = [f"    {_parameter(item['name'].value, item['type'].value)}" for item in attributes["parameters"]]
    lines = [f".visible .entry {name}("]
    lines += [f"{line}," for line in parameters[:-1]] + parameters[-1:]
    lines += [")", f".reqntid {_extents(attributes['threads'])}"]
    if "cluster" in attributes:
        lines += [".explicitcluster", f".reqnctapercluster {_extents(attributes['cluster'])}"]
    if "maxnreg" in attributes:
        lines.append(f".maxnreg {attributes['maxnreg'].value}")
    if "min_ctas" in attributes:
        lines.append(f".minnctapersm {attributes['min_ctas'].value}")
    return [*lines, "{"]


def _static_shared(entry: ir.Operation) -> list[str]:
    """The .shared declarations inside the braces."""
    return [
        f".shared .align {item['alignment'].value} .b8 {item['name'].value}[{item['bytes'].value}];"
        for item in entry.attributes["shared"]
        if "dynamic" not in item
    ]


def _dynamic_shared(entries: list[ir.Operation]) -> list[str]:
    alignments: dict[str, int] = {}
    for entry in entries:
        for item in entry.attributes["shared"]:
            if "dynamic" in item:
                name = item["name"].value
                alignments[name] = max(alignments.get(name, 1), item["alignment"].value)
    return [f".extern .shared .align {alignment} .b8 {name}[];" for name, alignment in alignments.items()]


def _parameter(name: str, kind: str) -> str:
    # CUtensorMap is 128 bytes, aligned to 64 (CUDA driver API).
    return f".param .align 64 .b8 {name}[128]" if kind == "tensor_map" else f".param .{kind} {name}"


def _extents(extents: ir.DenseI32ArrayAttr) -> str:
    return ", ".join(map(str, extents))


class _Provenance:
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
