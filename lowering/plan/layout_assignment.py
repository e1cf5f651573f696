"""A layout for every register tile: fixed by hardware or memory, propagated forward, then backward from uses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from math import prod

from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below, reached
from tilec.lowering.layout.blocked import blocked, rows_of_threads, transposing
from tilec.lowering.layout.blocks import block_of, doubled, halved, interleaved
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.vectors import divided, joined
from tilec.lowering.plan.matrix.accumulator_columns import read_by_columns
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan
from tilec.lowering.plan.ring_tiles import converted_tiles
from tilec.lowering.target import LANES
from tilec.lowering.tile.analysis.tile_operations import MULTIPLIES, STRUCTURES, carried_groups, is_elementwise, is_tile
from tilec.lowering.tile_to_gpu.access.alignment import SECTOR_BYTES, VECTOR_BYTES, access_vector, element_bits
from tilec.lowering.tile_to_gpu.access.layouts import Layouts
from tilec.lowering.tile_to_gpu.access.packing import loaded_bits, repacked, whole_bytes

# The width of a bank of shared memory.
_WORD_BYTES = 4
# Operations that take an element of few bits from an integer.
_BIT_OPERATIONS = ("cuda_tile.shri", "cuda_tile.andi")
# A thread converts the elements that it loads from a ring itself: an exchange costs more.
_CONVERSIONS = ("cuda_tile.ftof", "cuda_tile.itof")
# Elements of a tile of repeated elements that one thread may load; an exchange of more costs fewer registers.
REPEATED_ELEMENTS = 32
# The same beside a multiply, whose loads are in registers for two iterations ahead.
CONVERTED_ELEMENTS = 8


def assign_layouts(entry: ir.OpView, plan: MatrixPlan, warps: int, vectors: Mapping[ir.Operation, int]) -> Layouts:
    """The layout of every tile value of rank one or more; `vectors` are the widths of accesses through pointers."""
    operations = [op for op in operations_below(entry) if _has_tiles(op.operation)]
    repeated = {op.operation for op in operations if _is_repeated_load(op, plan)}
    computed = set()
    if plan.multiplies:
        computed = {op for op in repeated if op.results[0] in plan.loads and _is_computed(op.results[0])}
        # Beside multiplies, only factors of an operand that threads convert: accumulators need the registers.
        repeated &= {tile.owner.operation for tile in converted_tiles(plan) if not _is_unpacked(tile)}
    layouts = _assigned(entry, operations, plan, warps, vectors, repeated)
    most = CONVERTED_ELEMENTS if plan.multiplies else REPEATED_ELEMENTS
    counted = computed.union(op for op in repeated if op.results[0] not in plan.loads)
    large = {op for op in counted if len(set(layouts[op.results[0]].representatives)) > most}
    return _assigned(entry, operations, plan, warps, vectors, repeated - large, large) if large else layouts


def _has_tiles(op: ir.Operation) -> bool:
    """Whether an operation has tiles, or regions, which may have some; most operations compute scalars."""
    return bool(op.regions) or any(map(is_tile, op.operands)) or any(map(is_tile, op.results))


def _assigned(
    entry: ir.OpView,
    operations: list[ir.OpView],
    plan: MatrixPlan,
    warps: int,
    vectors: Mapping[ir.Operation, int],
    repeated: Collection[ir.Operation],
    distributed: Collection[ir.Operation] = (),
) -> Layouts:
    """The layouts if each thread loads itself the elements of the `repeated` loads that it uses.

    Threads share the elements of the `distributed` loads, whose users decide nothing.
    """
    layouts = Layouts()
    for op in operations:
        if op.operation not in repeated:
            _anchor(op, plan, warps, layouts, ring_tiles=op.operation in distributed)
    _anchor_columns(plan, warps, layouts)
    for op in operations:
        _anchor_pointers(op, vectors.get(op.operation, 1), plan, warps, layouts)
    # Inner loops first: a value carried through several loops has the layout of the multiply in the innermost.
    for op in reversed(operations):
        if op.operation.name in STRUCTURES:
            _forward(op, layouts)
    _propagate(operations, layouts)
    for op in operations:
        _spread_rows(op, warps, layouts)
    _propagate(operations, layouts)
    for op in operations:
        _repeat_words(op, layouts)
    _propagate(operations, layouts)
    # Whole vectors of narrow elements are several vectors of wider ones, but a thread that has one vector of wide
    # elements would exchange them with others where it computes with narrow ones.
    for _, anchored in groupby(sorted(operations, key=loaded_bits), key=loaded_bits):
        for op in anchored:
            _anchor(op, plan, warps, layouts, ring_tiles=True)
        _propagate(operations, layouts)
    for value in _tiles(operations):
        if value not in layouts:
            layouts.propose(value, blocked(value.type.shape, warps, vector=_widest_vector(value)))
            _propagate(operations, layouts)
    return layouts


def _propagate(operations: list[ir.OpView], layouts: Layouts) -> None:
    """Forward, then backward, until a pass over all operations adds nothing."""
    known = -1
    while known != len(layouts):
        known = len(layouts)
        incomplete = [op for op in operations if _is_incomplete(op.operation, layouts)]
        for op in incomplete:
            _forward(op, layouts)
        for op in reversed(incomplete):
            _backward(op, layouts)


def _is_incomplete(op: ir.Operation, layouts: Layouts) -> bool:
    """Whether an operation has tiles without layouts, or regions, which may have such tiles."""
    return bool(op.regions) or any(map(layouts.lack, op.operands)) or any(map(layouts.lack, op.results))


def _tiles(operations: list[ir.OpView]) -> list[ir.Value]:
    found = []
    for op in operations:
        found += [value for value in op.operation.results if is_tile(value)]
        for region in op.operation.regions:
            for block in region.blocks:
                found += [value for value in block.arguments if is_tile(value)]
    return found


def _widest_vector(tile: ir.Value) -> int:
    return max(1, 8 * VECTOR_BYTES // element_bits(tile.type.element))


def _anchor(op: ir.OpView, plan: MatrixPlan, warps: int, layouts: Layouts, *, ring_tiles: bool) -> None:
    """Proposes the layouts that hardware or memory fixes.

    Threads read a tile of a ring in any layout, so that beside multiplies its users decide, unless with `ring_tiles`.
    """
    name = op.operation.name
    if name in MULTIPLIES:
        result = op.operation.results[0]
        multiply = plan.multiplies[result]
        layouts.propose(result, multiply.accumulator_layout(result.type.shape, warps))
        layouts.propose(multiply.lhs.value, multiply.lhs.register_layout)
        if multiply.metadata_layout is not None:
            layouts.propose(op.metadata, multiply.metadata_layout)
    elif name == "cuda_tile.extract" and op.source in plan.folded and ring_tiles:
        row = op.result
        layouts.propose(row, whole_bytes(row.type, warps, row.type.rank - 1, _widest_vector(row)))
    elif name == "cuda_tile.load_view_tko":
        tile = op.operation.results[0]
        contiguous, vector = access_vector(op)
        if (plan.is_ring_tile(tile) or tile in plan.kept) and not ring_tiles:
            return
        if plan.loads.get(tile) == []:
            # TMA checks the extents, so that threads read whole vectors from shared memory.
            contiguous, vector = plan.maps[tile].contiguous, _widest_vector(tile)
        else:
            vector = min([vector, *_vectors_beside(tile, plan, contiguous)])
        if not plan.multiplies:
            vector = min(vector, _share_of_thread(tile.type.shape, warps))
        stored = _stored_dimension(tile, plan)
        if stored is None or stored == contiguous:
            layouts.propose(tile, whole_bytes(tile.type, warps, contiguous, vector))
        else:
            layouts.propose(tile, _transposing(tile.type, warps, contiguous, stored, vector))


def _vectors_beside(tile: ir.Value, plan: MatrixPlan, contiguous: int) -> Iterator[int]:
    """The vectors of the loads by threads with whose elements those of a tile are combined.

    With one vector for all, as of a mask of bytes and of the floats that it selects, no elements are exchanged.
    """
    for value in reached(tile, _combined):
        if not isinstance(value.owner, ir.Block) and value.owner.operation.name == "cuda_tile.load_view_tko":
            dimension, vector = access_vector(value.owner)
            if dimension == contiguous and value not in plan.loads:
                yield vector


def _combined(value: ir.Value) -> Iterator[ir.Value]:
    """The other operands and the results of the elementwise operations that read or compute a tile."""
    around = [use.owner for use in value.uses]
    if not isinstance(value.owner, ir.Block):
        around.append(value.owner)
    for op in around:
        if is_elementwise(op.operation.opview):
            yield from filter(is_tile, (*op.operands, *op.results))


def _share_of_thread(shape: Sequence[int], warps: int) -> int:
    """The elements of each thread if no two threads have the same; at least one."""
    return max(1, prod(shape) // (warps * LANES))


def _stored_dimension(tile: ir.Value, plan: MatrixPlan) -> int | None:
    """The dimension along which threads store a loaded operand of a multiply in shared memory; None if none do."""
    for multiply in plan.multiplies.values():
        for operand in (multiply.lhs, multiply.rhs):
            in_place = operand.register_layout is not None or operand.tensor_layout is not None
            if operand.value == tile and operand.map is None and not in_place:
                return operand.contiguous
    return None


def _transposing(type: ir.Type, warps: int, contiguous: int, stored: int, vector: int) -> LinearLayout:
    bits = element_bits(type.element)
    if bits < 8:
        return whole_bytes(type, warps, contiguous, vector)
    sector, word = 8 * SECTOR_BYTES // bits, max(1, 8 * _WORD_BYTES // bits)
    return transposing(type.shape, warps, contiguous, stored, vector, word, sector)


def _anchor_columns(plan: MatrixPlan, warps: int, layouts: Layouts) -> None:
    """All warps share the columns of an accumulator that are read at a time."""
    for tile, multiply in read_by_columns(plan, with_early=True).items():
        for columns in (use.owner.result for use in tile.uses):
            rows, extent = columns.type.shape
            if multiply.unit.refusal(rows, extent, warps) is None:
                layouts.propose(columns, multiply.accumulator_layout((rows, extent), warps))


def _is_repeated_load(op: ir.OpView, plan: MatrixPlan) -> bool:
    """Whether threads load a tile, or a row of one, that only broadcasts read, directly or after other operations."""
    if op.operation.name == "cuda_tile.extract":
        return op.source in plan.folded and _is_repeated(op.result)
    if op.operation.name != "cuda_tile.load_view_tko":
        return False
    tile = op.operation.results[0]
    return plan.loads.get(tile, []) == [] and is_tile(tile) and _is_repeated(tile)


def _is_repeated(value: ir.Value) -> bool:
    """Whether each use of a value is a broadcast, or an operation on as many elements whose results are repeated."""
    return all(map(_has_elementwise_uses, reached(value, _results_before_broadcasts)))


def _is_computed(value: ir.Value) -> bool:
    """Whether threads compute with the elements of a loaded tile before they are broadcast, more than a conversion."""
    makers = (each.owner.opview for each in reached(value, _results_before_broadcasts) if each != value)
    return any(is_elementwise(op) and op.operation.name not in _CONVERSIONS for op in makers)


def _has_elementwise_uses(value: ir.Value) -> bool:
    users = [use.owner.operation.opview for use in value.uses]
    names = ("cuda_tile.broadcast", "cuda_tile.reshape")
    return bool(users) and all(user.operation.name in names or is_elementwise(user) for user in users)


def _results_before_broadcasts(value: ir.Value) -> Iterator[ir.Value]:
    for use in value.uses:
        if use.owner.operation.name != "cuda_tile.broadcast":
            yield from use.owner.operation.results


def _spread_rows(op: ir.OpView, warps: int, layouts: Layouts) -> None:
    """A thread has whole rows of a tile that no memory gives a layout, so that no lanes exchange reduced elements."""
    if op.operation.name == "cuda_tile.reduce" and layouts.lack(tile := op.operation.operands[0]):
        layouts.propose(tile, rows_of_threads(tile.type.shape, warps, op.dim, _widest_vector(tile)))


def _repeat_words(op: ir.OpView, layouts: Layouts) -> None:
    """A thread that holds an integer holds all elements that are bits of it, as by a shift for each element."""
    if op.operation.name != "cuda_tile.broadcast" or not layouts.lack(result := op.operation.results[0]):
        return
    source = op.operation.operands[0]
    if not layouts.lack(source) and _is_spread(layouts[source]) and _has_bits_of_each(source, result):
        layouts.propose(result, interleaved(layouts[source], result.type.shape))


def _is_unpacked(tile: ir.Value) -> bool:
    """Whether the elements of a tile are broadcast and then taken apart into bits."""
    users = [use.owner.operation for value in reached(tile, _results_before_broadcasts) for use in value.uses]
    broadcasts = [user for user in users if user.name == "cuda_tile.broadcast"]
    return any(_has_bits_of_each(user.operands[0], user.results[0]) for user in broadcasts)


def _is_spread(layout: LinearLayout) -> bool:
    """Whether each element is in one register of one thread."""
    return all(map(any, layout.register + layout.lane + layout.warp))


def _has_bits_of_each(source: ir.Value, result: ir.Value) -> bool:
    """Whether a broadcast repeats each integer for elements that are bits of it."""
    repetitions = prod(result.type.shape) // prod(source.type.shape)
    return repetitions <= element_bits(source.type.element) and all(
        use.owner.operation.name in _BIT_OPERATIONS for use in result.uses
    )


def _anchor_pointers(op: ir.OpView, vector: int, plan: MatrixPlan, warps: int, layouts: Layouts) -> None:
    """A thread holds the adjacent elements that one instruction loads or stores."""
    if vector > 1:
        pointers = op.operation.operands[0]
        shape = pointers.type.shape
        if not plan.multiplies:
            vector = min(vector, _share_of_thread(shape, warps))
        layouts.propose(pointers, blocked(shape, warps, vector=vector))


def _forward(op: ir.OpView, layouts: Layouts) -> None:
    """From operands to results."""
    name, operation = op.operation.name, op.operation
    if name == "cuda_tile.reduce":
        _reduce_forward(op, layouts)
    elif name == "cuda_tile.scan":
        _share([*operation.operands, *operation.results], layouts)
    elif name == "cuda_tile.cat":
        for value in operation.operands:
            _derive(value, operation.results[0], layouts, lambda layout, type: doubled(layout, op.dim))
    elif name == "cuda_tile.extract":
        _derive(op.source, operation.results[0], layouts, lambda layout, type: block_of(layout, type.shape))
    elif name == "cuda_tile.insert":
        _derive(op.destination, operation.results[0], layouts, lambda layout, type: layout)
    elif name == "cuda_tile.reshape":
        _derive(operation.operands[0], operation.results[0], layouts, lambda layout, type: layout.reshape(type.shape))
    elif name == "cuda_tile.permute":
        _derive(
            operation.operands[0], operation.results[0], layouts, lambda layout, type: layout.transpose(op.permutation)
        )
    elif name in ("cuda_tile.pack", "cuda_tile.unpack"):
        _share_bytes(op, layouts)
    elif name in STRUCTURES:
        for together in carried_groups(op):
            _share(together, layouts)
    elif is_elementwise(op):
        known = layouts.first(list(operation.operands))
        for result in operation.results:
            layouts.propose(result, known)


def _backward(op: ir.OpView, layouts: Layouts) -> None:
    """From the first result to operands, and from the tile of an access to its sparse indices."""
    name, operation = op.operation.name, op.operation
    if name in ("cuda_tile.load_view_tko", "cuda_tile.store_view_tko"):
        _sparse_backward(op, layouts)
    if not operation.results or operation.results[0] not in layouts:
        return
    result = operation.results[0]
    if name == "cuda_tile.broadcast":
        _derive(result, operation.operands[0], layouts, lambda layout, type: projected(layout, type.shape))
    elif name == "cuda_tile.reshape":
        _derive(result, operation.operands[0], layouts, lambda layout, type: layout.reshape(type.shape))
    elif name == "cuda_tile.permute":
        inverse = [list(op.permutation).index(d) for d in range(result.type.rank)]
        _derive(result, operation.operands[0], layouts, lambda layout, type: layout.transpose(inverse))
    elif name == "cuda_tile.cat":
        for value in operation.operands:
            _derive(result, value, layouts, lambda layout, type: halved(layout, op.dim))
    elif name == "cuda_tile.insert":
        _derive(result, op.destination, layouts, lambda layout, type: layout)
        _derive(result, op.source, layouts, lambda layout, type: block_of(layout, type.shape))
    elif name in ("cuda_tile.pack", "cuda_tile.unpack"):
        _share_bytes(op, layouts)
    elif is_elementwise(op):
        for value in operation.operands:
            layouts.propose(value, layouts[result])


def _sparse_backward(op: ir.OpView, layouts: Layouts) -> None:
    """A thread that computes the indices of its elements itself needs no exchange with others."""
    dimension = getattr(op.view.type, "sparse_dim", None)
    if dimension is not None:
        _derive(op.tile, list(op.index)[dimension], layouts, lambda layout, type: layout.keep(dimension))


def projected(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """The layout with the dimensions projected that have one element in `shape`."""
    for dimension, extent in enumerate(shape):
        if extent == 1:
            layout = layout.project(dimension)
    return layout


def _derive(
    source: ir.Value, target: ir.Value, layouts: Layouts, derive: Callable[[LinearLayout, ir.Type], LinearLayout | None]
) -> None:
    if source in layouts and target not in layouts and is_tile(target):
        layouts.propose(target, derive(layouts[source], target.type))


def _share_bytes(op: ir.OpView, layouts: Layouts) -> None:
    """A thread that holds an element holds its bytes, and all elements of its bytes."""
    whole, part, parts = repacked(op)
    _derive(whole, part, layouts, lambda layout, type: divided(layout, 0, parts))
    _derive(part, whole, layouts, lambda layout, type: joined(layout, 0, parts))


def _reduce_forward(op: ir.OpView, layouts: Layouts) -> None:
    operands = list(op.operation.operands)
    _share(operands, layouts)
    for result in op.operation.results:
        _derive(operands[0], result, layouts, lambda layout, type: layout.drop(op.dim))


def _share(together: list[ir.Value], layouts: Layouts) -> None:
    """Values of one shape get the layout of the first that has one."""
    known = layouts.first(together)
    for value in together:
        layouts.propose(value, known)
