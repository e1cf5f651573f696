"""Acquires on which no weak access of the tile block can rely, as nothing that it reads could show a release.

An access is ordered after a write of another agent by an acquire that reads its release. If nothing uses the result of
the acquire, the tile block executes its later accesses whether or not the release came first. A weak access that relies
on it then races with the write in the execution in which the release comes later, and a race is undefined, unless the
tile block waited for the release before: by another read, whose result is used. If this one acquires too, it orders the
access itself.
"""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_inside

# Memory orders after which the accesses that tokens order later cannot start early.
ACQUIRING = ("acquire", "acq_rel")
_WEAK = "weak"
# From the narrowest to the widest.
_SCOPES = ("tl_blk", "device", "sys")
_UPDATES = ("cuda_tile.atomic_rmw_tko", "cuda_tile.atomic_cas_tko")
# The result of an atomic in another shape or type, which may have no use itself.
_FORWARDS = ("cuda_tile.reshape", "cuda_tile.broadcast", "cuda_tile.bitcast", "cuda_tile.extract", "cuda_tile.ftof")


class Acquires:
    """The acquires of an entry that weak accesses have to follow."""

    def __init__(self, entry: ir.Operation) -> None:
        views = (op.opview for op in operations_inside(entry))
        reads = [op for op in views if _order(op) != _WEAK and is_read(op.operation)]
        # Each read that could show a release orders accesses as far as this scope.
        scopes = [_scope(op) if _order(op) in ACQUIRING else -1 for op in reads]
        self._scope = min(scopes, default=len(_SCOPES))

    def order_weak_accesses(self, op: ir.OpView) -> bool:
        """Whether weak accesses have to follow a memory operation because it acquires."""
        if _order(op) not in ACQUIRING:
            return False
        return op.operation.name not in _UPDATES or is_read(op.operation) or _scope(op) > self._scope


def is_read(op: ir.Operation) -> bool:
    """Whether something uses a result of a memory operation, besides its token."""
    return any(_is_used(result) for result in op.results if not isinstance(result.type, TokenType))


def _is_used(value: ir.Value) -> bool:
    users = (use.owner for use in value.uses)
    return any(op.operation.name not in _FORWARDS or any(map(_is_used, op.operation.results)) for op in users)


def _order(op: ir.OpView) -> str:
    return str(getattr(op, "memory_ordering_semantics", _WEAK))


def _scope(op: ir.OpView) -> int:
    return _SCOPES.index(op.memory_scope)
