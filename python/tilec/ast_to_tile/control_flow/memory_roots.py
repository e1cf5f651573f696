"""The entry arguments that a pointer or view derives from, through branches and loops."""

from __future__ import annotations

from collections.abc import Iterator

from tilec.dialect.mlir import ir

# Operations whose result points to the memory of their first operand.
_FORWARDS_MEMORY = frozenset(
    (
        "cuda_tile.assume",
        # The arrays of a list: their addresses are loaded from its table.
        "cuda_tile.int_to_ptr",
        "cuda_tile.load_ptr_tko",
        "cuda_tile.offset",
        "cuda_tile.reshape",
        "cuda_tile.broadcast",
        "cuda_tile.make_tensor_view",
        "cuda_tile.make_partition_view",
        "cuda_tile.make_strided_view",
        "cuda_tile.make_gather_scatter_view",
        "tilex.make_im2col_view",
        "tilex.make_packed_view",
    )
)

# The index of an entry argument. The language requires that the arrays passed to a kernel do not overlap.
Root = int

# Loop -> the number of operands before its initial values, and the jump whose operands are its results.
_LOOPS = {"cuda_tile.for": (3, "cuda_tile.continue"), "cuda_tile.loop": (0, "cuda_tile.break")}


def memory_roots(value: ir.Value) -> frozenset[Root]:
    """The entry arguments whose memory a pointer or view may point to; raises LookupError if one may be any other."""
    found: set[Root] = set()
    seen: set[ir.Value] = set()
    work = [value]
    while work:
        memory = work.pop()
        if memory in seen:
            continue
        seen.add(memory)
        if _is_entry_argument(memory):
            found.add(ir.BlockArgument(memory).arg_number)
        else:
            work += _sources(memory)
    return frozenset(found)


def _is_entry_argument(value: ir.Value) -> bool:
    return isinstance(value.owner, ir.Block) and value.owner.owner.operation.name == "cuda_tile.entry"


def _sources(value: ir.Value) -> list[ir.Value]:
    """The values from which this one derives directly, and which point to the same memory."""
    if isinstance(value.owner, ir.Block):
        return _sources_of_argument(ir.BlockArgument(value).arg_number, value.owner.owner.operation)
    owner, number = value.owner.operation, ir.OpResult(value).result_number
    if owner.name == "cuda_tile.if":
        return [jump.operands[number] for jump in _jumps(owner, "cuda_tile.yield")]
    if owner.name in _LOOPS:
        before, jump = _LOOPS[owner.name]
        initial = [owner.operands[before + number]] if owner.name == "cuda_tile.for" else []
        return [*initial, *(each.operands[number] for each in _jumps(owner, jump))]
    if owner.name == "cuda_tile.constant":
        # A null pointer.
        return []
    if owner.name not in _FORWARDS_MEMORY:
        raise LookupError(owner.name)
    return [owner.operands[0]]


def _sources_of_argument(argument: int, loop: ir.Operation) -> list[ir.Value]:
    """The initial value of a loop-carried value, and its operands in the `continue` operations of the loop."""
    before, _ = _LOOPS[loop.name]
    # The first block argument of a `for` is its counter.
    number = argument - (loop.name == "cuda_tile.for")
    return [loop.operands[before + number], *(jump.operands[number] for jump in _jumps(loop, "cuda_tile.continue"))]


def _jumps(owner: ir.Operation, name: str) -> Iterator[ir.Operation]:
    """The jumps out of the regions of an operation, without those that leave a nested loop."""
    for region in owner.regions:
        for block in region.blocks:
            for inner in block.operations:
                operation = inner.operation
                if operation.name == name:
                    yield operation
                elif operation.name not in _LOOPS and name != "cuda_tile.yield":
                    yield from _jumps(operation, name)
