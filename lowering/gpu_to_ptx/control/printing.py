"""Prints by vprintf: the first thread of the role prints scalars from registers, tiles from scratch memory."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tilec.dialect.mlir import ir
from tilec.dialect.print_format import Directive, parse_format
from tilec.dialect.tile_gpu.operations.debug import PrintOp
from tilec.lowering.gpu.ir.scratch_use import SLOT_BYTES
from tilec.lowering.gpu_to_ptx.arithmetic.float_conversion import converted_float
from tilec.lowering.gpu_to_ptx.memory.access import Access, load, store, widest
from tilec.lowering.gpu_to_ptx.registers.declarations import MAXIMUM_ARGUMENTS, call_vprintf, string_address
from tilec.lowering.gpu_to_ptx.registers.elements import ELEMENTS, PtxElement, element, layout_of
from tilec.lowering.gpu_to_ptx.registers.guards import conjunction, counted, first_holder, if_first_thread
from tilec.lowering.gpu_to_ptx.registers.linear_index import linear_index
from tilec.lowering.gpu_to_ptx.registers.lowering import Lowering, lowers
from tilec.lowering.gpu_to_ptx.registers.packed_registers import widened
from tilec.lowering.layout.linear_layout import LinearLayout

_NAN = "0d7FF8000000000000"
# Elements of a row per call of vprintf.
_GROUP = 4


@lowers(PrintOp)
def print_format(lowering: Lowering, operation: ir.Operation) -> None:
    op = operation.opview
    operands, pending = iter(op.args), _Pending(lowering)
    for part in parse_format(op.format):
        if isinstance(part, str):
            pending.add_text(part)
        else:
            _print_operand(lowering, part, next(operands), pending)
    pending.flush()


def _print_operand(lowering: Lowering, directive: Directive, value: ir.Value, pending: _Pending) -> None:
    kind, layout, registers = element(value), layout_of(value.type), lowering.get(value)
    rank = len(layout.shape)
    pending.add_text("[" * rank)
    if layout.size == 1:
        pending.add_number(directive, kind, registers[0])
    else:
        pending.flush()
        _print_tile(lowering, directive, kind, layout, registers)
    pending.add_text("]" * rank)


class _Pending:
    """Text and numbers that the next call of vprintf prints."""

    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self._format = ""
        # The arguments of _print_argument() for each number.
        self._numbers: list[tuple[Directive, PtxElement, ir.Value]] = []

    def add_text(self, text: str) -> None:
        self._format += text.replace("%", "%%")

    def add_number(self, directive: Directive, kind: PtxElement, register: ir.Value) -> None:
        if len(self._numbers) == MAXIMUM_ARGUMENTS:
            self.flush()
        self._format += _device_directive(directive, kind)
        self._numbers.append((directive, kind, register))

    def flush(self) -> None:
        """Prints the pending text and numbers."""
        if self._format:
            with if_first_thread(self._lowering, "print"):
                numbers = [_print_argument(self._lowering, *number) for number in self._numbers]
                call_vprintf(self._lowering, self._format, numbers)
        self._format, self._numbers = "", []


@dataclass(frozen=True)
class _Tile:
    directive: Directive
    kind: PtxElement
    layout: LinearLayout
    registers: list[ir.Value]

    @property
    def part(self) -> int:
        """The number of elements in scratch memory at a time: one slot, so that a print needs little shared memory."""
        return min(self.layout.size, SLOT_BYTES // self.kind.bytes)

    @property
    def group(self) -> int:
        return min(_GROUP, self.layout.shape[-1])


def _print_tile(
    lowering: Lowering, directive: Directive, kind: PtxElement, layout: LinearLayout, registers: list[ir.Value]
) -> None:
    """Prints the elements and the text between them, without the outer brackets; a tile of more than one element."""
    tile = _Tile(directive, kind, layout, registers)
    with counted(lowering, layout.size // tile.part, "print_part") as number:
        base = lowering.writable_scratch(tile.part * kind.bytes)
        _store_part(lowering, tile, number, base)
        lowering.barrier()
        with if_first_thread(lowering, "print_tile"):
            _print_part(lowering, tile, number, base)


def _store_part(lowering: Lowering, tile: _Tile, number: ir.Value, base: ir.Value) -> None:
    """Stores the elements of part `number` in row-major order, each by the first thread that holds it."""
    layout, kind = tile.layout, tile.kind
    holder = first_holder(lowering, layout.free_thread_mask)
    of_thread = linear_index(lowering, layout.thread_matrix, lowering.thread)
    of_thread = of_thread or lowering.compute("mov.b32 $0, 0;", "i32")
    for register in layout.distinct_registers:
        index = lowering.compute(f"xor.b32 $0, $1, {layout.register_matrix(register)};", "i32", of_thread)
        guard = conjunction(lowering, holder, _is_in_part(lowering, tile, index, number))
        position = lowering.compute(f"and.b32 $0, $1, {tile.part - 1};", "i32", index)
        address = lowering.compute(f"mad.lo.s32 $0, $1, {kind.bytes}, $2;", "i32", position, base)
        store(lowering, Access("shared", address, guard=guard), kind, [tile.registers[register]])


def _is_in_part(lowering: Lowering, tile: _Tile, index: ir.Value, number: ir.Value) -> ir.Value | None:
    if tile.part == tile.layout.size:
        return None
    part = lowering.compute(f"shr.u32 $0, $1, {tile.part.bit_length() - 1};", "i32", index)
    return lowering.compute("setp.eq.s32 $0, $1, $2;", "i1", part, number)


def _print_part(lowering: Lowering, tile: _Tile, number: ir.Value, base: ir.Value) -> None:
    kind, group = tile.kind, tile.group
    directives = ", ".join([_device_directive(tile.directive, kind)] * group)
    with counted(lowering, tile.part // group, "print_group") as counter:
        address = lowering.compute(f"mad.lo.s32 $0, $1, {group * kind.bytes}, $2;", "i32", counter, base)
        elements = _loaded(lowering, kind, group, address)
        numbers = [_print_argument(lowering, tile.directive, kind, each) for each in elements]
        if group == tile.layout.size:
            call_vprintf(lowering, directives, numbers)
        else:
            separator = _separator(lowering, tile, _first_index(lowering, tile, number, counter))
            call_vprintf(lowering, f"%s{directives}", [separator, *numbers])


def _loaded(lowering: Lowering, kind: PtxElement, count: int, address: ir.Value) -> list[ir.Value]:
    step = min(count, widest(kind))
    accesses = [Access("shared", address, start * kind.bytes) for start in range(0, count, step)]
    return [element for one in accesses for element in load(lowering, one, kind, step)]


def _first_index(lowering: Lowering, tile: _Tile, number: ir.Value, counter: ir.Value) -> ir.Value:
    """The row-major index of the first element of a group."""
    of_part = lowering.compute(f"mul.lo.s32 $0, $1, {tile.part};", "i32", number)
    return lowering.compute(f"mad.lo.s32 $0, $1, {tile.group}, $2;", "i32", counter, of_part)


def _separator(lowering: Lowering, tile: _Tile, index: ir.Value) -> ir.Value:
    """The address of the text before the element at an index: brackets of the rows that end and start there."""
    shape = tile.layout.shape
    chosen = string_address(lowering, ", ")
    for rows in range(1, len(shape)):
        period = math.prod(shape[-rows:])
        text = string_address(lowering, f"{']' * rows}, {'[' * rows}")
        starts_row = lowering.compute(f"and.b32 $0, $1, {period - 1};", "i32", index)
        starts_row = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", starts_row)
        chosen = lowering.compute("selp.b64 $0, $1, $2, $3;", "i64", text, chosen, starts_row)
    is_first = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", index)
    return lowering.compute("selp.b64 $0, $1, $2, $3;", "i64", string_address(lowering, ""), chosen, is_first)


def _device_directive(directive: Directive, kind: PtxElement) -> str:
    """The directive of vprintf that prints an argument of print_argument(); addresses are hexadecimal after `0x`.

    CUDA C++ programming guide, "Format Specifiers": vprintf has no length `hh`, so the argument is truncated instead.
    """
    is_long = kind.bits == 64 and directive.short_bits is None
    length = "ll" if is_long and directive.conversion not in "aAeEfFgGc" else ""
    if directive.conversion == "p":
        return f"0x%{length}x"
    conversion = "d" if directive.conversion == "s" else directive.conversion
    return f"%{directive.flags}{directive.width}{directive.precision}{length}{conversion}"


def _print_argument(lowering: Lowering, directive: Directive, kind: PtxElement, register: ir.Value) -> ir.Value:
    """An i32, i64 or f64 register with the number that the directive prints."""
    if kind.is_float:
        number = converted_float(lowering, kind, ELEMENTS["f64"], "rn", register)
        # A NaN has no sign, as in the interpreter.
        is_nan = lowering.compute("testp.notanumber.f64 $0, $1;", "i1", number)
        return lowering.compute(f"selp.f64 $0, {_NAN}, $1, $2;", "f64", number, is_nan)
    # C promotes narrower integers to int with their sign; i1 is unsigned.
    signed = not kind.is_predicate
    number = widened(lowering, kind, signed, register, max(32, kind.register_bits))
    if directive.short_bits is not None:
        number = _shortened(lowering, number, directive)
    if directive.conversion in "aAeEfFgG":
        return lowering.compute(f"cvt.rn.f64.s{number.type.width} $0, $1;", "f64", number)
    return _low_half(lowering, number) if directive.conversion == "c" else number


def _shortened(lowering: Lowering, number: ir.Value, directive: Directive) -> ir.Value:
    """The low bits of an i32 or i64 as an i32, with their sign if the directive prints one."""
    sign = "s" if directive.conversion in "di" else "u"
    text = f"cvt.{sign}32.{sign}{directive.short_bits} $0, $1;"
    return lowering.compute(text, "i32", _low_half(lowering, number))


def _low_half(lowering: Lowering, number: ir.Value) -> ir.Value:
    return lowering.compute("cvt.u32.u64 $0, $1;", "i32", number) if number.type.width == 64 else number
