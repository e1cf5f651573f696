"""Calls of kernels from JAX functions: `cutile_call`, also under `jax.jit`.

JAX calls back to the host for each kernel: on the CPU the simulator runs it, on a GPU it is launched on copies of the
arrays. JAX is imported by the first call.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from tilec.diagnostics.user_traceback import public
from tilec.driver.backends import chosen_backend
from tilec.driver.kernel_launch import launch
from tilec.driver.specialized import specialized
from tilec.errors import ArgumentTypeError, UsageError
from tilec.language.kernel import Kernel

__all__ = ["InputOutput", "OutputPlaceholder", "cutile_call"]


@dataclass(frozen=True)
class OutputPlaceholder:
    """An output array of a call; its elements are zero before the kernel runs.

    Args:
        shape: the extents.
        dtype: the element type, of numpy or ml_dtypes.

    Example:
        >>> from tilec.jax import OutputPlaceholder
        >>> OutputPlaceholder((4,), np.float32).shape
        (4,)
    """

    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class InputOutput:
    """An input array that the kernel also stores to; the call returns the result, and the input remains unchanged.

    Args:
        array: the array of JAX.

    Example:
        >>> from tilec.jax import InputOutput
        >>> InputOutput(np.zeros(4)).array.shape
        (4,)
    """

    array: Any


@public
def cutile_call(grid: tuple[int, ...], kernel: Kernel, args: tuple[Any, ...]) -> Any:
    """Runs a kernel on arrays of JAX.

    Args:
        grid: one to three numbers of blocks.
        kernel: the kernel.
        args: the arguments in the order of the parameters: arrays of JAX, which the kernel only reads,
            OutputPlaceholder and InputOutput for its results, numbers and values of constants, and tuples of them.

    Returns:
        The only result, or a tuple of the results in the order of their parameters.

    Raises:
        TypeError: the number of arguments or the type of one is wrong.
        CompileError: the kernel violates a rule, at its source line; while JAX traces the call.

    Example:
        >>> from tilec.jax import OutputPlaceholder, cutile_call
        >>> @ct.kernel
        ... def double(x, y): ct.store(y, 0, ct.load(x, 0, 4) * 2)
        >>> callable(cutile_call)
        True
    """
    if not isinstance(kernel, Kernel):
        raise ArgumentTypeError(f"cutile_call expects a kernel, got {type(kernel).__name__}")
    if not isinstance(args, tuple):
        raise ArgumentTypeError(f"cutile_call expects the arguments as a tuple, got {type(args).__name__}")
    jax = _jax()
    call = _Call(jax, grid, kernel, args, _backend(jax))
    call.compile()
    results = jax.pure_callback(call.run, call.outputs, *call.inputs, vmap_method="sequential")
    return results[0] if len(results) == 1 else tuple(results)


def _jax() -> Any:
    try:
        return import_module("jax")
    except ImportError as problem:
        raise UsageError(f"tilec.jax needs JAX: pip install jax ({problem})") from None


def _backend(jax: Any) -> str | None:
    """The backend for the default device of JAX; None for that of host arrays."""
    if jax.default_backend() == "cpu":
        return None
    warnings.warn("tilec.jax copies arrays between the GPU and the host for each call", stacklevel=4)
    return "launch"


@dataclass
class _Call:
    """A call: its arguments, in which arrays of JAX are abstract while it is traced."""

    jax: Any
    grid: tuple[int, ...]
    kernel: Kernel
    args: tuple[Any, ...]
    backend: str | None
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        for value in _leaves(self.args):
            if isinstance(value, self.jax.Array | InputOutput):
                self.inputs.append(value.array if isinstance(value, InputOutput) else value)
            if isinstance(value, OutputPlaceholder | InputOutput):
                described = value.array if isinstance(value, InputOutput) else value
                self.outputs.append(self.jax.ShapeDtypeStruct(described.shape, described.dtype))

    def compile(self) -> None:
        """Compiles the kernel for arrays of these types, so that its errors are not those of a callback."""
        arguments, _ = self._arguments([np.empty(found.shape, found.dtype) for found in self.inputs])
        specialized(self.kernel, chosen_backend(self.backend, arguments), arguments)

    def run(self, *arrays: Any) -> tuple[np.ndarray, ...]:
        """The results for concrete arrays."""
        arguments, results = self._arguments(arrays)
        launch(None, self.grid, self.kernel, arguments, backend=self.backend)
        return tuple(results)

    def _arguments(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], list[np.ndarray]]:
        """The arguments of the launch, and those arrays among them that are results."""
        left = iter(arrays)
        results: list[np.ndarray] = []

        def argument(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(argument, value))
            if isinstance(value, self.jax.Array):
                return np.asarray(next(left))
            if isinstance(value, InputOutput):
                results.append(np.array(next(left)))
                return results[-1]
            if isinstance(value, OutputPlaceholder):
                results.append(np.zeros(value.shape, value.dtype))
                return results[-1]
            return value

        return tuple(map(argument, self.args)), results


def _leaves(values: tuple[Any, ...]) -> list[Any]:
    """The values without tuples, whose items take their place."""
    found = []
    for value in values:
        found += _leaves(value) if isinstance(value, tuple) else [value]
    return found
