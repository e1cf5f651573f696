"""One operation per PTX instruction.

`ptx.compute_R_N` has R results, N operands and no side effects: CSE merges equal instructions, DCE removes unused ones.
`ptx.execute_R_N` has side effects and stays where it is. `ptx.compute_many` and `ptx.execute_many` hold longer lists:
up to eight operands of any types, then any number of one type, then up to eight of any types (four for results),
because a variadic group of IRDL has one type.

Attributes: `text` (template.py), and optionally `tied`: for each result the operand whose register it shares, or
-1. The text may leave a tied operand out, since its register is that of the result.
"""

# No `from __future__ import annotations` here: ext reads annotations as objects.

import types
from collections.abc import Sequence

from tilec.dialect.constraints import Constraint, Unconstrained
from tilec.dialect.mlir import ext, ir
from tilec.dialect.ptx.instruction_rules import problem
from tilec.dialect.ptx.namespace import Ptx

MAXIMUM_RESULTS = 4
MAXIMUM_OPERANDS = 8
# Values of any type before and after the run of one type.
SINGLE_OPERANDS = 8
SINGLE_RESULTS = 4


def _verify(op: ir.OpView) -> bool:
    operation = op.operation
    found = problem(operation)
    if found is None:
        return True
    operation.location.emit_error(f"'{operation.name}' {found}")
    return False


def _define(name: str, fields: dict[str, Constraint], pure: bool) -> None:
    annotations = {**fields, "text": ir.StringAttr}
    body = {"__annotations__": annotations, "verify_invariants": staticmethod(_verify), "is_generic": True}
    traits = [ext.Pure] if pure else []
    types.new_class(name, (Ptx.Operation,), {"name": name, "traits": traits}, lambda namespace: namespace.update(body))


def _fixed(results: int, operands: int) -> dict[str, Constraint]:
    values = {f"result_{index}": ext.Result[Unconstrained] for index in range(results)}
    return values | {f"operand_{index}": ext.Operand[Unconstrained] for index in range(operands)}


def _optional(stem: str, kind: Constraint, count: int) -> dict[str, Constraint]:
    return {f"{stem}_{index}": kind[Unconstrained] | None for index in range(count)}


_MANY: dict[str, Constraint] = {
    **_optional("result_before", ext.Result, SINGLE_RESULTS),
    "run_of_results": Sequence[ext.Result[Unconstrained]],
    **_optional("result_after", ext.Result, SINGLE_RESULTS),
    **_optional("operand_before", ext.Operand, SINGLE_OPERANDS),
    "run_of_operands": Sequence[ext.Operand[Unconstrained]],
    **_optional("operand_after", ext.Operand, SINGLE_OPERANDS),
}

for _results in range(MAXIMUM_RESULTS + 1):
    for _operands in range(MAXIMUM_OPERANDS + 1):
        if _results:
            _define(f"compute_{_results}_{_operands}", _fixed(_results, _operands), pure=True)
        _define(f"execute_{_results}_{_operands}", _fixed(_results, _operands), pure=False)
_define("compute_many", _MANY, pure=True)
_define("execute_many", _MANY, pure=False)
