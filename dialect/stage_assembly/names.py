"""Names for the values of a stage's module, unique in each kernel."""

from __future__ import annotations

import re

from tilec.dialect.assembly.value_names import ValueNames
from tilec.dialect.mlir import ir

_RESULTS = {
    "tile_gpu.make_channel": "channel",
    "tile_gpu.make_tensor_map": "map",
    "tile_gpu.shared": "shared",
    "tile_gpu.program_id": "program_id",
    "tile_gpu.num_programs": "num_programs",
    "tile_gpu.put_begin": "slot",
    "tile_gpu.get": "slot",
}


class StageNames(ValueNames):
    """The names of the values and blocks of a kernel."""

    def __init__(self, kernel: ir.Operation) -> None:
        super().__init__()
        self._blocks: dict[ir.Block, str] = {}
        self._counts: dict[str, int] = {}
        self._used: set[str] = set()
        self._name_regions(kernel)

    def block(self, block: ir.Block) -> str:
        """`^bb1`."""
        return self._blocks[block]

    def _name_regions(self, op: ir.Operation) -> None:
        for region in op.regions:
            for index, block in enumerate(region.blocks):
                self._blocks[block] = f"^bb{index}"
                for argument in block.arguments:
                    self._given[argument] = f"%{self._unique('arg', numbered=True)}"
                for inner in block.operations:
                    self._name_results(inner.operation)
                    self._name_regions(inner.operation)

    def _name_results(self, op: ir.Operation) -> None:
        results = list(op.results)
        if not results:
            return
        name = constant_name(op) if op.name == "arith.constant" else _RESULTS.get(op.name, "")
        name = self._unique(name) if name else self._unique("", numbered=True)
        self._give_results(results, name)

    def _unique(self, name: str, numbered: bool = False) -> str:
        while True:
            count = self._counts.get(name, 0)
            self._counts[name] = count + 1
            unique = f"{name}{count}" if numbered else f"{name}_{count}" if count else name
            if unique not in self._used:
                self._used.add(unique)
                return unique


def constant_name(op: ir.Operation) -> str:
    """`c64_i32`, `cm1_i64`, `true`; `cst` for other numbers and for tiles."""
    value = op.attributes["value"]
    if isinstance(value, ir.BoolAttr) or str(op.results[0].type) == "i1":
        return str(value) if str(value) in ("true", "false") else "cst"
    literal = re.fullmatch(r"(-?)(\d+) : (\w+)", str(value))
    return f"c{'m' if literal[1] else ''}{literal[2]}_{literal[3]}" if literal else "cst"
