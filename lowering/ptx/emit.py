"""A verified module of the ptx dialect -> PTX text."""

from __future__ import annotations

from tilec.dialect.mlir import ir
from tilec.errors import CompileError
from tilec.lowering.ptx.body import Body, write_body
from tilec.lowering.ptx.program import read_program
from tilec.lowering.ptx.provenance import Provenance

# The newest version that ptxas of CUDA 13.0 reads; sm_100a needs 8.6.
_PTX_VERSION = "9.0"
INDENT = "    "
# The column of comments, on the last line of an instruction; a longer line is followed by its comment.
COMMENT_COLUMN = 70
# Instructions with many registers are wrapped, but only lines beyond LONGEST_LINE.
WRAP_COLUMN, LONGEST_LINE = 112, 140


def emit(module: ir.Module) -> str:
    """The PTX text of a module of entries, functions and variables; CompileError for operations without PTX."""
    operations = [operation.operation for operation in module.body.operations]
    entries = [operation for operation in operations if operation.name == "ptx.entry"]
    functions, variables = (_texts(operations, name) for name in ("ptx.function", "ptx.variable"))
    if not entries:
        raise CompileError("the module has no 'ptx.entry'")
    targets = sorted({entry.attributes["target"].value for entry in entries})
    if len(targets) > 1:
        raise CompileError(f"one PTX file has one target, got {', '.join(targets)}")
    provenance = Provenance()
    bodies = [line for entry in entries for line in ["", *_entry(entry, provenance)]]
    head = _module_head(targets[0], functions, variables, entries, provenance.directives())
    return "\n".join([*head, *bodies, *provenance.names(), ""])


def _texts(operations: list[ir.Operation], name: str) -> list[str]:
    """The texts of the declarations of one kind, in order."""
    return [operation.attributes["text"].value for operation in operations if operation.name == name]


def _entry(entry: ir.Operation, provenance: Provenance) -> list[str]:
    body = write_body(read_program(entry))
    declarations = [INDENT + line for line in body.declarations + _static_shared(entry)]
    provenance.start()
    return [*_entry_head(entry), *declarations, "", *_lines(body, provenance), "}"]


def _lines(body: Body, provenance: Provenance) -> list[str]:
    lines: list[str] = []
    for text, location in body.lines:
        if location is None:
            lines.append(text)
            continue
        line = INDENT + text
        if len(line) > LONGEST_LINE or "\n" in text:
            line = _wrapped(text)
        loc, comment = provenance.marks(location)
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
