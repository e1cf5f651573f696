"""Memory access through pointers, and tokens that order accesses."""

from collections.abc import Sequence

from tilec.dialect.attributes import Flag, Int64
from tilec.dialect.cuda_tile.accesses import mask_problem, ordering_problem, pointee_problem
from tilec.dialect.cuda_tile.attributes import Hints
from tilec.dialect.cuda_tile.element import ELEMENT_BITS
from tilec.dialect.cuda_tile.enums import MemoryOrdering, Scope
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.rules import same_shape
from tilec.dialect.cuda_tile.sets import AnyTile, BoolTile, NumberTile, PointerTile, ScalarPointer, Token
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext
from tilec.dialect.spelling import quote, spell

_ACCESS = "$memory_ordering_semantics{ $memory_scope}"
_TAIL = "{ token=$token}{ optimization_hints = $optimization_hints} attr-dict"


class MakeTokenOp(Operation, name="make_token", opcode=0x44, traits=[ext.Pure]):
    """A token that depends on nothing."""

    result: Result[Token]
    assembly = "attr-dict : type($result)"


class JoinTokensOp(Operation, name="join_tokens", opcode=0x3C, traits=[ext.Pure]):
    """A token that depends on all operands."""

    result: Result[Token]
    tokens: Sequence[Operand[Token]]
    assembly = "$tokens attr-dict : type($result)"

    def check_types(self) -> str | None:
        if len(self.operands) < 2:
            return f"expects at least 2 tokens, but got {len(self.operands)}"
        return None


class LoadPtrTkoOp(Operation, name="load_ptr_tko", opcode=0x3D):
    """Loads the elements at pointers; where the mask is false, the result is paddingValue or undefined."""

    result: Result[AnyTile]
    result_token: Result[Token]
    source: Operand[PointerTile]
    mask: Operand[BoolTile] | None
    paddingValue: Operand[NumberTile] | None
    token: Operand[Token] | None
    memory_ordering_semantics: MemoryOrdering
    memory_scope: Scope | None
    optimization_hints: Hints | None
    rules = [same_shape("source", "result")]
    assembly = (
        f"{_ACCESS} $source{{, $mask}}{{, $paddingValue}}{_TAIL}"
        " : type($source){, type($mask)}{, type($paddingValue)} -> type($result), type($result_token)lone_padding()"
    )

    def has_assembly(self) -> bool:
        # In the assembly form the first operand after the pointers is the mask if its type allows it.
        padding = self.paddingValue
        return self.mask is not None or padding is None or not BoolTile.contains(padding.type)

    def check_types(self) -> str | None:
        padding, result = self.paddingValue, self.result
        if padding is not None and padding.type != result.type:
            wanted = f"the padding value to have the type of the result {quote(result.type)}"
            return f"expects {wanted}, but got {quote(padding.type)}"
        return mask_problem(self.mask, self.source) or pointee_problem(
            self.source, result, "multicast pointer is not allowed"
        )

    def check(self) -> str | None:
        return ordering_problem(self, "load", ("weak", "relaxed", "acquire"))


class StorePtrTkoOp(Operation, name="store_ptr_tko", opcode=0x65):
    """Stores elements at pointers where the mask is true."""

    result_token: Result[Token]
    destination: Operand[PointerTile]
    value: Operand[AnyTile]
    mask: Operand[BoolTile] | None
    token: Operand[Token] | None
    memory_ordering_semantics: MemoryOrdering
    memory_scope: Scope | None
    optimization_hints: Hints | None
    rules = [same_shape("destination", "value")]
    assembly = (
        f"{_ACCESS} $destination, $value{{, $mask}}{_TAIL}"
        " : type($destination), type($value){, type($mask)} -> type($result_token)"
    )

    def check_types(self) -> str | None:
        return mask_problem(self.mask, self.destination) or pointee_problem(
            self.destination, self.value, "multicast pointer is not allowed"
        )

    def check(self) -> str | None:
        return ordering_problem(self, "store", ("weak", "relaxed", "release"))


class AllocaOp(Operation, name="alloca", opcode=0x71, since="13.3"):
    """Memory for num_elem elements until the end of the enclosing block; `global` makes it visible to other blocks."""

    result: Result[ScalarPointer]
    num_elem: Int64
    alignment: Int64
    global_: Flag
    assembly = "num_elem = $num_elem, alignment = $alignment{ $global} attr-dict : type($result)"

    def check(self) -> str | None:
        element = spell(self.result.type.element.element)
        # tf32 counts as 19 bits here, which is three bytes, so its least alignment is 4.
        natural = -(-ELEMENT_BITS[element] // 8) if ELEMENT_BITS[element] >= 8 or element == "i1" else 0
        if self.num_elem < 0:
            return f"num_elem must not be negative, but got {self.num_elem}"
        if self.alignment <= 0 or self.alignment & (self.alignment - 1):
            return f"alignment must be a power of two, but got {self.alignment}"
        if self.alignment < natural:
            return f"alignment must be at least {natural}, the size of {element}, but got {self.alignment}"
        return None


class MemoryFenceAliasTkoOp(Operation, name="memory_fence_alias_tko", opcode=0x7A, since="13.4"):
    """Orders accesses through different mappings of the same memory."""

    result_token: Result[Token]
    token: Operand[Token]
    assembly = "$token attr-dict"


class GdcLaunchDependentsTkoOp(Operation, name="gdc_launch_dependents_tko", opcode=0x77, since="13.4"):
    """Allows the dependent grid to start."""

    result_token: Result[Token]
    token: Operand[Token] | None
    assembly = "{token = $token} attr-dict -> type($result_token)"


class GdcWaitTkoOp(Operation, name="gdc_wait_tko", opcode=0x78, since="13.4"):
    """Waits for the preceding grid."""

    result_token: Result[Token]
    token: Operand[Token] | None
    assembly = "{token = $token} attr-dict -> type($result_token)"
