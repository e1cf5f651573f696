"""Opens the source of a compile: a kernel, a module, the text of a stage, or the path of one of these."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from tilec.driver.stage_text import ptx_target, read_module, stage_of
from tilec.errors import InputError, UsageError
from tilec.frozen import Frozen
from tilec.runtime.artifact.launch_comment import split_launch_comment
from tilec.runtime.artifact.metadata import Metadata
from tilec.text_input.decoding import decoded

if TYPE_CHECKING:
    from pathlib import Path

# The path that denotes standard input.
STANDARD_INPUT = "-"
# The name of standard input in messages.
_STDIN = "<stdin>"


class Source(Frozen):
    """The source of a compile.

    Attributes:
        value: The kernel, module or PTX text.
        stage: The stage of the value; None for a kernel.
        name: The name of the source in messages.
        text: The text of the stage, if the source is text.
        target: The target that the source is already compiled for, if any.
        path: The file of the source, if any.
        metadata: The launch metadata in the comment of PTX text, if any.
    """

    value: Any
    stage: str | None
    name: str
    text: str | None = None
    target: str | None = None
    path: Path | None = None
    metadata: Metadata | None = None


def open_source(given: Any, entry: str | None = None) -> Source:
    """Opens a kernel, a Module, text, bytes, a path, `file.py:kernel`, `-` (standard input), or a source.

    Standard input is text of any stage, bytecode, or a Python program. `entry` names the kernel of a Python text.
    Raises InputError for a file that cannot be read or a text that is invalid, UsageError for any other object.
    """
    if isinstance(given, Source):
        return given
    if hasattr(given, "to_tile"):
        return Source(given, None, given.name)
    if hasattr(given, "ir"):
        return Source(given.ir, "tile", "the module")
    if isinstance(given, bytes) or (isinstance(given, str) and "\n" in given):
        return _from_text(given, "the text", None)
    if isinstance(given, str | os.PathLike):
        return _from_path(str(given), entry)
    raise UsageError(f"expected a kernel, a Module, text or a path, got {type(given).__name__}")


def _from_path(path: str, entry: str | None) -> Source:
    if path == STANDARD_INPUT:
        return _from_standard_input(entry)
    # Imported here because a kernel in the disk cache has no path.
    from pathlib import Path

    file, colon, name = path.rpartition(":")
    if path.endswith(".py") or (colon and file.endswith(".py")):
        from tilec.language.kernel import find

        return Source(find(file or path, name) if colon else find(path, entry), None, path, path=Path(file or path))
    return _from_text(_read(Path(path)), path, Path(path))


def _from_standard_input(entry: str | None) -> Source:
    """The stage, or the kernel of a Python program, on standard input."""
    from tilec.language.kernel_text import find_in_text, is_python

    text = _text_or_bytecode(sys.stdin.buffer.read(), _STDIN)
    if isinstance(text, str) and is_python(text):
        return Source(find_in_text(text, _STDIN, entry), None, _STDIN)
    return _from_text(text, _STDIN, None)


def _read(path: Path) -> str | bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    return _text_or_bytecode(content, str(path))


def _text_or_bytecode(content: bytes, name: str) -> str | bytes:
    # Artifacts run without the dialects, so that only a compile imports them.
    from tilec.dialect.bytecode.tags import is_bytecode

    if is_bytecode(content):
        return content
    return decoded(content, name)


def _from_text(text: str | bytes, name: str, path: Path | None) -> Source:
    if isinstance(text, bytes):
        stage = "tile"
    else:
        stage = "ptx" if path is not None and path.suffix == ".ptx" else stage_of(text)
    if stage == "ptx":
        assert isinstance(text, str)
        ptx, metadata = split_launch_comment(text, name)
        return Source(ptx, stage, name, ptx, ptx_target(ptx, name), path, metadata)
    module = read_module(text, stage, name)
    return Source(module, stage, name, text if isinstance(text, str) else None, _bound_target(module), path)


def _bound_target(module: Any) -> str | None:
    """The target attribute of the kernels in a module; None for Tile IR, whose entries have no target."""
    for operation in module.body.operations:
        attributes = operation.operation.attributes
        if "target" in attributes:
            return attributes["target"].value
    return None


def signature_of(kernel: Any, signature: Any) -> Any:
    """The signature, parsed if it is text; raises UsageError with an example if it is neither text nor a signature."""
    from tilec.signature import Signature, parse

    if not isinstance(signature, str | Signature):
        found = "" if signature is None else f", got {type(signature).__name__}"
        raise UsageError(f"kernel '{kernel.name}' needs a signature, for example 'A: f16[?,?], x: f32, TM=128'{found}")
    return parse(signature) if isinstance(signature, str) else signature
