"""One role becomes up to three: `load` issues TMA, `mma` issues tcgen05, `compute` does the rest.

Each role gets its own copy of the control flow and of the scalars it needs; tiles cross through channels already.
A kernel whose control flow depends on what only `compute` knows stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilec.dialect.build import build
from tilec.dialect.mlir import ir
from tilec.dialect.origin import error_place
from tilec.dialect.tile_gpu.channel import MMA, TMA
from tilec.dialect.tile_gpu.kernel import COMPUTE
from tilec.dialect.tile_gpu.sets import is_scalar
from tilec.dialect.walk import operations_below
from tilec.remarks import Remark

LOAD, MULTIPLY = "load", "mma"
DECLARATIONS = ("tile_gpu.make_channel", "tile_gpu.make_tensor_map", "tile_gpu.shared")
# Scalars cloned into every role that uses them.
_FREE = ("arith.", "math.")
_FREE_NAMES = ("tile_gpu.program_id", "tile_gpu.num_programs", "tile_gpu.view_buffer")
_CONTROL = ("scf.for", "scf.if", "scf.while")


class _NotSeparableError(Exception):
    """A role needs a value that another role computes, at `location`."""

    def __init__(self, reason: str, location: ir.Location) -> None:
        super().__init__(reason)
        self.location = location


def partition_roles(kernel: Any, remarks: list[Remark] | None = None) -> bool:
    """Rewrites a tile_gpu.kernel in place; False where it has no asynchronous work or cannot be split.

    The reason why a kernel with asynchronous work cannot be split is added to `remarks`.
    """
    block = kernel.operation.regions[0].blocks[0]
    operations = [op.operation for op in block.operations]
    roles = _roles_of(operations)
    if len(roles) == 1 or any(op.name == "tile_gpu.roles" for op in operations):
        return False
    above = _above(operations)
    work = [op for op in operations[:-1] if op not in above]
    terminator = operations[-1]
    with kernel.operation.location, ir.InsertionPoint(terminator):
        made = build(
            "tile_gpu.roles",
            attributes={
                "names": ir.ArrayAttr.get([ir.StringAttr.get(name) for name in roles]),
                "warps": [kernel.warps if name == COMPUTE else 1 for name in roles],
            },
        )
        try:
            for name, region in made.opview.bodies.items():
                with ir.InsertionPoint(region.blocks.append()):
                    _Role(name).clone(work)
                    build("tile_gpu.return")
        except _NotSeparableError as error:
            made.erase()
            if remarks is not None:
                remarks.append(
                    Remark("roles", f"the kernel is not split into roles: {error}", error_place(error.location))
                )
            return False
    for op in reversed(work):
        op.erase()
    return True


def _above(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Declarations, and scalars that need nothing else: every role sees them."""
    found: list[ir.Operation] = []
    for op in operations:
        known = all(isinstance(value.owner, ir.Block) or value.owner.operation in found for value in op.operands)
        if op.name in DECLARATIONS or is_free(op) and known:
            found.append(op)
    return found


def _roles_of(operations: Sequence[ir.Operation]) -> list[str]:
    found = {role_of(op.operation) for outer in operations for op in (outer, *operations_below(outer.opview))}
    return [name for name in (COMPUTE, LOAD, MULTIPLY) if name == COMPUTE or name in found]


def is_free(op: ir.Operation) -> bool:
    """Whether an operation is scalar arithmetic that any role may repeat."""
    if op.name in _FREE_NAMES:
        return True
    return op.name.startswith(_FREE) and all(is_scalar(result.type) for result in op.results)


def role_of(op: ir.Operation) -> str | None:
    """The role that runs an operation; None for control flow and what any role may repeat."""
    if op.name in _CONTROL or op.name in DECLARATIONS or is_free(op) or op.name == "scf.yield":
        return None
    if op.name == "tile_gpu.tma_load":
        return LOAD
    if op.name == "tile_gpu.tcgen05_mma":
        return MULTIPLY
    if op.name in ("tile_gpu.put_begin", "tile_gpu.put_commit"):
        producer = ir.StringAttr(op.operands[0].owner.operation.attributes["producer"]).value
        return {TMA: LOAD, MMA: MULTIPLY}.get(producer, COMPUTE)
    if op.name in ("tile_gpu.get", "tile_gpu.release"):
        consumers = ir.ArrayAttr(op.operands[0].owner.operation.attributes["consumers"])
        consumer = ir.StringAttr(consumers[ir.IntegerAttr(op.attributes["consumer"]).value]).value
        return MULTIPLY if consumer == MMA else COMPUTE
    return COMPUTE


