"""Calls of the functions that CUDA provides to device code: vprintf, __assertfail, malloc and free."""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.instruction import MAXIMUM_OPERANDS
from tilec.dialect.ptx.registers import REGISTER_CLASSES
from tilec.lowering.gpu_to_ptx.registers.constant_data import constant_address
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.math.functions import declare_once

# One operand is the address of the format. CUDA C++ programming guide, "Formatted Output": at most 32 arguments.
MAXIMUM_ARGUMENTS = MAXIMUM_OPERANDS - 1

_VPRINTF = ".extern .func (.param .b32 printed) vprintf (.param .b64 format, .param .b64 arguments);"

# The size of a character is last.
_ASSERTFAIL = (
    ".extern .func __assertfail (.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, "
    ".param .b64 size);"
)

_MALLOC = ".extern .func (.param .b64 address) malloc (.param .b64 size);"
_FREE = ".extern .func free (.param .b64 address);"
DEVICE_FUNCTIONS = ("vprintf", "__assertfail", "malloc", "free")


def call_vprintf(lowering: Lowering, format: str, arguments: Sequence[ir.Value]) -> None:
    """Prints a format with registers of i32, i64 (integers, strings) and f64, at most MAXIMUM_ARGUMENTS.

    The arguments are consecutive in local memory, each aligned to its size, as nvcc passes them.
    """
    declare_once(lowering.b, "vprintf", _VPRINTF)
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
    lowering.b.execute("\n".join(["{", *lines, "}"]), (), string_address(lowering, format), *arguments)


def _plus(offset: int) -> str:
    return f"+{offset}" if offset else ""


def call_assertfail(lowering: Lowering, message: str, file: str, line: int, function: str) -> None:
    """Stops the kernel with an error; the driver prints the arguments, as for assert() of CUDA C++."""
    declare_once(lowering.b, "__assertfail", _ASSERTFAIL)
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
    lowering.b.execute("\n".join(["{", *lines, "}"]), (), *strings)


def call_malloc(lowering: Lowering, size_bytes: int) -> ir.Value:
    """The generic address of memory in the heap of the device, aligned to 16 bytes; zero if the heap is full."""
    declare_once(lowering.b, "malloc", _MALLOC)
    lines = [
        ".param .b64 size, address;",
        f"st.param.b64 [size], {size_bytes};",
        "call.uni (address), malloc, (size);",
        "ld.param.b64 $0, [address];",
    ]
    return lowering.b.execute("\n".join(["{", *lines, "}"]), lowering.b.i64)


def call_free(lowering: Lowering, address: ir.Value) -> None:
    """Returns memory of call_malloc() to the heap."""
    declare_once(lowering.b, "free", _FREE)
    lines = [".param .b64 address;", "st.param.b64 [address], $0;", "call.uni free, (address);"]
    lowering.b.execute("\n".join(["{", *lines, "}"]), (), address)


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
        stores.append(f"st.local.{row.suffix} [listed{_plus(end)}], ${number};")
        end += size
    return stores, end
