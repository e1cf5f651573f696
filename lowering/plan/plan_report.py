"""The plan of a kernel as text and as JSON: each decision with its reason and the candidate that would be next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.walk import operations_below
from tilec.errors import SourceLocation
from tilec.lowering.plan.chain_room import known_room
from tilec.lowering.plan.kernel_plan import Plan
from tilec.lowering.plan.matrix.matrix_plan import Multiply, Operand
from tilec.lowering.plan.matrix.pairs import is_in_narrow_pair
from tilec.lowering.plan.matrix.sharing import LADDER
from tilec.lowering.plan.matrix.unit_choice import accumulator_columns, factor_columns, next_unit
from tilec.lowering.plan.plan_remarks import access_reason
from tilec.lowering.tile.analysis.tile_operations import VIEW_LOADS
from tilec.lowering.tile_to_gpu.access.alignment import access_vector
from tilec.lowering.tile_to_gpu.access.memory_order import BULK_ORDERS


@dataclass(frozen=True)
class Decision:
    """A decision of a plan.

    Attributes:
        subject: the thing that is chosen.
        chosen: the choice.
        reason: why it is chosen; empty for the only candidate.
        runner_up: the next candidate; empty if there is none.
        location: the source line; None for a decision about the whole kernel.
    """

    subject: str
    chosen: str
    reason: str = ""
    runner_up: str = ""
    location: SourceLocation | None = None

    def text(self) -> str:
        """The decision as text of one line."""
        where = "" if self.location is None else f"{self.location.file.rsplit('/', 1)[-1]}:{self.location.line}: "
        because = f"; {self.reason}" if self.reason else ""
        runner_up = f"; runner-up: {self.runner_up}" if self.runner_up else ""
        return f"  {where}{self.subject}: {self.chosen}{because}{runner_up}"

    def fields(self) -> dict[str, Any]:
        """The decision as JSON."""
        at = self.location
        where = None if at is None else {"file": at.file, "line": at.line, "column": at.column}
        names = ("subject", "chosen", "reason", "runner_up")
        return {**{name: getattr(self, name) for name in names}, "location": where}


@dataclass(frozen=True)
class PlanReport:
    """The decisions of the plan of a kernel, in the order in which they are made."""

    kernel: str
    target: str
    decisions: tuple[Decision, ...]

    def text(self) -> str:
        """A line per decision."""
        return "\n".join([f"plan of {self.kernel} on {self.target}", *(each.text() for each in self.decisions)])

    def fields(self) -> dict[str, Any]:
        """The report as JSON."""
        decisions = [each.fields() for each in self.decisions]
        return {"kernel": self.kernel, "target": self.target, "decisions": decisions}


def report_of(plan: Plan) -> PlanReport:
    """The report of a plan, which stays valid when its entry is gone."""
    name = plan.entry.operation.attributes["sym_name"].value
    return PlanReport(name, plan.target.name, tuple(_decisions(plan)))


def _division(plan: Plan) -> str:
    room = known_room(plan.entry)
    if room is None or room.shape.columns == 1:
        return "rows" if plan.matrix.multiplies else "columns"
    columns = f"columns of the last multiplies of chains in {room.shape.columns} parts"
    return columns if room.shape.rows == 1 else f"rows in {room.shape.rows} parts, {columns}"


def _decisions(plan: Plan) -> Iterator[Decision]:
    yield Decision("CTAs per tile block", str(plan.ctas), plan.cluster.reason, plan.cluster.runner_up)
    if plan.ctas > 1:
        yield Decision("division among CTAs", _division(plan))
    yield Decision("warps that compute", str(plan.warps), plan.worker_warps.reason, plan.worker_warps.runner_up)
    if plan.most_columns:
        yield _tensor_memory(plan)
    for multiply in plan.matrix.multiplies.values():
        yield from _of_multiply(multiply, plan)
    accesses = Counter(found for op in operations_below(plan.entry) if (found := _access(op, plan)) is not None)
    for access, count in accesses.items():
        yield access if count == 1 else replace(access, subject=f"{access.subject}, {count} times")
    for name, value in plan.hints.items():
        yield Decision(name.removeprefix("tilec."), str(value), "hint for later stages")


def _tensor_memory(plan: Plan) -> Decision:
    subject, limit = "columns of tensor memory", plan.target.tensor_memory_columns
    if plan.columns is None:
        reason = str(LADDER[-1]) if plan.most_columns <= limit else "as few as channels that share slots need"
        return Decision(subject, f"{plan.most_columns} of {limit}", reason)
    reason = f"{plan.sharing}; values with columns of their own would need {plan.most_columns}"
    following = LADDER[LADDER.index(plan.sharing) + 1 :]
    return Decision(subject, f"{plan.columns} of {limit}", reason, str(following[0]) if following else "")


# ---- multiplies


def _of_multiply(multiply: Multiply, plan: Plan) -> Iterator[Decision]:
    op, location = multiply.op, source_location(multiply.op.operation.location)
    rows, columns = op.acc.type.shape
    subject = f"multiply {rows}x{columns}x{op.lhs.type.shape[1]} of {multiply.types}"
    in_pair = " in a pair of CTAs with 64 rows each" if is_in_narrow_pair(op) else ""
    following = next_unit(op, multiply.unit, plan.target, plan.warps)
    yield Decision(subject, f"{multiply.unit.name}{in_pair}", "; ".join(multiply.refusals), following, location)
    if multiply.unit.accumulates_in_tensor_memory:
        factors = f" and {factor_columns(op)} of {multiply.scales[0].layout.subject}" if multiply.scales else ""
        yield Decision("  accumulator", f"{accumulator_columns(op)} columns of tensor memory{factors}")
    else:
        yield Decision("  accumulator", "registers")
    for side, operand in (("left", multiply.lhs), ("right", multiply.rhs)):
        yield Decision(f"  {side} operand", _path(operand), operand.refusal or "")
    for side, scale in zip(("left", "right"), multiply.scales, strict=False):
        path = "registers" if scale.map is None else "TMA to shared memory"
        yield Decision(f"  {scale.layout.subject} of the {side} operand", path, scale.refusal or "")


def _path(operand: Operand) -> str:
    if operand.tensor_layout is not None:
        over = " over its accumulator" if operand.over is not None else ""
        return f"tensor memory, {operand.tensor_layout.columns} columns{over}"
    if operand.register_layout is not None:
        return "registers"
    if operand.map is None:
        return "shared memory, stored by threads"
    return f"TMA to shared memory, swizzle {operand.map.swizzle}"


# ---- accesses


def _access(op: ir.OpView, plan: Plan) -> Decision | None:
    """How a load or a store reaches memory; None for other operations, and for loads of operands by TMA."""
    name, location = op.operation.name, source_location(op.operation.location)
    if name in VIEW_LOADS:
        tile = op.operation.results[0]
        if plan.matrix.loads.get(tile):
            return None
        map, kind = plan.matrix.maps.get(tile), "load"
    elif name in BULK_ORDERS:
        map, kind = plan.stores.get(op.operation), "store"
    elif op.operation in plan.vectors:
        subject = f"{name.removeprefix('cuda_tile.').partition('_')[0]} through pointers"
        return Decision(subject, f"threads, {_elements(plan.vectors[op.operation])}", location=location)
    else:
        return None
    type = op.view.type
    subject = f"{kind} {'x'.join(str(extent) for extent in type.tile_shape)} of {spell(type.element)}"
    if map is not None:
        return Decision(subject, f"TMA, swizzle {map.swizzle}", location=location)
    reason = access_reason(op, plan.matrix, plan.options.tma, plan.target) or ""
    return Decision(
        subject, f"threads, {_elements(access_vector(op)[1])}", reason.partition(": ")[2], location=location
    )


def _elements(count: int) -> str:
    return f"{count} element{'s' if count > 1 else ''} at once"
