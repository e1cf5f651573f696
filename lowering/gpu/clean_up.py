"""Upstream's clean-up of a module of tile_gpu: canonical form, without duplicates, with invariants hoisted.

Tiles for which roles lack registers go back into loops (roles/sink_numbers.py).

Upstream's patterns rebuild loops and branches with the location of the original, but without the attributes of other
dialects, and merge only operations with equal attributes. So locations carry the ids during the clean-up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.ids import CONTROL_FLOW, ID, id_of, set_id
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.roles.sink_numbers import sink_numbers
from tilec.lowering.upstream_passes import run_upstream

# Each region has one block: there is nothing to simplify but dead operations, which the patterns remove anyway.
_CANONICALIZE = "canonicalize{region-simplify=disabled}"
_PIPELINE = f"{_CANONICALIZE},cse,loop-invariant-code-motion,{_CANONICALIZE}"
_ADVANCE = ir.WalkResult.ADVANCE


def clean_up(module: ir.Module) -> None:
    """Changes a valid module in place; on an invalid one, upstream's passes may abort the process."""
    carried = _CarriedIds()
    for kernel in module.body.operations:
        for op in operations_named(kernel, CONTROL_FLOW):
            carried.move_to_location(op.operation)
    run_upstream(_PIPELINE, module)
    if carried.origins:
        module.operation.walk(carried.restore, ir.WalkOrder.PRE_ORDER)
    for op in module.body.operations:
        if op.operation.name == KernelOp.OPERATION_NAME:
            sink_numbers(op)


@dataclass
class _CarriedIds:
    """The id and the location of each location with an id, by its attribute: locations have no hash."""

    origins: dict[ir.Attribute, tuple[int, ir.Location]] = field(default_factory=dict)

    def move_to_location(self, op: ir.Operation) -> None:
        if (id := id_of(op)) is not None:
            location = op.location
            op.location = ir.Location.fused([location], metadata=op.attributes[ID])
            self.origins[op.location.attr] = id, location
            del op.attributes[ID]

    def restore(self, op: ir.Operation) -> ir.WalkResult:
        location = op.location
        # The type is known without a call of the bindings, which a look-up needs.
        if type(location) is ir.FusedLoc and (found := self.origins.get(location.attr)) is not None:
            id, op.location = found
            if op.name in CONTROL_FLOW:
                set_id(op, id)
                self._restore_arguments(op)
        return _ADVANCE

    def _restore_arguments(self, op: ir.Operation) -> None:
        """Arguments that upstream has added have the location of their loop."""
        for region in op.regions:
            for argument in region.blocks[0].arguments if len(region.blocks) else ():
                found = self.origins.get(argument.location.attr)
                if found is not None:
                    argument.set_location(found[1])
