"""Operations of Tile IR: the definition of a value, elementwise operations, loops, branches and their terminators."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.walk import operations_below, operations_named, owner_of, reached, views_in

_DIALECTS = ("cuda_tile.", "tilex.")
CONTINUE, BREAK, RETURN, YIELD = (f"cuda_tile.{word}" for word in ("continue", "break", "return", "yield"))
FOR, LOOP, IF = (f"cuda_tile.{word}" for word in ("for", "loop", "if"))
LOOPS = (FOR, LOOP)
STRUCTURES = (*LOOPS, IF)
# The operations that a terminator ends, or leaves.
_LEFT = {CONTINUE: LOOPS, BREAK: (LOOP,), YIELD: (IF,)}
# The terminators whose operands become results.
_RESULT_ENDS = {FOR: CONTINUE, LOOP: BREAK, IF: YIELD}
VIEW_LOADS = ("cuda_tile.load_view_tko", "tilex.load_im2col_tko", "tilex.load_packed_tko")
LOADS = (*VIEW_LOADS, "cuda_tile.load_ptr_tko")
MMA_SPARSE = "tilex.mma_sparse"
# Multiplies without block scaling or sparsity, those with block scaling, and all.
PLAIN_MULTIPLIES = ("cuda_tile.mmaf", "tilex.mmaf", "cuda_tile.mmai")
SCALED_MULTIPLIES = ("cuda_tile.mmaf_scaled", "tilex.mmaf_scaled")
# Multiplies whose rows or columns the CTAs of a cluster divide.
DIVISIBLE_MULTIPLIES = (*PLAIN_MULTIPLIES, *SCALED_MULTIPLIES)
MULTIPLIES = (*PLAIN_MULTIPLIES, *SCALED_MULTIPLIES, MMA_SPARSE)
_NOT_ELEMENTWISE = frozenset((
    "broadcast", "reshape", "permute", "extract", "insert", "cat", "iota", "constant", "pack", "unpack",
    "load_view_tko", "store_view_tko", "tilex.load_im2col_tko", "tilex.store_im2col_tko", "tilex.load_packed_tko",
    "tilex.store_packed_tko", "atomic_red_view_tko", "tilex.atomic_red_view_tko", "multimem_load_reduce_view_tko",
    "multimem_store_view_tko",
    "multimem_reduce_view_tko", "mmaf", "tilex.mmaf", "mmai", "mmaf_scaled",
    "tilex.mmaf_scaled", MMA_SPARSE,
))  # fmt: skip


def is_tile_operation(operation: ir.Operation) -> bool:
    """Whether an operation is one of Tile IR or of its extensions; the effects of others are unknown."""
    return operation.name.startswith(_DIALECTS)


def is_elementwise(op: ir.OpView) -> bool:
    """Whether all tiles of an operation, scalars left out, have one shape and its elements correspond."""
    operation = op.operation
    if operation.regions or not operation.results or operation.name.removeprefix("cuda_tile.") in _NOT_ELEMENTWISE:
        return False
    types = {value.type for value in (*operation.operands, *operation.results)}
    shapes = {tuple(type.shape) for type in types if isinstance(type, TileType) and type.rank > 0}
    return len(shapes) == 1


# ---- definitions of values


def is_product(value: ir.Value) -> bool:
    """Whether a value is the result of a matrix multiply."""
    op = owner_of(value)
    return op is not None and op.name in MULTIPLIES


def matrix_multiplies(root: ir.Module | ir.OpView, names: Collection[str] = PLAIN_MULTIPLIES) -> list[ir.OpView]:
    """The multiplies with one of these full names whose tiles have rank 2, in program order."""
    return [op for op in operations_named(root, names) if op.acc.type.rank == 2]


def is_tile(value: ir.Value) -> bool:
    """Whether a value is a tile of rank one or more, which is spread over registers."""
    return isinstance(value.type, TileType) and value.type.rank > 0


def producer(value: ir.Value, *names: str) -> ir.OpView | None:
    """The defining operation of a value if it has one of these names (without the dialect), otherwise None."""
    owner = value.owner
    if type(owner) is ir.Block or owner.operation.name.removeprefix("cuda_tile.") not in names:
        return None
    return owner


def without_assumptions(value: ir.Value) -> ir.Value:
    """The operand of a chain of assume operations; other values are returned as they are."""
    return operand_behind(value, "assume")


def operand_behind(value: ir.Value, *names: str) -> ir.Value:
    """The first operand of a chain of operations of these names; other values are returned as they are."""
    while (op := producer(value, *names)) is not None:
        value = op.operation.operands[0]
    return value


def point_after(value: ir.Value) -> ir.InsertionPoint:
    """Directly after the definition of a value."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(owner)
    return ir.InsertionPoint.after(owner.operation)


def counting_loop(value: ir.Value) -> ir.OpView | None:
    """The `for` whose induction variable a value is; None for other values."""
    block = value.owner
    if not isinstance(block, ir.Block) or block.owner.operation.name != FOR or ir.BlockArgument(value).arg_number != 0:
        return None
    return block.owner


