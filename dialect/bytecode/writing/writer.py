"""Tile IR bytecode of a module.

The format does not encode the module's name, the locations of globals and of arguments, the order between globals and
kernels, or discardable attributes (`tilec.signature`); they are not written.
"""

from __future__ import annotations

from tilec.dialect.bytecode.tags import ALIGNED, MAGIC, PREVIEW_TAG, SECTION_ALIGNMENT, SECTION_SINCE, Section
from tilec.dialect.bytecode.version import NEWEST, Version
from tilec.dialect.bytecode.writing.attribute_writer import AttributeWriter
from tilec.dialect.bytecode.writing.constant_table import ConstantTable
from tilec.dialect.bytecode.writing.encoder import Encoder
from tilec.dialect.bytecode.writing.function_writer import FunctionWriter
from tilec.dialect.bytecode.writing.global_writer import write_globals
from tilec.dialect.bytecode.writing.string_table import StringTable
from tilec.dialect.bytecode.writing.type_table import TypeTable
from tilec.dialect.bytecode.writing.version_gate import VersionGate
from tilec.dialect.mlir import ir

_PRODUCER = "cuda_tile.producer"


def write_module(module: ir.Module, version: Version = NEWEST, file: str | None = None) -> bytes:
    """Writes a verified module in a version of the format; equal modules have equal bytes.

    Raises InputError, at the operation, if the version cannot encode it. `file` is the file name in messages for
    operations without a location. Versions before 13.3 have no producer string, which is then left out.
    """
    with module.context:
        return _write(module, VersionGate(version, file))


def _write(module: ir.Module, gate: VersionGate) -> bytes:
    version = gate.version
    strings, types, constants = StringTable(), TypeTable(gate), ConstantTable()
    attributes = AttributeWriter(gate, strings, types, constants)
    functions, globals = FunctionWriter(attributes), []
    for op in module.body.operations:
        operation = gate.operation = op.operation
        if operation.name == "cuda_tile.entry":
            functions.entry(op)
        elif operation.name == "cuda_tile.global":
            globals.append(op)
        else:
            gate.refuse(f"'{operation.name}' has no form in bytecode, which holds kernels and globals of Tile IR")
    # The section order of NVIDIA's Python front end; the tables come last, because other sections fill them.
    payloads = {
        Section.FUNCTIONS: functions.payload(),
        Section.GLOBALS: write_globals(globals, attributes),
        Section.CONSTANTS: constants.payload(),
        Section.DEBUG: functions.debug_payload(),
        Section.TYPES: types.payload(),
        Section.PRODUCER: _producer(module, version, strings),
        Section.STRINGS: strings.payload(),
    }
    return _file(version, functions.preview, payloads)


def _producer(module: ir.Module, version: Version, strings: StringTable) -> bytes | None:
    attributes = module.operation.attributes
    if version < SECTION_SINCE[Section.PRODUCER] or _PRODUCER not in attributes:
        return None
    encoder = Encoder()
    encoder.varint(strings.index(attributes[_PRODUCER].value_bytes))
    return bytes(encoder.data)


def _file(version: Version, preview: bool, payloads: dict[Section, bytes | bytearray | None]) -> bytes:
    encoder = Encoder()
    encoder.bytes(MAGIC)
    encoder.byte(version.major)
    encoder.byte(version.minor)
    encoder.fixed([PREVIEW_TAG if preview else 0], "H")
    for section, payload in payloads.items():
        if payload is not None:
            _section(section, payload, encoder)
    encoder.byte(Section.END)
    return bytes(encoder.data)


def _section(section: Section, payload: bytes | bytearray, encoder: Encoder) -> None:
    alignment = SECTION_ALIGNMENT[section]
    aligned = alignment > 1
    encoder.byte(section | ALIGNED if aligned else section)
    encoder.varint(len(payload))
    if aligned:
        encoder.varint(alignment)
        encoder.align(alignment)
    encoder.bytes(payload)
