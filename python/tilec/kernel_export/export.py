"""`export_kernel`: compiles a kernel for explicit signatures to a cubin, PTX, or Tile IR."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from tilec.diagnostics.user_traceback import public
from tilec.errors import ArgumentTypeError, ArgumentValueError, InputError, UnsupportedError
from tilec.kernel_export.constraint_arguments import arguments_of
from tilec.kernel_export.element_support import check_elements
from tilec.kernel_export.kernel_signature import KernelSignature
from tilec.language.kernel import Kernel
from tilec.lowering.target import TARGETS
from tilec.signature import Signature

if TYPE_CHECKING:
    from tilec.driver.compiled import Compiled
    from tilec.text_input.module import Module

# The first version of bytecode whose hints name their target, so that bytecode is for every GPU.
_PORTABLE = "13.3"
# The first version of bytecode that has the hint num_worker_warps (Tile IR 13.3, entry operation).
_WORKER_WARPS = "13.3"


@dataclass(frozen=True)
class _Request:
    """The kernel, its signatures with symbols, their Tile IR, and the arguments of export_kernel."""

    kernel: Kernel
    signatures: tuple[KernelSignature, ...]
    module: Module
    gpu_code: str | None
    bytecode_version: str | None

    @property
    def target(self) -> str:
        """The target: kernels use the instructions of the architecture, as in sm_100a."""
        code = self.gpu_code or ""
        return code if code.endswith("a") else f"{code}a"


@public
def export_kernel(
    kernel: Kernel,
    signatures: Sequence[KernelSignature],
    output_file: IO[bytes] | str | bytes | os.PathLike[str],
    *,
    gpu_code: str | None = None,
    output_format: Literal["cubin", "ptx", "tileir_bytecode", "tileir_text"],
    bytecode_version: str | None = None,
) -> None:
    """Compiles a kernel for signatures to one file, whose entries have the symbols of the signatures.

    The entries of a cubin and of PTX have the parameters of the calling convention only. They therefore use no tensor
    maps. A launch needs the number of threads that `.reqntid` of the PTX states; beside a file of PTX or a cubin with a
    path, `<path>.<symbol>.launch.json` states it with the dynamic shared memory (docs/formats/artifact.md).

    What cuTile refuses for `gpu_code` is refused, such as float4_e2m1fn before sm_100, which ct.compile emulates. The
    hint num_worker_warps is ignored, with a UserWarning, if `bytecode_version` is older than it.

    Args:
        kernel: the kernel.
        signatures: at least one signature.
        output_file: a path, or a binary file.
        gpu_code: the GPU, such as "sm_100"; None is possible for Tile IR only.
        output_format: "cubin", "ptx", "tileir_bytecode" or "tileir_text"; "ptx" takes one signature.
        bytecode_version: the version of the bytecode, such as "13.1"; None for the newest.

    Returns:
        None.

    Raises:
        TypeError: a constraint contradicts an annotation of the kernel.
        ValueError: the format is unknown, a GPU is missing, or two signatures have the same symbol.
        TileUnsupportedFeatureError: the target or the bytecode version lacks a feature.
        CompileError: the kernel violates a rule, with its line.

    Example:
        >>> import io
        >>> @ct.kernel
        ... def fill(x, n: ct.Constant[int]): ct.store(x, 0, ct.ones(n, ct.int32))
        >>> v1 = ct.compilation.CallingConvention.cutile_python_v1()
        >>> values = np.zeros(8, np.int32), 8
        >>> signature = ct.compilation.KernelSignature.from_kernel_args(fill, values, v1, symbol="f")
        >>> ct.compilation.export_kernel(fill, [signature], file := io.BytesIO(), output_format="tileir_text")
        >>> "entry @f(" in file.getvalue().decode()
        True
    """
    if output_format not in _WRITERS:
        raise ArgumentValueError(f"unknown output_format '{output_format}': expected one of {', '.join(_WRITERS)}")
    if gpu_code is None and output_format in ("cubin", "ptx"):
        raise ArgumentValueError(f"gpu_code is required for output_format '{output_format}', such as 'sm_100'")
    named = _with_symbols(kernel, signatures)
    supported = _with_known_hints(kernel, bytecode_version)
    request = _Request(supported, named, _module(supported, named), gpu_code, bytecode_version)
    if gpu_code is not None:
        check_elements(request.module.ir, gpu_code)
    if output_format in ("cubin", "ptx"):
        _check_target(request)
    content, compiled = _WRITERS[output_format](request)
    _write(output_file, content, compiled)


def _check_target(request: _Request) -> None:
    """Raises UnsupportedError for an unknown GPU, and for features that are newer than the bytecode version."""
    if request.target not in TARGETS:
        known = ", ".join(name.rstrip("a") for name in TARGETS)
        raise UnsupportedError(f"gpu_code '{request.gpu_code}' is not supported: expected one of {known}")
    if request.bytecode_version is not None:
        _bytecode(request)


def _with_symbols(kernel: Kernel, signatures: Sequence[KernelSignature]) -> tuple[KernelSignature, ...]:
    if not isinstance(kernel, Kernel):
        raise ArgumentTypeError(f"export_kernel expects a kernel, got {type(kernel).__name__}")
    if not signatures:
        raise ArgumentValueError("export_kernel needs at least one signature")
    name = kernel.function.__name__
    named = tuple(found if found.symbol is not None else found.with_mangled_symbol(name) for found in signatures)
    symbols = [found.symbol for found in named]
    for symbol in symbols:
        if symbols.count(symbol) > 1:
            raise ArgumentValueError(f"two signatures have the symbol '{symbol}'")
    return named


def _with_known_hints(kernel: Kernel, version: str | None) -> Kernel:
    """The kernel without hints that are newer than the bytecode version, each with a warning."""
    if version is None or _number(version) >= _number(_WORKER_WARPS) or kernel.hints.num_worker_warps is None:
        return kernel
    warnings.warn(
        # The words of cuTile, for which programs may have a filter.
        f"num_worker_warps is ignored: requires tileiras {_WORKER_WARPS}, but current version is {version}",
        # The caller of export_kernel, which a decorator wraps.
        stacklevel=4,
    )
    return kernel.replace_hints(num_worker_warps=None)


def _module(kernel: Kernel, signatures: Sequence[KernelSignature]) -> Module:
    """The Tile IR module with an entry per signature."""
    from tilec.ast_to_tile.entry import kernel_to_tile
    from tilec.dialect.mlir import ir
    from tilec.text_input.module import Module

    modules = []
    for signature in signatures:
        named = kernel.replace_hints()
        named.name = str(signature.symbol)
        modules.append(kernel_to_tile(named, Signature(arguments_of(kernel, signature.parameters))))
    for other in modules[1:]:
        with modules[0].operation.location:
            for operation in other.body.operations:
                operation.operation.clone(ip=ir.InsertionPoint(modules[0].body))
    return Module(modules[0])


def _bytecode(request: _Request) -> tuple[bytes, list[Compiled]]:
    version = request.bytecode_version
    if request.gpu_code is None and version is not None and _number(version) < _number(_PORTABLE):
        raise UnsupportedError(f"bytecode {version} is for one GPU: pass gpu_code, or version {_PORTABLE} or later")
    if version is not None:
        _check_uses(request.module, version)
    try:
        return request.module.to_bytecode(version), []
    except InputError as problem:
        raise UnsupportedError(problem.message, problem.location, problem.notes) from None


def _check_uses(module: Module, version: str) -> None:
    from tilec.dialect.bytecode.version import Version
    from tilec.kernel_export.version_support import check_uses

    try:
        check_uses(module.ir, Version.parse(version))
    except ValueError as problem:
        raise ArgumentValueError(f"bytecode_version: {problem}") from None


def _number(version: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in version.split("."))
    except ValueError:
        raise ArgumentValueError(f"expected a bytecode_version such as '13.3', got '{version}'") from None


def _text(request: _Request) -> tuple[bytes, list[Compiled]]:
    return request.module.to_text().encode(), []


def _ptx(request: _Request) -> tuple[bytes, list[Compiled]]:
    if len(request.signatures) > 1:
        raise ArgumentValueError(f"output_format 'ptx' takes one signature, got {len(request.signatures)}")
    compiled = _compiled(request)
    return compiled[0].ptx.encode(), compiled


def _cubin(request: _Request) -> tuple[bytes, list[Compiled]]:
    from tilec.runtime.cubin.cubin import DEFAULT_OPT_LEVEL, assemble, link

    compiled = _compiled(request)
    level = request.kernel.hints.opt_level_for(request.target)
    level = DEFAULT_OPT_LEVEL if level is None else level
    texts = {f"{found.entry}.ptx": found.ptx for found in compiled}
    if len(texts) == 1:
        # Only nvJitLink makes one cubin of several programs.
        ((name, ptx),) = texts.items()
        return assemble(ptx, request.target, name, level).content, compiled
    return link(texts, request.target, level).content, compiled


def _compiled(request: _Request) -> list[Compiled]:
    """Each entry compiled to PTX, without tensor maps, for which calling conventions have no parameters."""
    from tilec.driver.stages import compile as compile_entry

    found = []
    for entry in request.module.entries:
        compiled = compile_entry(request.module, entry=entry, target=request.target, hints={"tma": False}, stop="ptx")
        assert compiled.metadata is not None and not compiled.metadata.tensor_maps
        found.append(compiled)
    return found


_WRITERS: dict[str, Callable[[_Request], tuple[bytes, list[Any]]]] = {
    "cubin": _cubin,
    "ptx": _ptx,
    "tileir_bytecode": _bytecode,
    "tileir_text": _text,
}


def _write(output_file: IO[bytes] | str | bytes | os.PathLike[str], content: bytes, compiled: list[Compiled]) -> None:
    if not isinstance(output_file, str | bytes | os.PathLike):
        output_file.write(content)
        return
    from tilec.runtime.artifact.metadata import to_text

    path = Path(os.fsdecode(output_file))
    path.write_bytes(content)
    for found in compiled:
        if found.metadata is not None:
            path.with_name(f"{path.name}.{found.entry}.launch.json").write_text(to_text(found.metadata))
