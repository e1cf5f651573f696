"""Matrix multiply-accumulate with structured sparsity of lhs."""

from tilec.dialect.attributes import Flag
from tilec.dialect.cuda_tile.operation import NoMemoryEffect
from tilec.dialect.cuda_tile.operations.mma import ACCUMULATORS
from tilec.dialect.fields import Operand, Result, TypeVariable
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tilex.namespace import Operation
from tilec.dialect.tilex.sets import MetadataTile, SparseAccumulator, SparseInput
from tilec.dialect.tilex.sparse_rules import sparse_shape_problem

Accumulator = TypeVariable("Accumulator", SparseAccumulator)


def _signs_of_bytes(op: ir.OpView) -> str | None:
    element = spell(op.lhs.type.element)
    if (op.lhs_unsigned or op.rhs_unsigned) and element != "i8":
        return f"expects operands of i8 with lhs_unsigned or rhs_unsigned, but got {element}"
    return None


class MmaSparseOp(Operation, name="mma_sparse", traits=[NoMemoryEffect]):
    """dense(lhs, metadata) @ rhs + acc for MxK/2 kept elements, KxN and MxN; metadata says which elements are kept."""

    result: Result[Accumulator]
    lhs: Operand[SparseInput]
    rhs: Operand[SparseInput]
    acc: Operand[Accumulator]
    metadata: Operand[MetadataTile]
    lhs_unsigned: Flag
    rhs_unsigned: Flag
    assembly = (
        "{$lhs_unsigned }{$rhs_unsigned }$lhs, $metadata, $rhs, $acc attr-dict"
        " : type($lhs), type($metadata), type($rhs), type($acc)"
    )

    rules = [_signs_of_bytes]

    def check_types(self) -> str | None:
        lhs, metadata, rhs, acc = (operand.type for operand in (self.lhs, self.metadata, self.rhs, self.acc))
        if not lhs.rank == metadata.rank == rhs.rank == acc.rank == 2:
            return f"expects tiles of rank 2, but got {', '.join(map(spell, (lhs, metadata, rhs, acc)))}"
        element = spell(lhs.element)
        if rhs.element != lhs.element:
            return f"expects lhs and rhs of one element type, but got {element} and {spell(rhs.element)}"
        allowed = ACCUMULATORS.get(element, ("i32",))
        if spell(acc.element) not in allowed:
            wanted = f"an accumulator of {' or '.join(allowed)} for inputs of {element}"
            return f"expects {wanted}, but got {spell(acc.element)}"
        if tuple(acc.shape) != (lhs.shape[0], rhs.shape[1]):
            return f"expects an accumulator of {lhs.shape[0]}x{rhs.shape[1]}, but got {spell(acc)}"
        return sparse_shape_problem(element, lhs.shape, metadata.shape, rhs.shape)
