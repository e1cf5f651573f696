"""Kernels of tile_gpu as text, lowered to PTX and run in the simulator with numpy arrays."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import ml_dtypes
import numpy as np

from tilec.dialect.mlir import context, ir, passmanager
from tilec.lowering.gpu_to_ptx.kernel import convert
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.ptx.emit import emit
from tilec.runtime.ptxsim import _native

POINTER, INTEGER = "i64", "i32"
# By name: the elements of operands of multiplies. tf32 is rounded f32.
DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "i8": np.int8,
}


def tile(element: str, layout: LinearLayout) -> str:
    """The type of a register tile."""
    return f'tensor<{"x".join(map(str, layout.shape))}x{element}, "{layout}">'


def kernel(parameters: str, body: str, warps: int = 4, target: str = "sm_100a") -> str:
    """A kernel `k` with parameters like "%a: i64, %n: i32"."""
    types = ", ".join(parameter.split(": ")[1] for parameter in parameters.split(", "))
    attributes = f'sym_name = "k", target = "{target}", function_type = ({types}) -> (), warps = {warps} : i32'
    region = f'^bb0({parameters}):\n{body}\n"tile_gpu.return"() : () -> ()\n'
    return f'"tile_gpu.kernel"() ({{\n{region}}}) {{{attributes}}} : () -> ()'


def load_view(
    result: str, type: str, base: str, offsets: Sequence[str], extents: Sequence[str], strides: Sequence[str], **options
) -> str:
    """`%result = load_view` with the names of its scalar operands; options are attributes, e.g. padding="nan"."""
    rank = len(offsets)
    scalars = ", ".join([base, *offsets, *extents, *strides])
    types = ", ".join(["i64", *["i32"] * (3 * rank)])
    return (
        f'{result} = "tile_gpu.load_view"({scalars}) {{{_attributes({"padding": "zero", **options})}, '
        f"operandSegmentSizes = array<i32: 1, {rank}, {rank}, {rank}, 0>}} : ({types}) -> {type}"
    )


def store_view(
    value: str, type: str, base: str, offsets: Sequence[str], extents: Sequence[str], strides: Sequence[str], **options
) -> str:
    """`store_view` with the names of its scalar operands."""
    rank = len(offsets)
    scalars = ", ".join([value, base, *offsets, *extents, *strides])
    types = ", ".join([type, "i64", *["i32"] * (3 * rank)])
    return (
        f'"tile_gpu.store_view"({scalars}) {{{_attributes(options)}, '
        f"operandSegmentSizes = array<i32: 1, 1, {rank}, {rank}, {rank}, 0>}} : ({types}) -> ()"
    )


def _attributes(options: dict) -> str:
    options = {"vector": 1, **options}
    entries = [f"{name} = {options.pop(name)} : i32" for name in ("vector", "vector_dimension") if name in options]
    if "inbounds" in options:
        entries.append(f"inbounds = array<i1: {', '.join(str(b).lower() for b in options.pop('inbounds'))}>")
    return ", ".join(entries + [f'{name} = "{value}"' for name, value in options.items()])


def ptx_of(text: str) -> str:
    """The PTX of a module of tile_gpu text."""
    with context():
        module = ir.Module.parse(text)
        module.operation.verify()
        lowered = convert(module)
        passes = passmanager.PassManager.parse("builtin.module(canonicalize,cse)")
        passes.run(lowered.operation)
        return emit(lowered)


def run(text: str, arguments: Sequence, grid: Sequence[int] = (1, 1, 1), warps: int = 4, **options):
    """Lowers and runs kernel `k`: arrays are passed by address and updated in place, integers as i32, floats as f32."""
    return run_ptx(ptx_of(text), arguments, grid, warps, **options)


def run_ptx(ptx: str, arguments: Sequence, grid: Sequence[int] = (1, 1, 1), warps: int = 4, **options):
    """Runs kernel `k` of PTX text; arguments are those of run()."""
    arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
    ranges = [(array.ctypes.data, array.nbytes, True) for array in arrays]
    program = _native.Program(ptx)
    return program.run(
        "k",
        (*grid, 1, 1)[:3],
        (32 * warps, 1, 1),
        (1, 1, 1),
        64 * 1024,
        _parameters(arguments),
        ranges=ranges,
        **options,
    )


def _parameters(arguments: Sequence) -> bytes:
    block = b""
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            value = struct.pack("<Q", argument.ctypes.data)
        else:
            value = struct.pack("<f" if isinstance(argument, float) else "<i", argument)
        block += b"\0" * (-len(block) % len(value)) + value
    return block


def load_tile(result: str, type: str, base: str, shape: Sequence[int]) -> str:
    """Loads a contiguous array as one tile."""
    return _whole(lambda *scalars: load_view(result, type, base, *scalars), result.strip("%"), shape)


def store_tile(value: str, type: str, base: str, shape: Sequence[int]) -> str:
    """Stores a tile to a contiguous array of its shape."""
    return _whole(
        lambda *scalars: store_view(value, type, base, *scalars), value.strip("%").replace("#", "_") + "_stored", shape
    )


def _whole(access, name: str, shape: Sequence[int]) -> str:
    strides = [int(np.prod(shape[d + 1 :])) for d in range(len(shape))]
    numbers = {0, *shape, *strides}
    constants = "\n".join(f"%{name}_{n} = arith.constant {n} : i32" for n in sorted(numbers))
    scalars = [[f"%{name}_{n}" for n in group] for group in ([0] * len(shape), shape, strides)]
    return f"{constants}\n{access(*scalars)}"


def elementwise(
    body: str,
    inputs: Sequence[tuple[str, LinearLayout]],
    output: tuple[str, LinearLayout],
    warps: int = 4,
    target: str = "sm_100a",
) -> str:
    """A kernel that loads %x0, %x1, .. from %a0, %a1, .., runs the body and stores %y to %out."""
    lines = [load_tile(f"%x{i}", tile(*one), f"%a{i}", one[1].shape) for i, one in enumerate(inputs)]
    parameters = ", ".join([*(f"%a{i}: i64" for i in range(len(inputs))), "%out: i64"])
    stored = store_tile("%y", tile(*output), "%out", output[1].shape)
    return kernel(parameters, "\n".join([*lines, body, stored]), warps, target)
