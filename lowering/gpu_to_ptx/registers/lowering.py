"""The state of lowering one kernel: registers of each tile, shared memory, the current role; and the table of rules."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import PtxBuilder
from tilec.dialect.ptx.registers import REGISTER_CLASSES
from tilec.dialect.rule_table import RuleTable
from tilec.dialect.tile_gpu.operations.kernel import ReturnOp
from tilec.dialect.tile_gpu.operations.reduce import YieldOp
from tilec.dialect.walk import operations_in
from tilec.errors import CompileError, UnsupportedError
from tilec.lowering.gpu.ir.scratch_use import SLOT_BYTES, SLOTS
from tilec.lowering.gpu.memory.shared_plan import SharedPlan
from tilec.lowering.gpu_to_ptx.registers.bit_field import BitField, FloatsOfBits
from tilec.lowering.gpu_to_ptx.registers.elements import PtxElement
from tilec.lowering.gpu_to_ptx.registers.guarded_chains import guarded_chains, lower_in_parts
from tilec.lowering.gpu_to_ptx.registers.literals import literal, literal_of_bits
from tilec.lowering.gpu_to_ptx.registers.scratch_slots import ScratchSlots
from tilec.lowering.gpu_to_ptx.registers.value_parts import MaskBit, Position, SlotAddress
from tilec.lowering.layout.conversion import SCRATCH_LIMIT_BYTES
from tilec.lowering.target import LANES, Target

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation

Made = TypeVar("Made")
# Register types with immediate operands; 16-bit floats have none (PTX ISA 4.5.2).
_IMMEDIATE = ("i32", "i64", "f32", "f64")
TERMINATORS = ("scf.yield", "scf.condition", YieldOp.OPERATION_NAME, ReturnOp.OPERATION_NAME)
SHARED_SYMBOL = "shared_memory"


@dataclass(frozen=True)
class Role:
    """A group of warps that executes a region of the kernel, with its own named barrier (0 to 15)."""

    name: str
    warps: int
    first_warp: int = 0
    barrier: int = 0

    @property
    def threads(self) -> int:
        return LANES * self.warps


Rule = Callable[["Lowering", ir.Operation], None]
# The lowering of each operation of the tile_gpu level, by operation name.
RULES: RuleTable[str, Rule] = RuleTable("lowered")


def lowers(*operations: str | type[Operation]) -> Callable[[Rule], Rule]:
    """Registers a function as the lowering of operations, by class, or by name for those of upstream dialects.

    Raises ValueError for a second function of an operation, naming both.
    """
    names = [each if isinstance(each, str) else each.OPERATION_NAME for each in operations]
    return lambda rule: RULES.enter(names, rule, rule)


class Lowering:
    """The state that the op groups share.

    Attributes:
        values: The registers of each tile_gpu value, in the order of its layout.
        literals: The text of the constant that a register holds.
        packed: The register of 32 or 64 bits from which the halves (low, high) were extracted.
        bytes_of_words: The register of 32 bits from which an element was extracted, and the number of its byte.
        extensions: The bits of a short integer that a register holds sign- (True) or zero-extended (False).
        bit_fields: The bits of a register of 32 bits that an integer is, if they are not a byte of `bytes_of_words`.
        floats_of_bits: How registers of two 16-bit floats of integers were computed from bits of words.
        integer_bounds: The least and the largest integer that a float is.
        slot_addresses: The parts of addresses of slots of rings in shared memory.
        sums: The halves of results of pairs of f32 other than products.
        packed_bytes: The register of the byte from which elements of less than a byte were extracted.
        state: Registers that operations update, by name; loops and branches carry them.
        tensor_base: The base address in tensor memory.
        maps: The parameter of each tensor map.
        ctas: The number of CTAs of a cluster, at most if it joins programs.
        joins_programs: Whether the CTAs of a cluster are tile blocks of their own; the launch has the size of clusters.
        multiplies_in_pairs: Whether tcgen05 multiplies for pairs of CTAs.
        cluster_rank: The number of the CTA among them.
        cluster_size: The number of CTAs of the cluster, in kernels that join programs.
        leads_pair: The predicate of the CTAs of even rank, which issue the operations of pairs.
        block_warp: The number of the warp in the CTA, and `warp` that in the role: the value of lane 0 in all lanes.
        issuing_warp: The predicate of the warp that issues asynchronous operations; None in roles of one warp.
        allocated: Addresses that malloc returned, which are freed when the kernel ends.
        compute_roles: The number of roles that compute, each with scratch memory of its own.
        positions: The registers that hold the number of an element along a dimension.
        mask_bits: The predicates that are bits of words.
        in_flight: Accumulators of wgmma in flight, by the value that is not yet complete.
    """

    role: Role
    thread: ir.Value
    lane: ir.Value
    block_warp: ir.Value
    warp: ir.Value
    cluster_rank: ir.Value
    cluster_size: ir.Value
    leads_pair: ir.Value

    def __init__(self, builder: PtxBuilder, target: Target, plan: SharedPlan, compute_threads: int, ctas: int) -> None:
        self.b = builder
        self.ctas = ctas
        self.joins_programs = self.multiplies_in_pairs = False
        self.target = target
        self.plan = plan
        self.compute_threads = compute_threads
        self.values: dict[ir.Value, list[ir.Value]] = {}
        self.literals: dict[ir.Value, str] = {}
        self.packed: dict[tuple[ir.Value, ...], ir.Value] = {}
        self.bytes_of_words: dict[ir.Value, tuple[ir.Value, int]] = {}
        self.extensions: dict[ir.Value, tuple[int, bool]] = {}
        self.bit_fields: dict[ir.Value, BitField] = {}
        self.floats_of_bits: dict[ir.Value, FloatsOfBits] = {}
        self.integer_bounds: dict[ir.Value, tuple[int, int]] = {}
        self.slot_addresses: dict[ir.Value, SlotAddress] = {}
        self.sums: set[ir.Value] = set()
        self.positions: dict[ir.Value, Position] = {}
        self.mask_bits: dict[ir.Value, MaskBit] = {}
        self.packed_bytes: dict[tuple[ir.Value, ...], ir.Value] = {}
        self.state: dict[str, list[ir.Value]] = {}
        self.scratch_slots = ScratchSlots()
        self.scratch_size_bytes = 0
        # The scratch memory of a role starts after that of the roles before it.
        self._scratch_start = 0
        self.compute_roles = 1
        self.tensor_base: ir.Value | None = None
        self.maps: dict[ir.Value, str] = {}
        self.acquisitions: dict[ir.Operation | ir.Block, list[ir.OpView]] = {}
        self.allocated: list[ir.Value] = []
        self.issuing_warp: ir.Value | None = None
        self._elected: ir.Value | None = None
        self.in_flight: dict[ir.Value, list[ir.Value]] = {}
        self._cached: dict[Hashable, Any] = {}
        self._types: dict[str, ir.Type] = {name: getattr(self.b, name) for name in REGISTER_CLASSES}

    # ---- roles

    def number_warps(self) -> None:
        """Computes the number of the warp in the CTA, in code that all threads execute."""
        thread = self.compute("mov.u32 $0, %tid.x;", "i32")
        warp = self.compute("shr.u32 $0, $1, 5;", "i32", thread)
        # ptxas sees that all lanes have the value of lane 0, not that they have one thread number divided by 32.
        self.block_warp = self.compute("shfl.sync.idx.b32 $0, $1, 0, 31, 0xffffffff;", "i32", warp)

    def number_ctas(self) -> None:
        """Computes the number of the CTA in the cluster, in code that all threads execute."""
        self.cluster_rank = self.compute("mov.u32 $0, %cluster_ctarank;", "i32")
        in_pair = self.compute("and.b32 $0, $1, 1;", "i32", self.cluster_rank)
        self.leads_pair = self.compute("setp.eq.s32 $0, $1, 0;", "i1", in_pair)
        if self.joins_programs:
            self.cluster_size = self.compute("mov.u32 $0, %cluster_nctarank;", "i32")

    @property
    def cta_group(self) -> str:
        """The modifier of all operations of tcgen05 of the kernel."""
        return f"cta_group::{2 if self.multiplies_in_pairs else 1}"

    def begin_role(self, role: Role) -> None:
        """Starts the code of a role: computes thread, lane and warp numbers, and elects the thread of a lone warp."""
        self.role = role
        self._scratch_start = -(-self.scratch_size_bytes // SLOT_BYTES) * SLOT_BYTES
        thread = self.compute("mov.u32 $0, %tid.x;", "i32")
        first = role.first_warp
        self.thread = self.compute("sub.s32 $0, $1, $2;", "i32", thread, LANES * first) if first else thread
        self.lane = self.compute("mov.u32 $0, %laneid;", "i32")
        self.warp = self.compute("sub.s32 $0, $1, $2;", "i32", self.block_warp, first) if first else self.block_warp
        self.issuing_warp = self.compute("setp.eq.s32 $0, $1, $2;", "i1", self.warp, 0) if role.warps > 1 else None
        self._elected = None if role.warps > 1 else self._elect()
        self.state.clear()

    @contextlib.contextmanager
    def issuing(self, *, leads_pair: bool = False) -> Iterator[ir.Value]:
        """Code of one thread of the role, always the same: gives its predicate, in a block of its warp.

        With `leads_pair` it is code of the CTAs that lead a pair alone.

        PTX ISA, elect.sync: the same thread is elected for the same membermask every time, so that one thread commits
        the operations that it issued. The election is beside them: ptxas then needs no predicate for those that a warp
        issues once, where for a comparison of the thread number it branches to a single thread.
        """
        condition = self.issuer(leads_pair=leads_pair)
        if condition is None:
            assert self._elected is not None
            yield self._elected
            return
        # The code of one thread exchanges nothing between threads, and what precedes it dominates what follows.
        cached, slots = self._cached, self.scratch_slots
        self._cached, self.scratch_slots = {}, ScratchSlots()
        with self.where(condition, "issue", "issued"):
            yield self._elect() if self._elected is None else self._elected
        self._cached, self.scratch_slots = cached, slots

    def issuer(self, *, leads_pair: bool) -> ir.Value | None:
        """The predicate of the warp that issues asynchronous operations; None if every warp of the role does."""
        if leads_pair and self.issuing_warp is not None:
            return self.compute("and.pred $0, $1, $2;", "i1", self.issuing_warp, self.leads_pair)
        return self.leads_pair if leads_pair else self.issuing_warp

    def _elect(self) -> ir.Value:
        return self.b.execute("elect.sync _|$0, 0xffffffff;", self.b.i1)

    @property
    def warps(self) -> int:
        return self.role.warps

    def barrier(self) -> None:
        """Synchronizes the threads of the role and makes their writes to shared memory visible to each other."""
        self.b.execute(f"bar.sync {self.role.barrier}, {self.role.threads};")
        self.scratch_slots.after_barrier()

    # ---- shared memory

    def shared_address(self, offset: int) -> ir.Value:
        """The shared address at an offset in the kernel's memory."""
        base = self.once(SHARED_SYMBOL, lambda: self.b.compute(f"mov.b32 $0, {SHARED_SYMBOL};", self.b.i32))
        return self.plus(base, offset)

    @property
    def exchange_bytes(self) -> int:
        """The largest part of a tile that goes through scratch memory at a time, a power of two.

        It is less than SCRATCH_LIMIT_BYTES if channels leave less memory, but not less than both slots.
        """
        free = (self.target.shared_bytes - self.plan.scratch) // self.compute_roles
        return max(SLOT_BYTES * SLOTS, min(SCRATCH_LIMIT_BYTES, 1 << max(0, free.bit_length() - 1)))

    def writable_scratch(self, size_bytes: int) -> ir.Value:
        """Scratch memory that no thread reads, after a barrier if necessary; callers call barrier() after writing."""
        if self.scratch_slots.idle_slot(size_bytes) is None:
            self.barrier()
        slot = self.scratch_slots.idle_slot(size_bytes)
        assert slot is not None
        self.scratch_slots.write(slot, size_bytes)
        start = self._scratch_start + SLOT_BYTES * slot
        self.scratch_size_bytes = max(self.scratch_size_bytes, start + size_bytes)
        return self.plus(self.shared_address(self.plan.scratch), start)

    # ---- values

    def get(self, value: ir.Value) -> list[ir.Value]:
        """The registers of a tile, or the single register of a scalar."""
        return self.values[value]

    def scalar(self, value: ir.Value) -> ir.Value:
        """The register of a scalar."""
        return self.values[value][0]

    def set(self, result: ir.Value, registers: Sequence[ir.Value]) -> None:
        """Records the registers of a result."""
        self.values[result] = list(registers)

    def number(self, register: ir.Value) -> int | None:
        """The constant integer that a register holds; None if unknown."""
        text = self.literals.get(register, "")
        return int(text) if text.lstrip("-").isdigit() else None

    def type(self, name: str) -> ir.Type:
        """The builtin type of a register class by name."""
        return self._types[name]

    def constant(self, element: PtxElement, value: int | float) -> ir.Value:
        """A register that holds a constant, one per block."""
        return self._shared_constant(element, literal(element, value))

    def constant_of_bits(self, element: PtxElement, bits: int) -> ir.Value:
        """A register that holds the element with these bits, one per block."""
        return self._shared_constant(element, literal_of_bits(element, bits))

    def _shared_constant(self, element: PtxElement, text: str) -> ir.Value:
        return self.once((element.register, text), lambda: self._constant(element.register, text))

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """The result of make(), called once per key and block."""
        made: Made | None = self._cached.get(key)
        if made is None:
            made = self._cached[key] = make()
        return made

    def _constant(self, register: str, text: str) -> ir.Value:
        if register == "i1":
            return self.b.compute(f"setp.ne.b32 $0, {text}, 0;", self.b.i1)
        made = self.b.compute(f"{REGISTER_CLASSES[register].move} $0, {text};", self._types[register])
        if register in _IMMEDIATE:
            self.literals[made] = text
        return made

    # ---- instructions

    def compute(self, text: str, register: str, *operands: ir.Value | int) -> ir.Value:
        """Builds a pure instruction; integers and registers that hold constants become immediates."""
        literals = self.literals
        spelled = tuple([str(o) if isinstance(o, int) else literals.get(o) for o in operands])
        if not any(spelled):
            return self.b.compute(text, self._types[register], *operands)
        values = [o for o, immediate in zip(operands, spelled, strict=True) if immediate is None]
        return self.b.compute(_with_immediates(text, spelled), self._types[register], *values)

    def plus(self, register: ir.Value, offset: int) -> ir.Value:
        """The sum of an i32 and a constant; the register itself if that is zero."""
        return self.compute("add.s32 $0, $1, $2;", "i32", register, offset) if offset else register

    def compute_all(self, text: str, registers: Iterable[str], *operands: ir.Value) -> tuple[ir.Value, ...]:
        """Builds a pure instruction with several results."""
        return self.b.compute(text, [self._types[register] for register in registers], *operands)

    # ---- blocks

    def at(self, block: ir.Block) -> None:
        """Sets the insertion point to the end of a block."""
        self.b.at(block)
        self._cached.clear()
        self.scratch_slots.enter_block()

    @contextlib.contextmanager
    def where(self, condition: ir.Value, label: str, after: str, *, uniform: bool = True) -> Iterator[None]:
        """Code of the threads whose predicate is true, in a block `label` before the block `after`.

        It is `uniform` if the threads of a warp do not diverge.
        """
        body, end = self.b.block(label=label), self.b.block(label=after)
        self.b.cond_branch(condition, body, [], end, [], uniform=uniform)
        self.at(body)
        yield
        self.b.branch(end)
        self.at(end)

    def lower_block(self, block: ir.Block) -> list[ir.Value]:
        """Lowers the operations of a block in order; returns the operands of its terminator."""
        chains = guarded_chains(block)
        for operation in operations_in(block):
            if operation.name in TERMINATORS:
                return list(operation.operands)
            # Beside a multiply in flight, functions have no test.
            chain = [] if self.in_flight else chains.get(operation, [])
            if not chain:
                self.lower(operation)
            elif operation == chain[-1]:
                lower_in_parts(chain, self.values, self.lower)
        return []

    def lower(self, operation: ir.Operation) -> None:
        """Lowers one operation.

        Raises:
            UnsupportedError: if no op group lowers the operation.
            CompileError: if the layouts of its operands do not match.

        Each error has the location of the operation.
        """
        rule = RULES.get(operation.name)
        location = self.b.location = named_location(operation)
        if rule is None:
            raise UnsupportedError(f"'{operation.name}' has no lowering to PTX", source_location(operation.location))
        try:
            rule(self, operation)
        except ValueError as error:
            raise CompileError(f"'{operation.name}': {error}", source_location(operation.location)) from error
        except UnsupportedError as error:
            if error.location is not None:
                raise
            raise UnsupportedError(error.message, source_location(operation.location)) from error
        self.b.location = location

    def unsupported(self, operation: ir.Operation, message: str) -> UnsupportedError:
        """The error to raise for a legal operation without a lowering."""
        return UnsupportedError(f"'{operation.name}': {message}", source_location(operation.location))


def named_location(operation: ir.Operation) -> ir.Location:
    """The location of an operation, named after its tile operation or else after itself."""
    location = operation.location
    if isinstance(location, ir.NameLoc):
        return location
    return ir.Location.name(operation.name, location, operation.context)


@functools.cache
def _with_immediates(text: str, spelled: tuple[str | None, ...]) -> str:
    """The text with immediates inserted and the remaining registers renumbered; $0 is the result."""
    names, following = ["$0"], 1
    for immediate in spelled:
        names.append(immediate if immediate is not None else f"${following}")
        following += immediate is None
    return re.sub(r"\$(\d+)", lambda match: names[int(match[1])], text)
