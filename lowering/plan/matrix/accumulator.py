"""Accumulators that stay in tensor memory, through loops, branches, and multiplies that follow each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.matrix_rules import MOST_SCALE, SCALED_MMA_KINDS
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_in, operations_inside, reached
from tilec.element_types import element_type
from tilec.lowering.tile.analysis.constants import splat_attribute
from tilec.lowering.tile.analysis.tile_operations import (
    BREAK,
    CONTINUE,
    FOR,
    IF,
    LOOP,
    LOOPS,
    MULTIPLIES,
    PLAIN_MULTIPLIES,
    YIELD,
    carried_sources,
    ends,
    given,
    is_elementwise,
    is_product,
    left_by,
    producer,
)

_OUTERMOST = ("cuda_tile.entry", KernelOp.OPERATION_NAME)


class BlockOrder:
    """Numbers the operations of each block once; the blocks do not change meanwhile."""

    def __init__(self) -> None:
        self._numbers: dict[ir.Block, dict[ir.Operation, int]] = {}

    def number(self, op: ir.Operation) -> int:
        """The number of an operation in its block."""
        block = op.block
        if block not in self._numbers:
            self._numbers[block] = {inner: number for number, inner in enumerate(operations_in(block))}
        return self._numbers[block][op]

    def ancestor(self, op: ir.Operation, block: ir.Block) -> ir.Operation | None:
        """The operation of a block that is, or contains, an operation; None if it is elsewhere."""
        while op.block != block:
            op = op.parent.operation
            if op.name in _OUTERMOST:
                return None
        return op


# The number of the operand of a multiply that is the accumulator.
ACCUMULATOR = 2


@dataclass(eq=False)
class Accumulator:
    """Values that the same columns of tensor memory hold in sequence.

    Attributes:
        values: results of multiplies, and values that loops and branches carry.
        multiplies: the multiplies that update the accumulator.
        carriers: the loops and branches that carry a value.
        entering: other values that get into the accumulator, each with its user: a multiply, a loop or a terminator.
        reads: the values that registers need, each with the operation before which they are read; None means
            directly after the definition.
        keeps_rows: whether a multiply skips rows, which keep their values.
        is_transposed: whether its columns have lanes.
    """

    values: dict[ir.Value, None] = field(default_factory=dict)
    multiplies: dict[ir.Operation, None] = field(default_factory=dict)
    carriers: dict[ir.Operation, None] = field(default_factory=dict)
    entering: list[tuple[ir.Value, ir.Operation]] = field(default_factory=list)
    reads: dict[ir.Value, ir.Operation | None] = field(default_factory=dict)
    keeps_rows: bool = False
    is_transposed: bool = False

    @property
    def type(self) -> ir.Type:
        return next(iter(self.multiplies)).results[0].type

    @property
    def is_of_one_block(self) -> bool:
        """Whether the values are the results of one multiply, or of several of a block that add to each other."""
        return not self.carriers and len({op.parent.operation for op in self.multiplies}) == 1

    @property
    def is_read_once(self) -> bool:
        """Whether multiplies alone fill the accumulator, and registers read only their last result."""
        if any(not is_zero(value) for value, _ in self.entering) or len(self.reads) > 1:
            return False
        return all(
            not isinstance(value.owner, ir.Block)
            and not any(_stays_in_memory(self, user, operand) for user, operand in _uses(value))
            for value in self.reads
        )

    def addend(self, multiply: ir.Operation) -> tuple[ir.Value, int]:
        """The value to which a multiply adds, and n where the multiply itself scales it by 2**-n; n is 0 otherwise."""
        source, scale = scaled_addend(multiply)
        return (source, scale) if source in self.values else (multiply.operands[ACCUMULATOR], 0)

    @property
    def is_always_defined(self) -> bool:
        """Whether it has a value from the start on; an accumulator that a loop reads and carries starts as zeros.

        A loop without a branch for its first iteration is worth the stores of zeros.
        """
        if self.keeps_rows:
            return True
        is_read_when_carried = any(isinstance(value.owner, ir.Block) for value in self.reads)
        return is_read_when_carried or not any(is_zero(value) for value, _ in self.entering)

    def overlaps(self, other: Accumulator) -> bool:
        """Whether both are in use at the same time: an operation that carries one contains the other, or carries it."""
        return any(
            own == others or _contains(own, others) or _contains(others, own)
            for own in (*self.carriers, *self.multiplies)
            for others in (*other.carriers, *other.multiplies)
        )


def accumulators(multiplies: Iterable[ir.OpView]) -> dict[ir.Operation, Accumulator]:
    """The accumulator of each multiply of rank 2, carried as far as each value is dead when the next is written.

    The last multiply comes first: the values that flow into its accumulator include those of multiplies before it.
    """
    found: dict[ir.Operation, Accumulator] = {}
    placed: set[ir.Value] = set()
    order = BlockOrder()
    for op in reversed(list(multiplies)):
        multiply = op.operation
        if multiply in found:
            continue
        # Products that registers change can stay in the accumulator only if nothing else is in it in the meantime.
        closures = (_Closure(multiply, with_changed_products=each).accumulator for each in (True, False))
        fitting = (each for each in closures if _is_consistent(each, placed) and _place_reads(each, order))
        accumulator = next(fitting, None) or single_accumulator(multiply)
        placed.update(accumulator.values)
        for member in accumulator.multiplies:
            found[member] = accumulator
    return found


def single_accumulator(multiply: ir.Operation) -> Accumulator:
    """The accumulator of one multiply: registers give its initial value and take its result."""
    value = multiply.results[0]
    return Accumulator({value: None}, {multiply: None}, {}, [(multiply.operands[ACCUMULATOR], multiply)], {value: None})


class _Closure:
    """Collects the values that flow into the accumulator of a multiply, through loops and branches."""

    def __init__(self, multiply: ir.Operation, *, with_changed_products: bool) -> None:
        self.accumulator = Accumulator()
        self._with_changed_products = with_changed_products
        self._add(multiply.results[0])
        self._add_changed()
        self._add_breaks()

    def _enter(self, value: ir.Value, user: ir.Operation) -> None:
        """`value` flows into the accumulator at `user`."""
        if _is_born_in_memory(value):
            self._add(value)
        else:
            self.accumulator.entering.append((value, user))

    def _add(self, value: ir.Value) -> None:
        if value in self.accumulator.values:
            return
        self.accumulator.values[value] = None
        owner = value.owner
        if isinstance(owner, ir.Block):
            self._add_carried(owner.owner.operation, ir.BlockArgument(value).arg_number)
            return
        op, number = owner.operation, ir.OpResult(value).result_number
        if op.name in MULTIPLIES:
            self.accumulator.multiplies[op] = None
            self._enter(scaled_addend(op)[0], op)
        elif op.name == FOR:
            self._add(op.regions[0].blocks[0].arguments[number + 1])
        else:
            self._add_ends(op, BREAK if op.name == LOOP else YIELD, number)

    def _add_carried(self, loop: ir.Operation, argument: int) -> None:
        number = argument - (loop.name == FOR)
        self._enter(loop.opview.initValues[number], loop)
        self._add_ends(loop, CONTINUE, number)
        if loop.name == FOR:
            self._add(loop.results[number])

    def _add_ends(self, op: ir.Operation, name: str, number: int) -> None:
        self.accumulator.carriers[op] = None
        for end in ends(op.opview, name):
            self._enter(end.operation.operands[number], end.operation)

    def _add_changed(self) -> None:
        """Adds a carried value, or its sum with a product, that registers change before it enters again."""
        before = None
        while before != len(self.accumulator.values):
            before = len(self.accumulator.values)
            for value, _ in list(self.accumulator.entering):
                for source in _changed_values(value):
                    if self._is_changed_here(source):
                        self._add(source)

    def _is_changed_here(self, value: ir.Value) -> bool:
        """Whether a loop carries a value to the accumulator, or a product is added to one of the accumulator."""
        if not isinstance(value.owner, ir.Block):
            addend, _ = scaled_addend(value.owner.operation)
            return self._with_changed_products and addend in self.accumulator.values
        return any(source in self.accumulator.values for source in carried_sources(value) or ())

    def _add_breaks(self) -> None:
        """Adds the results of a loop whose every break gives a value of the accumulator."""
        for loop in [op for op in self.accumulator.carriers if op.name == LOOP]:
            for number, result in enumerate(loop.results):
                sources = given(loop.opview, BREAK, number)
                if sources and all(source in self.accumulator.values for source in sources):
                    self._add(result)


def _changed_values(value: ir.Value) -> Iterator[ir.Value]:
    """The values carried by loops, and the products, from which elementwise operations compute one of the same type."""

    def is_carried(found: ir.Value) -> bool:
        return isinstance(found.owner, ir.Block) and found.owner.owner.operation.name in LOOPS

    def operands(found: ir.Value) -> list[ir.Value]:
        if isinstance(found.owner, ir.Block) or is_product(found) or not is_elementwise(found.owner):
            return []
        return [operand for operand in found.owner.operation.operands if operand.type == value.type]

    return (found for found in reached(value, operands) if is_carried(found) or is_product(found))


def scaled_addend(multiply: ir.Operation) -> tuple[ir.Value, int]:
    """x and n if a multiply alone adds to x * 2**-n, where its instruction can scale x; otherwise its addend and 0.

    The product is exact unless it is subnormal, for which PTX states no rounding (docs/tensor_core.md, table 9). Sums
    in f16 are often subnormal after it, those in f32 are not.
    """
    addend, kind = multiply.operands[ACCUMULATOR], element_type(spell(multiply.operands[0].type.element)).mma_kind
    product = producer(addend, "mulf")
    is_f32 = isinstance(addend.type.element, ir.F32Type)
    if product is None or multiply.name not in PLAIN_MULTIPLIES or kind not in SCALED_MMA_KINDS or not is_f32:
        return addend, 0
    if product.flush_to_zero or product.rounding_mode != "nearest_even" or len(list(addend.uses)) > 1:
        return addend, 0
    for factor, source in ((product.rhs, product.lhs), (product.lhs, product.rhs)):
        element = splat_attribute(factor)
        if element is not None and element.value > 0 and _is_born_in_memory(source):
            fraction, exponent = math.frexp(element.value)
            if fraction == 0.5 and 1 <= 1 - exponent <= MOST_SCALE:
                return source, 1 - exponent
    return addend, 0


def _is_born_in_memory(value: ir.Value) -> bool:
    """Whether a value can be in tensor memory from its definition on."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return owner.owner.operation.name in LOOPS
    name = owner.operation.name
    if name in MULTIPLIES:
        return True
    if name in LOOPS:
        return any(inner.name in MULTIPLIES for inner in operations_inside(owner.operation))
    if name == IF:
        return any(map(_is_born_in_memory, carried_sources(value) or ()))
    return False


