"""cuda_tile.entry to tile_gpu.kernel."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tilec.compile_options import DEFAULTS, CompileOptions
from tilec.dialect.build import copied
from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.ids import number_operations
from tilec.dialect.tile_gpu.operations.kernel import ClusterRankOp, KernelOp, ReturnOp
from tilec.dialect.tile_gpu.operations.placed import StoreTileOp
from tilec.dialect.walk import operations_named
from tilec.errors import TensorMemoryError, UnsupportedError
from tilec.lowering import emitter
from tilec.lowering.kernel_hints import OCCUPANCY
from tilec.lowering.layout.shared_layout import parse_shared_layout
from tilec.lowering.plan.kernel_plan import Plan, divide_entry, make_plan
from tilec.lowering.plan.matrix.matrix_plan import MatrixPlan
from tilec.lowering.plan.matrix.pairs import is_in_narrow_pair
from tilec.lowering.plan.matrix.sharing import LADDER, Sharing
from tilec.lowering.plan.plan_report import PlanReport, report_of
from tilec.lowering.plan.store_maps import LINE_BYTES
from tilec.lowering.target import Target, target_named
from tilec.lowering.tile.analysis.value_analysis import kept_facts
from tilec.lowering.tile.divide.divide_stores import SLICE_BYTES
from tilec.lowering.tile_to_gpu.access.alignment import element_bytes, per_byte
from tilec.lowering.tile_to_gpu.access.declarations import Declarations, element_type
from tilec.lowering.tile_to_gpu.access.pointers import pointers_to
from tilec.lowering.tile_to_gpu.conversion.conversion import Conversion, named_location
from tilec.lowering.tile_to_gpu.conversion.exits import convert_block
from tilec.lowering.tile_to_gpu.ops.global_memory import convert_global
from tilec.remarks import Loss, Remark

# Advice against a large buffer.
_COLUMNS = "for a store in parts, compute each column elementwise from the same column of a multiply"
_WIDER_TILES = "pairs of blocks with 64 rows each store whole tiles, those with 128 rows each in parts"
# Each registers the conversions of its operations.
OP_GROUPS = (
    "arith", "atomic", "control", "convert", "debug", "float", "global_memory", "memory", "mma", "multimem", "reduce",
    "shape", "view",
)  # fmt: skip
for _group in OP_GROUPS:
    importlib.import_module(f"tilec.lowering.tile_to_gpu.ops.{_group}")


# The columns of tensor memory that the only kernel of a module needs (lowering/gpu/passes.py); it is changed.
CountColumns = Callable[[ir.Module, Target, CompileOptions], int]


@dataclass(frozen=True)
class Candidate:
    """A plan with the Tile IR that it is for, the module of which its kernel is the only one, and the kernel."""

    plan: Plan
    source: ir.Operation
    module: ir.Module
    kernel: ir.Operation
    remarks: tuple[Remark, ...]

    def report(self) -> PlanReport:
        """The plan as text and as JSON."""
        return report_of(self.plan)


def convert(
    module: ir.Module,
    *,
    target: str,
    options: CompileOptions = DEFAULTS,
    remarks: list[Remark] | None = None,
    candidates: list[Candidate] | None = None,
    count_columns: CountColumns,
) -> ir.Module:
    """A module with the globals and one tile_gpu.kernel per entry.

    `remarks` gets slower paths and hints that are not followed, `candidates` the chosen one of each entry. Raises
    UnsupportedError.
    """
    machine = target_named(target)
    with module.context, ir.Location.unknown():
        made = ir.Module.create(module.operation.location)
        made.operation.attributes["sym_name"] = ir.StringAttr.get("kernels")
        with ir.InsertionPoint(made.body):
            _convert_globals(list(module.body.operations))
        for number, op in enumerate(module.body.operations):
            if op.operation.name == "cuda_tile.entry":
                found = _first_that_fits(module, number, machine, options, count_columns, LADDER)
                made.body.append(found.kernel)
                if remarks is not None:
                    remarks += found.remarks
                if candidates is not None:
                    candidates.append(found)
        made.operation.verify()
    return made


def fits_by_sharing(module: ir.Module, target: Target, options: CompileOptions, count_columns: CountColumns) -> bool:
    """Whether each entry of a module has a candidate that fits tensor memory, with accumulators that share columns."""
    rungs = [sharing for sharing in LADDER if sharing.accumulators]
    with module.context, ir.Location.unknown():
        return all(
            _fits(_first_that_fits(module, number, target, options, count_columns, rungs))
            for number, op in enumerate(module.body.operations)
            if op.operation.name == "cuda_tile.entry"
        )


def _first_that_fits(
    module: ir.Module,
    number: int,
    target: Target,
    options: CompileOptions,
    count_columns: CountColumns,
    ladder: Sequence[Sharing],
) -> Candidate:
    """The first candidate for the entry of a number whose columns of tensor memory suffice, else the last one."""
    for sharing in ladder:
        candidate = _candidate(module, number, target, options, sharing)
        # The candidate without sharing is the last one, which is not counted.
        if candidate.plan.most_columns > target.tensor_memory_columns and sharing is not LADDER[-1]:
            candidate = _counted(candidate, options, count_columns)
        if _fits(candidate):
            break
    return candidate


def _fits(candidate: Candidate) -> bool:
    """Whether the kernel has enough columns of tensor memory: without sharing, or when its channels share slots."""
    plan = candidate.plan
    columns = plan.most_columns if plan.columns is None else plan.columns
    return columns <= plan.target.tensor_memory_columns


def _counted(candidate: Candidate, options: CompileOptions, count_columns: CountColumns) -> Candidate:
    plan = candidate.plan
    # Upstream's passes may abort the process on an invalid module.
    candidate.module.operation.verify()
    try:
        columns = count_columns(copied(candidate.module), plan.target, options)
    except TensorMemoryError:
        return candidate
    except UnsupportedError:
        # The passes over tile_gpu raise it again if the compile runs them.
        columns = plan.target.tensor_memory_columns
    return replace(candidate, plan=replace(plan, columns=columns))


def _convert_globals(operations: Sequence[ir.OpView]) -> None:
    for op in operations:
        if op.operation.name == "cuda_tile.global":
            convert_global(op)


def _candidate(module: ir.Module, number: int, target: Target, options: CompileOptions, sharing: Sharing) -> Candidate:
    """Plans and converts the entry of a number; the given module, which is the text of a stage, stays as it is."""
    copy = module.operation.clone()
    operations = list(copy.regions[0].blocks[0].operations)
    made = ir.Module.create(module.operation.location)
    with ir.InsertionPoint(made.body):
        _convert_globals(operations)
        entry = operations[number]
        division = divide_entry(entry, target, options)
        with kept_facts():
            plan = make_plan(entry, division, target, options, sharing)
            kernel = _convert(plan, options)
    remarks = (*plan.remarks, *dict.fromkeys(_staging_remarks(kernel.opview, plan.matrix)))
    return Candidate(plan, copy, made, kernel, remarks)


def _convert(plan: Plan, given: CompileOptions) -> ir.Operation:
    """The kernel of a plan, at the insertion point."""
    entry = plan.entry
    with named_location(entry):
        body = _empty_kernel(plan)
        arguments_of_entry = list(entry.operation.regions[0].blocks[0].arguments)
        arguments = dict(zip(arguments_of_entry, body.arguments, strict=False))
        with ir.InsertionPoint(body):
            if plan.ctas > 1:
                arguments[arguments_of_entry[-1]] = emitter.gpu(ClusterRankOp, [], [emitter.integer_type(32)]).result
            # Declarations are inserted before this unused constant.
            declarations = Declarations(arguments, emitter.i32(0).owner.operation)
            conversion = Conversion(plan, given.tma, declarations)
            for argument, made in arguments.items():
                type = argument.type.element
                conversion.set(argument, pointers_to(made, type) if isinstance(type, PointerType) else made)
            convert_block(list(entry.operation.regions[0].blocks[0].operations), [], lambda end: [], conversion)
            emitter.gpu(ReturnOp)
    kernel = body.owner.operation
    number_operations(kernel, with_branches=True)
    return kernel


def _empty_kernel(plan: Plan) -> ir.Block:
    """The body of a tile_gpu.kernel for an entry: a block with its parameters, without operations."""
    entry = plan.entry
    types = [element_type(argument.type.element) for argument in entry.operation.regions[0].blocks[0].arguments]
    types = types[:-1] if plan.ctas > 1 else types
    attributes = {
        "sym_name": entry.operation.attributes["sym_name"],
        "target": plan.target.name,
        "function_type": ir.FunctionType.get(types, []),
        "warps": plan.warps,
        **({"cluster": plan.ctas} if plan.ctas > 1 else {}),
    }
    kernel = emitter.gpu(KernelOp, **attributes)
    for name in entry.operation.attributes:
        # The plan says whether the blocks that an entry asks for are possible.
        if name.startswith("tilec.") and name != OCCUPANCY:
            kernel.attributes[name] = entry.operation.attributes[name]
    for name, value in plan.hints.items():
        kernel.attributes[name] = ir.IntegerAttr.get(emitter.integer_type(32), value)
    return kernel.regions[0].blocks.append(*types)


def _staging_remarks(kernel: ir.OpView, plan: MatrixPlan) -> Iterator[Remark]:
    """A remark for each store by TMA of a tile that `divide-stores` left whole, in a kernel with multiplies."""
    if not plan.multiplies:
        return
    in_narrow_pairs = any(is_in_narrow_pair(multiply.op) for multiply in plan.multiplies.values())
    advice = _WIDER_TILES if in_narrow_pairs else _COLUMNS
    stores = operations_named(kernel, (StoreTileOp.OPERATION_NAME,))
    for op in (store for store in stores if store.rows is None):
        buffer = op.buffer.type
        elements = element_bytes(buffer.element), per_byte(buffer.element)
        layout = parse_shared_layout(buffer.layout, buffer.shape, *elements)
        size = layout.size_bytes
        if size > SLICE_BYTES and buffer.shape[layout.contiguous] * layout.element_bytes > LINE_BYTES:
            message = f"the stored tile has a staging buffer of {size} bytes, which rings of loads cannot use: {advice}"
            yield Remark("staging", message, source_location(op.operation.location), Loss("rings"))
