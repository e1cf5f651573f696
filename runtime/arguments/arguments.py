"""The Python arguments of a kernel, each with its entry arguments, its text and its JSON.

An array of rank r has a pointer, r extents and r strides in elements; a pointer or a scalar has one value; a list of
arrays has the address of its table and its length; a constant is compiled into the kernel and has none; a tuple or a
record has the values of its items. `element` is a name of tilec.runtime.arguments.elements. The name of an item is its
path from the parameter, as in `args[1].weights[2]`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import Enum

from tilec.element_types import EXTENSION_FLOATS
from tilec.frozen import Frozen
from tilec.runtime.arguments.elements import ELEMENTS, POINTEES
from tilec.runtime.json_record import Record


def _text_with_name(argument: Argument) -> str:
    """The argument in the text of a signature."""
    return f"{argument.name}{_described(argument)}"


class ArrayArgument(Frozen):
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
    # The type of the extents and strides, i32 or i64.
    index: str = "i32"

    def __post_init__(self) -> None:
        for divisors in ("shape_divisors", "stride_divisors"):
            if not getattr(self, divisors):
                object.__setattr__(self, divisors, (1,) * self.rank)

    @property
    def rank(self) -> int:
        return len(self.shape)

    def value_names(self) -> tuple[str, ...]:
        """The names of the entry arguments."""
        axes = range(self.rank)
        return (self.name, *(f"{self.name}.shape[{i}]" for i in axes), *(f"{self.name}.strides[{i}]" for i in axes))

    def to_json(self) -> dict[str, object]:
        known: dict[str, object] = {
            "name": self.name,
            "kind": "array",
            "element": self.element,
            "rank": self.rank,
            "shape": list(self.shape),
            "strides": list(self.strides),
            "alignment": self.alignment,
            "divisibility": {"shape": list(self.shape_divisors), "strides": list(self.stride_divisors)},
        }
        return known if self.index == "i32" else {**known, "index": self.index}

    def described(self) -> str:
        """The text after the name."""
        extents = ",".join(map(_extent_text, self.shape, self.shape_divisors))
        strides = ",".join(map(_extent_text, self.strides, self.stride_divisors))
        index = "" if self.index == "i32" else f" index {self.index}"
        return f": {self.element}[{extents}] strides ({strides}) align {self.alignment}{index}"

    __str__ = _text_with_name


def _extent_text(value: int | None, divisor: int) -> str:
    return f"?%{divisor}" if value is None else str(value)


class PointerArgument(Frozen):
    """An address of elements, passed as an array that starts there or as an integer."""

    name: str
    element: str
    alignment: int = 1

    def value_names(self) -> tuple[str, ...]:
        return (self.name,)

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "kind": "pointer", "element": self.element, "alignment": self.alignment}


class ScalarArgument(Frozen):
    """One number, passed at launch; a `signless` integer accepts signed and unsigned values."""

    name: str
    element: str
    signless: bool = False

    def value_names(self) -> tuple[str, ...]:
        return (self.name,)

    def to_json(self) -> dict[str, object]:
        known: dict[str, object] = {"name": self.name, "kind": "scalar", "element": self.element}
        return {**known, "signless": True} if self.signless else known

    def described(self) -> str:
        """The text after the name."""
        return f": {self.element}"

    __str__ = _text_with_name


class ElementConstant(Frozen):
    """An element type that is the value of a constant."""

    element: str


class MemberConstant(Frozen, hidden=("member",)):
    """A member of an enumeration that is the value of a constant; `member` is None if it was read from text."""

    name: str
    member: Enum | None = None

    @classmethod
    def of(cls, member: Enum) -> MemberConstant:
        return cls(f"{type(member).__module__}:{type(member).__qualname__}.{member.name}", member)


ConstantValue = bool | int | float | str | None | ElementConstant | MemberConstant


class ConstantArgument(Frozen):
    """A value compiled into the kernel."""

    name: str
    value: ConstantValue

    def value_names(self) -> tuple[str, ...]:
        return ()

    def to_json(self) -> dict[str, object]:
        value: object = self.value
        if isinstance(self.value, ElementConstant):
            value = {"dtype": self.value.element}
        if isinstance(self.value, MemberConstant):
            value = {"member": self.value.name}
        return {"name": self.name, "kind": "constant", "value": value}

    def described(self) -> str:
        """The text after the name."""
        if isinstance(self.value, MemberConstant):
            return f"={self.value.name.rpartition(':')[2]}"
        return f"={self.value.element if isinstance(self.value, ElementConstant) else repr(self.value)}"

    __str__ = _text_with_name


class ListArgument(Frozen):
    """A list of arrays with the properties of `element`, which the kernel indexes at run time.

    The list is passed as a table in memory: for each array 1 + 2 * rank words of 64 bits, the address, the extents and
    the strides in elements.
    """

    name: str
    element: ArrayArgument

    def value_names(self) -> tuple[str, ...]:
        return (self.name, f"len({self.name})")

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "kind": "list", "element": self.element.to_json()}

    def described(self) -> str:
        """The text after the name."""
        return f": list{self.element.described()[1:]}"

    __str__ = _text_with_name


class TupleArgument(Frozen):
    """A tuple; its items have the names `name[0]`, `name[1]`, ..."""

    name: str
    items: tuple[Argument, ...]

    def value_names(self) -> tuple[str, ...]:
        return tuple(name for item in self.items for name in item.value_names())

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "kind": "tuple", "items": [item.to_json() for item in self.items]}

    def described(self) -> str:
        """The text after the name."""
        comma = "," if len(self.items) == 1 else ""
        return f": ({', '.join(item_text(item) for item in self.items)}{comma})"

    __str__ = _text_with_name


class RecordArgument(Frozen, hidden=("kind",)):
    """A dataclass; its fields have the names `name.field`.

    `kind` is the class; it is None if the argument was read from text.
    """

    name: str
    class_name: str
    items: tuple[Argument, ...]
    kind: type | None = None

    def value_names(self) -> tuple[str, ...]:
        return tuple(name for item in self.items for name in item.value_names())

    def field_names(self) -> tuple[str, ...]:
        """The names of the fields without the path."""
        return tuple(item.name[len(self.name) + 1 :] for item in self.items)

    def to_json(self) -> dict[str, object]:
        items = [item.to_json() for item in self.items]
        return {"name": self.name, "kind": "record", "class": self.class_name, "items": items}

    def described(self) -> str:
        """The text after the name."""
        fields = zip(self.field_names(), self.items, strict=True)
        return f": {self.class_name}{{{', '.join(f'{name}{_described(item)}' for name, item in fields)}}}"

    __str__ = _text_with_name


Argument = (
    ArrayArgument | PointerArgument | ScalarArgument | ConstantArgument | ListArgument | TupleArgument | RecordArgument
)


def item_text(item: Argument) -> str:
    """The text of an item of a tuple: without a name; a constant has the prefix `=`."""
    return _described(item).removeprefix(": ")


def _described(item: Argument) -> str:
    if isinstance(item, PointerArgument):
        raise AssertionError(f"the pointer '{item.name}' has no text form")
    return item.described()


def leaves(arguments: Sequence[Argument]) -> Iterator[Argument]:
    """The arguments without tuples and records, whose items take their place."""
    for argument in arguments:
        if isinstance(argument, TupleArgument | RecordArgument):
            yield from leaves(argument.items)
        else:
            yield argument


def classes_in(arguments: Sequence[Argument]) -> Iterator[object]:
    """The classes of records and the members of enumerations, in order."""
    for argument in arguments:
        if isinstance(argument, RecordArgument):
            yield argument.kind
        if isinstance(argument, TupleArgument | RecordArgument):
            yield from classes_in(argument.items)
        elif isinstance(argument, ConstantArgument) and isinstance(argument.value, MemberConstant):
            yield argument.value.member


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
    "array": {"name", "kind", "element", "rank", "shape", "strides", "alignment", "divisibility", "index"},
    "pointer": {"name", "kind", "element", "alignment"},
    "scalar": {"name", "kind", "element", "signless"},
    "constant": {"name", "kind", "value"},
    "list": {"name", "kind", "element"},
    "tuple": {"name", "kind", "items"},
    "record": {"name", "kind", "class", "items"},
}


def _read_argument(record: Record) -> Argument:
    kind = record["kind"].text(_FIELDS)
    record.only(_FIELDS[kind])
    name = record["name"].text()
    if kind == "constant":
        return ConstantArgument(name, _read_constant(record["value"]))
    if kind == "tuple":
        return TupleArgument(name, read_arguments(record["items"]))
    if kind == "record":
        return _read_record(record, name)
    if kind == "list":
        return ListArgument(name, _read_list_element(record["element"]))
    element = record["element"].text(ELEMENTS if kind == "array" else POINTEES)
    if kind == "scalar":
        return ScalarArgument(name, element, record.get("signless", False).boolean())
    alignment = record.get("alignment", 1).integer(1)
    if kind == "pointer":
        return PointerArgument(name, element, alignment)
    return _read_array(record, name, element, alignment)


def _read_record(record: Record, name: str) -> RecordArgument:
    items = read_arguments(record["items"])
    for index, item in enumerate(items):
        if not item.name.startswith(f"{name}."):
            raise record["items"].items()[index]["name"].error(f"a name that starts with '{name}.'")
    return RecordArgument(name, record["class"].text(), items)


def _read_list_element(record: Record) -> ArrayArgument:
    element = _read_argument(record)
    if not isinstance(element, ArrayArgument):
        raise record.error("an array")
    return element


def _read_constant(record: Record) -> ConstantValue:
    if isinstance(record.value, dict) and "member" in record.value:
        return MemberConstant(record.only({"member"})["member"].text())
    if isinstance(record.value, dict):
        return ElementConstant(record.only({"dtype"})["dtype"].text((*POINTEES, *EXTENSION_FLOATS)))
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
        index=record.get("index", "i32").text({"i32", "i64"}),
    )


def _optional_integers(record: Record, rank: int) -> tuple[int | None, ...]:
    return tuple(None if item.value is None else item.integer(0) for item in record.items(rank))


def _divisors(record: Record, rank: int) -> tuple[int, ...]:
    """One divisor per axis; an empty list means 1 for each axis."""
    return tuple(item.integer(1) for item in record.items(rank)) if record.items() else (1,) * rank
