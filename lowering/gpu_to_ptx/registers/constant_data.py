"""Arrays of bytes in global memory that kernels only read, declared once per content in a module."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import variable
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering

# Names with this prefix are those of the compiler.
RESERVED_PREFIX = "tilec_"
# The column at which a list of bytes continues on the next line.
_WRAP_COLUMN = 112


def constant_address(lowering: Lowering, stem: str, content: bytes, alignment: int) -> ir.Value:
    """The generic address of an array with this content; its name is the stem and a number."""
    name = _declared(lowering.b.entry, f"{RESERVED_PREFIX}{stem}", content, alignment)
    address = lowering.compute(f"mov.b64 $0, {name};", "i64")
    return lowering.compute("cvta.global.u64 $0, $1;", "i64", address)


def array_text(name: str, content: bytes, alignment: int, linkage: str = "") -> str:
    """The declaration of an array of bytes; an array of zeros needs no initial values (PTX ISA 5.4.4)."""
    head = f"{linkage}.global .align {alignment} .b8 {name}[{len(content)}]"
    if not any(content):
        return f"{head};"
    return "\n".join(_wrapped(f"{head} = {{{', '.join(map(str, content))}}};"))


def _wrapped(text: str) -> Iterator[str]:
    while len(text) > _WRAP_COLUMN:
        end = text.rindex(" ", 0, _WRAP_COLUMN)
        yield text[:end]
        text = f"    {text[end + 1 :]}"
    yield text


def _declared(entry: ir.Operation, stem: str, content: bytes, alignment: int) -> str:
    variables = [each for each in _operations(entry) if each.name == "ptx.variable"]
    for each in variables:
        name = each.attributes["sym_name"].value
        if name.startswith(stem) and each.attributes["text"].value == array_text(name, content, alignment):
            return name
    taken = {each.attributes["sym_name"].value for each in _operations(entry) if "sym_name" in each.attributes}
    name = next(found for found in (f"{stem}_{number}" for number in range(len(taken) + 1)) if found not in taken)
    variable(entry.parent.opview, name, array_text(name, content, alignment))
    return name


def _operations(entry: ir.Operation) -> Iterator[ir.Operation]:
    return (view.operation for view in entry.parent.regions[0].blocks[0].operations)
