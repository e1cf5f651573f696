"""Divides a tile block among the CTAs of a cluster: by the hint num_ctas or by the choice of the model."""

from __future__ import annotations

from tilec.compile_options import CompileOptions
from tilec.dialect.location import source_location
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.kernel import CLUSTERS
from tilec.dialect.walk import operations_below, operations_inside
from tilec.lowering.plan.choice import Choice
from tilec.lowering.plan.cluster_choice import choose_cluster, record_choice
from tilec.lowering.plan.matrix.narrow_pairs import (
    NARROW_ROWS,
    mark_narrow_pairs,
    narrow_multiplies,
    narrow_pair_refusal,
)
from tilec.lowering.target import Target
from tilec.lowering.tile.divide.divide_rows import divide_columns, divide_rows
from tilec.lowering.tile.divide.divided_dimensions import MULTIPLIES, STORES, Divided, NotDivisibleError
from tilec.lowering.tile_to_gpu.access.memory_order import LOADS, MemoryOrder
from tilec.remarks import Remark


def divide_among_ctas(entry: ir.OpView, target: Target, options: CompileOptions, remarks: list[Remark]) -> Choice:
    """The number of CTAs per tile block, 1 if the entry stays whole; `remarks` gets the reason if a hint asks for more.

    Without a hint it is the choice of choose_cluster. A divided entry has the number of the CTA as its last argument.
    """
    ctas = options.num_ctas
    if ctas is None:
        return _divide_among_chosen(entry, target, options)
    hint = f"hint num_ctas={ctas}"
    if ctas == 1:
        return Choice(1, hint)
    reason, location = f"clusters have {', '.join(map(str, CLUSTERS[1:]))} blocks", source_location(entry.location)
    if ctas in CLUSTERS:
        try:
            _divide(entry, ctas, target, options)
            return Choice(ctas, hint)
        except NotDivisibleError as error:
            reason, location = str(error), error.location or location
    message = f"num_ctas={ctas} is not followed: {reason}; each tile block runs as one block"
    remarks.append(Remark("hint", message, location))
    return Choice(1, f"{hint} is not followed: {reason}")


def _divide_among_chosen(entry: ir.OpView, target: Target, options: CompileOptions) -> Choice:
    choice = choose_cluster(entry, target, options)
    if choice.value == 1:
        return choice
    try:
        _divide(entry, choice.value, target, options)
    except NotDivisibleError as error:
        return Choice(1, f"{choice.value} CTAs cannot divide it: {error}")
    record_choice(entry, choice)
    return choice


def _divide(entry: ir.OpView, ctas: int, target: Target, options: CompileOptions) -> None:
    if not any(op.name in MULTIPLIES for op in operations_inside(entry)):
        divide_columns(entry, ctas, check_order)
    elif target.multiplies_in_pairs and (narrow := narrow_multiplies(entry, ctas)):
        _divide_narrow_rows(entry, narrow[0], ctas, target, options)
    else:
        divide_rows(entry, ctas, target.multiplied_rows, check_order)


def _divide_narrow_rows(
    entry: ir.OpView, multiply: ir.OpView, ctas: int, target: Target, options: CompileOptions
) -> None:
    """Without pairs 64 rows take a block as long as 128."""
    refusal = narrow_pair_refusal(entry, ctas, target, options)
    if refusal is not None:
        raise NotDivisibleError(f"blocks with {NARROW_ROWS} rows each must multiply in pairs, but {refusal}", multiply)
    divide_rows(entry, ctas, NARROW_ROWS, check_order)
    mark_narrow_pairs(entry)


def check_order(entry: ir.OpView, divided: Divided) -> None:
    """Raises NotDivisibleError if tokens order an access after one of rows that another CTA accesses."""
    order = MemoryOrder(list(operations_below(entry)))
    for op in operations_below(entry):
        for earlier in order.before(op):
            are_loads = earlier.name in LOADS and op.operation.name in LOADS
            if not are_loads and not _is_same_part(op.operation, earlier, divided):
                raise NotDivisibleError("a token orders an access after one of the rows of another block", op)


def _is_same_part(op: ir.Operation, earlier: ir.Operation, divided: Divided) -> bool:
    """Whether both accesses divide a tensor alike: then each element belongs to one CTA, whatever the indices are.

    One CTA does all stores of tiles that are not divided.
    """
    if all(each.name in STORES and not _is_divided(each, divided) for each in (op, earlier)):
        return True
    divisions = [_division(each, divided) for each in (op, earlier)]
    return None not in divisions and divisions[0] == divisions[1]


def _is_divided(op: ir.Operation, divided: Divided) -> bool:
    return any(value in divided for value in op.operands)


def _division(op: ir.Operation, divided: Divided) -> tuple[ir.Value, int, int] | None:
    """The tensor of an access, its divided dimension and the extent of tiles along it; None if it is not divided."""
    if op.name not in ("cuda_tile.load_view_tko", "cuda_tile.store_view_tko"):
        return None
    tile = next((value for value in (*op.operands, *op.results) if value in divided), None)
    if tile is None:
        return None
    view = op.opview.view
    dimension = divided[tile]
    return view.owner.operands[0], view.type.dim_map[dimension], view.type.tile_shape[dimension]
