"""Reads the assembly of tile_gpu and ptx into a module; errors are InputErrors with line and column."""

from __future__ import annotations

from difflib import get_close_matches

from tilec.dialect.assembly.attributes import check_end, read_dictionary
from tilec.dialect.assembly.lexer import END
from tilec.dialect.assembly.locations import LocationReader
from tilec.dialect.assembly.operation_parts import Parts
from tilec.dialect.assembly.operation_reader import OperationReader
from tilec.dialect.assembly.reader import Reader
from tilec.dialect.assembly.scope import Scope
from tilec.dialect.assembly.source import Source
from tilec.dialect.assembly.template import compile_template
from tilec.dialect.assembly.tokens import shown
from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import OPERATIONS
from tilec.dialect.stage_assembly.structure_readers import STRUCTURES
from tilec.dialect.stage_assembly.tokens import StageTokens
from tilec.dialect.stage_assembly.upstream_reader import UPSTREAM, read_upstream

_TERMINATORS = frozenset(("tile_gpu.return", "tile_gpu.yield", "scf.yield", "scf.condition", "ptx.return"))


def read_stage(text: str, file: str = "<string>") -> ir.Module:
    """Reads a module of tile_gpu or ptx, without verifying it; raises InputError."""
    with context():
        return StageReader(Source(text, file)).module()


class StageReader(Reader):
    """The state of reading a text of tile_gpu or ptx."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = StageTokens(source)
        self.scope = Scope(self.tokens)
        self.locations = LocationReader(self.tokens)
        self.operations = StageOperationReader(self)
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
            if tokens.take("attributes"):
                for key, value in read_dictionary(tokens).items():
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

    def read_all(self, point: ir.InsertionPoint, terminator: str = "") -> None:
        tokens, last = self.tokens, ""
        while (token := tokens.peek()) != "}" and not token.startswith("^"):
            if token == END:
                tokens.fail("expected '}', but got the end of the text")
            if last in _TERMINATORS:
                tokens.fail(f"expected '}}' after '{last}', which ends its block")
            last = self.read(point)
        if terminator and last not in _TERMINATORS:
            made = ir.Operation.create(terminator, loc=self.reader.source.location(tokens.offset()), ip=point)
            self.reader.locations.follow(lambda location: setattr(made, "location", location))

    def read(self, point: ir.InsertionPoint) -> str:
        tokens, begun = self.tokens, self.reader.locations.begin()
        names = self._result_names() if tokens.peek()[:1] == "%" else []
        name, offset = tokens.next(), tokens.offsets[tokens.at - 1]
        count = sum(count for _, count, _ in names)
        structure = STRUCTURES.get(name) or UPSTREAM.get(name)
        if structure is not None:
            operation = structure(self.reader, name, offset, count, point)
        elif name in OPERATIONS and name.startswith("tile_gpu."):
            parts = Parts(name, offset, count)
            self.read_elements(compile_template(OPERATIONS[name]), parts)  # type: ignore[arg-type]
            operation = self.maker.create(parts, point)
        elif _is_upstream(name):
            operation = read_upstream(self.reader, name, offset, count, point)
        else:
            alike = get_close_matches(name, [*OPERATIONS, *STRUCTURES, *UPSTREAM], 1)
            hint = f"; did you mean '{alike[0]}'?" if alike else ""
            tokens.fail_at(offset, f"unknown operation: {shown(name)}{hint}")
        self.reader.locations.suffix(operation, begun)
        self._bind(names, operation, offset)
        return operation.name


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
