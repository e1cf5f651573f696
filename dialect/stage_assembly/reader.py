"""Reads the assembly of tile_gpu and ptx into a module; errors are InputErrors with line and column."""

from __future__ import annotations

from difflib import get_close_matches

from tilec.dialect.assembly.attributes.attributes import check_end, read_keyed_dictionary
from tilec.dialect.assembly.operation_reader import OperationReader
from tilec.dialect.assembly.reader import Reader
from tilec.dialect.assembly.tokens.lexer import END
from tilec.dialect.assembly.tokens.source import Source
from tilec.dialect.assembly.tokens.tokens import shown
from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import OPERATIONS
from tilec.dialect.stage_assembly.syntax import SYNTAX
from tilec.dialect.stage_assembly.tokens import StageTokens
from tilec.dialect.stage_assembly.upstream_reader import read_upstream


def read_stage(text: str, file: str = "<string>") -> ir.Module:
    """Reads a module of tile_gpu or ptx, without verifying it; raises InputError."""
    with context():
        return StageReader(Source(text, file)).module()


class StageReader(Reader):
    """The state of reading a text of tile_gpu or ptx."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, StageTokens, StageOperationReader)
        # The blocks of the current kernel, by name.
        self.blocks: dict[str, ir.Block] = {}

    def module(self) -> ir.Module:
        tokens = self.tokens
        self._aliases()
        module = ir.Module.create(loc=self.source.location(tokens.offset()))
        point = ir.InsertionPoint(module.body)
        if tokens.take("module"):
            if tokens.peek()[:1] == "@":
                module.operation.attributes["sym_name"] = ir.StringAttr.get(tokens.symbol())
            for key, value in read_keyed_dictionary(tokens).items():
                module.operation.attributes[key] = value
            tokens.expect("{")
            self.operations.read_all(point)
            tokens.expect("}")
            self.locations.suffix(module.operation)
        else:
            while tokens.peek() != END and tokens.peek()[:1] not in ("#", "!"):
                self.operations.read(point)
        self._aliases()
        check_end(tokens)
        self.locations.resolve()
        return module

    def _aliases(self) -> None:
        while self.tokens.peek()[:1] in ("#", "!"):
            self._alias()


class StageOperationReader(OperationReader):
    """Reads operations of tile_gpu, ptx and upstream dialects."""

    reader: StageReader

    ends = ("}", "^")
    terminators = frozenset(("tile_gpu.return", "tile_gpu.yield", "scf.yield", "scf.condition", "ptx.return"))

    def _terminator(self, name: str, offset: int, point: ir.InsertionPoint) -> ir.Operation:
        return ir.Operation.create(name, loc=self.reader.source.location(offset), ip=point)

    def _operation(self, token: str, offset: int, count: int, point: ir.InsertionPoint) -> ir.Operation:
        name = self.tokens.next()
        syntax = SYNTAX.get(name)
        if syntax is not None:
            return syntax.read(self.reader, name, offset, point)
        if name in OPERATIONS and name.startswith("tile_gpu."):
            return self._by_template(name, offset, count, point)
        if _is_upstream(name):
            return read_upstream(self.reader, name, offset, count, point)
        alike = get_close_matches(name, [*OPERATIONS, *SYNTAX], 1)
        hint = f"; did you mean '{alike[0]}'?" if alike else ""
        self.tokens.fail_at(offset, f"unknown operation: {shown(name)}{hint}")


def _is_upstream(name: str) -> bool:
    made = ir.Context.current
    dialect, _, word = name.partition(".")
    if not word or dialect in ("tile_gpu", "ptx", "cuda_tile"):
        return False
    try:
        made.get_dialect_descriptor(dialect)
    except (ir.MLIRError, ValueError, IndexError):
        return False
    return made.is_registered_operation(name)
