"""Applies instructions to each register of the operands of an element-wise operation.

Arithmetic on pairs of f32 or of 16-bit floats by one instruction (PTX ISA 9.7.3, .f32x2; 9.7.4, .f16x2) has the results
of two separate ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

from tilec.dialect.mlir import ir
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.literals import operands
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering
from tilec.lowering.gpu_to_ptx.registers.packed_registers import halves_of, joined

Step = Callable[..., ir.Value]
Pair = tuple[ir.Value, ir.Value]
# The registers of an element in each operand.
Column = tuple[ir.Value, ...]
# The result of pairs of registers, and of the registers that hold these pairs; None where it is not known.
KnownPair = Callable[[Sequence[Column], Sequence[ir.Value]], ir.Value | None]
# The functions that have a packed form.
_PACKED = ("add", "sub", "mul", "fma")
_HALVES = ("f16", "bf16")
_ROUNDINGS = ("rn", "rz", "rm", "rp")
# Instructions through which ptxas sees their operands, as through sums with zero.
_TRANSPARENT = ("mov.", "neg.", "selp.")
_ZEROS = ("0f00000000", "0f80000000")
_MINUS_ONE = "0xbf800000bf800000"


def each(lowering: Lowering, operation: ir.Operation, step: Step) -> None:
    """result register i = step(operand registers i), computed once for equal operand registers."""
    each_distinct(lowering, operation, lambda columns: [step(*column) for column in columns])


def each_distinct(
    lowering: Lowering, operation: ir.Operation, steps: Callable[[list[Column]], Iterable[ir.Value]]
) -> None:
    """As each(), where `steps` computes the results of all distinct columns of operand registers."""
    columns: list[Column] = list(zip(*(lowering.get(operand) for operand in operation.operands), strict=True))
    distinct = list(dict.fromkeys(columns))
    results = list(steps(distinct))
    if len(distinct) < len(columns):
        done = dict(zip(distinct, results, strict=True))
        results = [done[column] for column in columns]
    lowering.set(operation.results[0], results)


def instruction(lowering: Lowering, text: str, element: PtxElement) -> Step:
    """A step that consists of one instruction."""
    return lambda *registers: lowering.compute(text, element.register, *registers)


def reduced(lowering: Lowering, name: str, register: str, values: Sequence[ir.Value], width: int = 2) -> ir.Value:
    """The reduction of values by an instruction of `width` operands, as a tree, so that few depend on each other.

    Integers are in groups of three: of two nested comparisons ptxas makes one instruction.
    """
    level, size = list(values), 3 if register.startswith("i") else width
    while len(level) > 1:
        groups = [level[first : first + size] for first in range(0, len(level), size)]
        level = [_reduced_in_turn(lowering, name, register, group, width) for group in groups]
    return level[0]


def _reduced_in_turn(lowering: Lowering, name: str, register: str, values: Sequence[ir.Value], width: int) -> ir.Value:
    """The reduction of a group, of which each instruction takes `width` values or the rest."""
    total, *rest = values
    for first in range(0, len(rest), width - 1):
        group = [total, *rest[first : first + width - 1]]
        total = lowering.compute(f"{name} {operands(len(group) + 1)};", register, *group)
    return total


def packs(lowering: Lowering, kind: PtxElement, name: str, modifiers: list[str]) -> bool:
    """Whether the target computes this function of two elements at once: `name` with a rounding, or with .ftz too."""
    rounding, *rest = modifiers or [""]
    known = name in _PACKED and rounding in _ROUNDINGS and rest in ([], ["ftz"])
    return known and (kind.name in _HALVES or kind.name == "f32" and lowering.target.packs_floats)


def elementwise_pairs(
    lowering: Lowering,
    operation: ir.Operation,
    kind: PtxElement,
    name: str,
    modifiers: list[str],
    known: KnownPair | None = None,
) -> None:
    """result register i = name(operand registers i), for two distinct columns of registers at a time.

    `known` computes a pair of 16-bit floats from the registers of both operands in another way, where it can.
    """
    if kind.name in _HALVES:

        def steps(columns: list[Column]) -> list[ir.Value]:
            pairs = partners(lowering, columns)
            arranged = [column for pair in pairs for column in pair if column is not None]
            found = in_halves(lowering, kind, name, modifiers, arranged, known)
            done = dict(zip(arranged, found, strict=True))
            return [done[column] for column in columns]

        each_distinct(lowering, operation, steps)
    else:
        each_distinct(lowering, operation, lambda columns: in_pairs(lowering, name, modifiers, columns))


def partners(lowering: Lowering, columns: Sequence[Column]) -> list[tuple[Column, Column | None]]:
    """The columns in pairs whose registers are, for each operand, the halves of a word in order, or equal.

    A column without such a partner is alone.
    """
    left, found = dict.fromkeys(columns), list[tuple[Column, Column | None]]()
    for column in columns:
        if column not in left:
            continue
        del left[column]
        pair = next((pair for pair in _pairs_of(lowering, column) if left.keys() & set(pair)), (column, None))
        found.append(pair)
        for partner in pair:
            if partner in left:
                del left[partner]
    return found


def _pairs_of(lowering: Lowering, column: Column) -> Iterator[tuple[Column, Column]]:
    """The pairs of columns that a column could be one of, in order."""
    choices = list[list[Column]]()
    for register in column:
        owner = register.owner
        halves = () if isinstance(owner, ir.Block) else tuple(owner.results)
        choices.append([halves, (register, register)] if halves in lowering.packed else [(register, register)])
    for pairs in product(*choices):
        low, high = zip(*pairs, strict=True)
        if column in (low, high) and low != high:
            yield low, high


def in_halves(
    lowering: Lowering,
    kind: PtxElement,
    name: str,
    modifiers: list[str],
    columns: list[Column],
    known: KnownPair | None = None,
) -> list[ir.Value]:
    """The function of 16-bit floats; of two columns at once if each operand is a register with both, or one element."""
    function, found = ".".join((name, *modifiers)), list[ir.Value]()
    text = f"{operands(len(columns[0]) + 1)};"
    while columns:
        pairs = list(zip(*columns[:2], strict=True)) if len(columns) > 1 else []
        if pairs and all(pair in lowering.packed or pair[0] == pair[1] for pair in pairs):
            packed = [joined(lowering, *pair) for pair in pairs]
            result = known(pairs, packed) if known is not None else None
            if result is None:
                result = lowering.compute(f"{function}.{kind.name}x2 {text}", "i32", *packed)
            found, columns = [*found, *halves_of(lowering, result)], columns[2:]
        else:
            result = lowering.compute(f"{function}.{kind.suffix} {text}", kind.register, *columns[0])
            found, columns = [*found, result], columns[1:]
    return found


def in_pairs(lowering: Lowering, name: str, modifiers: list[str], columns: Sequence[Column]) -> list[ir.Value]:
    """The function of each column of operands; two columns by an instruction where the target has it."""
    paired = len(columns) - len(columns) % 2 if lowering.target.packs_floats else 0
    found: list[ir.Value] = []
    for low, high in zip(columns[0:paired:2], columns[1:paired:2], strict=True):
        found += pair_of(lowering, name, modifiers, *zip(low, high, strict=True))
    return found + [scalar_of(lowering, name, modifiers, column) for column in columns[paired:]]


def pair_of(lowering: Lowering, name: str, modifiers: list[str], *pairs: Pair) -> Pair:
    """The function of two elements; each operand is the pair of its values for both.

    ptxas 13.0 contracts mul.f32x2 and a following add.f32x2 or sub.f32x2 to one fma, although both have a rounding.
    It keeps a - b if that is an fma of -1, and sums of scalars, so products are not added as pairs.
    """
    if name == "add" and any(_may_be_product(lowering, half) for pair in pairs for half in pair):
        low, high = (scalar_of(lowering, name, modifiers, column) for column in zip(*pairs, strict=True))
        return low, high
    packed = [_packed(lowering, pair) for pair in pairs]
    form = name
    if name == "sub":
        minus_ones = lowering.once("minus ones", lambda: lowering.compute(f"mov.b64 $0, {_MINUS_ONE};", "i64"))
        form, packed = "fma", [packed[1], minus_ones, packed[0]]
    text = f"{'.'.join((form, *modifiers))}.f32x2 {operands(len(packed) + 1)};"
    result = lowering.compute(text, "i64", *packed)
    low, high = lowering.compute_all("mov.b64 {$0, $1}, $2;", ["f32", "f32"], result)
    lowering.packed[low, high] = result
    if name != "mul" and not any(lowering.literals.get(half) in _ZEROS for pair in pairs for half in pair):
        lowering.sums.update((low, high))
    return low, high


def _packed(lowering: Lowering, pair: Pair) -> ir.Value:
    """The register of 64 bits with these halves, one per block."""
    text, b = "mov.b64 $0, {$1, $2};", lowering.b
    return lowering.packed.get(pair) or lowering.once(pair, lambda: b.compute(text, b.i64, *pair))


def scalar_of(lowering: Lowering, name: str, modifiers: list[str], column: Column) -> ir.Value:
    """The function of one element, by an instruction of its own."""
    return lowering.compute(f"{'.'.join((name, *modifiers))}.f32 {operands(len(column) + 1)};", "f32", *column)


def _may_be_product(lowering: Lowering, register: ir.Value) -> bool:
    """Whether ptxas may find half of a packed product in a register: one that is carried, copied, negated or chosen."""
    if register in lowering.sums or register in lowering.literals:
        return False
    owner = register.owner
    if isinstance(owner, ir.Block):
        return True
    text = owner.attributes["text"].value
    return text.startswith(_TRANSPARENT) or any(zero in text for zero in _ZEROS)
