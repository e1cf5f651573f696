"""The sets of types that operations of tile_gpu take."""

from collections.abc import Callable

from tilec.dialect.fields import TypeSet
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.types import SHARED, TENSOR, BufferType, ChannelType, TensorMapType


def is_register_tile(type: ir.Type) -> bool:
    """Whether a type is a tensor with a layout."""
    return isinstance(type, ir.RankedTensorType) and isinstance(type.encoding, ir.StringAttr)


# A tuple that is made once: a union takes as long to make as both checks.
_NUMBERS = (ir.IntegerType, ir.FloatType)


def is_scalar(type: ir.Type) -> bool:
    """Whether a type is a builtin number."""
    return isinstance(type, _NUMBERS)


def _buffer_in(memory: str) -> Callable[[ir.Type], bool]:
    return lambda type: isinstance(type, BufferType) and type.memory == memory


Anything = TypeSet("Anything", "any type", lambda type: True)
RegisterTile = TypeSet("RegisterTile", "a register tile (a tensor with a layout)", is_register_tile)
Scalar = TypeSet("Scalar", "a scalar", is_scalar)
Integer16 = TypeSet("Integer16", "i16", lambda type: str(type) == "i16", only="i16")
Integer32 = TypeSet("Integer32", "i32", lambda type: str(type) == "i32", only="i32")
Index = TypeSet("Index", "i32 or i64", lambda type: str(type) in ("i32", "i64"))
Integer64 = TypeSet("Integer64", "i64", lambda type: str(type) == "i64", only="i64")
Boolean = TypeSet("Boolean", "i1", lambda type: str(type) == "i1", only="i1")
Buffer = TypeSet("Buffer", "a buffer", lambda type: isinstance(type, BufferType))
SharedBuffer = TypeSet("SharedBuffer", "a buffer in shared memory", _buffer_in(SHARED))
MatrixLhs = TypeSet(
    "MatrixLhs",
    "a buffer in shared memory or a register tile",
    lambda type: is_register_tile(type) or _buffer_in(SHARED)(type),
)
TensorBuffer = TypeSet("TensorBuffer", "a buffer in tensor memory", _buffer_in(TENSOR))
Channel = TypeSet("Channel", "a channel", lambda type: isinstance(type, ChannelType))
TensorMap = TypeSet(
    "TensorMap", "a tensor map", lambda type: isinstance(type, TensorMapType), only="!tile_gpu.tensor_map"
)
