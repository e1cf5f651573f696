"""The conversion of one entry: its state, the table of the conversions of operations, and the walk over them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.rule_table import RuleTable
from tilec.dialect.tile_gpu.operations.memory import AcquiredOp, BarrierOp, FenceAcquiredOp, StoreWaitOp
from tilec.dialect.tile_gpu.operations.placed import ReadOp
from tilec.dialect.tile_gpu.operations.shape import ConvertLayoutOp, IotaOp, SplatOp
from tilec.dialect.tile_gpu.types import TENSOR, TRANSPOSED, BufferType
from tilec.dialect.walk import views_in
from tilec.errors import UnsupportedError
from tilec.lowering import emitter
from tilec.lowering.kernel_hints import REMAINING_LOAD
from tilec.lowering.layout.linear_layout import LinearLayout
from tilec.lowering.layout.tensor_layout import parse_tensor_layout
from tilec.lowering.plan.kernel_plan import Plan
from tilec.lowering.tile.analysis.tensor_extent import tile_steps
from tilec.lowering.tile.analysis.tile_operations import VIEW_LOADS, in_loop, is_tile, loops_around
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes
from tilec.lowering.tile_to_gpu.access.declarations import Declarations, element_type
from tilec.lowering.tile_to_gpu.access.memory_order import BULK_ORDERS, MemoryOrder
from tilec.lowering.tile_to_gpu.access.operation_name import operation_name
from tilec.lowering.tile_to_gpu.conversion.sliced_map import SlicePosition

# rule(op, conversion)
_Rule = Callable[[ir.OpView, Any], None]
RULES: RuleTable[str, _Rule] = RuleTable("converted")


def converts(*names: str) -> Callable[[_Rule], _Rule]:
    """Registers a function as the conversion of operations; a name without a dot belongs to `cuda_tile`.

    Raises ValueError, naming both functions, for a duplicate.
    """
    full = [name if "." in name else f"cuda_tile.{name}" for name in names]
    return lambda rule: RULES.enter(full, rule, rule)


@dataclass(frozen=True)
class TensorView:
    """A tensor in global memory: base address, extents and strides (in elements) as scalars of tile_gpu.

    `position` is that of a slice in the tensor map of all slices, `item` the number of an array in its list, as i32.
    """

    base: ir.Value
    extents: tuple[ir.Value, ...]
    strides: tuple[ir.Value, ...]
    type: ir.Type
    source: ir.OpView
    position: SlicePosition | None = None
    item: ir.Value | None = None

    @property
    def index_width(self) -> int:
        """The bits of its extents, and of indices into it."""
        return max((extent.type.width for extent in self.extents), default=32)


@dataclass(frozen=True)
class TileView:
    """A view cut into tiles: how far apart they start, and which tensor dimension each tile dimension walks."""

    tensor: TensorView
    type: ir.Type

    @property
    def steps(self) -> tuple[int, ...]:
        return tile_steps(self.type)

    @property
    def sparse_dimension(self) -> int | None:
        """The dimension along which a tile of indices selects elements one by one."""
        return getattr(self.type, "sparse_dim", None)

    @property
    def dim_map(self) -> Sequence[int]:
        return self.type.dim_map


@dataclass(frozen=True)
class InMemory:
    """A tile in tensor memory, or zero where `is_defined` (a scalar i1) is false."""

    tile: ir.Value
    is_defined: ir.Value


@dataclass(frozen=True)
class StationaryRows:
    """A run of pixels in shared memory, and its rows in tensor memory after they have moved up by `tap`."""

    run: ir.Value
    rows: ir.Value
    tap: int


class Conversion:
    """The decisions for an entry, and its converted values, views, accumulators and slots."""

    def __init__(self, plan: Plan, use_tma: bool, declarations: Declarations) -> None:
        self.target, self.warps, self.ctas = plan.target, plan.warps, plan.ctas
        self.plan, self.layouts, self.order = plan.matrix, plan.layouts, plan.order
        self.vectors, self.stores = plan.vectors, plan.stores
        self.use_tma = use_tma
        self.declarations = declarations
        self.values: dict[ir.Value, ir.Value] = {}
        self.tensor_views: dict[ir.Value, TensorView] = {}
        self.tile_views: dict[ir.Value, TileView] = {}
        # The first pixel of a tile of images, by the view and the number of the tile.
        self.positions: dict[object, list[ir.Value]] = {}
        # Tiles in shared memory, by the result of their load, and in tensor memory.
        self.placed: dict[ir.Value, ir.Value] = {}
        # Left operands in tensor memory, by the block of their multiplies; None for those that are loaded.
        self.operands: dict[tuple[ir.Value, ir.Block | None], ir.Value] = {}
        self.in_memory: dict[ir.Value, InMemory] = {}
        # Runs of pixels in shared memory, by what their copy reads.
        self.runs: dict[Hashable, ir.Value] = {}
        # Runs whose rows move in tensor memory, in the same way.
        self.stationary: dict[Hashable, StationaryRows] = {}
        self._groups: dict[Hashable, int] = {}
        # The operations after which a fence orders later loads of TMA.
        self._fenced = {
            point for tile in plan.matrix.loads for point in points_of_fences(tile.owner, plan.order) if use_tma
        }
        # Whether a loop ended by break, for the loops that contain a return.
        self.completed: dict[ir.Operation, ir.Value] = {}

    def block(self, block: ir.Block) -> None:
        """Converts all operations but the terminator at the current insertion point."""
        for op in views_in(block)[:-1]:
            self.operation(op)

    def operation(self, op: ir.OpView) -> None:
        """Converts one operation, after the reads of accumulators that it needs."""
        operation = op.operation
        with named_location(op):
            self.read_for(operation)
            if not self._is_folded(operation):
                rule = RULES.get(operation.name)
                if rule is None:
                    raise UnsupportedError(
                        f"'{operation_name(op)}' cannot be compiled for {self.target.name}",
                        source_location(op.operation.location),
                    )
                rule(op, self)
                if operation in self._fenced:
                    emitter.gpu(BarrierOp)
                    emitter.gpu(FenceAcquiredOp, [emitter.gpu(AcquiredOp, [], [emitter.integer_type(32)]).result])

    def _is_folded(self, operation: ir.Operation) -> bool:
        if operation.name in VIEW_LOADS or len(operation.results) != 1:
            return False
        return operation.results[0] in self.plan.folded

    def get(self, value: ir.Value) -> ir.Value:
        """The converted scalar or tile, in its own layout."""
        return self.values[value]

    def tile(self, value: ir.Value, layout: LinearLayout | None) -> ir.Value:
        """A tile in the layout that its user needs: constants, splats and iotas are repeated, others converted."""
        made = self.values[value]
        if layout is None or not isinstance(made.type, ir.RankedTensorType):
            return made
        wanted = emitter.tile_type(made.type.shape, made.type.element_type, layout)
        if made.type == wanted:
            return made
        producer = made.owner
        if not isinstance(producer, ir.Block):
            name = producer.operation.name
            if name == "arith.constant":
                return emitter.constant_tile(wanted, ir.DenseElementsAttr(producer.operation.attributes["value"]))
            if name in (SplatOp.OPERATION_NAME, IotaOp.OPERATION_NAME):
                return build(name, list(producer.operation.operands), [wanted]).result
        return emitter.gpu(ConvertLayoutOp, [made], [wanted]).result

    def set(self, value: ir.Value, made: ir.Value) -> None:
        """Records the converted value."""
        self.values[value] = made

    def set_converted(self, value: ir.Value, made: ir.Value) -> None:
        """Records the converted value, in the layout of the value."""
        self.set(value, made)
        self.set(value, self.tile(value, self.layouts.get(value)))

    def type(self, value: ir.Value) -> ir.Type:
        """The type of a converted value."""
        tile = value.type
        assert isinstance(tile, TileType)
        element = element_type(tile.element)
        return emitter.tile_type(tile.shape, element, self.layouts[value]) if is_tile(value) else element

    def read_for(self, operation: ir.Operation) -> None:
        """Brings the accumulators into registers that an operation is the first to need there."""
        for value in self.plan.reads_before.get(operation, ()):
            self.read(value)

    def read(self, value: ir.Value) -> None:
        """Brings a value from tensor memory into registers."""
        held, result = self.in_memory[value], self.type(value)
        multiply = next(iter(self.plan.accumulators[value].multiplies))
        layout = self.layouts[multiply.results[0]]
        type = emitter.with_encoding(result, layout)
        loaded = emitter.with_encoding(result, registers_of(held.tile.type, self.warps))

        def load() -> ir.Value:
            return emitter.converted(emitter.gpu(ReadOp, [held.tile], [loaded]).result, layout)

        tile = emitter.choose(held.is_defined, type, load, lambda: emitter.zero(type))
        self.set(value, tile if type == result else emitter.gpu(ConvertLayoutOp, [tile], [result]).result)

    def group(self, key: Hashable) -> int:
        """The number of a group of placed tiles."""
        return self._groups.setdefault(key, len(self._groups))

    def synchronize(self, op: ir.OpView) -> None:
        """Emits the barrier between an access and those of other threads that its token names."""
        if self.order.needs_barrier(op):
            if self.use_tma and any(earlier.name in BULK_ORDERS for earlier in self.order.before(op)):
                emitter.gpu(StoreWaitOp)
            emitter.gpu(BarrierOp)


def points_of_fences(load: ir.OpView, order: MemoryOrder) -> set[ir.Operation]:
    """The acquires before a load of TMA, or the outermost loops around them that do not contain the load."""
    around = loops_around(load)
    found = set()
    for acquire in order.acquires_before(load) or ():
        loops = [loop for loop in loops_around(acquire.opview) if loop not in around]
        found.add(loops[-1] if loops else acquire)
    return found


def named_location(op: ir.OpView) -> ir.Location:
    """The operation's own location under its name, which the PTX prints beside its instructions."""
    return ir.Location.name(op.operation.name.removeprefix("cuda_tile.").removeprefix("tilex."), op.operation.location)


def runs_ahead(load: ir.OpView, conversion: Conversion) -> bool:
    """Whether a load of threads in a loop may run before the operations that precede it."""
    return in_loop(load) and REMAINING_LOAD not in load.attributes and conversion.order.may_run_early(load)


def is_repeatable(load: ir.OpView, conversion: Conversion) -> bool:
    """Whether several roles may execute copies of a load in place of one."""
    return conversion.order.may_be_repeated(load)


def buffer_of(target: ir.Value, conversion: Conversion) -> BufferType:
    """The type in tensor memory of an accumulator."""
    type = target.type
    layout = "lanes=64" if type.shape[0] == 64 else "lanes=128"
    layout = TRANSPOSED if conversion.plan.accumulators[target].is_transposed else layout
    return BufferType.get(tuple(type.shape), type.element, TENSOR, layout)


def registers_of(buffer: BufferType, warps: int) -> LinearLayout:
    """The layout of the register tile that is loaded from the buffer or stored to it."""
    return parse_tensor_layout(buffer.layout, buffer.shape, element_bytes(buffer.element)).registers(warps)
