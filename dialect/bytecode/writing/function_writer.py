"""Writes the function section: for each kernel its name, signature, hints and operations."""

from __future__ import annotations

from tilec.dialect.bytecode.tags import ARGUMENT_ATTRIBUTES_SINCE, AttributeTag, FunctionFlag
from tilec.dialect.bytecode.writing.attribute_writer import AttributeWriter
from tilec.dialect.bytecode.writing.debug_section_writer import DebugSectionWriter
from tilec.dialect.bytecode.writing.encoder import Encoder
from tilec.dialect.bytecode.writing.operation_writer import OperationWriter
from tilec.dialect.mlir import ir


class FunctionWriter:
    """The kernels of a file in their order."""

    def __init__(self, attributes: AttributeWriter) -> None:
        self.preview = False
        self._attributes = attributes
        self._records: list[bytes] = []
        self._debug = DebugSectionWriter(attributes.strings, attributes.gate.version)

    def entry(self, op: ir.OpView) -> None:
        """Adds a kernel."""
        gate, tables = self._attributes.gate, self._attributes
        recorded = gate.version >= ARGUMENT_ATTRIBUTES_SINCE
        if not recorded and any(len(each) for each in op.arg_attrs or ()):
            gate.need("an attribute of an argument", ARGUMENT_ATTRIBUTES_SINCE)
        encoder = Encoder()
        encoder.varint(tables.strings.index(op.sym_name))
        encoder.varint(tables.types.index(op.function_type))
        hints = op.optimization_hints
        encoder.byte(FunctionFlag.KERNEL | (FunctionFlag.HINTS if hints is not None and not recorded else 0))
        body = OperationWriter(self._attributes)
        operations = body.body(op.body.blocks[0])
        gate.operation = op.operation
        encoder.varint(self._debug.function(op.operation.location, body.locations))
        self._hints(hints, recorded, encoder)
        if recorded:
            self._argument_attributes(op, encoder)
        encoder.varint(len(operations))
        encoder.bytes(operations.data)
        self.preview |= body.preview
        self._records.append(bytes(encoder.data))

    def payload(self) -> bytes:
        """The section."""
        encoder = Encoder()
        encoder.varint(len(self._records))
        return bytes(encoder.data) + b"".join(self._records)

    def debug_payload(self) -> bytes | None:
        """The debug section, or None if there is no debug info."""
        return self._debug.payload()

    def _hints(self, hints: ir.Attribute, always: bool, encoder: Encoder) -> None:
        if hints is not None:
            encoder.byte(AttributeTag.OPTIMIZATION_HINTS)
            self._attributes.dictionary(hints, encoder)
        elif always:
            encoder.byte(AttributeTag.OPTIMIZATION_HINTS)
            encoder.varint(0)

    def _argument_attributes(self, op: ir.OpView, encoder: Encoder) -> None:
        encoder.byte(AttributeTag.ARRAY)
        dictionaries = op.arg_attrs or ()
        encoder.varint(len(dictionaries))
        for each in dictionaries:
            self._attributes.tagged(each, encoder)
