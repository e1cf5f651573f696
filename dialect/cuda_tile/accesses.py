"""Rules shared by memory accesses."""

from __future__ import annotations

from tilec.dialect.cuda_tile.types import GatherScatterViewType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote, spell, spell_list

# The indices of a view have one type, except the index along the sparse dimension of a gather.
INDEX_RUNS = 3


def ordering_problem(op: ir.OpView, subject: str, allowed: tuple[str, ...]) -> str | None:
    """Checks the ordering of an access: weak accesses have no scope, all others have one."""
    ordering, scope = op.memory_ordering_semantics, op.memory_scope
    if ordering not in allowed:
        listed = f"{', '.join(allowed[:-1])}, or {allowed[-1]}"
        return f"expect one of: {listed}, but got: {ordering}"
    if ordering == "weak" and scope is not None:
        return f"weak {subject} must not have memory scope, but got: {scope}"
    if ordering != "weak" and scope is None:
        return f"memory scope is required for {ordering} {subject}"
    return None


def pointee_problem(pointers: ir.Value, elements: ir.Value, multicast: str) -> str | None:
    """Checks that pointers point to the accessed element type and are not multicast pointers."""
    pointer = pointers.type.element
    element = elements.type.element
    if pointer.element != element:
        return f"expects pointers to {spell(element)} for {quote(elements.type)}, but got {quote(pointers.type)}"
    return multicast if pointer.attribute == "multicast" else None


def mask_problem(mask: ir.Value | None, pointers: ir.Value) -> str | None:
    """Checks that a mask has one element per pointer."""
    if mask is not None and mask.type.shape != pointers.type.shape:
        return (
            f"expects the mask to have the shape of the pointers, but got {quote(mask.type)} for {quote(pointers.type)}"
        )
    return None


def view_problem(op: ir.OpView, tile: ir.Type) -> str | None:
    """The problem with the view, indices or tile of a view access, or None."""
    view = op.view.type
    return tile_type_problem(view, tile) or index_problem(op) or _packing_problem(view)


def tile_type_problem(view: ir.Type, tile: ir.Type, word: str = "tile") -> str | None:
    """Checks that the tile, or `word`, of a view access has the type of the tiles of the view."""
    if tile != view.tile_type:
        return f"expects a {word} of type {quote(view.tile_type)}, as the view has, but got {quote(tile)}"
    return None


def element_problem(element: ir.Type, allowed: tuple[str, ...]) -> str | None:
    """Checks that an access supports an element type."""
    if spell(element) not in allowed:
        return f"expects elements of {' or '.join(allowed)}, but got {spell(element)}"
    return None


def unit_stride_problem(tensor: ir.Type, subject: str) -> str | None:
    """Checks that exactly one dimension is contiguous, as the access of several elements at once needs."""
    count = tensor.strides.count(1)
    return None if count == 1 else f"{subject} need exactly one static unit stride, got {count} in {quote(tensor)}"


def index_problem(op: ir.OpView, one_type: bool = True) -> str | None:
    """Checks for one integer index per dimension; a gather takes a vector along its sparse dimension."""
    view, indices = op.view.type, [value.type for value in op.index]
    if len(indices) != view.rank:
        return f"expected {view.rank} index operands (based on the view), but got {len(indices)}"
    dense = list(enumerate(indices))
    if isinstance(view, GatherScatterViewType):
        sparse, extent = view.sparse_dim, view.tile_shape[view.sparse_dim]
        if indices[sparse].shape != (extent,):
            wanted = f"index #{sparse}, the sparse one, to be a 1-d tile of {extent} elements"
            return f"expects {wanted}, but got {quote(indices[sparse])}"
        del dense[sparse]
    for axis, index in dense:
        if index.shape:
            return f"expects index #{axis} to be a 0-d tile, but got {quote(index)}"
    if one_type and len({index for _, index in dense}) > 1:
        return f"expects indices of one type, but got {spell_list(index for _, index in dense)}"
    return None


def inbounds_problem(op: ir.OpView) -> str | None:
    """Checks `inbounds`, which asserts for each index that its tile lies inside the tensor."""
    if op.inbounds is not None and len(op.inbounds) != len(op.index):
        return f"expects one inbounds flag an index ({len(op.index)}), but got {len(op.inbounds)}"
    return None


def multicast_problem(view: ir.Type) -> str | None:
    """Ordinary accesses do not take multicast views."""
    return "multicast ptr_attr is not allowed" if view.tensor_view.attribute == "multicast" else None


def _packing_problem(view: ir.Type) -> str | None:
    tensor = view.tensor_view
    if spell(tensor.element) != "f4E2M1FN":
        return None
    problem = unit_stride_problem(tensor, "f4E2M1FN elements")
    if problem is not None:
        return problem
    if isinstance(view, GatherScatterViewType) and view.sparse_dim == tensor.strides.index(1):
        return f"sparse_dim {view.sparse_dim} must not be the dimension that packs f4E2M1FN elements"
    return None
