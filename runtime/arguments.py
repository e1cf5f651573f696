"""The Python arguments of a kernel, each with its entry arguments, its text and its JSON.

An array of rank r has a pointer, r extents and r strides in elements; a pointer or a scalar has one value; a constant
is compiled into the kernel and has none. `element` is a name of tilec.runtime.elements.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from tilec.runtime.elements import ELEMENTS, POINTEES
from tilec.runtime.json_record import Record


@dataclass(frozen=True)
class ArrayArgument:
    """An array; an extent or stride of None is known only at launch, strides count elements.

    The kernel assumes that the address is a multiple of `alignment` bytes, and each extent and stride a multiple of its
    divisor in `shape_divisors` and `stride_divisors`; the default divisors are 1.
    """

    name: str
    element: str
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    alignment: int = 1
    shape_divisors: tuple[int, ...] = ()
    stride_divisors: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for field in ("shape_divisors", "stride_divisors"):
            if not getattr(self, field):
                object.__setattr__(self, field, (1,) * self.rank)

    @property
    def rank(self) -> int:
        return len(self.shape)

    def value_names(self) -> tuple[str, ...]:
        """The names of the entry arguments."""
        axes = range(self.rank)
        return (self.name, *(f"{self.name}.shape[{i}]" for i in axes), *(f"{self.name}.strides[{i}]" for i in axes))

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "kind": "array",
            "element": self.element,
            "rank": self.rank,
            "shape": list(self.shape),
            "strides": list(self.strides),
            "alignment": self.alignment,
            "divisibility": {"shape": list(self.shape_divisors), "strides": list(self.stride_divisors)},
        }

    def __str__(self) -> str:
        extents = ",".join(map(_extent_text, self.shape, self.shape_divisors))
        strides = ",".join(map(_extent_text, self.strides, self.stride_divisors))
        return f"{self.name}: {self.element}[{extents}] strides ({strides}) align {self.alignment}"


def _extent_text(value: int | None, divisor: int) -> str:
    return f"?%{divisor}" if value is None else str(value)


@dataclass(frozen=True)
class PointerArgument:
    """An address of elements, passed as an array that starts there or as an integer."""

    name: str
    element: str
    alignment: int = 1

    def value_names(self) -> tuple[str, ...]:
        return (self.name,)

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "kind": "pointer", "element": self.element, "alignment": self.alignment}


@dataclass(frozen=True)
class ScalarArgument:
    """One number, passed at launch; a `signless` integer accepts signed and unsigned values."""

    name: str
    element: str
    signless: bool = False

    def value_names(self) -> tuple[str, ...]:
        return (self.name,)

    def to_json(self) -> dict[str, object]:
        known: dict[str, object] = {"name": self.name, "kind": "scalar", "element": self.element}
        return {**known, "signless": True} if self.signless else known

    def __str__(self) -> str:
        return f"{self.name}: {self.element}"


@dataclass(frozen=True)
class ElementConstant:
    """An element type that is the value of a constant."""

    element: str


ConstantValue = bool | int | float | str | None | ElementConstant


@dataclass(frozen=True)
class ConstantArgument:
    """A value compiled into the kernel."""

    name: str
    value: ConstantValue

    def value_names(self) -> tuple[str, ...]:
        return ()

    def to_json(self) -> dict[str, object]:
        value = {"dtype": self.value.element} if isinstance(self.value, ElementConstant) else self.value
        return {"name": self.name, "kind": "constant", "value": value}

    def __str__(self) -> str:
        return f"{self.name}={self.value.element if isinstance(self.value, ElementConstant) else repr(self.value)}"


Argument = ArrayArgument | PointerArgument | ScalarArgument | ConstantArgument


def from_text(text: str, origin: str) -> tuple[Argument, ...]:
    """The arguments in the JSON of a module's `tilec.signature`; `origin` names it in messages."""
    return read_arguments(Record.parse(text, origin)["arguments"])


def to_text(arguments: tuple[Argument, ...]) -> str:
    """The JSON of `tilec.signature` for these arguments."""
    return json.dumps({"arguments": [argument.to_json() for argument in arguments]})


def read_arguments(record: Record) -> tuple[Argument, ...]:
    """The arguments in a JSON list; raises InputError, naming a missing or invalid field."""
    return tuple(_read_argument(item) for item in record.items())


_FIELDS = {
    "array": {"name", "kind", "element", "rank", "shape", "strides", "alignment", "divisibility"},
    "pointer": {"name", "kind", "element", "alignment"},
    "scalar": {"name", "kind", "element", "signless"},
    "constant": {"name", "kind", "value"},
}


def _read_argument(record: Record) -> Argument:
    kind = record["kind"].text(_FIELDS)
    record.only(_FIELDS[kind])
    name = record["name"].text()
    if kind == "constant":
        return ConstantArgument(name, _read_constant(record["value"]))
    element = record["element"].text(ELEMENTS if kind == "array" else POINTEES)
    if kind == "scalar":
        return ScalarArgument(name, element, record.get("signless", False).boolean())
    alignment = record.get("alignment", 1).integer(1)
    if kind == "pointer":
        return PointerArgument(name, element, alignment)
    return _read_array(record, name, element, alignment)


def _read_constant(record: Record) -> ConstantValue:
    if isinstance(record.value, dict):
        return ElementConstant(record.only({"dtype"})["dtype"].text(POINTEES))
    if isinstance(record.value, list):
        raise record.error("a number, true, false, null, a string or an element type")
    return record.value


def _read_array(record: Record, name: str, element: str, alignment: int) -> ArrayArgument:
    rank = record["rank"].integer(0)
    divisibility = record.get("divisibility", {})
    return ArrayArgument(
        name,
        element,
        shape=_optional_integers(record["shape"], rank),
        strides=_optional_integers(record["strides"], rank),
        alignment=alignment,
        shape_divisors=_divisors(divisibility.get("shape", []), rank),
        stride_divisors=_divisors(divisibility.get("strides", []), rank),
    )


def _optional_integers(record: Record, rank: int) -> tuple[int | None, ...]:
    return tuple(None if item.value is None else item.integer(0) for item in record.items(rank))


def _divisors(record: Record, rank: int) -> tuple[int, ...]:
    """One divisor per axis; an empty list means 1 for each axis."""
    return tuple(item.integer(1) for item in record.items(rank)) if record.items() else (1,) * rank
