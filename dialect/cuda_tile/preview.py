"""Operations that NVIDIA's tools read only with a preview feature enabled; only text and layout are specified."""

from tilec.dialect.attributes import Array, Symbol
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.sets import AnyType
from tilec.dialect.fields import MANY_RUNS, Mixed, Operand, Result


class PreviewCallOp(Operation, name="preview_call", spelled="preview$call", opcode=0x4002, since="13.5", preview=True):
    """Calls a function written for single threads."""

    results: Mixed[Result[AnyType], MANY_RUNS]
    operands: Mixed[Operand[AnyType], MANY_RUNS]
    callee: Symbol
    const_args: Array = ()
    arg_attrs: Array | None
    res_attrs: Array | None
    assembly = "$callee($operands) attr-dict : function_type()"
