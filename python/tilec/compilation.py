"""Ahead-of-time compilation for explicit signatures: constraints of parameters, symbols, and `export_kernel`."""

from __future__ import annotations

from tilec.kernel_export.calling_convention import CallingConvention
from tilec.kernel_export.constraints import (
    ArrayConstraint,
    ConstantConstraint,
    ConstantValue,
    ListConstraint,
    ParameterConstraint,
    ScalarConstraint,
    TupleConstraint,
)
from tilec.kernel_export.export import export_kernel
from tilec.kernel_export.kernel_names import demangle_kernel_name, mangle_kernel_name
from tilec.kernel_export.kernel_signature import KernelSignature

__all__ = [
    "ArrayConstraint",
    "CallingConvention",
    "ConstantConstraint",
    "ConstantValue",
    "KernelSignature",
    "ListConstraint",
    "ParameterConstraint",
    "ScalarConstraint",
    "TupleConstraint",
    "demangle_kernel_name",
    "export_kernel",
    "mangle_kernel_name",
]
