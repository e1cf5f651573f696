"""Exports kernels of cuTile Python as bytecode for given arguments, without a GPU."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cuda.tile as ct
import numpy as np
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    ConstantConstraint,
    KernelSignature,
    ListConstraint,
    ScalarConstraint,
    export_kernel,
)

# The alignment in bytes that cuTile assumes in launches with aligned, contiguous arrays.
ALIGNMENT = 16


@dataclass(frozen=True)
class Constant:
    """An argument that is compiled into the kernel."""

    value: Any


@dataclass(frozen=True)
class PackedFloats:
    """A matrix of f4E2M1FN with two elements per byte along its rows, or its transpose."""

    bytes: np.ndarray
    is_transposed: bool = False

    def transposed(self) -> PackedFloats:
        return PackedFloats(self.bytes, not self.is_transposed)

    @property
    def shape(self) -> tuple[int, ...]:
        rows, columns = self.bytes.shape[0], 2 * self.bytes.shape[1]
        return (columns, rows) if self.is_transposed else (rows, columns)

    @property
    def strides(self) -> tuple[int, ...]:
        row = 2 * self.bytes.shape[1]
        return (1, row) if self.is_transposed else (row, 1)


def export(kernel: Any, arguments: Sequence[Any], version: str, name: str = "kernel") -> bytes:
    """The module with `kernel` for `arguments`: arrays, lists of arrays, numbers and `Constant`s."""
    parameters = [_constraint(argument) for argument in arguments]
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), name)
    file = io.BytesIO()
    # cuTile exports bytecode before 13.3 for one architecture.
    gpu = "sm_100" if version in ("13.1", "13.2") else None
    export_kernel(kernel, [signature], file, gpu_code=gpu, output_format="tileir_bytecode", bytecode_version=version)
    return file.getvalue()


def entry_arguments(arguments: Sequence[Any]) -> list[Any]:
    """The arguments of the entry: memory, extents and strides of an array, a table of arrays for a list."""
    found: list[Any] = []
    for argument in arguments:
        if isinstance(argument, list):
            found += [_table(argument), len(argument)]
        elif isinstance(argument, np.ndarray):
            found += [argument, *argument.shape, *element_strides(argument)]
        elif isinstance(argument, PackedFloats):
            found += [argument.bytes, *argument.shape, *argument.strides]
        elif not isinstance(argument, Constant):
            found.append(argument)
    return found


def _table(arrays: list[np.ndarray]) -> np.ndarray:
    rows = [[array.ctypes.data, *array.shape, *element_strides(array)] for array in arrays]
    return np.array(rows, np.int64)


def element_strides(array: np.ndarray) -> tuple[int, ...]:
    return tuple(stride // array.itemsize for stride in array.strides)


def _constraint(argument: Any) -> Any:
    if isinstance(argument, Constant):
        return ConstantConstraint(argument.value)
    if isinstance(argument, list):
        return ListConstraint(_array(argument[0]), alias_groups=(), elements_may_alias=False)
    if isinstance(argument, np.ndarray | PackedFloats):
        return _array(argument)
    return ScalarConstraint(ct.float32 if isinstance(argument, float) else ct.int32)


def _array(array: np.ndarray | PackedFloats) -> ArrayConstraint:
    packed = isinstance(array, PackedFloats)
    dtype = ct.float4_e2m1fn if packed else getattr(ct, array.dtype.name.replace("bool", "bool_"))
    strides = array.strides if packed else element_strides(array)
    return ArrayConstraint(
        dtype,
        len(array.shape),
        index_dtype=ct.int32,
        stride_lower_bound_incl=0,
        alias_groups=(),
        may_alias_internally=False,
        stride_constant=[1 if stride == 1 else None for stride in strides],
        stride_divisible_by=[_divisor(stride, 4 if packed else 8 * array.itemsize) for stride in strides],
        base_addr_divisible_by=ALIGNMENT,
    )


def _divisor(stride: int, bits: int) -> int:
    aligned = 8 * ALIGNMENT // bits
    return aligned if stride % aligned == 0 and stride != 1 else 1
