"""The class Module: reads, verifies and prints Tile IR modules as text or bytecode."""

from __future__ import annotations

from pathlib import Path

from tilec.diagnostics.mlir_diagnostics import source_location, verification_error
from tilec.diagnostics.user_traceback import public
from tilec.dialect.assembly.printer import print_module
from tilec.dialect.assembly.reader import is_tile_assembly, read_module
from tilec.dialect.assembly.tokens.limits import check_limits
from tilec.dialect.assembly.tokens.source import remember
from tilec.dialect.bytecode.reading.reader import read_module as read_bytecode
from tilec.dialect.bytecode.tags import is_bytecode
from tilec.dialect.bytecode.version import NEWEST, Version
from tilec.dialect.bytecode.writing.writer import write_module
from tilec.dialect.cuda_tile.warnings import hint_warnings, slip_warnings
from tilec.dialect.mlir import context, ir
from tilec.errors import CompilerWarning, InputError, Note, UsageError, VerificationError
from tilec.process.garbage_collector import suspended_garbage_collector
from tilec.process.recursion_limit import deep_recursion
from tilec.text_input.decoding import decoded


class Module:
    """A Tile IR module; `ir` is its MLIR module.

    Args:
        module: the MLIR module.
        file: the name of the file in messages.

    Example:
        >>> module = ct.Module.parse("cuda_tile.module @m { entry @nothing() { return } }")
        >>> module.entries
        ['nothing']
    """

    def __init__(self, module: ir.Module, file: str = "<module>") -> None:
        self.ir = module
        self._file = file

    @classmethod
    @public
    @suspended_garbage_collector()
    @deep_recursion()
    def parse(cls, text: str | bytes, file: str = "<string>") -> Module:
        """Reads and verifies Tile IR.

        Args:
            text: bytecode, or text in assembly or generic form.
            file: the name of the file in messages.

        Returns:
            The module.

        Raises:
            InputError: the text cannot be parsed, with its line.
            VerificationError: the module violates a rule, with its line.

        Example:
            >>> module = ct.Module.parse("cuda_tile.module @m { entry @nothing() { return } }")
            >>> ct.Module.parse(module.to_bytecode()).entries
            ['nothing']
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
        """Reads and verifies a file of Tile IR.

        Args:
            path: the path of bytecode or text.

        Returns:
            The module.

        Raises:
            InputError: the file cannot be read or parsed, with its line.
            VerificationError: the module violates a rule, with its line.

        Example:
            >>> import tempfile, pathlib
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     path = pathlib.Path(folder) / "nothing.mlir"
            ...     size = path.write_text("cuda_tile.module @m { entry @nothing() { return } }")
            ...     ct.Module.read(path).entries
            ['nothing']
        """
        try:
            return cls.parse(Path(path).read_bytes(), str(path))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from None

    @public
    @deep_recursion()
    def verify(self, hints: bool = False) -> None:
        """Checks the rules of the dialect.

        Args:
            hints: whether optimization hints without effect are errors; by default they are ignored, as by NVIDIA's
                tools.

        Raises:
            VerificationError: an operation violates a rule, with its line.

        Example:
            >>> ct.Module.parse("cuda_tile.module @m { entry @nothing() { return } }").verify(hints=True)
            >>> try: ct.Module.parse("cuda_tile.module @m { entry @a() { return } entry @a() { return } }")
            ... except ct.TileError as error: print(error.message)
            redefinition of symbol named 'a'
        """
        try:
            with self.ir.context:
                self.ir.operation.verify()
        except ir.MLIRError as error:
            raise verification_error(error, self._file) from None
        if hints:
            self._verify_hints()

    def _verify_hints(self) -> None:
        found = hint_warnings(self.ir)
        if found:
            (location, message), *rest = found
            notes = [Note(other, source_location(at, self._file)) for at, other in rest]
            raise VerificationError(message, source_location(location, self._file), notes)

    def warnings(self, hints: bool = False) -> list[CompilerWarning]:
        """Reports valid input that is likely a mistake, such as a misspelled field.

        Args:
            hints: whether to also report optimization hints without effect.

        Returns:
            The warnings.

        Raises:
            Nothing.

        Example:
            >>> ct.Module.parse("cuda_tile.module @m { entry @nothing() { return } }").warnings()
            []
        """
        found = [*slip_warnings(self.ir), *(hint_warnings(self.ir) if hints else ())]
        return [CompilerWarning(message, source_location(location, self._file)) for location, message in found]

    @public
    @deep_recursion()
    def to_text(self, generic: bool | str = False, locations: bool = False) -> str:
        """Prints the module; `parse` reads every form.

        Args:
            generic: False for Tile IR assembly, True for the generic form of MLIR with the dialects of tilec, "nvidia"
                for the generic form with the attributes and types of NVIDIA's tools.
            locations: whether the text includes the source location of each operation.

        Returns:
            The text.

        Raises:
            InputError: an attribute cannot be printed in this form.

        Example:
            >>> print(ct.Module.parse("cuda_tile.module @m { entry @nothing() { return } }").to_text())
            cuda_tile.module @m {
              entry @nothing() {
                return
              }
            }
            <BLANKLINE>
        """
        with self.ir.context:
            if generic is True:
                text = self.ir.operation.get_asm(print_generic_op_form=True, enable_debug_info=locations)
                return text if text.endswith("\n") else text + "\n"
            return print_module(self.ir, locations, generic == "nvidia")

    @public
    @deep_recursion()
    def to_bytecode(self, version: str | None = None) -> bytes:
        """Writes Tile IR bytecode.

        Bytecode cannot represent the name of the module, locations of globals and arguments, and attributes that are
        not fields of their operation.

        Args:
            version: the version of the format, such as "13.1"; None for the newest.

        Returns:
            The bytes.

        Raises:
            UsageError: the version is unknown.
            InputError: an operation needs a later version, with its line.
            VerificationError: the module violates a rule.

        Example:
            >>> ct.Module.parse("cuda_tile.module @m { entry @nothing() { return } }").to_bytecode("13.1")[1:7].decode()
            'TileIR'
        """
        try:
            chosen = NEWEST if version is None else Version.parse(version)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.verify()
        return write_module(self.ir, chosen, self._file)

    @property
    def entries(self) -> list[str]:
        """The names of the entries, in their order in the module."""
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