class _Role:
    """Copies what one role runs; `values` maps originals to copies, values of above stand for themselves."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._values: dict[ir.Value, ir.Value] = {}
        self._missing: set[ir.Value] = set()

    def clone(self, operations: Sequence[ir.Operation]) -> None:
        for op in operations:
            if op.name in _CONTROL:
                self._control(op)
            elif is_free(op):
                self._copy_where_possible(op)
            elif role_of(op) == self._name:
                self._copy(op)
            else:
                self._missing.update(op.results)

    def _given(self, value: ir.Value) -> ir.Value:
        if value in self._missing:
            raise _NotSeparableError(f"role '{self._name}' needs a value that another role computes", value.location)
        return self._values.get(value, value)

    def _copy(self, op: ir.Operation) -> None:
        operands = [self._given(value) for value in op.operands]
        copy = op.clone(ip=ir.InsertionPoint.current)
        for index, operand in enumerate(operands):
            copy.operands[index] = operand
        for region in op.regions:
            for block, copied in zip(region.blocks, copy.regions[list(op.regions).index(region)].blocks, strict=True):
                self._redirect(block, copied)
        self._values.update(zip(op.results, copy.results, strict=True))

    def _redirect(self, block: ir.Block, copied: ir.Block) -> None:
        """Inner operations of a copied fold still use originals from outside."""
        for op in copied.operations:
            for index, operand in enumerate(op.operation.operands):
                op.operation.operands[index] = self._values.get(operand, operand)

    def _copy_where_possible(self, op: ir.Operation) -> None:
        if any(operand in self._missing for operand in op.operands):
            self._missing.update(op.results)
        else:
            self._copy(op)

    def _control(self, op: ir.Operation) -> None:
        if not self._takes_part(op):
            self._missing.update(op.results)
        elif op.name == "scf.for":
            self._for(op)
        elif op.name == "scf.if":
            self._if(op)
        elif self._name == COMPUTE:
            self._copy_whole(op)
        elif any(role_of(inner.operation) == self._name for inner in operations_below(op.opview)):
            raise _NotSeparableError(f"role '{self._name}' has work in a loop without a known end", op.location)
        else:
            self._missing.update(op.results)

    def _takes_part(self, op: ir.Operation) -> bool:
        """Whether the role runs something inside, or may need the scalars that come out."""
        return any(
            role_of(inner.operation) in (self._name, None) and inner.operation.name != "scf.yield"
            for inner in operations_below(op.opview)
        ) or bool(op.results)

    def _copy_whole(self, op: ir.Operation) -> None:
        if any(role_of(inner.operation) not in (COMPUTE, None) for inner in operations_below(op.opview)):
            raise _NotSeparableError("asynchronous work is in a loop without a known end", op.location)
        self._copy(op)

    def _for(self, op: ir.Operation) -> None:
        """Carried values that this role cannot know are left out; which ones, shows when the body is copied."""
        body = op.regions[0].blocks[0]
        given = list(body.operations[len(body.operations) - 1].operation.operands)
        kept = [i for i, value in enumerate(op.operands[3:]) if self._keeps(value)]
        while True:
            made, unknown = self._try_for(op, body, given, kept)
            if not unknown:
                break
            made.erase()
            kept = [i for i in kept if i not in unknown]
        for position, index in enumerate(kept):
            self._values[op.results[index]] = made.results[position]
        self._missing.update(op.results[i] for i in range(len(op.results)) if i not in kept)

    def _keeps(self, value: ir.Value) -> bool:
        return value not in self._missing and (self._name == COMPUTE or is_scalar(value.type))

    def _try_for(
        self, op: ir.Operation, body: ir.Block, given: list[ir.Value], kept: list[int]
    ) -> tuple[ir.Operation, set[int]]:
        values, missing = dict(self._values), set(self._missing)
        bounds = [self._given(value) for value in op.operands[:3]]
        initial = [self._given(op.operands[3 + i]) for i in kept]
        attributes = {name: op.attributes[name] for name in op.attributes}
        made = ir.Operation.create(
            "scf.for", [value.type for value in initial], [*bounds, *initial], attributes, regions=1, loc=op.location
        )
        copied = made.regions[0].blocks.append(
            bounds[0].type, *(value.type for value in initial), arg_locs=[op.location] * (1 + len(kept))
        )
        self._values[body.arguments[0]] = copied.arguments[0]
        for position, index in enumerate(kept):
            self._values[body.arguments[index + 1]] = copied.arguments[position + 1]
        self._missing.update(body.arguments[i + 1] for i in range(len(given)) if i not in kept)
        with ir.InsertionPoint(copied):
            self.clone([inner.operation for inner in body.operations][:-1])
            unknown = {i for i in kept if given[i] in self._missing}
            if not unknown:
                ir.Operation.create("scf.yield", operands=[self._given(given[i]) for i in kept], loc=op.location)
        if unknown:
            self._values, self._missing = values, missing
        return made, unknown

    def _if(self, op: ir.Operation) -> None:
        condition = self._given(op.operands[0])
        branches = [region.blocks[0] if len(region.blocks) else None for region in op.regions]
        given = [list(b.operations[len(b.operations) - 1].operation.operands) if b else [] for b in branches]
        kept = [i for i, result in enumerate(op.results) if self._name == COMPUTE or is_scalar(result.type)]
        while True:
            made, unknown = self._try_if(op, condition, branches, given, kept)
            if not unknown:
                break
            made.erase()
            kept = [i for i in kept if i not in unknown]
        for position, index in enumerate(kept):
            self._values[op.results[index]] = made.results[position]
        self._missing.update(op.results[i] for i in range(len(op.results)) if i not in kept)

    def _try_if(
        self, op: ir.Operation, condition: ir.Value, branches: Any, given: list[list[ir.Value]], kept: list[int]
    ) -> tuple[ir.Operation, set[int]]:
        values, missing, unknown = dict(self._values), set(self._missing), set()
        types = [op.results[i].type for i in kept]
        made = ir.Operation.create("scf.if", types, [condition], regions=2, loc=op.location)
        for number, block in enumerate(branches):
            if block is None:
                continue
            with ir.InsertionPoint(made.regions[number].blocks.append()):
                self.clone([inner.operation for inner in block.operations][:-1])
                unknown |= {i for i in kept if given[number][i] in self._missing}
                if not unknown:
                    ir.Operation.create(
                        "scf.yield", operands=[self._given(given[number][i]) for i in kept], loc=op.location
                    )
        if unknown:
            self._values, self._missing = values, missing
        return made, unknown
