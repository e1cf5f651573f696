"""Writes operations by the layout of their class; values are numbered in the order of definition."""

from __future__ import annotations

from collections.abc import Iterable

from tilec.dialect.bytecode.layout import COUNTED, FIXED, OperationLayout
from tilec.dialect.bytecode.tags import DEEPEST_REGIONS
from tilec.dialect.bytecode.writing.attribute_writer import AttributeWriter
from tilec.dialect.bytecode.writing.encoder import Encoder
from tilec.dialect.bytecode.writing.operation_plan import OperationPlan, Slices
from tilec.dialect.cuda_tile.element import NO_SIX_BITS
from tilec.dialect.fields import ONE, OPTIONAL, AttributeField, AttributeKind
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS

_SINGLE = (ONE, OPTIONAL)
_NO_COUNTING = "no operation of Tile IR counts to a bound: use 'ct.atomic_cas', or compile from Python or text"
_ADVICE = {
    **dict.fromkeys(("tilex.bitcast", "tilex.ftof"), NO_SIX_BITS),
    **dict.fromkeys(("tilex.atomic_rmw_tko", "tilex.atomic_red_view_tko"), _NO_COUNTING),
}
_EXPAND = "rewrite the module by 'tilec opt --passes expand-tilex'"


class OperationWriter:
    """Writes the body of one kernel.

    `locations` are those of the operations in the order in which they were written, an operation before those in its
    regions; `preview` says whether any of them belongs to the preview.
    """

    def __init__(self, attributes: AttributeWriter) -> None:
        self.locations: list[ir.Location] = []
        self.preview = False
        self._attributes = attributes
        self._gate = attributes.gate
        self._types = attributes.types
        self._plans: dict[str, OperationPlan] = {}
        # A value of a finished block keeps its entry, although its number is reused.
        self._numbers: dict[ir.Value, int] = {}
        self._next = 0
        self._depth = 0

    def body(self, block: ir.Block) -> Encoder:
        """The operations of a kernel."""
        encoder = Encoder()
        self._define(block.arguments)
        for op in block.operations:
            self._operation(op.operation, encoder)
        return encoder

    def _define(self, values: Iterable[ir.Value]) -> None:
        number = self._next
        for value in values:
            self._numbers[value] = number
            number += 1
        self._next = number

    def _block(self, block: ir.Block, encoder: Encoder) -> None:
        outer = self._next
        arguments = list(block.arguments)
        encoder.varints(self._types.indices([argument.type for argument in arguments]))
        self._define(arguments)
        operations = list(block.operations)
        encoder.varint(len(operations))
        for op in operations:
            self._operation(op.operation, encoder)
        self._next = outer

    def _operation(self, operation: ir.Operation, encoder: Encoder) -> None:
        self._gate.operation = operation
        plan = self._plan(operation.name)
        if plan.younger:
            plan.check(operation, self._gate)
        form, attributes, results = plan.layout, operation.attributes, plan.known_results(operation)
        slices = plan.operand_slices(operation)
        self.locations.append(operation.location)
        encoder.varint(form.opcode)
        if form.result_count:
            encoder.varint(len(results))
        for value in results:
            encoder.varint(self._types.index(value.type))
        if form.flags:
            encoder.varint(_flags(form, attributes, slices))
        for field in form.attributes:
            self._attribute(field, attributes, slices, encoder)
        self._operands(form, operation, slices, encoder)
        if form.regions:
            self._regions(operation, encoder)
        self._define(results)

    def _plan(self, name: str) -> OperationPlan:
        plan = self._plans.get(name)
        if plan is None:
            cls = OPERATIONS.get(name)
            if cls is None or cls.opcode is None:
                advice = f": {_ADVICE.get(name, _EXPAND)}" if name.startswith("tilex.") else ""
                message = f"'{name}' cannot be encoded in bytecode, which supports only operations of Tile IR"
                self._gate.refuse(f"{message}{advice}")
            plan = self._plans[name] = OperationPlan.of(cls, self._gate.version)
            self._gate.need(f"'{name}'", plan.layout.since)
            self.preview |= cls.preview
        return plan

    def _attribute(
        self, field: AttributeField, attributes: ir.OpAttributeMap, slices: Slices, encoder: Encoder
    ) -> None:
        if field.name in attributes:
            self._attributes.field(field, attributes[field.name], encoder)
        elif field.kind is AttributeKind.BOOLEANS:
            # Absent flags are all false, one per index of the access.
            count = slices["index"].stop - slices["index"].start
            encoder.varint(count)
            encoder.bytes(bytes(count))
        elif field.default is not None:
            self._attributes.field(field, field.to_attribute(field.default), encoder)

    def _operands(self, form: OperationLayout, operation: ir.Operation, slices: Slices, encoder: Encoder) -> None:
        numbers = [self._numbers[value] for value in operation.operands]
        if form.operand_layout == FIXED:
            for number in numbers:
                encoder.varint(number)
        elif form.operand_layout == COUNTED:
            encoder.varints(numbers)
        else:
            for field in form.operands:
                group = numbers[slices[field.name]]
                if field.arity not in _SINGLE:
                    encoder.varint(len(group))
                for number in group:
                    encoder.varint(number)

    def _regions(self, operation: ir.Operation, encoder: Encoder) -> None:
        self._depth += 1
        if self._depth > DEEPEST_REGIONS:
            self._gate.refuse(f"regions are nested more than {DEEPEST_REGIONS} deep")
        encoder.varint(len(operation.regions))
        for region in operation.regions:
            blocks = list(region.blocks)
            encoder.varint(len(blocks))
            for block in blocks:
                self._block(block, encoder)
        self._depth -= 1


def _flags(form: OperationLayout, attributes: ir.OpAttributeMap, slices: Slices) -> int:
    found = 0
    for bit, field in enumerate(form.flags):
        if isinstance(field, AttributeField):
            present = field.name in attributes
        else:
            present = slices[field.name].stop > slices[field.name].start
        found |= present << bit
    return found
