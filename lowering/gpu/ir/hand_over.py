"""One slot that threads and multiplies use in turn: each side gives it after its last access, then the other takes it.

The slot is in one of four states, in this cycle: the threads have it, they have given it, the multiplies have it, they
have given it. A step to the next state is a put (`give`) or a get (`take`) of a channel of one slot. A loop starts each
iteration in the state in which its body ends, so that the thread that takes the slot does so at its first access of the
next iteration; before the loop, the steps to that state are executed once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tilec.dialect.mlir import ir
from tilec.lowering.gpu.ir.build_channels import give, take
from tilec.lowering.gpu.ir.enclosing import body_of, path_to
from tilec.lowering.gpu.ir.operation_role import set_compute_role

_THREADS_HAVE, _MULTIPLIES_HAVE = 0, 2
_STATES = 4


class HandOver:
    """Inserts the steps for the accesses of one slot by `multiplies`, operations of these names, and by one role."""

    def __init__(
        self,
        accesses: Sequence[ir.Operation],
        multiplies: Collection[str],
        to_threads: ir.Value,
        to_mma: ir.Value,
        role: str,
    ) -> None:
        self._states = {op: _MULTIPLIES_HAVE if op.name in multiplies else _THREADS_HAVE for op in accesses}
        self._to_threads, self._to_mma = to_threads, to_mma
        self._role = role
        # The operations of each block that are accesses or contain one, in program order.
        self._inside: dict[ir.Block, list[ir.Operation]] = {}
        for op in accesses:
            for outer in path_to(op):
                found = self._inside.setdefault(outer.block, [])
                if outer not in found:
                    found.append(outer)
        self._kernel = path_to(accesses[0])[0].block

    def insert(self) -> None:
        """The threads have the slot at the start and at the end of the kernel."""
        state = self._walk(self._kernel, _THREADS_HAVE, None)
        last = self._inside[self._kernel][-1]
        self._step(state, _THREADS_HAVE, ir.InsertionPoint.after(last), last.location)

    def _walk(self, block: ir.Block, state: int, following: int | None) -> int:
        """Inserts the steps of a block; `following` is the state that the first access after it needs."""
        inside = self._inside[block]
        for number, op in enumerate(inside):
            after = self._needed(inside[number + 1]) if number + 1 < len(inside) else following
            state = self._visit(op, state)
            if after is not None and state in (_THREADS_HAVE, _MULTIPLIES_HAVE) and after != state:
                state = self._step(state, state + 1, ir.InsertionPoint.after(op), op.location)
        return state

    def _visit(self, op: ir.Operation, state: int) -> int:
        if op in self._states:
            return self._step(state, self._needed(op), ir.InsertionPoint(op), op.location)
        end = self._end(op)
        if op.name == "scf.if":
            state = self._step(state, self._needed(op), ir.InsertionPoint(op), op.location)
            for region in op.regions:
                self._visit_branch(op, region, state, end)
            return end
        self._step(state, end, ir.InsertionPoint(op), op.location)
        body = body_of(op)
        self._walk(body, end, self._needed(self._inside[body][0]))
        return end

    def _visit_branch(self, op: ir.Operation, region: ir.Region, state: int, end: int) -> None:
        if not len(region.blocks):
            if state == end:
                return
            with op.location, ir.InsertionPoint(region.blocks.append()):
                ir.Operation.create("scf.yield")
        block = region.blocks[0]
        if block in self._inside:
            state = self._walk(block, state, None)
        self._step(state, end, ir.InsertionPoint.at_block_terminator(block), op.location)

    def _needed(self, op: ir.Operation) -> int:
        """The state that the first access in an operation needs."""
        while op not in self._states:
            op = self._inside[self._first_block(op)][0]
        return self._states[op]

    def _first_block(self, op: ir.Operation) -> ir.Block:
        blocks = [block for region in op.regions for block in region.blocks]
        return next(block for block in blocks if block in self._inside)

    def _end(self, op: ir.Operation) -> int:
        if op in self._states:
            return self._states[op]
        block = self._first_block(op)
        inside = self._inside[block]
        state = self._end(inside[-1])
        if op.name == "scf.if" or state not in (_THREADS_HAVE, _MULTIPLIES_HAVE):
            return state
        return state if self._needed(inside[0]) == state else state + 1

    def _step(self, state: int, target: int, point: ir.InsertionPoint, location: ir.Location) -> int:
        """Executes the steps from one state to another; returns the state."""
        with location, point:
            while state != target % _STATES:
                channel = self._to_mma if state < _MULTIPLIES_HAVE else self._to_threads
                for step in (give if state % 2 == 0 else take)(channel):
                    # The role of the steps of multiplies is that of their party in any case.
                    set_compute_role(step, self._role)
                state = (state + 1) % _STATES
        return state
