"""Operations for kernels, device functions and variables as text, and the return from a kernel."""

# No `from __future__ import annotations` here: ext reads annotations as objects.

from tilec.dialect.mlir import ext, ir
from tilec.dialect.ptx.entry_rules import entry_problem, function_problem, variable_problem
from tilec.dialect.ptx.namespace import Ptx


def _report(op: ir.OpView, found: str | None) -> bool:
    if found is not None:
        op.operation.location.emit_error(f"'{op.operation.name}' {found}")
    return found is None


class EntryOp(Ptx.Operation, name="entry", traits=[ir.IsIsolatedFromAboveTrait]):
    """A kernel: `.visible .entry sym_name(parameters)` and its body, blocks of instructions that end in `cf.br`,
    `cf.cond_br` or `ptx.return`.

    `parameters`: array of {name, type}, type one of u8 .. u64, s8 .. s64, b8 .. b64, f16, f32, f64, tensor_map.
    `shared`: array of {name, bytes, alignment, dynamic?}; at most one is dynamic, the others fit in 48 KB.
    `threads`: array<i32: x, y, z>, the exact block size.
    Optional: `cluster` array<i32: x, y, z>; `maxnreg`, `min_ctas` i32; `tilec.launch` JSON text.
    """

    sym_name: ir.StringAttr
    target: ir.StringAttr
    parameters: ir.ArrayAttr
    shared: ir.ArrayAttr
    body: ext.Region

    @staticmethod
    def verify_invariants(op: ir.OpView) -> bool:
        return _report(op, entry_problem(op.operation))


class FunctionOp(Ptx.Operation, name="function"):
    """A device function given as PTX text: declaration and body, complete; `call` instructions use its name."""

    sym_name: ir.StringAttr
    text: ir.StringAttr

    @staticmethod
    def verify_invariants(op: ir.OpView) -> bool:
        return _report(op, function_problem(op.operation))


class VariableOp(Ptx.Operation, name="variable"):
    """A variable of the module given as PTX text: state space, alignment, size and initial values."""

    sym_name: ir.StringAttr
    text: ir.StringAttr

    @staticmethod
    def verify_invariants(op: ir.OpView) -> bool:
        return _report(op, variable_problem(op.operation))


class ReturnOp(Ptx.Operation, name="return", traits=[ir.IsTerminatorTrait]):
    """Ends the kernel for the thread."""
