"""The annotations of the parameters of a kernel, with those of the items of tuples."""

from __future__ import annotations

import functools
import inspect
import sys
import typing
from collections.abc import Iterable, Mapping
from types import CellType, FrameType, FunctionType
from typing import Annotated, Any, TypeVar

from tilec.errors import ArgumentTypeError
from tilec.frozen import Frozen, replace
from tilec.language.annotations import ArrayAnnotation, ConstantAnnotation, ListAnnotation, ScalarAnnotation

T = TypeVar("T")


class ParameterAnnotation(Frozen):
    """The contents of the annotation of a parameter, or of an item of a tuple.

    `items` annotate the items of a tuple of this length, `each` all items of a tuple of any length.
    """

    constant: bool = False
    array: ArrayAnnotation | None = None
    scalar: ScalarAnnotation | None = None
    list: ListAnnotation | None = None
    items: tuple[ParameterAnnotation, ...] | None = None
    each: ParameterAnnotation | None = None

    def check(self, name: str) -> None:
        """Raises ArgumentTypeError, which is a TypeError, if two annotations exclude each other."""
        given = [_TITLES[field] for field in _TITLES if getattr(self, field)]
        if len(given) > 1:
            raise ArgumentTypeError(f"argument '{name}': {given[0]} cannot be combined with {given[1]}")

    def item(self, index: int) -> ParameterAnnotation:
        """The annotation of an item of the tuple; that of a constant is constant."""
        found = self.items[index] if self.items is not None else self.each or ParameterAnnotation()
        return replace(found, constant=True) if self.constant else found


# In the order in which `check` names them.
_TITLES = {
    "constant": "ct.Constant",
    "scalar": "ct.ScalarInt64",
    "array": "ct.ArrayAnnotation or ct.IndexedWithInt64",
    "list": "ct.ListAnnotation",
}


def parameter_annotations(function: FunctionType) -> dict[str, ParameterAnnotation]:
    """The annotations of all parameters of a function; an annotation may be a string (PEP 563)."""
    hints = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    names: Mapping[str, object] = {}
    if any(isinstance(hint, str) for hint in hints.values()):
        names = {**_variables_of_caller(), **function.__globals__, **_closure(function)}
    found = {name: _annotation(_evaluated(hint, names)) for name, hint in hints.items()}
    return {
        name: found.get(name, ParameterAnnotation())
        for name in inspect.signature(function, follow_wrapped=False).parameters
    }


def _closure(function: FunctionType) -> dict[str, object]:
    """The values of the free variables; one that is assigned after the decorator has none yet."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if cell != CellType()}


@functools.cache
def field_annotations(kind: type) -> dict[str, ParameterAnnotation]:
    """The annotations of the fields of a dataclass."""
    names = vars(sys.modules[kind.__module__]) if kind.__module__ in sys.modules else {}
    hints = {name: hint for base in reversed(kind.__mro__) for name, hint in inspect.get_annotations(base).items()}
    return {name: _annotation(_evaluated(hint, names)) for name, hint in hints.items()}


def _annotation(hint: object) -> ParameterAnnotation:
    metadata: tuple[object, ...] = ()
    if typing.get_origin(hint) is Annotated:
        hint, *rest = typing.get_args(hint)
        metadata = tuple(rest)
    items, each = _items(hint)
    return ParameterAnnotation(
        any(isinstance(item, ConstantAnnotation) for item in metadata),
        _first(metadata, ArrayAnnotation),
        _first(metadata, ScalarAnnotation),
        _first(metadata, ListAnnotation),
        items,
        each,
    )


def _items(hint: object) -> tuple[tuple[ParameterAnnotation, ...] | None, ParameterAnnotation | None]:
    """The annotations of the items of `tuple[...]`: of each one, or one for all."""
    if typing.get_origin(hint) is not tuple:
        return None, None
    arguments = typing.get_args(hint)
    if len(arguments) == 2 and arguments[1] is ...:
        return None, _annotation(arguments[0])
    return tuple(map(_annotation, arguments)), None


def _first(metadata: Iterable[object], kind: type[T]) -> T | None:
    return next((item for item in metadata if isinstance(item, kind)), None)


def _evaluated(hint: object, names: Mapping[str, object]) -> object:
    """The annotation; None for a string that cannot be evaluated, which a type checker may know all the same."""
    if not isinstance(hint, str):
        return hint
    try:
        return eval(hint, dict(names))
    except Exception:
        return None


def _variables_of_caller() -> dict[str, Any]:
    """The variables of the function that contains the decorator, which annotations may name."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "tilec":
        frame = frame.f_back
    return dict(frame.f_locals) if frame is not None else {}
