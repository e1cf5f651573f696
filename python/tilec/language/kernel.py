"""`@ct.kernel`: a Python function that is compiled for a grid of blocks, and how to find one in a file."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import sys
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Annotated, Any

from tilec.ast_to_tile.source import read
from tilec.diagnostics.user_traceback import public
from tilec.errors import CompileError, InputError, SourceLocation
from tilec.language.annotations import ArrayAnnotation, ConstantAnnotation, ScalarAnnotation
from tilec.language.hints import NO_HINTS, Hints

if TYPE_CHECKING:
    from tilec.signature import Signature
    from tilec.text_input.module import Module


class Kernel:
    """A function that every block of a grid executes; start it with `ct.launch`, calling it raises.

    `parameters` are its names in order, `constants` those annotated with `ct.Constant`.
    """

    def __init__(self, function: FunctionType, hints: Hints = NO_HINTS) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.hints = hints
        self.name = _symbol(function.__name__)
        self.parameters = _parameters(function)
        metadata = {name: _metadata(function, hint) for name, hint in _annotations(function).items()}
        self.constants = frozenset(_having(metadata, ConstantAnnotation))
        self.array_annotations = _having(metadata, ArrayAnnotation)
        self.scalar_types = {name: found.dtype for name, found in _having(metadata, ScalarAnnotation).items()}
        # What tilec.launch has compiled of this kernel.
        self.compiled: dict[Any, Any] = {}

    def __call__(self, *_arguments: Any, **_keywords: Any) -> None:
        raise CompileError(
            f"kernel '{self.name}' cannot be called: start it with ct.launch(stream, grid, kernel, args)"
        )

    def __repr__(self) -> str:
        return f"<tilec kernel '{self.name}'>"

    @property
    def location(self) -> SourceLocation:
        """The line of its `def`."""
        source = read(self.function)
        return source.place(source.node)

    @public
    def replace_hints(self, **hints: Any) -> Kernel:
        """The same kernel with other hints."""
        return Kernel(self.function, self.hints.replace(**hints))

    @public
    def to_tile(self, signature: Signature, *, target: str | None = None) -> Module:
        """The verified `cuda_tile` module of this kernel for one signature.

        Raises CompileError with the user's line where the kernel breaks a rule, InputError where the signature does
        not fit. The module is the same for every target.
        """
        # Importing tilec must not load MLIR.
        from tilec.ast_to_tile.entry import kernel_to_tile
        from tilec.text_input.module import Module

        return Module(kernel_to_tile(self, signature.bind(self)))


@public
def kernel(function: FunctionType | None = None, /, **hints: Any) -> Any:
    """Decorator, with or without hints: num_ctas, occupancy, opt_level, num_worker_warps (a value or a ct.ByTarget).

    Raises CompileError for an unknown hint or something that is no Python function.
    """
    made = NO_HINTS.replace(**hints)
    if function is None:
        return lambda decorated: Kernel(_plain(decorated), made)
    return Kernel(_plain(function), made)


@public
def function(function: Callable[..., Any] | None = None, /, *, host: bool = False, tile: bool = True) -> Any:
    """Decorator of a helper for kernels; with `host=True` it can be called on the host too.

    Helpers need no decorator: a kernel may call any Python function that keeps to the language of kernels.
    """
    if function is None:
        return lambda decorated: _helper(decorated, host)
    return _helper(function, host)


def find(path: str | Path, name: str | None = None) -> Kernel:
    """The kernel `name` of a Python file, or its only kernel.

    Raises InputError where the file cannot be read or run, or has no such kernel.
    """
    module = _run(Path(path))
    kernels = {attribute: value for attribute, value in vars(module).items() if isinstance(value, Kernel)}
    if name is not None and name in kernels:
        return kernels[name]
    known = ", ".join(f"'{found}'" for found in kernels) or "none"
    if name is not None:
        raise InputError(f"{path} has no kernel '{name}', its kernels are: {known}")
    if len(kernels) != 1:
        raise InputError(f"expected one kernel in {path}, its kernels are: {known}; name one as {path}:NAME")
    return next(iter(kernels.values()))


def _plain(function: Any) -> FunctionType:
    if not isinstance(function, FunctionType):
        raise CompileError(f"ct.kernel decorates a Python function, got {type(function).__name__}")
    return function


def _symbol(name: str) -> str:
    """The name of the entry: PTX takes ASCII letters, digits and underscores only."""
    if name == "<lambda>":
        return "lambda_kernel"
    return "".join(letter if letter.isascii() else f"_u{ord(letter):x}" for letter in name)


def _parameters(function: FunctionType) -> tuple[str, ...]:
    parameters = inspect.signature(function).parameters.values()
    code = function.__code__
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise CompileError(
                f"kernel '{function.__name__}' cannot take a variable number of arguments ('{parameter}')",
                SourceLocation(code.co_filename, code.co_firstlineno),
            )
    return tuple(parameter.name for parameter in parameters)


def _annotations(function: FunctionType) -> dict[str, Any]:
    return {name: hint for name, hint in function.__annotations__.items() if name != "return"}


def _metadata(function: FunctionType, hint: Any) -> Iterable[Any]:
    """What stands beside the type in `Annotated[...]`; annotations may be strings (PEP 563)."""
    if isinstance(hint, str):
        names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
        try:
            hint = eval(hint, names)
        except Exception:
            return ()
    return hint.__metadata__ if typing.get_origin(hint) is Annotated else ()


def _having(metadata: dict[str, Iterable[Any]], kind: type) -> dict[str, Any]:
    return {name: item for name, items in metadata.items() for item in items if isinstance(item, kind)}


def _helper(function: Callable[..., Any], host: bool) -> Callable[..., Any]:
    if host:
        return function

    @functools.wraps(function)
    def on_host(*_arguments: Any, **_keywords: Any) -> Any:
        raise CompileError(f"'{function.__name__}' can be called inside a kernel only; decorate it with host=True")

    on_host.in_kernel = function  # type: ignore[attr-defined]
    return on_host


def _run(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"cannot read {path}: no such file")
    name = f"tilec_source_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise InputError(f"expected a Python file, got {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as problem:
        where = SourceLocation(problem.filename or str(path), problem.lineno or 1, problem.offset or 0)
        raise InputError(f"not Python: {problem.msg}", where) from problem
    except Exception as problem:
        raise InputError(
            f"{path} cannot be imported: {type(problem).__name__}: {problem}", _place(problem)
        ) from problem
    finally:
        sys.path.pop(0)
    return module


def _place(problem: Exception) -> SourceLocation | None:
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return SourceLocation(trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace is not None else None
