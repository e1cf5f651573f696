"""Names for the values of a module: what the operation suggests, made unique within the kernel."""

from __future__ import annotations

from typing import Any

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
    "cuda_tile.load_ptr_tko": ("result", "result_token"),
    "cuda_tile.atomic_cas_tko": ("result", "result_token"),
    "cuda_tile.atomic_rmw_tko": ("result", "result_token"),
    "cuda_tile.multimem_load_reduce_view_tko": ("reduced_values", "result_token"),
}
# Operations whose results are a pack of one name: %for:2.
_PACKS = {"cuda_tile.reduce": "reduce", "cuda_tile.for": "for"}


class Names:
    """Hands out the names of values, `%0` for those without a suggestion."""

    def __init__(self) -> None:
        self._given: dict[ir.Value, str] = {}
        self._used: dict[str, int] = {}
        self._number = 0

    def of(self, value: ir.Value) -> str:
        """The name of a value that was named before."""
        return self._given[value]

    def argument(self, value: ir.Value, suggestion: str) -> str:
        """Names a block argument."""
        return self._give(value, self._unique(suggestion))

    def results(self, op: Any) -> str:
        """Names the results of an operation; the text that goes before ` = `, empty without results."""
        results = list(op.results)
        if not results:
            return ""
        suggested = _RESULTS.get(op.name)
        if suggested is not None and len(suggested) == len(results):
            return ", ".join(
                self._give(value, self._unique(name)) for value, name in zip(results, suggested, strict=True)
            )
        name = self._unique(_PACKS[op.name]) if op.name in _PACKS else self._single(op)
        if len(results) == 1:
            return self._give(results[0], name)
        for index, value in enumerate(results):
            self._given[value] = f"%{name}#{index}"
        return f"%{name}:{len(results)}"

    def _single(self, op: Any) -> str:
        if op.name == "cuda_tile.constant":
            return self._unique(constant_name(op.attributes["value"]))
        if op.name == "cuda_tile.assume":
            return self._unique(self._assumed(op))
        self._number += 1
        return str(self._number - 1)

    def _assumed(self, op: Any) -> str:
        source = self._given[op.operands[0]].lstrip("%").replace("#", "_")
        if source.startswith("assume"):
            return source.split(".")[0]
        return "assume" if source.isdigit() else f"assume_{source}"

    def _unique(self, name: str) -> str:
        count = self._used.get(name)
        self._used[name] = 0 if count is None else count + 1
        if count is None:
            return name
        return self._unique(f"{name}_{count}") if f"{name}_{count}" in self._used else self._mark(f"{name}_{count}")

    def _mark(self, name: str) -> str:
        self._used.setdefault(name, 0)
        return name

    def _give(self, value: ir.Value, name: str) -> str:
        self._given[value] = f"%{name}"
        return f"%{name}"


def constant_name(value: ir.Attribute) -> str:
    """`cst_1_f32` for a splat of one integral number, `cst_f32` otherwise, `true` and `false` for bits."""
    element = spell(ir.RankedTensorType(value.type).element_type)
    if not value.is_splat:
        return f"cst_{element}"
    literal = str(value)
    literal = literal[len("dense<") : literal.rindex("> : ")]
    if literal in ("true", "false"):
        return literal
    try:
        number = float(literal)
    except ValueError:
        return f"cst_{element}"
    if not number.is_integer() or abs(number) > 1 << 53:
        return f"cst_{element}"
    return f"cst_{'m' if number < 0 else ''}{abs(int(number))}_{element}"
