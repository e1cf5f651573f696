"""The order of memory operations by their tokens, and where it requires a barrier of the tile block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from tilec.dialect.cuda_tile.types import PartitionViewType, TokenType
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.walk import is_within, owner_of, reached, reached_from
from tilec.lowering.kernel_hints import REPEATED_STORE
from tilec.lowering.tile.analysis.acquires import ACQUIRING, is_read
from tilec.lowering.tile.analysis.bounds import bounds
from tilec.lowering.tile.analysis.constants import splat
from tilec.lowering.tile.analysis.divisibility import divisibility
from tilec.lowering.tile.analysis.tile_operations import (
    CONTINUE,
    FOR,
    IF,
    LOADS,
    YIELD,
    carried_sources,
    ends,
    given,
    initial_value,
    loops_around,
    producer,
)

_STORE = "cuda_tile.store_view_tko"
# Operations whose region combines elements: each result is computed from all operands.
_COMBINING = ("cuda_tile.reduce", "cuda_tile.scan")
# The memory order with which TMA may do an operation; only a wait of the issuing thread then shows its end.
REDUCTIONS = ("cuda_tile.atomic_red_view_tko", "tilex.atomic_red_view_tko")
BULK_ORDERS = {
    **dict.fromkeys(("cuda_tile.store_view_tko", "tilex.store_im2col_tko", "tilex.store_packed_tko"), "weak"),
    **dict.fromkeys(REDUCTIONS, "relaxed"),
}


def order_of(op: ir.OpView) -> dict[str, str]:
    """The attributes `order` and `scope` of a tile_gpu access for a memory operation; a weak one has neither."""
    if op.memory_ordering_semantics == "weak":
        return {}
    return {"order": op.memory_ordering_semantics, "scope": op.memory_scope}


class MemoryOrder:
    """The memory operations that come before each memory operation of an entry, through any chain of tokens."""

    def __init__(self, operations: list[ir.OpView], fences: bool = False) -> None:
        """`operations` are those of the entry. With `fences` TMA may load after an acquire, which a fence orders."""
        self._fences = fences
        self._before = {
            op.operation: _before(op.token)
            for op in operations
            if _is_memory(op.operation) and hasattr(type(op), "token")
        }
        pairs = [(op, earlier) for op, found in self._before.items() if op.name not in LOADS for earlier in found]
        self._ordered_before = {earlier for _, earlier in pairs}
        # A store of a value computed from the load cannot overtake it. Of the others that come after the load, the
        # first ones count: later ones follow these.
        first = {op: _before(op.opview.token, past=lambda each: each.name in LOADS) for op in self._before}
        self._loads_before_stores = {
            earlier
            for op, found in first.items()
            if op.name not in LOADS
            for earlier in found
            if earlier.name in LOADS and not self._awaits(op, earlier)
        }

    def _awaits(self, op: ir.Operation, load: ir.Operation) -> bool:
        """Whether a store uses a value computed from a load, or always follows another one that does."""
        if uses_result_of(op, load):
            return True
        stores = [each for each in self._before[op] if each.name not in LOADS and _precedes(each, op)]
        return any(uses_result_of(each, load) for each in stores)

    def before(self, op: ir.OpView) -> set[ir.Operation]:
        """The operations that must be complete before an operation, itself included if a loop orders its iterations."""
        return self._before.get(op.operation, set())

    def stores_before(self, op: ir.OpView) -> set[ir.Operation]:
        return {earlier for earlier in self.before(op) if earlier.name not in LOADS}

    def stores_to_await(self, store: ir.OpView) -> set[ir.Operation]:
        """The stores before a store that may write the same elements."""
        return {earlier for earlier in self.stores_before(store) if not are_disjoint(store, earlier.opview)}

    def loads_before(self, op: ir.OpView) -> set[ir.Operation]:
        return self.before(op) - self.stores_before(op)

    def is_unordered(self, load: ir.OpView) -> bool:
        """Whether a load may run early: no store or acquire comes before it, and no store could overtake it."""
        return not self._orders(load) and load.operation not in self._loads_before_stores

    def may_run_early(self, load: ir.OpView) -> bool:
        """Whether a load may run before accesses that precede it in the program, as another thread issues it."""
        return load.memory_ordering_semantics == "weak" and self.is_unordered(load)

    def acquires_before(self, load: ir.OpView) -> set[ir.Operation] | None:
        """The acquires after which TMA may do a load, if a fence orders them: none if it may run early.

        None if other accesses order it, or an acquire of each iteration of its loop, in which it would run ahead.
        """
        if self.may_run_early(load):
            return set()
        if not self._fences or load.memory_ordering_semantics != "weak" or load.operation in self._loads_before_stores:
            return None
        latest = _before(load.token, past=lambda op: not _acquires(op))
        acquires = {op for op in latest if _acquires(op)}
        if any(op.name not in LOADS for op in latest - acquires):
            return None
        loops = loops_around(load)
        is_repeated = loops and any(loops[0] in loops_around(op.opview) for op in acquires)
        return None if is_repeated else acquires

    def delay_of(self, load: ir.OpView) -> str:
        """Why a load may not run early, and how to avoid this."""
        if load.memory_ordering_semantics != "weak":
            return f"the load is {load.memory_ordering_semantics}, and TMA loads are weak"
        before = sorted(self.before(load), key=lambda op: (_line(op), op.name))
        for earlier in before:
            if _acquires(earlier):
                apart = "" if is_read(earlier) else ", nor does this acquire with the hint arrays_apart"
                line = _line(earlier)
                return f"the load comes after an acquire in line {line}: memory order relaxed orders no loads{apart}"
        for earlier in before:
            if earlier.name not in LOADS:
                return f"the load comes after '{earlier.name}' in line {_line(earlier)}, and may not precede it"
        return "a store of other values to its array comes after the load: store to another array"

    def may_be_repeated(self, load: ir.OpView) -> bool:
        """Whether several threads may execute copies of a load, each at its own time, and get the same value.

        A store of a value computed from one copy may overtake another one, so no store may follow by tokens at all.
        """
        return (
            load.memory_ordering_semantics == "weak"
            and load.operation not in self._ordered_before
            and not self._orders(load)
        )

    def needs_barrier(self, op: ir.OpView) -> bool:
        """Whether earlier accesses of other threads of the tile block must be complete when an operation starts."""
        if op.operation.name in LOADS:
            return self._orders(op)
        return any(not _are_apart(op, earlier.opview) for earlier in self.before(op))

    def _orders(self, load: ir.OpView) -> bool:
        return any(
            earlier.name not in LOADS or earlier.opview.memory_ordering_semantics in ACQUIRING
            for earlier in self.before(load)
        )


def _line(op: ir.Operation) -> int:
    """The line of an operation in the source; 0 if it is unknown."""
    location = source_location(op.location)
    return 0 if location is None else location.line


def _is_memory(op: ir.Operation) -> bool:
    return op.name.endswith("_tko") and op.name != "cuda_tile.print_tko"


def _is_grid_control(op: ir.Operation) -> bool:
    """Whether an operation orders this grid and others: each thread, of every role, executes it in program order.

    A wait below a branch or a loop orders like an access: a role without work there does not execute it.
    """
    if op.name == "cuda_tile.gdc_wait_tko":
        return op.parent.name == "cuda_tile.entry"
    return op.name == "cuda_tile.gdc_launch_dependents_tko"


def _acquires(op: ir.Operation) -> bool:
    return getattr(op.opview, "memory_ordering_semantics", "weak") in ACQUIRING


def _before(token: ir.Value | None, past: Callable[[ir.Operation], bool] = lambda op: True) -> set[ir.Operation]:
    """The accesses before a token; those before an access as well, if they can be seen `past` it."""

    def sources(value: ir.Value) -> list[ir.Value]:
        if (carried := carried_sources(value)) is not None:
            initial = initial_value(value)
            return carried if initial is None else [initial, *carried]
        op = value.owner.operation
        if not _is_memory(op):
            return [operand for operand in op.operands if operand.type == value.type]
        earlier = value.owner.token if past(op) else None
        return [] if earlier is None else [earlier]

    tokens = () if token is None else reached(token, sources)
    owners = {owner for value in tokens if (owner := owner_of(value)) is not None}
    return {op for op in owners if _is_memory(op) and not _is_grid_control(op)}


def _precedes(first: ir.Operation, op: ir.Operation) -> bool:
    """Whether an operation is executed before each execution of another one, in the same iterations of all loops."""
    while op.block != first.block:
        op = op.parent
        if op.name == "cuda_tile.entry":
            return False
    return first.is_before_in_block(op)


def uses_result_of(op: ir.Operation, load: ir.Operation) -> bool:
    """Whether an operation uses a value computed from a load, directly or through operations and `for` loops."""
    computed = _computed_from(load)
    return any(operand in computed for operand in op.operands)


def _computed_from(load: ir.Operation) -> set[ir.Value]:
    """All values that do not exist before the load is complete, whichever branches are taken."""
    found: set[ir.Value] = set()

    def computed(value: ir.Value) -> list[ir.Value]:
        found.add(value)
        return [result for use in value.uses for result in _results(use, load, found)]

    results = (result for result in load.results if not isinstance(result.type, TokenType))
    return {*reached_from(results, computed)}


def _results(use: ir.OpOperand, load: ir.Operation, computed: set[ir.Value]) -> list[ir.Value]:
    """The results that the user of a value computes from it; those of a branch, if each of its values is `computed`."""
    user = use.owner.operation
    if user.name == YIELD and user.parent.name == IF:
        branch, number = user.parent, use.operand_number
        return [branch.results[number]] if all(v in computed for v in given(branch.opview, YIELD, number)) else []
    if user.name == CONTINUE:
        loop = user.parent
        return [loop.results[use.operand_number]] if _repeats(loop, load) else []
    if user.name == YIELD or (len(user.regions) and user.name not in _COMBINING):
        return []
    return [result for result in user.results if not isinstance(result.type, TokenType)]


def _repeats(loop: ir.Operation, load: ir.Operation) -> bool:
    """Whether each iteration of a `for` contains the load and ends at one `continue`."""
    return loop.name == FOR and load.block == loop.regions[0].blocks[0] and len(ends(loop.opview, CONTINUE)) == 1


def _are_apart(first: ir.OpView, second: ir.OpView) -> bool:
    """Whether only accesses that have a barrier themselves can observe the order of two accesses."""
    return are_disjoint(first, second) and all(op.memory_ordering_semantics == "weak" for op in (first, second))


def are_disjoint(first: ir.OpView, second: ir.OpView) -> bool:
    """Whether the tiles of two stores are of one grid, and their indices always differ along a dimension.

    A store and itself in other iterations have different tiles if its indices determine the counters of all loops
    around it, as `8 * j + s` does for s below 8.
    Elements of a tensor whose strides make them share memory count as different ones.
    """
    # The tiles of a partition view do not overlap.
    if not all(op.operation.name == _STORE and isinstance(op.view.type, PartitionViewType) for op in (first, second)):
        return False
    if REPEATED_STORE in first.attributes and REPEATED_STORE in second.attributes:
        if first.attributes[REPEATED_STORE] == second.attributes[REPEATED_STORE]:
            return True
    if first.operation == second.operation:
        loops = loops_around(first)
        known = {value for index in first.index for value in _determined(index, loops)} if loops else set()
        return all(loop.name == FOR and loop.regions[0].blocks[0].arguments[0] in known for loop in loops)
    if first.view.type != second.view.type or first.view.owner.operands[0] != second.view.owner.operands[0]:
        return False
    return any(_differ(*indices) for indices in zip(first.index, second.index, strict=True))


def _determined(index: ir.Value, loops: list[ir.Operation]) -> set[ir.Value]:
    """The values in loops that are equal wherever an index is: those of which it is a sum of multiples, or itself."""
    terms = {value: factor for value, factor in _terms(index).items() if factor and is_within(value, loops[-1].opview)}
    reached, wraps_at = 0, 1 << index.type.element.width
    for value in sorted(terms, key=lambda value: abs(terms[value])):
        factor, known = abs(terms[value]), bounds(value)
        if factor <= reached:
            return {index}
        reached += factor * (known.high - known.low)
    return set(terms) if reached < wraps_at else {index}


def _terms(index: ir.Value) -> Counter[ir.Value]:
    """The values of which an index is a sum, besides a number, by their factors."""
    op = producer(index, "addi", "muli")
    if op is None:
        return Counter() if splat(index) is not None else Counter({index: 1})
    lhs, rhs = _terms(op.lhs), _terms(op.rhs)
    if op.operation.name == "cuda_tile.muli":
        number = splat(op.rhs) if splat(op.lhs) is None else splat(op.lhs)
        if number is None:
            return Counter({index: 1})
        return Counter({value: factor * number for value, factor in (lhs or rhs).items()})
    lhs.update(rhs)
    return lhs


def _differ(first: ir.Value, second: ir.Value) -> bool:
    (number, divisor), (other, other_divisor) = _remainder(first), _remainder(second)
    return (number - other) % min(divisor, other_divisor) != 0


def _remainder(index: ir.Value) -> tuple[int, int]:
    """A number, and a power of two that divides the difference of the index and the number."""
    wraps_at = 1 << index.type.element.width
    known = splat(index)
    if known is not None:
        return known, wraps_at
    total = producer(index, "addi")
    if total is not None:
        for added, other in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
            number = splat(added)
            if number is not None:
                return number, min(wraps_at, divisibility(other))
    return 0, min(wraps_at, divisibility(index))
