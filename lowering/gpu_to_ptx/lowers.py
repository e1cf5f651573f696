"""The state of lowering one kernel: registers of each tile, the role being written, and the loop over operations."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from tilec.dialect.cache import cached
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import PtxBuilder
from tilec.errors import CompileError, UnsupportedError
from tilec.lowering.gpu_to_ptx.elements import PtxElement, element_of
from tilec.lowering.gpu_to_ptx.literals import literal
from tilec.lowering.gpu_to_ptx.registry import RULES
from tilec.lowering.gpu_to_ptx.scratch_turns import SLOT_BYTES, ScratchTurns
from tilec.lowering.layout.layout_text import parse_layout
from tilec.lowering.layout.linear_layout import LANE_BITS, LinearLayout
from tilec.lowering.target import LANES, Target

# Registers whose constants may stand in an instruction; 16-bit floats have no immediates (PTX ISA 4.5.2).
_IMMEDIATE = ("i32", "i64", "f32", "f64")


@dataclass(frozen=True)
class Role:
    """A group of warps that runs a region of the kernel; barrier `barrier` (0 to 15) is its own."""

    name: str
    warps: int
    first_warp: int = 0
    barrier: int = 0

    @property
    def threads(self) -> int:
        return LANES * self.warps


class Lowering:
    """What the op groups share. `values` maps a tile_gpu value to its registers in the order of its layout."""

    def __init__(self, builder: PtxBuilder, target: Target) -> None:
        self.b = builder
        self.target = target
        self.values: dict[ir.Value, list[ir.Value]] = {}
        self.literals: dict[ir.Value, str] = {}
        # Halves (low, high) -> the 32-bit register they were taken from.
        self.packed: dict[tuple[ir.Value, ...], ir.Value] = {}
        self.scratch_bytes: dict[str, int] = {}
        # Registers that operations change as they go, by name; loops and branches carry them.
        self.state: dict[str, list[ir.Value]] = {}
        self.turns = ScratchTurns()
        self._made: dict[Hashable, ir.Value | None] = {}
        self._types = {"i1": self.b.i1, "i16": self.b.i16, "i32": self.b.i32, "i64": self.b.i64, "f32": self.b.f32}
        self._types["f64"] = self.b.f64

    # ---- roles

    def begin_role(self, role: Role) -> None:
        """Starts the code of a role at the current place: thread, lane and warp count inside it."""
        self.role = role
        thread = self.compute("mov.u32 $0, %tid.x;", "i32")
        first = LANES * role.first_warp
        self.thread = self.compute("sub.s32 $0, $1, $2;", "i32", thread, first) if first else thread
        self.lane = self.compute("mov.u32 $0, %laneid;", "i32")
        self.warp = self.compute("shr.u32 $0, $1, 5;", "i32", self.thread)

    @property
    def warps(self) -> int:
        return self.role.warps

    def barrier(self) -> None:
        """All threads of the role meet; what they wrote to shared memory is visible to the role."""
        self.b.execute(f"bar.sync {self.role.barrier}, {self.role.threads};")
        self.turns.meet()

    def writable_scratch(self, size_bytes: int) -> ir.Value:
        """Scratch that no thread reads any more: the threads meet where some may. After writing, call barrier()."""
        if self.turns.idle_slot(size_bytes) is None:
            self.barrier()
        slot = self.turns.idle_slot(size_bytes)
        assert slot is not None
        self.turns.write(slot, size_bytes)
        start = SLOT_BYTES * slot
        base = self.scratch(start + size_bytes)
        return self.compute(f"add.s32 $0, $1, {start};", "i32", base) if start else base

    def scratch(self, size_bytes: int) -> ir.Value:
        """The shared address of the role's scratch, this large and 1024-byte aligned; for use between barriers.

        The largest request of each role is in `scratch_bytes` by symbol.
        """
        symbol = f"{self.role.name}_scratch"
        self.scratch_bytes[symbol] = max(size_bytes, self.scratch_bytes.get(symbol, 0))
        return self.compute(f"mov.b32 $0, {symbol};", "i32")

    # ---- values

    def get(self, value: ir.Value) -> list[ir.Value]:
        """The registers of a tile, or the one of a scalar."""
        return self.values[value]

    def scalar(self, value: ir.Value) -> ir.Value:
        return self.values[value][0]

    def set(self, result: ir.Value, registers: Sequence[ir.Value]) -> None:
        self.values[result] = list(registers)

    def number(self, register: ir.Value) -> int | None:
        """The integer a register is known to hold."""
        text = self.literals.get(register, "")
        return int(text) if text.lstrip("-").isdigit() else None

    def type(self, name: str) -> ir.Type:
        """The builtin type of a register class by name."""
        return self._types[name]

    def constant(self, element: PtxElement, value: int | float) -> ir.Value:
        """A register with a constant, one for each block."""
        text = literal(element, value)
        return self.once((element.register, text), lambda: self._constant(element.register, text))

    def once(self, key: Hashable, make: Callable[[], ir.Value | None]) -> ir.Value | None:
        """What make() gave for the key in this block, or gives now."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def _constant(self, register: str, text: str) -> ir.Value:
        if register == "i1":
            return self.b.compute(f"setp.ne.b32 $0, {text}, 0;", self.b.i1)
        made = self.b.compute(
            f"mov.{'f' if register[0] == 'f' else 'b'}{register[1:]} $0, {text};", self._types[register]
        )
        if register in _IMMEDIATE:
            self.literals[made] = text
        return made

    # ---- instructions

    def compute(self, text: str, register: str, *operands: ir.Value | int) -> ir.Value:
        """An instruction without effects; integers, and registers known to hold a constant, become immediates."""
        return self.b.compute(*self._immediates(text, register, operands))

    def compute_all(self, text: str, registers: Iterable[str], *operands: ir.Value) -> tuple[ir.Value, ...]:
        """An instruction without effects and with several results."""
        return self.b.compute(text, [self._types[register] for register in registers], *operands)

    def _immediates(self, text: str, register: str, operands: tuple) -> tuple:
        spelled = tuple(str(o) if isinstance(o, int) else self.literals.get(o) for o in operands)
        if any(spelled):
            text = _with_immediates(text, spelled)
            operands = tuple(o for o, word in zip(operands, spelled, strict=True) if word is None)
        return (text, self._types[register], *operands)

    # ---- blocks

    def at(self, block: ir.Block) -> None:
        """Continue at the end of a block."""
        self.b.at(block)
        self._made.clear()
        self.turns.forget()

    def lower_block(self, block: ir.Block) -> list[ir.Value]:
        """Lowers the operations of a block in order; its terminator is the caller's, who gets the operands."""
        for view in block.operations:
            operation = view.operation
            if operation.name in TERMINATORS:
                return list(operation.operands)
            self.lower(operation)
        return []

    def lower(self, operation: ir.Operation) -> None:
        """One operation; UnsupportedError where no op group lowers it, CompileError for layouts that do not fit."""
        rule = RULES.get(operation.name)
        self.b.location = named_location(operation)
        if rule is None:
            raise UnsupportedError(f"'{operation.name}' has no lowering to PTX", source_location(operation.location))
        try:
            rule(self, operation)
        except ValueError as error:
            raise CompileError(f"'{operation.name}': {error}", source_location(operation.location)) from error
        self.b.location = named_location(operation)

    def unsupported(self, operation: ir.Operation, message: str) -> UnsupportedError:
        """The error to raise where an operation is legal and has no lowering."""
        return UnsupportedError(f"'{operation.name}': {message}", source_location(operation.location))


SCALAR = LinearLayout((), ((),) * LANE_BITS, (), ())
TERMINATORS = ("scf.yield", "scf.condition", "tile_gpu.yield", "tile_gpu.return")


@cached
def layout_of(type: ir.Type) -> LinearLayout:
    """The layout of a register tile; a scalar is one register, the same in every thread."""
    return parse_layout(type.encoding.value) if isinstance(type, ir.RankedTensorType) else SCALAR


def element(value: ir.Value) -> PtxElement:
    """The element row of a scalar or register tile."""
    return element_of(value.type)


def named_location(operation: ir.Operation) -> ir.Location:
    """The operation's location under the name of a tile operation: its own where it carries none."""
    location = operation.location
    if isinstance(location, ir.NameLoc):
        return location
    return ir.Location.name(operation.name, location, operation.context)


@functools.cache
def _with_immediates(text: str, spelled: tuple[str | None, ...]) -> str:
    """The text with immediates in place, the registers left renumbered; result is $0."""
    names, following = ["$0"], 1
    for word in spelled:
        names.append(word if word is not None else f"${following}")
        following += word is None
    return re.sub(r"\$(\d+)", lambda match: names[int(match[1])], text)
