"""The decorators `@ct.kernel` and `@ct.function`, and the lookup of a kernel in a file."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Hashable, Mapping
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar, cast, overload

from tilec.ast_to_tile.source import read
from tilec.diagnostics.user_traceback import public
from tilec.errors import HostCallError, InputError, KernelUseError, SourceLocation
from tilec.language.hints import NO_HINTS, Hint
from tilec.language.parameter_annotations import parameter_annotations
from tilec.runtime.dispatch._dispatch import KernelDispatch

if TYPE_CHECKING:
    from pathlib import Path

    from tilec.signature import Signature
    from tilec.text_input.module import Module

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class kernel(KernelDispatch):
    """A function that every block of a grid executes, and the decorator of such functions, with or without hints.

    `ct.launch` runs a kernel; calling it raises an error. `parameters` are the names of its parameters in order,
    `constants` those annotated with `ct.Constant`. A kernel may be a function of a module, of a class (the parameters
    of its instances are explicit) or of another function, whose variables it reads when it is compiled.

    Args:
        function: the Python function; without it, the call returns the decorator.
        num_ctas: blocks per cluster, a power of two from 1 to 16; the compiler chooses if it is None.
        occupancy: resident blocks per SM, 1 to 32; the compiler chooses if it is None.
        opt_level: the optimization level of ptxas, 0 to 3; 3 if it is None.
        num_worker_warps: warps that compute, a power of two from 1 to 32; the compiler chooses if it is None.
        interpret: whether a launch on host arrays executes the Python function itself, statement by statement, so that
            debuggers can stop in it (docs/interactive.md).

    Each hint is a value for all targets or a ct.ByTarget.

    Raises:
        ValueError: a hint is out of range (also a CompileError).
        TypeError: a hint is unknown, or the decorated object is not a Python function (also a CompileError).

    Example:
        >>> @ct.kernel(occupancy=2)
        ... def example(x, n: ct.Constant[int]): ct.store(x, ct.bid(0), ct.full(n, 1.5, ct.float32))
        >>> example, example.parameters, sorted(example.constants), isinstance(example, ct.kernel)
        (<tilec kernel 'example'>, ('x', 'n'), ['n'], True)
        >>> x = np.zeros(3, np.float32)
        >>> ct.launch(None, 1, example, (x, 2), backend="interpret")
        >>> x
        array([1.5, 1.5, 0. ], dtype=float32)
    """

    @overload
    def __new__(
        cls,
        function: Callable[..., object],
        /,
        *,
        num_ctas: Hint = None,
        occupancy: Hint = None,
        opt_level: Hint = None,
        num_worker_warps: Hint = None,
        interpret: bool = False,
    ) -> kernel: ...

    @overload
    def __new__(  # type: ignore[misc]
        cls,
        function: None = None,
        /,
        *,
        num_ctas: Hint = None,
        occupancy: Hint = None,
        opt_level: Hint = None,
        num_worker_warps: Hint = None,
        interpret: bool = False,
    ) -> Callable[[Callable[..., object]], kernel]: ...

    @public
    def __new__(cls, function: object = None, /, *, interpret: bool = False, **hints: Any) -> Any:
        if function is not None:
            return super().__new__(cls)
        # Hints are checked where they are written, before the function is known.
        NO_HINTS.replace(**hints)
        return lambda decorated: cls(_python_function(decorated), interpret=interpret, **hints)

    @public
    def __init__(
        self,
        function: Callable[..., object] | None = None,
        /,
        *,
        num_ctas: Hint = None,
        occupancy: Hint = None,
        opt_level: Hint = None,
        num_worker_warps: Hint = None,
        interpret: bool = False,
        **unknown: object,
    ) -> None:
        decorated = _python_function(function)
        functools.update_wrapper(self, decorated)
        self.function = decorated
        self.hints = NO_HINTS.replace(
            num_ctas=num_ctas,
            occupancy=occupancy,
            opt_level=opt_level,
            num_worker_warps=num_worker_warps,
            **cast(dict[str, Hint], unknown),
        )
        self.interpret = interpret
        self.name = _symbol(decorated.__name__)
        self.parameters = _parameters(decorated)
        self.annotations = parameter_annotations(decorated)
        self.constants = frozenset(name for name, found in self.annotations.items() if found.constant)
        # The cache of the variants compiled by ct.launch and tilec.run: results of the driver.
        self.compiled: dict[Hashable, Any] = {}

    # Type checkers that ignore the result of __new__ read a decorator with hints as a call of a kernel.
    def __call__(self, *_arguments: object, **_keywords: object) -> Any:
        raise KernelUseError(
            f"kernel '{self.name}' cannot be called: run it with ct.launch(stream, grid, kernel, args)"
        )

    def __getitem__(self, _grid: object) -> Any:
        raise KernelUseError.of_subscript(self.name)

    def __repr__(self) -> str:
        return f"<tilec kernel '{self.name}'>"

    # As functions, kernels are not copied.
    def __copy__(self) -> kernel:
        return self

    def __deepcopy__(self, _copied: object) -> kernel:
        return self

    def __reduce__(self) -> str | tuple[object, ...]:
        """The name in its module, by which another process imports the kernel; with the hints if they were replaced."""
        found = _imported_by_name(self)
        if found is self:
            return self.function.__qualname__
        if isinstance(found, kernel) and found.function is self.function:
            return _with_hints, (found, self.interpret, vars(self.hints))
        raise _not_importable(self)

    @property
    def _pyfunc(self) -> Callable[..., object]:
        """The Python function, under the name by which programs written for cuTile Python take it out of a kernel."""
        return self.function

    @property
    def refusal_in_kernel(self) -> str:
        """The error message for a call of this kernel in a kernel."""
        return f"kernel '{self.name}' cannot be called from a kernel: call a plain function"

    @property
    def location(self) -> SourceLocation:
        """The source location of the `def` statement."""
        source = read(self.function)
        return source.source_location(source.node)

    @public
    def replace_hints(self, **hints: Hint) -> kernel:
        """The same kernel with other hints.

        Args:
            hints: hints by name, as in ct.kernel; all other hints remain unchanged.

        Returns:
            A new kernel.

        Raises:
            ValueError: a hint is out of range (also a CompileError).
            TypeError: a hint is unknown (also a CompileError).

        Example:
            >>> @ct.kernel(occupancy=2)
            ... def example(): pass
            >>> example.replace_hints(occupancy=4).hints.occupancy
            4
        """
        return kernel(self.function, interpret=self.interpret, **vars(self.hints.replace(**hints)))

    @public
    def to_tile(self, signature: Signature, *, target: str | None = None, checks: bool = False) -> Module:
        """The verified Tile IR of this kernel for one signature.

        Args:
            signature: the signature.
            target: ignored, because the module is the same for every target.
            checks: whether to assert what the kernel promises by `check_bounds=False` and by the steps of its loops.

        Returns:
            The module.

        Raises:
            CompileError: the kernel violates a rule, with the source location.
            InputError: the signature does not match the parameters of the kernel.

        Example:
            >>> from tilec.signature import parse
            >>> @ct.kernel
            ... def example(x): ct.store(x, 0, ct.ones(4, ct.int32))
            >>> example.to_tile(parse("x: i32[?]")).entries
            ['example']
        """
        # Imported here because importing tilec must not load MLIR.
        from tilec.ast_to_tile.entry import kernel_to_tile
        from tilec.text_input.module import Module

        return Module(kernel_to_tile(self, signature.bind(self), checks))


# The name of the class in annotations.
Kernel = kernel


def _with_hints(base: kernel, interpret: bool, hints: dict[str, Hint]) -> kernel:
    return kernel(base.function, interpret=interpret, **hints)


def _imported_by_name(given: kernel) -> object:
    """What another process finds by the module and the name of a kernel; None if it cannot find anything."""
    module = sys.modules.get(given.__module__)
    # The main module of a notebook, of `-c` and of standard input has no file that another process could import.
    if module is None or given.__module__ == "__main__" and not hasattr(module, "__file__"):
        return None
    found: object = module
    for name in given.function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found


def _not_importable(given: kernel) -> Exception:
    # Imported here because most programs do not need it.
    from pickle import PicklingError

    name, code = given.function.__qualname__, given.function.__code__
    where = SourceLocation(code.co_filename, code.co_firstlineno)
    return PicklingError(
        f"{where}: kernel '{given.name}' cannot be pickled, because another process cannot import "
        f"'{name}' from '{given.__module__}': define it at the top level of a module that is a file, "
        "under the name of its function"
    )


@overload
def function(function: Callable[P, R], /, *, host: bool = False, tile: bool = True) -> Callable[P, R]: ...


@overload
def function(
    function: None = None, /, *, host: bool = False, tile: bool = True
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


@public
def function(
    function: Callable[..., object] | None = None, /, *, host: bool = False, tile: bool = True
) -> Callable[..., object]:
    """Decorates a function that kernels call; kernels can also call functions without this decorator.

    Args:
        function: the Python function.
        host: whether the function can also be called on the host.
        tile: ignored, because kernels can call every function.

    Returns:
        The decorated function, or the decorator if no function is passed.

    Raises:
        RuntimeError: a function without `host=True` is called on the host (also a CompileError).

    Example:
        >>> @ct.function(host=True)
        ... def square(x): return x * x
        >>> @ct.kernel
        ... def example(): print(square(ct.arange(4, dtype=ct.int32)))
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0, 1, 4, 9]
        >>> square(5)
        25
    """
    if function is None:
        return lambda decorated: _kernel_callable(decorated, host)
    return _kernel_callable(function, host)


def find(path: str | Path, name: str | None = None) -> Kernel:
    """The kernel `name` of a Python file, or its only kernel.

    Raises InputError if the file cannot be read or imported, or has no such kernel.
    """
    # Imported here because importing tilec must be fast.
    from pathlib import Path

    return selected(vars(_run(Path(path))), str(path), name)


def selected(namespace: Mapping[str, object], path: str, name: str | None) -> Kernel:
    """The kernel `name` of the names that a Python text defines, or its only kernel; raises InputError without it."""
    kernels = _kernels(namespace)
    if name is not None and name in kernels:
        return kernels[name]
    known = ", ".join(f"'{found}'" for found in kernels) or "none"
    if name is not None:
        raise InputError(f"{path} has no kernel '{name}', its kernels are: {known}")
    if len(kernels) != 1:
        remedy = f"select one with --entry NAME or {path}:NAME"
        raise InputError(f"expected one kernel in {path}, its kernels are: {known}: {remedy}")
    return next(iter(kernels.values()))


def kernels_of(path: str | Path) -> dict[str, Kernel]:
    """The kernels that a Python file defines, by name, without those that it imports.

    Raises InputError if the file cannot be read or imported.
    """
    # Imported here because importing tilec must be fast.
    from pathlib import Path

    module = _run(Path(path))
    found = _kernels(vars(module)).items()
    return {name: kernel for name, kernel in found if kernel.function.__module__ == module.__name__}


def _kernels(namespace: Mapping[str, object]) -> dict[str, Kernel]:
    return {name: value for name, value in namespace.items() if isinstance(value, Kernel)}


def _python_function(function: object) -> FunctionType:
    if not isinstance(function, FunctionType):
        raise KernelUseError(f"ct.kernel expects a Python function, got {type(function).__name__}")
    return function


def _symbol(name: str) -> str:
    """The name of the entry in ASCII letters, digits and underscores, as PTX requires."""
    if name == "<lambda>":
        return "lambda_kernel"
    return "".join(letter if letter.isascii() else f"_u{ord(letter):x}" for letter in name)


def _parameters(function: FunctionType) -> tuple[str, ...]:
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    code = function.__code__
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise KernelUseError(
                f"kernel '{function.__name__}' cannot take a variable number of arguments ('{parameter}')",
                SourceLocation(code.co_filename, code.co_firstlineno),
            )
    return tuple(parameter.name for parameter in parameters)


def _kernel_callable(function: Callable[..., object], host: bool) -> Callable[..., object]:
    if host:
        return function

    @functools.wraps(function)
    def on_host(*_arguments: object, **_keywords: object) -> NoReturn:
        raise HostCallError(
            f"'{function.__name__}' can be called inside a kernel only: decorate it with @ct.function(host=True)"
        )

    on_host.in_kernel = function  # type: ignore[attr-defined]
    return on_host


def _run(path: Path) -> ModuleType:
    import importlib.util

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
    except Exception as problem:
        raise import_error(str(path), problem) from problem
    finally:
        sys.path.pop(0)
    return module


def import_error(path: str, problem: Exception) -> InputError:
    """The error for a Python text that cannot be executed."""
    if isinstance(problem, SyntaxError):
        location = SourceLocation(problem.filename or path, problem.lineno or 1, problem.offset or 0)
        return InputError(f"invalid Python syntax: {problem.msg}", location)
    return InputError(f"{path} cannot be imported: {type(problem).__name__}: {problem}", _raised_at(problem))


def _raised_at(problem: Exception) -> SourceLocation | None:
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return SourceLocation(trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace is not None else None
