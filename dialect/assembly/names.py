"""Names for the values of a kernel: suggested by operations and made unique in the order that MLIR uses.

All values of a block get names before those of its nested regions, and sibling regions may use the same names. The text
of NVIDIA's disassembler therefore keeps its names when it is read and printed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilec.dialect.assembly.value_names import ValueNames
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

_RESULTS: dict[str, tuple[str, ...]] = {
    "cuda_tile.broadcast": ("bcast",),
    "cuda_tile.reshape": ("reshape",),
    "cuda_tile.make_tensor_view": ("tview",),
    "cuda_tile.make_partition_view": ("pview",),
    "cuda_tile.make_strided_view": ("sview",),
    "cuda_tile.make_gather_scatter_view": ("gsview",),
    "cuda_tile.get_tile_block_id": ("blockId_x", "blockId_y", "blockId_z"),
    "cuda_tile.get_num_tile_blocks": ("gridSize_x", "gridSize_y", "gridSize_z"),
    "cuda_tile.load_view_tko": ("tile", "result_token"),
    "tilex.make_im2col_view": ("im2colview",),
    "tilex.load_im2col_tko": ("tile", "result_token"),
    "tilex.make_packed_view": ("packedview",),
    "tilex.load_packed_tko": ("tile", "result_token"),
    "cuda_tile.load_ptr_tko": ("result", "result_token"),
    "cuda_tile.atomic_cas_tko": ("result", "result_token"),
    "cuda_tile.atomic_rmw_tko": ("result", "result_token"),
    "tilex.atomic_rmw_tko": ("result", "result_token"),
    "cuda_tile.multimem_load_reduce_view_tko": ("reduced_values", "result_token"),
}
# Operations whose results share one name: %for:2.
_PACKS = {"cuda_tile.reduce": "reduce", "cuda_tile.for": "for"}


# Integers that f64 represents exactly.
_EXACT = 1 << 53


class Names(ValueNames):
    """The names of all values in a kernel."""

    def __init__(self, kernel: ir.OpView) -> None:
        super().__init__()
        self._suggested: dict[ir.Value, str] = {}
        self._used: set[str] = set()
        self._conflicts = self._numbers = self._arguments = 0
        self._name_regions(kernel)

    def _name_regions(self, op: ir.OpView) -> None:
        for region in op.regions:
            for block in region.blocks:
                state = set(self._used), self._conflicts, self._numbers, self._arguments
                self._name_block(op, block)
                self._used, self._conflicts, self._numbers, self._arguments = state

    def _name_block(self, op: ir.OpView, block: ir.Block) -> None:
        arguments = list(block.arguments)
        for argument, suggestion in zip(arguments, _argument_names(op, len(arguments)), strict=True):
            if not suggestion:
                self._arguments += 1
            self._give(argument, self._unique(suggestion or f"arg{self._arguments - 1}"))
        operations = list(block.operations)
        for each in operations:
            self._name_results(each.operation)
        for each in operations:
            if getattr(each, "region_fields", ()):
                self._name_regions(each)

    def _name_results(self, op: ir.Operation) -> None:
        results = list(op.results)
        if not results:
            return
        suggested = _RESULTS.get(op.name)
        if suggested is not None and len(suggested) == len(results):
            named = [self._give(v, self._unique(n), n) for v, n in zip(results, suggested, strict=True)]
            self._definitions[results[0]] = ", ".join(named)
            return
        suggestion = self._suggestion(op)
        name = self._unique(suggestion) if suggestion else self._next_number()
        self._give_results(results, name)
        if len(results) == 1:
            self._suggested[results[0]] = suggestion

    def _suggestion(self, op: ir.Operation) -> str:
        if op.name == "cuda_tile.constant":
            return constant_name(op.attributes["value"])
        if op.name == "cuda_tile.assume":
            known = self._suggested.get(op.operands[0], "")
            return f"assume_{known}" if known else "assume"
        return _PACKS.get(op.name, "")

    def _next_number(self) -> str:
        self._numbers += 1
        return str(self._numbers - 1)

    def _unique(self, name: str) -> str:
        unique = name
        while unique in self._used:
            unique = f"{name}_{self._conflicts}"
            self._conflicts += 1
        self._used.add(unique)
        return unique

    def _give(self, value: ir.Value, name: str, suggestion: str = "") -> str:
        self._given[value] = f"%{name}"
        self._suggested[value] = suggestion
        return f"%{name}"


def _argument_names(op: ir.OpView, count: int) -> Sequence[str]:
    """The names that an operation suggests for its region arguments; empty ones are numbered."""
    if op.OPERATION_NAME == "cuda_tile.for":
        return ["loopIdx", *(f"iterArg{index}" for index in range(count - 1))]
    if op.OPERATION_NAME == "cuda_tile.reduce":
        sides = [("reduce_lhs", "reduce_rhs")[index % 2] for index in range(count)]
        return sides if count == 2 else [f"{side}{index // 2}" for index, side in enumerate(sides)]
    return [""] * count


def constant_name(value: ir.Attribute) -> str:
    """`cst_1_f32` for a splat of an integer (non-negative for floats), otherwise `cst_f32`; `true`, `false` for i1."""
    element = spell(ir.RankedTensorType(value.type).element_type)
    if not value.is_splat:
        return f"cst_{element}"
    literal = str(value)
    literal = literal[len("dense<") : literal.rindex("> : ")]
    if literal in ("true", "false"):
        return literal
    if re.fullmatch(r"-?\d+", literal):
        return f"cst_{literal}_{element}"
    number = float(literal) if literal[0].isdigit() and "x" not in literal else 0.5
    return f"cst_{int(number)}_{element}" if number.is_integer() and number <= _EXACT else f"cst_{element}"
