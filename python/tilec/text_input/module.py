"""Tile IR modules as values: read from text or bytecode, verified, printed."""

from __future__ import annotations

from pathlib import Path

from tilec.diagnostics.mlir_diagnostics import place, verification_error
from tilec.diagnostics.user_traceback import public
from tilec.dialect.assembly.limits import check_limits
from tilec.dialect.assembly.printer import print_module
from tilec.dialect.assembly.reader import is_tile_assembly, read_module
from tilec.dialect.assembly.source import remember
from tilec.dialect.bytecode.reader import read_module as read_bytecode
from tilec.dialect.bytecode.tags import is_bytecode
from tilec.dialect.bytecode.version import NEWEST, Version
from tilec.dialect.bytecode.writer import write_module
from tilec.dialect.cuda_tile.warnings import hint_warnings, slip_warnings
from tilec.dialect.mlir import context, ir
from tilec.errors import CompilerWarning, InputError, Note, UsageError, VerificationError
from tilec.process.garbage_collector import suspended_garbage_collector
from tilec.process.recursion_limit import deep_recursion
from tilec.text_input.decoding import decoded


class Module:
    """A module of `cuda_tile`; `ir` is the MLIR module underneath."""

    def __init__(self, module: ir.Module, file: str = "<module>") -> None:
        self.ir = module
        self._file = file

    @classmethod
    @public
    @suspended_garbage_collector()
    @deep_recursion()
    def parse(cls, text: str | bytes, file: str = "<string>") -> Module:
        """The verified module of Tile IR bytecode or of a text, in assembly or generic form; messages call it `file`.

        Raises InputError where it cannot be read, VerificationError where it breaks a rule, both at their place.
        """
        if isinstance(text, bytes):
            if is_bytecode(text):
                return cls._verified(read_bytecode(text, file), file)
            text = decoded(text, file)
        check_limits(text, file)
        return cls._verified(read_module(text, file) if is_tile_assembly(text) else _read_generic(text, file), file)

    @classmethod
    def _verified(cls, read: ir.Module, file: str) -> Module:
        module = cls(read, file)
        module.verify()
        return module

    @classmethod
    @public
    def read(cls, path: str | Path) -> Module:
        """`parse` of a file; raises InputError where it cannot be read."""
        try:
            return cls.parse(Path(path).read_bytes(), str(path))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from None

    @public
    @deep_recursion()
    def verify(self, hints: bool = False) -> None:
        """Raises VerificationError with the place of the first operation that breaks a rule.

        `hints`: optimization hints that nothing follows break one too; NVIDIA's tools and we else pass over them.
        """
        try:
            with self.ir.context:
                self.ir.operation.verify()
        except ir.MLIRError as error:
            raise verification_error(error, self._file) from None
        if hints:
            self._refuse_hints()

    def _refuse_hints(self) -> None:
        wrong = hint_warnings(self.ir)
        if wrong:
            (location, message), *rest = wrong
            notes = [Note(other, place(at, self._file)) for at, other in rest]
            raise VerificationError(message, place(location, self._file), notes)

    def warnings(self, hints: bool = False) -> list[CompilerWarning]:
        """What is legal and likely a mistake, such as a misspelt field; with `hints` those that nothing follows too."""
        found = [*slip_warnings(self.ir), *(hint_warnings(self.ir) if hints else ())]
        return [CompilerWarning(message, place(location, self._file)) for location, message in found]

    @public
    @deep_recursion()
    def to_text(self, generic: bool | str = False, locations: bool = False) -> str:
        """Tile IR assembly, or a generic form; `locations` keeps where each operation came from.

        `generic`: True is the form that MLIR reads into any context with our dialects, "nvidia" that of NVIDIA's tools,
        whose attributes and types are theirs. `parse` reads all of them.
        """
        with self.ir.context:
            if generic is True:
                text = self.ir.operation.get_asm(print_generic_op_form=True, enable_debug_info=locations)
                return text if text.endswith("\n") else text + "\n"
            return print_module(self.ir, locations, generic == "nvidia")

    @public
    @deep_recursion()
    def to_bytecode(self, version: str | None = None) -> bytes:
        """The verified module as Tile IR bytecode of a version such as "13.1"; the newest one leaves the least out.

        Not in the file: the module's name, the places of globals and arguments, attributes that are no fields of their
        operation. Raises UsageError for an unknown version, InputError at the operation that needs a later one.
        """
        try:
            chosen = NEWEST if version is None else Version.parse(version)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.verify()
        return write_module(self.ir, chosen, self._file)

    @property
    def entries(self) -> list[str]:
        """The names of the kernels in order."""
        operations = [op.operation for op in self.ir.body.operations]
        return [op.attributes["sym_name"].value for op in operations if op.name == "cuda_tile.entry"]

    def __str__(self) -> str:
        return self.to_text()


def _read_generic(text: str, file: str) -> ir.Module:
    if not text.strip():
        raise InputError(f"{file} is empty, expected a module")
    remember(text, file)
    try:
        with context():
            return ir.Module.parse(text)
    except ir.MLIRError as error:
        raise verification_error(error, file) from None
