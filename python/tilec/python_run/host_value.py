"""The values of a kernel as Python sees them: operators, methods and attributes of kernels, elements for a debugger."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tilec.ast_to_tile.values.values import Range, Tile, TypedConstant, describe

if TYPE_CHECKING:
    from tilec.python_run.block import BlockRun


class HostValue:
    """A value of a running kernel, `kernel_value`; every operation on it is that of the kernel language."""

    # numpy leaves operators with an array or a numpy number on the left to this class.
    __array_ufunc__ = None
    __slots__ = ("kernel_value", "_run")

    def __init__(self, kernel_value: object, run: BlockRun) -> None:
        self.kernel_value = kernel_value
        self._run = run

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._run.evaluate(ast.Attribute(ast.Name("value"), name), value=self)

    def __getitem__(self, key: object) -> Any:
        return self._run.evaluate(ast.Subscript(ast.Name("value"), ast.Name("key")), value=self, key=key)

    def __call__(self, *arguments: object, **keywords: object) -> Any:
        return self._run.call(self, arguments, keywords)

    def __iter__(self) -> Iterator[Any]:
        if not isinstance(self.kernel_value, Range):
            raise TypeError(f"{describe(self.kernel_value)} cannot be iterated")
        return self._run.counters(self.kernel_value)

    def __bool__(self) -> bool:
        return self._run.decided(self)

    def __neg__(self) -> Any:
        return self._run.evaluate(ast.UnaryOp(ast.USub(), ast.Name("value")), value=self)

    def __pos__(self) -> Any:
        return self._run.evaluate(ast.UnaryOp(ast.UAdd(), ast.Name("value")), value=self)

    def __invert__(self) -> Any:
        return self._run.evaluate(ast.UnaryOp(ast.Invert(), ast.Name("value")), value=self)

    def __abs__(self) -> Any:
        return self._run.call(abs, (self,), {})

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._run.elements(self.kernel_value), dtype=dtype)  # type: ignore[call-overload]

    def __str__(self) -> str:
        return self._run.text(self, "")

    def __format__(self, specification: str) -> str:
        return self._run.text(self, specification)

    def __repr__(self) -> str:
        described = describe(self.kernel_value).removeprefix("a ").removeprefix("an ")
        if not isinstance(self.kernel_value, Tile | TypedConstant):
            return f"<{described}>"
        return f"<{described}: {np.array2string(self._run.elements(self.kernel_value), separator=', ')}>"

    # Comparisons yield tiles, so that a value is hashed by its identity.
    __hash__ = object.__hash__


def _binary(operator: ast.operator, reflected: bool) -> Callable[[HostValue, object], Any]:
    def apply(self: HostValue, other: object) -> Any:
        left, right = (other, self) if reflected else (self, other)
        return self._run.evaluate(ast.BinOp(ast.Name("left"), operator, ast.Name("right")), left=left, right=right)

    return apply


def _comparison(operator: ast.cmpop) -> Callable[[HostValue, object], Any]:
    def apply(self: HostValue, other: object) -> Any:
        node = ast.Compare(ast.Name("left"), [operator], [ast.Name("right")])
        return self._run.evaluate(node, left=self, right=other)

    return apply


_OPERATORS: dict[str, ast.operator] = {
    "add": ast.Add(),
    "sub": ast.Sub(),
    "mul": ast.Mult(),
    "truediv": ast.Div(),
    "floordiv": ast.FloorDiv(),
    "mod": ast.Mod(),
    "pow": ast.Pow(),
    "and": ast.BitAnd(),
    "or": ast.BitOr(),
    "xor": ast.BitXor(),
    "lshift": ast.LShift(),
    "rshift": ast.RShift(),
    "matmul": ast.MatMult(),
}
_COMPARISONS: dict[str, ast.cmpop] = {
    "eq": ast.Eq(),
    "ne": ast.NotEq(),
    "lt": ast.Lt(),
    "le": ast.LtE(),
    "gt": ast.Gt(),
    "ge": ast.GtE(),
}
for _name, _operator in _OPERATORS.items():
    setattr(HostValue, f"__{_name}__", _binary(_operator, reflected=False))
    setattr(HostValue, f"__r{_name}__", _binary(_operator, reflected=True))
for _name, _compared in _COMPARISONS.items():
    setattr(HostValue, f"__{_name}__", _comparison(_compared))
