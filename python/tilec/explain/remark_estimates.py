"""The estimates of remarks: the part of the modeled time of a kernel that the kernel without the loss would save.

The cost model prices the compiled kernel and the kernel without the loss. The latter has other work for the operations
at the location of the remark, deeper rings, or no waits: `LOSSES` of remarks.py describes it for each kind of loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.categories import COPIES_OF_THREADS, GLOBAL_LOADS, GLOBAL_STORES, MULTIPLIES, TMA_LOADS
from tilec.dialect.tile_gpu.interface import Category, Interface, Memory, interface_of
from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.tile_gpu.operations.memory import StoreSharedOp
from tilec.dialect.tile_gpu.sets import is_register_tile
from tilec.dialect.tile_gpu.types import BufferType
from tilec.dialect.walk import operations_named, terminator_of
from tilec.errors import SourceLocation
from tilec.explain.modeled_kernel import ACCESSES, SLOW_MULTIPLIES, Change, ModeledKernel
from tilec.frozen import replace as replaced
from tilec.lowering.gpu.ir.enclosing import is_repeated
from tilec.lowering.gpu.ir.tile_size import element_bits, tile_bytes
from tilec.lowering.model.step import NO_WORK, Multiply, Step, pipe_use
from tilec.remarks import LEAST_PERCENT, Loss, Remark

# Shared memory is read by vectors of 16 bytes, by the threads of a warp together.
_READ_BYTES = 16 * 32
# The widest elements that a matrix unit multiplies.
_MOST_BITS = 32
# The operands of scf.for before those that it carries.
_BOUNDS = 3
# Losses that depend on the sectors of accesses.
_BY_SECTORS = ("access", "operand")


def estimated(remarks: Iterable[Remark], module: ir.Module | None, target: str) -> list[Remark]:
    """The remarks with their estimates, the worst first, then those without an estimate; equal ones once.

    `module` is the module of tile_gpu after its passes, or None if the compile did not reach it.
    """
    kernels = () if module is None else operations_named(module, (KernelOp.OPERATION_NAME,))
    models = [ModeledKernel(kernel, target) for kernel in kernels]
    (model,) = models if len(models) == 1 else (None,)
    known: dict[tuple[Loss | None, SourceLocation | None], float | None] = {}
    priced = []
    for remark in remarks:
        key = remark.loss, remark.location
        if key not in known:
            known[key] = None if model is None else _percent(model, *key)
        priced.append(replaced(remark, loss=None, percent=known[key]))
    return sorted(dict.fromkeys(priced), key=lambda each: (each.percent is None, -(each.percent or 0)))


def _percent(model: ModeledKernel, loss: Loss | None, location: SourceLocation | None) -> float | None:
    """The part of the time that the kernel without a loss would save, in percent; None without an estimate."""
    if loss is None:
        return None
    # Operations whose location is unknown are not those of the remark.
    places = [each for each in (location, *loss.locations) if each is not None]
    found = [op for place in places for op in model.at.get(SourceLocation(place.file, place.line, place.column), ())]
    before, change = _CHANGES[loss.kind](model, found, loss)
    if change is None:
        return None
    present = model.present if before is None else model.cycles(before)
    percent = max(0.0, 100 * (1 - model.cycles(change) / present)) if present else 0.0
    # With unknown strides, the difference is only an upper bound: it shows that a loss is small, not that it is large.
    return None if before is not None and loss.kind in _BY_SECTORS and percent >= LEAST_PERCENT else percent


# ---- Kernels with and without a loss. The first is None if it is the compiled kernel; the second, without an estimate.

_Compared = tuple[Change | None, Change | None]


def _preparations(found: Iterable[ir.Operation]) -> dict[ir.Operation, Step]:
    """No work for the operations that prepare operands and addresses, also through shared memory."""
    return {op: NO_WORK for op in found if _is_preparation(interface_of(op.name))}


def _is_preparation(record: Interface) -> bool:
    if record.category in (Category.LOAD, Category.STORE):
        return record.memory is Memory.SHARED
    return record.category in (Category.ARITHMETIC, Category.MOVE)


def _on_preferred_unit(model: ModeledKernel, found: Sequence[ir.Operation], _loss: Loss) -> _Compared:
    multiplies = [op for op in found if op.name in MULTIPLIES]
    slow = {op: _tensor_work(op, model) for op in multiplies if op.name in SLOW_MULTIPLIES}
    if not multiplies or None in slow.values():
        return None, None
    work = {op: step for op, step in slow.items() if step is not None}
    return None, Change(steps=_preparations(found) | work)


def _tensor_work(op: ir.Operation, model: ModeledKernel) -> Step | None:
    """The work of the tensor pipe for a multiply that threads do; None if it lacks the type of the elements."""
    lhs, rhs = op.opview.lhs.type, op.opview.rhs.type
    bits = element_bits(lhs.element if isinstance(lhs, BufferType) else lhs.element_type)
    if bits > _MOST_BITS:
        return None
    (rows, depth), columns = lhs.shape[-2:], rhs.shape[-1]
    use = pipe_use(Multiply(rows=rows, columns=columns, depth=depth, element_bits=bits), model.device)
    return Step(tensor_cycles=use.cycles, shared_bytes=use.shared_bytes, other_instructions=use.instructions)


def _without_steps(_model: ModeledKernel, found: Sequence[ir.Operation], _loss: Loss) -> _Compared:
    is_there = any(op.name in MULTIPLIES for op in found)
    return None, Change(steps=_preparations(found)) if is_there else None


def _in_half(model: ModeledKernel, found: Sequence[ir.Operation], _loss: Loss) -> _Compared:
    multiplies = [op for op in found if op.name in MULTIPLIES]
    halves = {op: model.work(op).times(0.5) for op in multiplies}
    return None, Change(steps=_preparations(found) | halves) if halves else None


def _by_tma(model: ModeledKernel, found: Sequence[ir.Operation], loss: Loss) -> _Compared:
    accesses = [op for op in found if op.name in ACCESSES]
    if not accesses:
        return _with_loaded_operand(model, found) if loss.kind == "operand" else (None, None)
    # The computations of threads beside a store or a multiply remain.
    others = [op for op in found if op not in accesses]
    steps = _preparations(others) | {op: _tma_work(op, model, loss.kind == "access") for op in accesses}
    return _at_most(model, accesses), Change(steps=steps, ready=accesses)


def _at_most(model: ModeledKernel, accesses: Iterable[ir.Operation]) -> Change | None:
    """The kernel in which accesses of unknown strides read a sector for each vector; None without such accesses."""
    scattered = {op: model.scattered[op] for op in accesses if op in model.scattered}
    return Change(steps=scattered) if scattered else None


def _tma_work(op: ir.Operation, model: ModeledKernel, is_of_threads: bool) -> Step:
    """The work of an access by TMA; tiles of threads also pass through shared memory."""
    moved = model.work(op).l2_bytes
    through = moved if is_of_threads else 0.0
    is_store = op.name in GLOBAL_STORES
    return _copied(moved, model, is_store) + Step(shared_bytes=through, other_instructions=through / _READ_BYTES)


def _copied(moved: float, model: ModeledKernel, is_store: bool = False) -> Step:
    """The work of a copy between global and shared memory."""
    shared = moved * (1.0 if is_store else model.device.shared_write_share)
    return Step(shared_bytes=shared, l2_bytes=moved, dram_bytes=moved, copies=1, other_instructions=1)


def _with_loaded_operand(model: ModeledKernel, found: Sequence[ir.Operation]) -> _Compared:
    """TMA loads an operand that threads compute from loads alone. For other operands, only the moves are left out."""
    stores = [op for op in found if op.name == StoreSharedOp.OPERATION_NAME]
    operands = [operand for op in stores for operand in op.operands]
    operands += [operand for op in found if op.name in MULTIPLIES for operand in (op.opview.lhs, op.opview.rhs)]
    values = [operand for operand in operands if is_register_tile(operand.type)]
    if not values:
        return None, None
    computed, is_of_loads = _sources(values)
    if not is_of_loads:
        return None, Change(steps=_preparations(found))
    buffers = {op: next(each.type for each in op.operands if isinstance(each.type, BufferType)) for op in stores}
    loads = {op: _copied(tile_bytes(type), model) for op, type in buffers.items()}
    steps = _preparations(found) | dict.fromkeys(computed, NO_WORK) | loads
    return _at_most(model, computed), Change(steps=steps, ready=computed)


def _sources(values: Sequence[ir.Value]) -> tuple[set[ir.Operation], bool]:
    """The operations that compute tiles, and whether all their inputs are loads of threads and numbers."""
    computed: set[ir.Operation] = set()
    pending, seen, is_of_loads = list(values), set[ir.Value](), True
    while pending:
        value = pending.pop()
        if value in seen or not is_register_tile(value.type):
            continue
        seen.add(value)
        op = value.owner.owner if isinstance(value.owner, ir.Block) else value.owner.operation
        if op.name in ("scf.for", "scf.if"):
            pending += _carried_values(value, op.operation)
        elif op.name in GLOBAL_LOADS:
            computed.add(op.operation)
        elif interface_of(op.name).category in (Category.ARITHMETIC, Category.MOVE):
            computed.add(op.operation)
            pending += op.operands
        else:
            is_of_loads = False
    return computed, is_of_loads


def _carried_values(value: ir.Value, op: ir.Operation) -> list[ir.Value]:
    """The values that a result of a loop or a branch, or a value that a loop carries, may have."""
    is_argument = isinstance(value.owner, ir.Block)
    number = value.arg_number - 1 if is_argument else value.result_number
    ends = [terminator_of(block) for region in op.regions for block in region.blocks]
    found = [end.operands[number] for end in ends if end.name == "scf.yield"]
    return found + ([op.operands[_BOUNDS + number]] if op.name == "scf.for" else [])


def _loaded_once(model: ModeledKernel, found: Sequence[ir.Operation], loss: Loss) -> _Compared:
    loads = [op for op in found if op.name in (*TMA_LOADS, *GLOBAL_LOADS, *COPIES_OF_THREADS)]
    steps = {op: model.work(op).times(1 / loss.count) for op in loads}
    return None, Change(steps=steps) if steps else None


def _loads_ahead(model: ModeledKernel, found: Sequence[ir.Operation], loss: Loss) -> _Compared:
    """Threads wait for the part of the latency that iterations ahead do not hide.

    For loads of `waiting`, which are used in the same iteration, this is the whole latency.
    """
    loads = [op for op in found if op.name in GLOBAL_LOADS and is_repeated(op)]
    if not loads or not set(loads).isdisjoint(model.waiting):
        return None, Change(ready=loads) if loads else None
    # The loads of an iteration wait together.
    return Change(delays={loads[0]: (1 - loss.count) * model.device.load_dram_latency_cycles}), Change()


def _shared_loads(model: ModeledKernel, found: Sequence[ir.Operation], _loss: Loss) -> _Compared:
    loads = {op: model.work(op) for op in found if op.name in TMA_LOADS}
    halves = {op: step._replace(l2_bytes=step.l2_bytes / 2) for op, step in loads.items()}
    return None, Change(steps=halves) if halves else None


def _deep_rings(model: ModeledKernel, _found: Sequence[ir.Operation], _loss: Loss) -> _Compared:
    return None, Change(has_deep_rings=True) if model.has_rings else None


def _without_atomics(model: ModeledKernel, found: Sequence[ir.Operation], _loss: Loss) -> _Compared:
    atomics = [op for op in found if op in model.atomics]
    return None, Change(ready=atomics) if atomics else None


_CHANGES: dict[str, Callable[[ModeledKernel, Sequence[ir.Operation], Loss], _Compared]] = {
    "unit": _on_preferred_unit,
    "steps": _without_steps,
    "half": _in_half,
    "access": _by_tma,
    "operand": _by_tma,
    "parts": _loaded_once,
    "multicast": _shared_loads,
    "ahead": _loads_ahead,
    "rings": _deep_rings,
    "atomic": _without_atomics,
    "roles": lambda _model, _found, _loss: (None, Change(has_waits=False)),
    "chains": lambda _model, _found, loss: (None, Change(chains=loss.count)),
    "epilogue": lambda _model, _found, _loss: (None, Change(hides_epilogues=True)),
    "blocks": lambda model, _found, loss: (None, Change(blocks=max(model.blocks, loss.count))),
}
