"""scf on uniform scalars to basic blocks; loop-carried values and results of branches become block arguments.

`Lowering.state` (the positions of parties in channels) is carried like the values of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import GLOBAL_LOADS
from tilec.dialect.walk import terminator_of
from tilec.lowering.gpu.loops.loop_attributes import repeats
from tilec.lowering.gpu_to_ptx.memory.map_address import acquire_maps
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement, element, element_named, layout_of
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.packed_registers import extended, lowest_bit, pack, packed_type, unpack

_CARRIED_BITS = 32


@lowers("scf.for")
def scf_for(lowering: Lowering, operation: ir.Operation) -> None:
    """Tests before the first iteration, unless it is known to run, and at the end of each: one branch per iteration."""
    lower, upper, step, *inits = operation.operands
    body, carried = operation.regions[0].blocks[0], Carried(lowering, inits)
    acquire_maps(lowering, operation)
    kind, signed = element(lower), "unsignedCmp" not in operation.attributes
    lower, upper, step = (extended(lowering, kind, signed, lowering.scalar(v)) for v in (lower, upper, step))
    # Predicates have no arithmetic: a counter of i1 is extended to 32 bits.
    counted = element_named("i32") if kind.is_predicate else kind
    suffix = f"{'s' if signed else 'u'}{counted.register_bits}"
    starts, location = carried.registers(inits), lowering.b.location
    head = lowering.b.block([lower.type, *(v.type for v in starts)], "loop")
    done = lowering.b.block([v.type for v in starts], "loop_end")
    if _is_entered(lowering, lower, upper):
        lowering.b.branch(head, lower, *starts)
    else:
        again = lowering.compute(f"setp.lt.{suffix} $0, $1, $2;", "i1", lower, upper)
        lowering.b.cond_branch(again, head, [lower, *starts], done, starts, uniform=True)
    lowering.at(head)
    counter, *registers = head.arguments
    for left in reversed(range(repeats(operation))):
        lowering.set(body.arguments[0], [lowest_bit(lowering, counted, counter) if kind.is_predicate else counter])
        carried.arrive(list(body.arguments)[1:], registers)
        ends = lowering.lower_block(body)
        lowering.b.location = location
        registers = carried.registers(ends)
        counter, again = _advance(lowering, counted, suffix, counter, upper, step)
        if left:
            following = lowering.b.block(label="loop_next")
            lowering.b.cond_branch(again, following, [], done, registers, uniform=True)
            lowering.at(following)
    lowering.b.cond_branch(again, head, [counter, *registers], done, registers, uniform=True)
    lowering.at(done)
    carried.arrive(operation.results, done.arguments)


def _is_entered(lowering: Lowering, lower: ir.Value, upper: ir.Value) -> bool:
    """Whether a loop is known to run: its bounds are known numbers, whose order is the same signed and unsigned."""
    first, last = lowering.number(lower), lowering.number(upper)
    return first is not None and last is not None and 0 <= first < last < 2**31


def _advance(
    lowering: Lowering, kind: PtxElement, suffix: str, counter: ir.Value, upper: ir.Value, step: ir.Value
) -> tuple[ir.Value, ir.Value]:
    """The next counter, and whether it is below the upper bound, even if counter + step overflows."""
    following = lowering.compute(f"add.{suffix} $0, $1, $2;", kind.register, counter, step)
    if kind.bits < kind.register_bits or lowering.number(step) == 1:
        # No overflow: narrow types have wider registers, and a counter below the bound is not the maximum.
        return following, lowering.compute(f"setp.lt.{suffix} $0, $1, $2;", "i1", following, upper)
    left = lowering.compute(f"sub.{suffix} $0, $1, $2;", kind.register, upper, counter)
    return following, lowering.compute(f"setp.lt.u{kind.register_bits} $0, $1, $2;", "i1", step, left)


@lowers("scf.if")
def scf_if(lowering: Lowering, operation: ir.Operation) -> None:
    results = list(operation.results)
    carried, location = Carried(lowering, results), lowering.b.location
    before = dict(lowering.state)
    then, otherwise = lowering.b.block(label="then"), None
    done = lowering.b.block(carried.types(), "if_end")
    condition = lowering.scalar(operation.operands[0])
    if len(operation.regions) > 1 and len(operation.regions[1].blocks):
        otherwise = lowering.b.block(label="else")
        lowering.b.cond_branch(condition, then, [], otherwise, [], uniform=True)
    else:
        lowering.b.cond_branch(condition, then, [], done, carried.registers([]), uniform=True)
    for block, region in zip((then, otherwise), operation.regions, strict=False):
        if block is not None:
            lowering.state = dict(before)
            lowering.at(block)
            acquire_maps(lowering, region.blocks[0])
            values = lowering.lower_block(region.blocks[0])
            lowering.b.location = location
            lowering.b.branch(done, *carried.registers(values))
    lowering.at(done)
    carried.arrive(results, done.arguments)


@lowers("scf.while")
def scf_while(lowering: Lowering, operation: ir.Operation) -> None:
    before, after = (region.blocks[0] for region in operation.regions)
    inits, results, location = list(operation.operands), list(operation.results), lowering.b.location
    entering, leaving = Carried(lowering, inits), Carried(lowering, results)
    head = lowering.b.block(entering.types(), "while")
    body = lowering.b.block(leaving.types(), "while_body")
    done = lowering.b.block(leaving.types(), "while_end")
    lowering.b.branch(head, *entering.registers(inits))
    lowering.at(head)
    entering.arrive(before.arguments, head.arguments)
    condition, *passed = lowering.lower_block(before)
    lowering.b.location = location
    forwarded = leaving.registers(passed)
    lowering.b.cond_branch(lowering.scalar(condition), body, forwarded, done, forwarded, uniform=True)
    lowering.at(body)
    leaving.arrive(after.arguments, body.arguments)
    acquire_maps(lowering, after)
    values = lowering.lower_block(after)
    lowering.b.location = location
    lowering.b.branch(head, *entering.registers(values))
    lowering.at(done)
    leaving.arrive(results, done.arguments)


class Carried:
    """Values of given types, then the state, as one list of distinct registers.

    Elements of 16 bits are carried in registers of 32 bits, as accesses of memory have them: no instruction then has to
    wait for a load that another iteration uses. Loaded elements of 8 bits are carried in the same way; others take
    longer to pack.
    """

    def __init__(self, lowering: Lowering, values: Sequence[ir.Value]) -> None:
        self._lowering = lowering
        self._values = [(element(value), _groups(value)) for value in values]
        self._state = {key: len(registers) for key, registers in lowering.state.items()}

    def types(self) -> list[ir.Type]:
        of_values = [
            self._lowering.type(packed_type(kind, len(group))[0] if len(group) > 1 else kind.register)
            for kind, groups in self._values
            for group in groups
        ]
        return of_values + [register.type for key in self._state for register in self._lowering.state[key]]

    def registers(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """The registers of values of these types and of the current state."""
        state = self._lowering.state
        assert state.keys() == self._state.keys(), state.keys() ^ self._state.keys()
        of_values = [
            self._carried(kind, [self._lowering.get(value)[register] for register in group])
            for value, (kind, groups) in zip(values, self._values, strict=True)
            for group in groups
        ]
        return of_values + [register for key in self._state for register in state[key]]

    def arrive(self, values: Sequence[ir.Value], registers: Sequence[ir.Value]) -> None:
        """Records that values and state are in these registers."""
        rest = list(registers)
        for value, (kind, groups) in zip(values, self._values, strict=True):
            taken = dict[int, ir.Value]()
            for group, register in zip(groups, rest, strict=False):
                taken.update(zip(group, self._elements(kind, register, len(group)), strict=True))
            rest = rest[len(groups) :]
            self._lowering.set(value, [taken[register] for register in layout_of(value.type).representatives])
        for key, count in self._state.items():
            self._lowering.state[key], rest = rest[:count], rest[count:]

    def _carried(self, kind: PtxElement, elements: list[ir.Value]) -> ir.Value:
        return pack(self._lowering, kind, elements)[0] if len(elements) > 1 else elements[0]

    def _elements(self, kind: PtxElement, register: ir.Value, count: int) -> list[ir.Value]:
        return unpack(self._lowering, kind, [register], count) if count > 1 else [register]


def _groups(value: ir.Value) -> list[tuple[int, ...]]:
    """The elements of a value that are carried in one register."""
    bits, registers = element(value).bits, layout_of(value.type).distinct_registers
    is_packed = bits == 16 or bits == 8 and _is_loaded(value)
    count = _CARRIED_BITS // bits if is_packed else 1
    whole = len(registers) // count * count
    groups = [registers[first : first + count] for first in range(0, whole, count)]
    return groups + [(register,) for register in registers[whole:]]


def _is_loaded(value: ir.Value) -> bool:
    """Whether a value is loaded, or is the result of a branch that loads it."""
    if isinstance(value.owner, ir.Block):
        return False
    op = value.owner.operation
    if op.name != "scf.if":
        return op.name in GLOBAL_LOADS
    number = list(op.results).index(value)
    ends = [terminator_of(block) for region in op.regions for block in region.blocks]
    return any(_is_loaded(end.operands[number]) for end in ends)
