"""Inserts an assertion before each operation that some operands make undefined.

%q = divi %n, %d signed
->  %ok = cmpi not_equal %d, 0
    assert %ok, "division by zero is undefined"
    %q = divi %n, %d signed

Conditions that hold by the bounds of their operands have no assertion. Each condition uses the operands of its
operation and never the result, whose promises later passes may use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tilec.dialect import undefined_behaviour
from tilec.dialect.build import build
from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.types import PointerType, TensorViewType, TileType
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tilex.sparse_rules import SINGLE_NIBBLES, nibbles
from tilec.element_types import ELEMENT_TYPES
from tilec.lowering.kernel_hints import EACH_WARP
from tilec.lowering.tile.analysis.bounds import bounds, type_interval
from tilec.lowering.tile.analysis.condition import (
    Condition,
    both,
    compare,
    compare_floats,
    either,
    integer,
    limits,
    widened,
    width,
)
from tilec.lowering.tile.analysis.constants import float_splat, integer_splat, splat
from tilec.lowering.tile.analysis.index_arithmetic import along_axis, broadcast
from tilec.lowering.tile.analysis.stride_assumptions import Predicate, is_stride, stride_assumptions
from tilec.lowering.tile.analysis.tensor_extent import tensor_extents, tensor_strides
from tilec.lowering.tile.analysis.tile_operations import MMA_SPARSE, producer, without_assumptions
from tilec.lowering.tile.analysis.tile_parts import Part, reshaped
from tilec.lowering.tile.expand.access_checks import (
    access_checks,
    im2col_checks,
    packed_checks,
    shape_checks,
    slice_checks,
)
from tilec.lowering.tile.expand.expand_sparse import sparse_codes
from tilec.lowering.tile.simplify.hoist_invariants import may_be_undefined
from tilec.remarks import Remark

Checks = Iterator[tuple["Condition | None", str]]
_BODIES = ("cuda_tile.reduce", "cuda_tile.scan")
_IN_BODY = "checks cannot stop the body of a reduction or a scan: it is executed without checks"
_UNDECIDED = "the assumption has no check: its groups do not divide the tile"
_UNKNOWN_VIEW = "the access has no check: an operation of another dialect makes its view"


def insert_checks(module: ir.Module | ir.OpView, remarks: list[Remark] | None = None) -> None:
    """Inserts the checks of a module or an entry; appends a remark for each operation that has none."""
    missing = [] if remarks is None else remarks
    for op in list(_operations(module)):
        name = op.operation.name
        if name in _BODIES:
            if any(may_be_undefined(inner) for inner in _operations(op)):
                missing.append(Remark("checks", _IN_BODY, source_location(op.location)))
            continue
        rule = CHECKS.get(name)
        if rule is None:
            continue
        with ir.InsertionPoint(op.operation), op.location:
            for condition, message in rule(op):
                if condition is None:
                    reason = _UNKNOWN_VIEW if hasattr(op, "view") else _UNDECIDED
                    missing.append(Remark("checks", reason, source_location(op.location)))
                elif condition is not True:
                    _require(condition, message)


def _operations(op: ir.Module | ir.OpView) -> Iterator[ir.OpView]:
    """The operations inside of an operation, without those in the bodies of reductions and scans."""
    for region in op.operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner
                if inner.operation.name not in _BODIES:
                    yield from _operations(inner)


def _require(condition: Condition, message: str) -> None:
    if isinstance(condition, bool):
        condition = integer_splat(TileType.get((), ir.IntegerType.get_signless(1)), int(condition))
    build("assert", [condition], [], {"message": message, EACH_WARP: ir.UnitAttr.get()})


def _for(op: ir.OpView) -> Checks:
    signedness = "unsigned" if op.unsignedCmp else "signed"
    yield compare("greater_than", op.step, 0, signedness), undefined_behaviour.STEP
    yield _counter_fits(op, signedness), undefined_behaviour.COUNTER


def _counter_fits(op: ir.OpView, signedness: str) -> Condition:
    """Whether the counter of the last iteration plus the step fits the type, or the loop has no iteration."""
    lower, upper, step = op.lowerBound, op.upperBound, op.step
    most = limits(width(step), signedness).high
    ends = bounds(upper), bounds(step)
    if splat(step) == 1 or all(end.low >= 0 for end in ends) and ends[0].high - 1 + ends[1].high <= most:
        return True
    last = integer("subi", upper, 1)
    past = integer("remi", integer("subi", last, lower), step, signedness="unsigned")
    room = integer("subi", integer_splat(step.type, most), step)
    fits = compare("less_than_or_equal", integer("subi", last, past), room, signedness)
    return either(compare("greater_than_or_equal", lower, upper, signedness), fits)


def _division(op: ir.OpView) -> Checks:
    yield compare("not_equal", op.rhs, 0), undefined_behaviour.DIVISION_BY_ZERO
    if op.operation.name == "cuda_tile.divi" and op.signedness == "signed":
        fits = compare("not_equal", op.lhs, type_interval(op.lhs.type).low)
        if fits is not True:
            fits = either(fits, compare("not_equal", op.rhs, -1))
        yield fits, undefined_behaviour.quotient(spell(op.result.type.element))


def _shift(op: ir.OpView) -> Checks:
    bits = width(op.rhs)
    fits = compare("less_than", op.rhs, bits, "unsigned")
    yield fits, undefined_behaviour.shift_amount(spell(op.rhs.type.element), bits)
    if op.operation.name == "cuda_tile.shli":
        yield from _overflow(op)


def _overflow(op: ir.OpView) -> Checks:
    """The checks that the exact result fits its type as signed, as unsigned, or as both."""
    promise, element = op.overflow, op.operation.results[0].type.element
    for signedness in ("signed", "unsigned"):
        if promise in ("no_wrap", f"no_{signedness}_wrap"):
            fits = _FITS[op.operation.name](op, signedness)
            yield fits, undefined_behaviour.overflow(signedness, spell(element), promise)


def _sum_fits(op: ir.OpView, signedness: str) -> Condition:
    wrapped = integer("addi", op.lhs, op.rhs)
    if signedness == "unsigned":
        return compare("greater_than_or_equal", wrapped, op.lhs, "unsigned")
    # The sum of two numbers overflows if its sign differs from that of both.
    signs = integer("andi", integer("xori", op.lhs, wrapped), integer("xori", op.rhs, wrapped))
    return compare("greater_than_or_equal", signs, 0)


def _difference_fits(op: ir.OpView, signedness: str) -> Condition:
    if signedness == "unsigned":
        return compare("greater_than_or_equal", op.lhs, op.rhs, "unsigned")
    wrapped = integer("subi", op.lhs, op.rhs)
    signs = integer("andi", integer("xori", op.lhs, op.rhs), integer("xori", op.lhs, wrapped))
    return compare("greater_than_or_equal", signs, 0)


def _product_fits(op: ir.OpView, signedness: str) -> Condition:
    bits = width(op.lhs)
    if bits < 32:
        exact = integer("muli", widened(op.lhs, 32, signedness), widened(op.rhs, 32, signedness))
        return _in_range(exact, bits, signedness)
    high = build("mulhii", [op.lhs, op.rhs], [op.lhs.type]).result
    if signedness == "unsigned":
        return compare("equal", high, 0)
    # The high half of the signed product, which is that of the unsigned one but for the negative operands.
    for number, factor in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        high = integer("subi", high, integer("andi", _sign(number), factor))
    return compare("equal", high, _sign(integer("muli", op.lhs, op.rhs)))


def _sign(numbers: ir.Value) -> ir.Value:
    """-1 for negative numbers, else 0."""
    return integer("shri", numbers, width(numbers) - 1, signedness="signed")


def _in_range(exact: ir.Value, bits: int, signedness: str) -> Condition:
    low, high = limits(bits, signedness)
    return both(compare("greater_than_or_equal", exact, low), compare("less_than_or_equal", exact, high))


def _negation_fits(op: ir.OpView, signedness: str) -> Condition:
    if signedness == "signed":
        return compare("not_equal", op.source, type_interval(op.source.type).low)
    return compare("equal", op.source, 0)


def _shifted_fits(op: ir.OpView, signedness: str) -> Condition:
    shifted = integer("shli", op.lhs, op.rhs)
    return compare("equal", integer("shri", shifted, op.rhs, signedness=signedness), op.lhs)


def _truncated_fits(op: ir.OpView, signedness: str) -> Condition:
    source = op.operation.operands[0]
    bits = width(op.operation.results[0])
    if signedness == "signed":
        return _in_range(source, bits, signedness)
    return compare("less_than_or_equal", source, limits(bits, "unsigned").high, "unsigned")


_FITS: dict[str, Callable[[ir.OpView, str], Condition]] = {
    "cuda_tile.addi": _sum_fits,
    "cuda_tile.subi": _difference_fits,
    "cuda_tile.muli": _product_fits,
    "cuda_tile.negi": _negation_fits,
    "cuda_tile.shli": _shifted_fits,
    "cuda_tile.trunci": _truncated_fits,
}


def _conversion(op: ir.OpView) -> Checks:
    """The check that the truncated float fits the integer type; NaN does not."""
    source, target = op.operation.operands[0], op.operation.results[0].type.element
    bits = ELEMENT_BITS[spell(target)]
    if op.saturating or bits == 1:
        return
    wide = source
    # All narrower floats are exact in f32.
    if spell(source.type.element) not in ("f32", "f64"):
        type = TileType.get(source.type.shape, ir.F32Type.get())
        wide = build("ftof", [source], [type]).result
    low, high = limits(bits, op.signedness)
    digits = 53 if spell(wide.type.element) == "f64" else 24
    if (1 - low).bit_length() <= digits:
        above = compare_floats("greater_than", wide, float_splat(wide.type, float(low - 1)))
    else:
        above = compare_floats("greater_than_or_equal", wide, float_splat(wide.type, float(low)))
    below = compare_floats("less_than", wide, float_splat(wide.type, float(high + 1)))
    yield both(above, below), undefined_behaviour.conversion(op.signedness, spell(target))


def _part(op: ir.OpView) -> Checks:
    is_extract = op.operation.name == "cuda_tile.extract"
    whole = op.source if is_extract else op.destination
    part = op.result if is_extract else op.source
    for axis, (extent, size, index) in enumerate(zip(whole.type.shape, part.type.shape, op.indices, strict=True)):
        count = extent // size
        yield compare("less_than", index, count, "unsigned"), undefined_behaviour.sub_tile(axis, count, size)


def _assume(op: ir.OpView) -> Checks:
    if not is_stride(op):
        yield _holds(op.predicate, op.value), undefined_behaviour.assumption(op.predicate.spelled())


def _strides(op: ir.OpView) -> Checks:
    """The checks of assumed strides, which mean something for extents other than 1 only."""
    pairs = zip(tensor_extents(op), tensor_strides(op), strict=True)
    dynamic = [extent for extent, stride in pairs if not isinstance(stride, int)]
    for extent, stride, predicates in zip(dynamic, op.dynamicStrides, stride_assumptions(op), strict=True):
        for predicate in predicates if extent != 1 else ():
            condition = _holds(predicate, stride)
            if isinstance(condition, ir.Value) and isinstance(extent, ir.Value):
                condition = either(condition, compare("equal", extent, 1))
            yield condition, undefined_behaviour.assumption(predicate.spelled())


def _sparse(op: ir.OpView) -> Checks:
    element = spell(op.lhs.type.element)
    codes, legal = sparse_codes(op.metadata, element), nibbles(element)
    if legal == SINGLE_NIBBLES:
        fits = either(*(compare("equal", codes, code) for code in legal))
    else:
        # The first index of a pair is in the low bits.
        first, second = integer("andi", codes, 3), integer("shri", codes, 2, signedness="unsigned")
        fits = compare("less_than", first, second, "unsigned")
    yield fits, undefined_behaviour.sparse_metadata(legal)


# The checks of each operation that some operands make undefined. tests/tile/expand/test_insert_checks.py lists the
# others.
CHECKS: dict[str, Callable[[ir.OpView], Checks]] = {
    "cuda_tile.for": _for,
    **dict.fromkeys(("cuda_tile.divi", "cuda_tile.remi"), _division),
    **dict.fromkeys(("cuda_tile.shli", "cuda_tile.shri"), _shift),
    **{f"cuda_tile.{name}": _overflow for name in ("addi", "subi", "muli", "negi", "trunci")},
    "cuda_tile.ftoi": _conversion,
    **dict.fromkeys(("cuda_tile.extract", "cuda_tile.insert"), _part),
    "cuda_tile.assume": _assume,
    "cuda_tile.make_tensor_view": _strides,
    **{f"cuda_tile.{name}_view_tko": access_checks for name in ("load", "store", "atomic_red")},
    "tilex.atomic_red_view_tko": access_checks,
    **{f"cuda_tile.multimem_{name}_view_tko": access_checks for name in ("load_reduce", "reduce", "store")},
    **dict.fromkeys(("tilex.load_im2col_tko", "tilex.store_im2col_tko"), im2col_checks),
    **dict.fromkeys(("tilex.load_packed_tko", "tilex.store_packed_tko"), packed_checks),
    "tilex.make_im2col_view": slice_checks,
    **dict.fromkeys(("cuda_tile.get_tensor_shape", "cuda_tile.get_index_space_shape"), shape_checks),
    **dict.fromkeys(("tilex.get_im2col_index_space_shape", "tilex.get_im2col_output_shape"), shape_checks),
    "tilex.get_packed_index_space_shape": shape_checks,
    MMA_SPARSE: _sparse,
}


def _holds(predicate: Predicate, value: ir.Value) -> Condition | None:
    """Whether an assumption about a value holds; None if no comparison of tiles decides it."""
    if isinstance(value.type, TensorViewType):
        maker = producer(without_assumptions(value), "make_tensor_view")
        return None if maker is None else _holds(predicate, maker.base)
    numbers, step = value, 1
    if isinstance(value.type.element, PointerType):
        step = ELEMENT_TYPES[spell(value.type.element.element)].storage_bytes
        type = TileType.get(value.type.shape, ir.IntegerType.get_signless(64))
        numbers = build("ptr_to_int", [value], [type]).result
    if isinstance(predicate, BoundedAttr):
        return _bounded(predicate, numbers)
    if isinstance(predicate, DivByAttr):
        return _divisible(predicate, numbers, step)
    return _same(predicate.values, numbers)


def _bounded(predicate: BoundedAttr, numbers: ir.Value) -> Condition:
    low, high = predicate.lower, predicate.upper
    above = True if low is None else compare("greater_than_or_equal", numbers, low)
    return both(above, True if high is None else compare("less_than_or_equal", numbers, high))


def _divisible(predicate: DivByAttr, numbers: ir.Value, step: int) -> Condition | None:
    same: Condition | None = True
    if predicate.every is not None and predicate.every > 1:
        within = _positions_within(numbers, predicate.every, predicate.along, step)
        numbers = integer("subi", numbers, within)
        same = _same([predicate.every if k == predicate.along else 1 for k in range(numbers.type.rank)], numbers)
    if same is None:
        return None
    wide = numbers if predicate.divisor.bit_length() < width(numbers) else widened(numbers, 64, "signed")
    return both(compare("equal", integer("andi", wide, predicate.divisor - 1), 0), same)


def _positions_within(like: ir.Value, every: int, along: int, step: int) -> ir.Value:
    """The distance of each element from the first of its group along a dimension, `step` per element."""
    shape, element = like.type.shape, like.type.element
    line = build("iota", [], [TileType.get((shape[along],), element)]).result
    if every < shape[along]:
        line = integer("remi", line, every, signedness="unsigned")
    return along_axis(line if step == 1 else integer("muli", line, step), along, shape)


def _same(sizes: Sequence[int], numbers: ir.Value) -> Condition | None:
    """Whether elements are equal within blocks of these sizes; None for sizes that do not divide the tile."""
    steps, shape = [max(size, 1) for size in sizes], list(numbers.type.shape)
    if all(step == 1 for step in steps):
        return True
    if any(extent % step for step, extent in zip(steps, shape, strict=True)):
        return None
    grid = [number for step, extent in zip(steps, shape, strict=True) for number in (extent // step, step)]
    split = reshaped(numbers, grid)
    firsts = [extent if k % 2 == 0 else 1 for k, extent in enumerate(grid)]
    first = Part(split, (0,) * len(grid), tuple(firsts)).extracted()
    equal = compare("equal", split, broadcast(first, grid))
    return equal if isinstance(equal, bool) else reshaped(equal, shape)
