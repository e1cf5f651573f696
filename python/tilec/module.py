"""Tile IR modules as values: read from text, verified, printed."""

from __future__ import annotations

from pathlib import Path

from tilec.diagnostics import verification_error
from tilec.dialect.assembly.printer import print_module
from tilec.dialect.assembly.reader import is_tile_assembly, read_module
from tilec.dialect.assembly.source import remember
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError

# Tile IR bytecode, section "Magic number": every file begins with these bytes.
_BYTECODE_MAGIC = b"\x7fTileIR\x00"


class Module:
    """A module of `cuda_tile`; `ir` is the MLIR module underneath."""

    def __init__(self, module: ir.Module, file: str = "<module>") -> None:
        self.ir = module
        self._file = file

    @classmethod
    def parse(cls, text: str | bytes, file: str = "<string>") -> Module:
        """The verified module of a text in Tile IR assembly or generic form; `file` names the text in messages.

        Raises InputError where the text cannot be read, VerificationError where it breaks a rule, both at its place.
        """
        if isinstance(text, bytes):
            text = _decoded(text, file)
        module = cls(read_module(text, file) if is_tile_assembly(text) else _read_generic(text, file), file)
        module.verify()
        return module

    @classmethod
    def read(cls, path: str | Path) -> Module:
        """`parse` of a file; raises InputError where it cannot be read."""
        try:
            return cls.parse(Path(path).read_bytes(), str(path))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from None

    def verify(self) -> None:
        """Raises VerificationError with the place of the first operation that breaks a rule."""
        try:
            with self.ir.context:
                self.ir.operation.verify()
        except ir.MLIRError as error:
            raise verification_error(error, self._file) from None

    def to_text(self, generic: bool = False, locations: bool = False) -> str:
        """Tile IR assembly, or MLIR's generic form; `locations` keeps where each operation came from."""
        with self.ir.context:
            if generic:
                text = self.ir.operation.get_asm(print_generic_op_form=True, enable_debug_info=locations)
                return text if text.endswith("\n") else text + "\n"
            return print_module(self.ir, locations=locations)

    @property
    def entries(self) -> list[str]:
        """The names of the kernels in order."""
        operations = [op.operation for op in self.ir.body.operations]
        return [op.attributes["sym_name"].value for op in operations if op.name == "cuda_tile.entry"]

    def __str__(self) -> str:
        return self.to_text()


def _decoded(data: bytes, file: str) -> str:
    if data.startswith(_BYTECODE_MAGIC):
        raise InputError(
            f"{file} is Tile IR bytecode, which this version does not read: give its text, which tileirdisasm prints"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{file} is neither text nor Tile IR bytecode: byte {error.start} is no UTF-8") from None


def _read_generic(text: str, file: str) -> ir.Module:
    if not text.strip():
        raise InputError(f"{file} is empty, expected a module")
    remember(text, file)
    try:
        with context():
            return ir.Module.parse(text)
    except ir.MLIRError as error:
        raise verification_error(error, file) from None
