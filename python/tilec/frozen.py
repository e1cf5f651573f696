"""Classes of immutable values that cost almost nothing to define, for modules that every process imports.

`dataclass` compiles the methods of each class, which takes 0.4 ms; a first launch from the disk cache needs 60 classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from dataclasses import Field
    from inspect import Signature

T = TypeVar("T", bound="Frozen")

# The default of a field that has none.
_REQUIRED: Any = object()


class _DataclassFields:
    """The attribute by which the functions of `dataclasses` know a class, made when one of them asks for it."""

    def __get__(self, instance: object, owner: type[Frozen]) -> dict[str, Field[Any]]:
        import dataclasses

        columns: list[Any] = []
        for name, default in owner._defaults.items():
            default = dataclasses.MISSING if default is _REQUIRED else default
            shown = name not in owner._hidden
            field: Any = dataclasses.field(default=default, repr=shown, kw_only=owner._keywords_only)
            columns.append((name, owner._types[name], field))
        made: Any = dataclasses.make_dataclass(owner.__name__, columns)
        fields: dict[str, Field[Any]] = made.__dataclass_fields__
        return fields


class _Signature:
    """The signature of a class, for `inspect.signature`, made when it asks for it."""

    def __get__(self, instance: object, owner: type[Frozen]) -> Signature:
        from inspect import Parameter, Signature

        kind = Parameter.KEYWORD_ONLY if owner._keywords_only else Parameter.POSITIONAL_OR_KEYWORD
        parameters = []
        for name, default in owner._defaults.items():
            default = Parameter.empty if default is _REQUIRED else default
            parameters.append(Parameter(name, kind, default=default, annotation=owner._types[name]))
        return Signature(parameters)


@dataclass_transform(frozen_default=True)
class Frozen:
    """The base class of immutable values; a subclass is declared and behaves as one of `dataclass(frozen=True)`.

    The functions of `dataclasses` accept its objects. Keyword arguments of the class statement: `eq=False` compares
    objects by identity, `kw_only=True` refuses positional arguments, and the fields of `hidden` are not part of `repr`.

    Example:
        >>> class Point(Frozen):
        ...     x: int
        ...     y: int = 0
        >>> Point(1), replace(Point(1), y=2) == Point(1, 2)
        (Point(x=1, y=0), True)
    """

    _defaults: ClassVar[dict[str, Any]] = {}
    _types: ClassVar[dict[str, str]] = {}
    _hidden: ClassVar[tuple[str, ...]] = ()
    _keywords_only: ClassVar[bool] = False
    __match_args__: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _DataclassFields()
        __signature__ = _Signature()

    def __init_subclass__(cls, *, eq: bool = True, kw_only: bool = False, hidden: tuple[str, ...] = ()) -> None:
        own = {name: hint for name, hint in cls.__annotations__.items() if not hint.startswith("ClassVar")}
        cls._types = {**cls._types, **own}
        cls._defaults = {**cls._defaults, **{name: vars(cls).get(name, _REQUIRED) for name in own}}
        cls._hidden, cls._keywords_only = hidden, kw_only
        cls.__match_args__ = () if kw_only else tuple(cls._defaults)  # type: ignore[misc]
        if not eq:
            cls.__eq__, cls.__hash__ = object.__eq__, object.__hash__  # type: ignore[method-assign]

    def __init__(self, *given: Any, **named: Any) -> None:
        if not named and len(given) == len(self._defaults) and not self._keywords_only:
            self.__dict__.update(zip(self._defaults, given, strict=True))
            self.__post_init__()
            return
        # In the order of the fields, as the identity of a kernel requires.
        fields = {**self._defaults, **dict(zip(self._defaults, given, strict=False)), **named}
        missing = any(value is _REQUIRED for value in fields.values())
        repeated = named and any(name in named for name in list(self._defaults)[: len(given)])
        excess = len(given) > (0 if self._keywords_only else len(self._defaults))
        if missing or repeated or excess or len(fields) != len(self._defaults):
            _refuse_arguments(type(self), given, named)
        self.__dict__.update(fields)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Checks or completes the fields."""

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self._defaults if name not in self._hidden)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise _frozen("assign to", name)

    def __delattr__(self, name: str) -> NoReturn:
        raise _frozen("delete", name)


def replace(value: T, **changes: Any) -> T:
    """A copy of a value with other values of some fields."""
    return type(value)(**{name: getattr(value, name) for name in value._defaults} | changes)


def field_names(kind: type[Frozen]) -> tuple[str, ...]:
    """The names of the fields of a class, in order."""
    return tuple(kind._defaults)


def _values(value: Frozen) -> tuple[object, ...]:
    fields = value.__dict__
    return tuple([fields[name] for name in value._defaults])


def _refuse_arguments(kind: type[Frozen], given: tuple[object, ...], named: dict[str, object]) -> NoReturn:
    """Raises the TypeError of a call with these arguments."""
    try:
        _Signature().__get__(None, kind).bind(*given, **named)
    except TypeError as problem:
        raise TypeError(f"{kind.__name__}: {problem}") from None
    raise AssertionError("the arguments fit the signature")


def _frozen(action: str, name: str) -> AttributeError:
    # Imported here because it loads `inspect`.
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(f"cannot {action} field '{name}'")