def _is_consistent(accumulator: Accumulator, placed: set[ir.Value]) -> bool:
    """Whether the values have one type, none is `placed` in another accumulator, and no operation carries two."""
    if len({str(value.type) for value in accumulator.values}) != 1:
        return False
    if not placed.isdisjoint(accumulator.values):
        return False
    blocks = [value.owner for value in accumulator.values if isinstance(value.owner, ir.Block)]
    owners = [value.owner.operation for value in accumulator.values if not isinstance(value.owner, ir.Block)]
    return len(set(blocks)) == len(blocks) and len(set(owners)) == len(owners)


def _place_reads(accumulator: Accumulator, order: BlockOrder) -> bool:
    """Sets `reads`; returns False if two values are alive at the same time."""
    writers = [*accumulator.multiplies, *(user for value, user in accumulator.entering if not is_zero(value))]
    for value in accumulator.values:
        if not _place_read(accumulator, value, writers, order):
            return False
    return True


def _place_read(accumulator: Accumulator, value: ir.Value, writers: list[ir.Operation], order: BlockOrder) -> bool:
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    defined = -1 if isinstance(value.owner, ir.Block) else order.number(value.owner.operation)
    inside = (order.ancestor(writer, block) for writer in writers)
    numbers = [order.number(op) for op in inside if op is not None]
    written = min((number for number in numbers if number > defined), default=None)
    first: tuple[int, ir.Operation] | None = None
    early = not isinstance(value.owner, ir.Block)
    for user, operand in _uses(value):
        at = order.ancestor(user, block)
        assert at is not None
        number = order.number(at)
        if _stays_in_memory(accumulator, user, operand):
            if written is not None and number > written or not _is_reached_unwritten(user, at, writers, order):
                return False
            continue
        early = early or written is not None and (number > written or number == written and at != user)
        if first is None or number < first[0]:
            first = number, at
    if first is not None:
        accumulator.reads[value] = None if early else first[1]
    return True


