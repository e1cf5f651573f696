"""Values at the top of a kernel: those that the launcher can compute, and declarations shared by the whole kernel."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tilec.dialect.build import Group
from tilec.dialect.cuda_tile.types import PointerType
from tilec.dialect.mlir import ir
from tilec.dialect.tile_gpu.operations.tensor_map import ListWordOp
from tilec.lowering import emitter
from tilec.lowering.tile.analysis.list_words import list_word

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation


class Declarations:
    """Builds operations before one operation at the top of the kernel, from the arguments of the kernel."""

    def __init__(self, arguments: Mapping[ir.Value, ir.Value], before: ir.Operation) -> None:
        """`arguments` has the argument of the kernel for each of the entry."""
        self._arguments = arguments
        self._before = before
        self._shared: dict[Hashable, ir.Value] = {}

    def point(self) -> ir.InsertionPoint:
        return ir.InsertionPoint(self._before)

    def declare(
        self, operation: type[Operation], operands: Sequence[Group], results: Sequence[Group], **attributes: object
    ) -> ir.Value:
        """The result of an operation of tile_gpu at the top of the kernel."""
        with self.point():
            return emitter.gpu(operation, operands, results, **attributes).results[0]

    def shared(self, key: Hashable, declare: Callable[[], ir.Value]) -> ir.Value:
        """The declaration of a key, made by `declare` the first time."""
        if key not in self._shared:
            self._shared[key] = declare()
        return self._shared[key]

    def argument(self, value: ir.Value) -> ir.Value:
        """A value that the launcher can compute: an argument, perhaps assumed, a constant, or a word of a list."""
        owner = value.owner
        if isinstance(owner, ir.Block):
            return self._arguments[value]
        word = list_word(value)
        if word is not None:
            table, number, words = self._arguments[word.item.list.table], word.number, word.item.list.words
            i64 = [emitter.integer_type(64)]
            declare = partial(self.declare, ListWordOp, [table], i64, word=number, words=words)
            return self.shared((table, number), declare)
        if owner.operation.name == "cuda_tile.assume":
            return self.argument(owner.operation.operands[0])
        splat = ir.DenseElementsAttr(owner.operation.attributes["value"]).get_splat_value()
        with self.point():
            return emitter.constant(element_type(value.type.element), splat.value)

    def integer(self, value: ir.Value | int) -> ir.Value:
        """An extent or a stride that the launcher can compute, as i32 or i64."""
        with self.point():
            if isinstance(value, int):
                return emitter.i32(value) if value < 2**31 else emitter.i64(value)
            made = self.argument(value)
            return made if made.type.width >= 32 else emitter.cast_integer(made, 32)


def element_type(element: ir.Type) -> ir.Type:
    """The element of a register tile: addresses are i64."""
    return emitter.integer_type(64) if isinstance(element, PointerType) else element