def counting_loops(value: ir.Value) -> list[ir.OpView]:
    """The loops from whose induction variables a scalar is computed."""

    def operands(each: ir.Value) -> Sequence[ir.Value]:
        owner = owner_of(each)
        return () if owner is None or owner.regions else owner.operands

    found = map(counting_loop, reached(value, operands))
    return [loop for loop in found if loop is not None]


# ---- loops and branches


def loops_around(op: ir.OpView) -> list[ir.Operation]:
    """The loops around an operation, from the inside out."""
    found, parent = list[ir.Operation](), op.operation.parent
    while parent is not None:
        if parent.operation.name in LOOPS:
            found.append(parent.operation)
        parent = parent.operation.parent
    return found


def in_loop(op: ir.OpView) -> bool:
    """Whether an operation may run more than once."""
    return bool(loops_around(op))


def terminator(block: ir.Block) -> ir.OpView:
    """The last operation of a block."""
    return block.operations[len(block.operations) - 1]


def terminators(op: ir.OpView) -> Iterator[ir.OpView]:
    """The terminators of an operation's blocks, and those of nested `if`s that leave these blocks."""
    for region in op.operation.regions:
        for block in region.blocks:
            for inner in views_in(block, (IF,)):
                yield from (end for end in terminators(inner) if end.operation.name != YIELD)
            yield terminator(block)


def ends(op: ir.OpView, name: str) -> list[ir.OpView]:
    """The terminators of one name."""
    return [end for end in terminators(op) if end.operation.name == name]


def given(op: ir.OpView, name: str, number: int) -> list[ir.Value]:
    """The operands with a number of the terminators of one name."""
    return [end.operation.operands[number] for end in ends(op, name)]


def left_by(end: ir.OpView) -> ir.OpView:
    """The loop or branch that a continue, break or yield ends or leaves."""
    parent = end.operation.parent.operation
    while parent.name not in _LEFT[end.operation.name]:
        parent = parent.parent.operation
    return parent.opview


def yields(op: ir.OpView) -> list[ir.OpView]:
    """The `yield`s of an `if`."""
    last = (terminator(block) for region in op.operation.regions for block in region.blocks)
    return [end for end in last if end.operation.name == YIELD]


def carried_groups(op: ir.OpView) -> Iterator[list[ir.Value]]:
    """The values that are one at run time, for each carried value and each result of a loop or a branch.

    Each group has the result, the operands of terminators that become it, the argument and the initial value in this
    order, as far as the operation has them.
    """
    results, name = list(op.operation.results), op.operation.name
    if name == IF:
        last = yields(op)
        yield from ([result, *(end.operands[number] for end in last)] for number, result in enumerate(results))
        return
    last = list(terminators(op))

    def operands(word: str, number: int) -> list[ir.Value]:
        return [end.operation.operands[number] for end in last if end.operation.name == word]

    arguments = list(op.operation.regions[0].blocks[0].arguments)[int(name == FOR) :]
    for number, argument in enumerate(arguments):
        own = [results[number]] if name == FOR else []
        yield [*own, *operands(CONTINUE, number), argument, op.initValues[number]]
    if name == LOOP:
        yield from ([result, *operands(BREAK, number)] for number, result in enumerate(results))


def carried_with(op: ir.OpView, value: ir.Value) -> list[ir.Value]:
    """The values of a structure that are one with a value at run time."""
    return [each for group in carried_groups(op) if value in group for each in group]


def carried_sources(value: ir.Value) -> list[ir.Value] | None:
    """The operands of terminators that become a carried value, or a result of a loop or a branch; None for others."""
    owner, is_argument = value.owner, isinstance(value.owner, ir.Block)
    op = owner.owner if is_argument else owner
    name = op.operation.name
    if name not in _RESULT_ENDS or is_argument and name == IF:
        return None
    if not is_argument:
        return given(op.operation.opview, _RESULT_ENDS[name], ir.OpResult(value).result_number)
    number = ir.BlockArgument(value).arg_number - (name == FOR)
    return None if number < 0 else given(op.operation.opview, CONTINUE, number)


def initial_value(value: ir.Value) -> ir.Value | None:
    """The initial value of a value that a loop carries, or of a result of a `for`; None for others."""
    owner, is_argument = value.owner, isinstance(value.owner, ir.Block)
    op = owner.owner if is_argument else owner
    if op.operation.name not in (LOOPS if is_argument else (FOR,)):
        return None
    number = ir.BlockArgument(value).arg_number if is_argument else ir.OpResult(value).result_number
    number -= is_argument and op.operation.name == FOR
    return None if number < 0 else op.operation.opview.initValues[number]


def returns(op: ir.OpView) -> Iterator[ir.OpView]:
    """The `return`s inside an operation, at any depth."""
    return (inner for inner in operations_below(op) if inner.operation.name == RETURN)


def leaves(block: ir.Block) -> bool:
    """Whether the block of a branch ends in break, continue or return."""
    return terminator(block).operation.name != YIELD


def leaves_early(op: ir.OpView) -> bool:
    """Whether an operation is an `if` that can leave the enclosing block, or contains a `return`."""
    if not len(op.operation.regions):
        return False
    if op.operation.name == IF and any(end.operation.name != YIELD for end in terminators(op)):
        return True
    return next(returns(op), None) is not None
