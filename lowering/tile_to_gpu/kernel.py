"""cuda_tile.entry to tile_gpu.kernel."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from tilec.compile_options import DEFAULTS, CompileOptions
from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.ids import number_operations
from tilec.dialect.tile_gpu.kernel import ClusterRankOp, KernelOp, ReturnOp
from tilec.dialect.walk import operations_below
from tilec.errors import UsageError
from tilec.lowering.target import Target, target_named
from tilec.lowering.tile.expand_packed_views import expand_packed_views
from tilec.lowering.tile.value_analysis import kept_facts
from tilec.lowering.tile_to_gpu import emitter
from tilec.lowering.tile_to_gpu.atomic_remarks import atomic_remarks
from tilec.lowering.tile_to_gpu.cluster_division import divide_among_ctas
from tilec.lowering.tile_to_gpu.conversion import Conversion, named_location
from tilec.lowering.tile_to_gpu.declarations import Declarations, element_type
from tilec.lowering.tile_to_gpu.exits import convert_block
from tilec.lowering.tile_to_gpu.followed_hints import carried_hints, entry_options, hint_remarks, occupancy_refusal
from tilec.lowering.tile_to_gpu.global_memory import convert_global
from tilec.lowering.tile_to_gpu.im2col_fallback import expand_without_tma
from tilec.lowering.tile_to_gpu.layout_assignment import assign_layouts
from tilec.lowering.tile_to_gpu.matrix_plan import MatrixPlan, matrix_plan, matrix_plans
from tilec.lowering.tile_to_gpu.memory_order import MemoryOrder
from tilec.lowering.tile_to_gpu.packing import refuse_partial_bytes
from tilec.lowering.tile_to_gpu.plan_remarks import plan_remarks
from tilec.lowering.tile_to_gpu.pointer_vectors import pointer_vectors
from tilec.lowering.tile_to_gpu.pointers import pointers_to
from tilec.lowering.tile_to_gpu.staging_remarks import staging_remarks
from tilec.lowering.tile_to_gpu.tensor_operand import place_operands
from tilec.lowering.tile_to_gpu.unit_choice import OWN_OPERAND_COLUMNS
from tilec.lowering.tile_to_gpu.warp_choice import WARP_COUNTS, choose_warps, warps_refusal
from tilec.remarks import Remark

# Each registers the conversions of its operations.
OP_GROUPS = (
    "arith",
    "atomic",
    "control",
    "convert",
    "debug",
    "float",
    "global_memory",
    "im2col",
    "memory",
    "mma",
    "multimem",
    "reduce",
    "shape",
    "view",
)
for _group in OP_GROUPS:
    importlib.import_module(f"tilec.lowering.tile_to_gpu.{_group}")


def convert(
    module: ir.Module, *, target: str, options: CompileOptions = DEFAULTS, remarks: list[Remark] | None = None
) -> ir.Module:
    """A module with the globals and one tile_gpu.kernel per entry.

    `remarks` gets slower paths and hints that are not followed.

    Of the options, `warps` (4, 8 or 16 compute warps) and `tma` (False: loads and stores go through registers) count
    here. Raises UnsupportedError.
    """
    machine = target_named(target)
    with module.context, ir.Location.unknown():
        made = ir.Module.create(module.operation.location)
        made.operation.attributes["sym_name"] = ir.StringAttr.get("kernels")
        # Entries are divided and expanded before they are converted; the given module is the text of a stage.
        copy = module.operation.clone()
        with ir.InsertionPoint(made.body):
            for op in copy.regions[0].blocks[0].operations:
                if op.operation.name == "cuda_tile.global":
                    convert_global(op)
                elif op.operation.name == "cuda_tile.entry":
                    _kernel(op, machine, options, [] if remarks is None else remarks)
        made.operation.verify()
    return made


def _kernel(entry: ir.OpView, target: Target, given: CompileOptions, remarks: list[Remark]) -> None:
    options = entry_options(entry, target, given)
    expand_packed_views(entry)
    refuse_partial_bytes(operations_below(entry))
    ctas = divide_among_ctas(entry, target, options, remarks)
    with kept_facts():
        _planned_kernel(entry, target, given, options, ctas, remarks)


def _planned_kernel(
    entry: ir.OpView, target: Target, given: CompileOptions, options: CompileOptions, ctas: int, remarks: list[Remark]
) -> None:
    """Plans a kernel and converts it; facts about the values of the entry are kept meanwhile."""
    warps, plan, order = _expanded_plan(entry, target, given, options, remarks)
    remarks += atomic_remarks(entry)
    refusal = occupancy_refusal(entry, plan, warps, options.occupancy)
    remarks += hint_remarks(entry, plan, warps, target, options, refusal)
    vectors = pointer_vectors(entry, operations_below(entry))
    layouts = assign_layouts(entry, plan, warps, vectors)
    with named_location(entry):
        hints = carried_hints(plan, target, options, refusal)
        body = _empty_kernel(entry, target, warps, ctas, hints)
        given_arguments = list(entry.operation.regions[0].blocks[0].arguments)
        arguments = dict(zip(given_arguments, body.arguments, strict=False))
        with ir.InsertionPoint(body):
            if ctas > 1:
                arguments[given_arguments[-1]] = emitter.gpu(ClusterRankOp, [], [emitter.integer_type(32)]).result
            # Declarations are inserted before this unused constant.
            declarations = Declarations(arguments, emitter.i32(0).owner.operation)
            conversion = Conversion(target, warps, plan, layouts, order, given.tma, vectors, declarations)
            _convert_body(entry, arguments, conversion)
    number_operations(body.owner.operation, with_branches=True)
    remarks += dict.fromkeys(staging_remarks(body.owner.opview, plan))


def _empty_kernel(entry: ir.OpView, target: Target, warps: int, ctas: int, hints: Mapping[str, int]) -> ir.Block:
    """The body of a tile_gpu.kernel for an entry: a block with its parameters, without operations.

    The last argument of an entry that is divided is the number of the CTA.
    """
    types = [element_type(argument.type.element) for argument in entry.operation.regions[0].blocks[0].arguments]
    types = types[:-1] if ctas > 1 else types
    attributes = {
        "sym_name": entry.operation.attributes["sym_name"],
        "target": target.name,
        "function_type": ir.FunctionType.get(types, []),
        "warps": warps,
        **({"cluster": ctas} if ctas > 1 else {}),
    }
    kernel = emitter.gpu(KernelOp, **attributes)
    for name in entry.operation.attributes:
        if name.startswith("tilec."):
            kernel.attributes[name] = entry.operation.attributes[name]
    for name, value in hints.items():
        kernel.attributes[name] = ir.IntegerAttr.get(emitter.integer_type(32), value)
    return kernel.regions[0].blocks.append(*types)


def _convert_body(entry: ir.OpView, arguments: Mapping[ir.Value, ir.Value], conversion: Conversion) -> None:
    """Converts the operations of an entry at the insertion point; `arguments` are those of the entry and the kernel."""
    for argument, made in arguments.items():
        type = argument.type.element
        conversion.set(argument, pointers_to(made, type) if isinstance(type, PointerType) else made)
    convert_block(list(entry.operation.regions[0].blocks[0].operations), [], lambda end: [], conversion)
    emitter.gpu(ReturnOp)


def _expanded_plan(
    entry: ir.OpView, target: Target, given: CompileOptions, options: CompileOptions, remarks: list[Remark]
) -> tuple[int, MatrixPlan, MemoryOrder]:
    """The number of compute warps, the plan and the memory order, with the accesses of tilex that are left for TMA."""
    order = MemoryOrder(list(operations_below(entry)))
    warps, plan = _plan(entry, target, given, options, order if given.tma else None)
    expanded = expand_without_tma(entry, plan, order if given.tma else None, target)
    if expanded:
        remarks += expanded
        order = MemoryOrder(list(operations_below(entry)))
        warps, plan = _plan(entry, target, given, options, order if given.tma else None)
    explained = {remark.location for remark in expanded if remark.location is not None}
    # The multiplies of a batch have one line and the same reasons.
    remarks += dict.fromkeys(plan_remarks(entry, plan, given.tma, target, explained))
    return warps, plan, order


def _plan(
    entry: ir.OpView, target: Target, given: CompileOptions, options: CompileOptions, order: MemoryOrder | None
) -> tuple[int, MatrixPlan]:
    """The number of compute warps, and how the multiplies are done with them.

    The option `warps` that is `given` must be followed; the hint of the entry is ignored if it cannot be.
    """
    shares = OWN_OPERAND_COLUMNS not in entry.operation.attributes
    if given.warps is not None:
        if given.warps not in WARP_COUNTS:
            raise UsageError(f"hint warps: expected one of {', '.join(map(str, WARP_COUNTS))}, got {given.warps}")
        plan = matrix_plan(entry, target, given.warps, order)
        refusal = warps_refusal(plan, given.warps)
        if refusal is not None:
            raise refusal
        place_operands(plan, target, given.warps, shares=shares)
        return given.warps, plan
    plans = matrix_plans(entry, target, WARP_COUNTS, order)
    warps = choose_warps(entry, plans, options.warps)
    place_operands(plans[warps], target, warps, shares=shares)
    return warps, plans[warps]