def _uses(value: ir.Value) -> Iterator[tuple[ir.Operation, int]]:
    """The users of a value with the numbers of their operands; for scaling that a multiply does, the multiply."""
    for use in value.uses:
        user = use.owner.operation
        uses = (other for other in user.results[0].uses if other.operand_number == ACCUMULATOR) if user.results else ()
        following = next((other.owner.operation for other in uses), None)
        if following is not None and following.name in MULTIPLIES and scaled_addend(following)[0] == value:
            yield following, ACCUMULATOR
        else:
            yield user, use.operand_number


def _stays_in_memory(accumulator: Accumulator, user: ir.Operation, number: int) -> bool:
    """Whether an operand flows on in the accumulator."""
    if user.name in MULTIPLIES:
        return number == ACCUMULATOR and user in accumulator.multiplies
    target = next((target for operand, target in _targets(user) if operand == number), None)
    return target is not None and target in accumulator.values


def _targets(user: ir.Operation) -> Iterator[tuple[int, ir.Value]]:
    """The numbers of the operands that a loop or a terminator carries, with the values that they become."""
    if user.name in LOOPS:
        skipped = 3 if user.name == FOR else 0
        arguments = list(user.regions[0].blocks[0].arguments)[int(user.name == FOR) :]
        yield from ((skipped + number, argument) for number, argument in enumerate(arguments))
    elif user.name in (BREAK, YIELD):
        yield from enumerate(left_by(user.opview).operation.results)
    elif user.name == CONTINUE:
        loop = left_by(user.opview).operation
        yield from enumerate(list(loop.regions[0].blocks[0].arguments)[int(loop.name == FOR) :])


def _is_reached_unwritten(
    user: ir.Operation, outer: ir.Operation, writers: list[ir.Operation], order: BlockOrder
) -> bool:
    """Whether only branches are between `outer` and a user inside it, and none of them writes the accumulator first."""
    while user != outer:
        block = user.block
        for writer in writers:
            at = order.ancestor(writer, block)
            if at is not None and order.number(at) < order.number(user):
                return False
        user = user.parent.operation
        if user.name != IF:
            return False
    return True


def _contains(outer: ir.Operation, inner: ir.Operation) -> bool:
    while inner.parent is not None:
        inner = inner.parent.operation
        if inner == outer:
            return True
    return False


def is_zero(value: ir.Value) -> bool:
    """Whether a value is the constant zero (of either sign) in every element."""
    if (moved := producer(value, "broadcast", "reshape")) is not None:
        return is_zero(moved.operands[0])
    element = splat_attribute(value)
    return element is not None and element.value == 0
