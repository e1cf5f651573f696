"""The names that a module declares: constant data, kernels, and the functions that CUDA provides to device code."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import variable
from tilec.dialect.ptx.entry_rules import IDENTIFIER
from tilec.dialect.ptx.instruction import MAXIMUM_OPERANDS
from tilec.dialect.ptx.registers import REGISTER_CLASSES
from tilec.dialect.tile_gpu.namespace import PREFIX
from tilec.dialect.walk import inner_operations
from tilec.errors import CompileError
from tilec.lowering.gpu_to_ptx.registers.lowering import SHARED_SYMBOL, Lowering
from tilec.lowering.math.functions import declare_once

# Names with this prefix are those of the compiler.
_RESERVED_PREFIX = "tilec_"
# The column at which a list of bytes continues on the next line.
_WRAP_COLUMN = 112
# One operand is the address of the format. CUDA C++ programming guide, "Formatted Output": at most 32 arguments.
MAXIMUM_ARGUMENTS = MAXIMUM_OPERANDS - 1
# The declarations of functions; the last parameter of __assertfail is the size of a character.
_FUNCTIONS = {
    "vprintf": "(.param .b32 printed) vprintf (.param .b64 format, .param .b64 arguments)",
    "__assertfail": (
        "__assertfail (.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size)"
    ),
    "malloc": "(.param .b64 address) malloc (.param .b64 size)",
    "free": "free (.param .b64 address)",
}
_RESERVED = (*_FUNCTIONS, SHARED_SYMBOL)
# PTX ISA 4.4, "Identifiers": the only predefined one that does not begin with a percent sign.
_PREDEFINED = "WARP_SZ"


def call_vprintf(lowering: Lowering, format: str, arguments: Sequence[ir.Value]) -> None:
    """Prints a format with registers of i32, i64 (integers, strings) and f64, at most MAXIMUM_ARGUMENTS.

    The arguments are consecutive in local memory, each aligned to its size, as nvcc passes them.
    """
    stores, size = _stores(arguments)
    listed = [f".local .align 8 .b8 listed[{size}];", *stores, "mov.b64 %list, listed;", "cvta.local.u64 %list, %list;"]
    lines = [
        ".reg .b64 %list;",
        ".param .b64 format, arguments;",
        ".param .b32 printed;",
        *(listed if arguments else ["mov.b64 %list, 0;"]),
        "st.param.b64 [format], $0;",
        "st.param.b64 [arguments], %list;",
        "call.uni (printed), vprintf, (format, arguments);",
    ]
    _call(lowering, "vprintf", lines, (), string_address(lowering, format), *arguments)


def call_assertfail(lowering: Lowering, message: str, operation: ir.Operation) -> None:
    """Stops the kernel; the driver prints the message and the place of the operation, as for assert() of CUDA C++."""
    location = source_location(operation.location)
    file, line = (location.file, location.line) if location is not None else ("", 0)
    function = lowering.b.entry.attributes["sym_name"].value
    strings = [string_address(lowering, text) for text in (message, file, function)]
    lines = [
        ".param .b64 message, file, function, size;",
        ".param .b32 line;",
        "st.param.b64 [message], $0;",
        "st.param.b64 [file], $1;",
        f"st.param.b32 [line], {line};",
        "st.param.b64 [function], $2;",
        "st.param.b64 [size], 1;",
        "call.uni __assertfail, (message, file, line, function, size);",
    ]
    _call(lowering, "__assertfail", lines, (), *strings)


def call_malloc(lowering: Lowering, size_bytes: int) -> ir.Value:
    """The generic address of memory in the heap of the device, aligned to 16 bytes; zero if the heap is full."""
    lines = [
        ".param .b64 size, address;",
        f"st.param.b64 [size], {size_bytes};",
        "call.uni (address), malloc, (size);",
        "ld.param.b64 $0, [address];",
    ]
    return _call(lowering, "malloc", lines, lowering.b.i64)


def call_free(lowering: Lowering, address: ir.Value) -> None:
    """Returns memory of call_malloc() to the heap."""
    lines = [".param .b64 address;", "st.param.b64 [address], $0;", "call.uni free, (address);"]
    _call(lowering, "free", lines, (), address)


def _call(lowering: Lowering, name: str, lines: Sequence[str], results: Any, *operands: ir.Value) -> Any:
    """Executes the lines, which call a device function; the first call declares it."""
    declare_once(lowering.b, name, f".extern .func {_FUNCTIONS[name]};")
    return lowering.b.execute("\n".join(["{", *lines, "}"]), results, *operands)


def string_address(lowering: Lowering, text: str) -> ir.Value:
    """The generic address of a string in global memory, with a NUL byte at its end."""
    return constant_address(lowering, "text", text.encode() + b"\0", 1)


def _stores(arguments: Sequence[ir.Value]) -> tuple[list[str], int]:
    """The stores of the arguments, which are operands from number 1 on, and the size of their list in bytes."""
    stores, end = [], 0
    for number, argument in enumerate(arguments, 1):
        row = REGISTER_CLASSES[str(argument.type)]
        size = row.width // 8
        end += -end % size
        stores.append(f"st.local.{row.suffix} [listed{f'+{end}' if end else ''}], ${number};")
        end += size
    return stores, end


def constant_address(lowering: Lowering, stem: str, content: bytes, alignment: int) -> ir.Value:
    """The generic address of an array with this content; its name is the stem and a number."""
    return variable_address(lowering, _declared(lowering.b.entry, f"{_RESERVED_PREFIX}{stem}", content, alignment))


def variable_address(lowering: Lowering, name: str) -> ir.Value:
    """The generic address of a variable in global memory."""
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
    """The name of the array with this content, which is declared if the module has none."""
    module = entry.parent.opview
    operations = [view.operation for view in inner_operations(module)]
    named = {each.attributes["sym_name"].value: each for each in operations if "sym_name" in each.attributes}
    for name, each in named.items():
        if each.name == "ptx.variable" and name.startswith(stem):
            if each.attributes["text"].value == array_text(name, content, alignment):
                return name
    name = next(name for name in map(f"{stem}_{{}}".format, itertools.count()) if name not in named)
    variable(module, name, array_text(name, content, alignment))
    return name


def symbol_name(op: ir.OpView) -> str:
    """The name of a tile_gpu.kernel or tile_gpu.global; raises CompileError for one that PTX cannot have."""
    name, kind = op.operation.attributes["sym_name"].value, op.operation.name.removeprefix(PREFIX)
    if name in _RESERVED or name.startswith(_RESERVED_PREFIX):
        problem = f"the compiler uses {', '.join(_RESERVED)} and {_RESERVED_PREFIX}*"
    elif name == _PREDEFINED:
        problem = f"{_PREDEFINED} is a constant of PTX"
    elif not IDENTIFIER.fullmatch(name):
        problem = "names in PTX begin with a letter and have letters of ASCII, digits, '_' and '$'"
    else:
        return name
    message = f"expected another name of {kind} '{name}': {problem}"
    raise CompileError(message, source_location(op.operation.location))
