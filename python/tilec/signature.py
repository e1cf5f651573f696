"""What a kernel is compiled for: element types, ranks, and the facts about its arguments that the code may rely on.

As text (`--sig`), arguments are separated by commas, in any order, each by its parameter's name:

    A: f16[?,?]                        a matrix, any extents; row-major, rows 16-byte aligned
    A: f16[1000,776]                   known extents become constants of the kernel
    A: f16[?,?%64]                     an extent known to be divisible by 64
    B: f16[?,?] strides (1,?)          column-major
    B: f16[?,?] strides (?%8,1)        strides in elements, here a row stride divisible by 8
    B: f16[?,?] align 2                base and strides may be multiples of 2 bytes only
    x: f32                             a scalar
    TM=128, flag=True, dtype=f16       compile-time constants (ct.Constant)

An extent or stride is an integer, `?` (any) or `?%n` (any multiple of n). Without `strides` the last stride is 1 and
the others are any. `align n` (16 if absent) promises that the base address and every stride written `?` are multiples
of n bytes; whether an array keeps the promise is checked at each run. `i1`, `u8`..`u64`, `i8`..`i64`, `f16`, `bf16`,
`f32`, `f64`, `tf32`, `f8E4M3FN`, `f8E5M2` name the elements.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any

from tilec.errors import InputError, Note
from tilec.language.datatypes import DType, by_element

if TYPE_CHECKING:
    from tilec.language.kernel import Kernel

# TMA and 16-byte vector accesses need this much (PTX ISA, tensor map and ld.global.v4).
DEFAULT_ALIGNMENT = 16


@dataclass(frozen=True)
class ArrayArgument:
    """An array; an extent or stride of None is known at the launch only. Strides and divisibilities are in elements."""

    name: str
    element: DType
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    alignment: int
    shape_divisibility: tuple[int, ...]
    stride_divisibility: tuple[int, ...]

    kind = "array"

    @property
    def rank(self) -> int:
        return len(self.shape)

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "element": self.element.element,
            "rank": self.rank,
            "shape": list(self.shape),
            "strides": list(self.strides),
            "alignment": self.alignment,
            "divisibility": {"shape": list(self.shape_divisibility), "strides": list(self.stride_divisibility)},
        }

    def __str__(self) -> str:
        extents = ",".join(map(_extent, self.shape, self.shape_divisibility))
        strides = ",".join(map(_extent, self.strides, self.stride_divisibility))
        return f"{self.name}: {self.element.element}[{extents}] strides ({strides}) align {self.alignment}"


@dataclass(frozen=True)
class ScalarArgument:
    """A number passed at the launch."""

    name: str
    element: DType

    kind = "scalar"

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "kind": self.kind, "element": self.element.element}

    def __str__(self) -> str:
        return f"{self.name}: {self.element.element}"


@dataclass(frozen=True)
class ConstantArgument:
    """A value that is part of the kernel: bool, int, float, str, None or an element type."""

    name: str
    value: Any

    kind = "constant"

    def as_dict(self) -> dict[str, Any]:
        value = {"dtype": self.value.element} if isinstance(self.value, DType) else self.value
        return {"name": self.name, "kind": self.kind, "value": value}

    def __str__(self) -> str:
        return f"{self.name}={self.value.element if isinstance(self.value, DType) else repr(self.value)}"


Argument = ArrayArgument | ScalarArgument | ConstantArgument


@dataclass(frozen=True)
class Signature:
    """The arguments of one compiled kernel, in the order of its parameters."""

    arguments: tuple[Argument, ...]

    def __iter__(self) -> Iterator[Argument]:
        return iter(self.arguments)

    def __str__(self) -> str:
        return ", ".join(map(str, self.arguments))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(argument.name for argument in self.arguments)

    def as_dict(self) -> dict[str, Any]:
        return {"arguments": [argument.as_dict() for argument in self.arguments]}

    def to_json(self) -> str:
        """The text that the attribute `tilec.signature` and the artifact hold."""
        return json.dumps(self.as_dict())

    @staticmethod
    def from_json(text: str) -> Signature:
        """The signature that `to_json` wrote; raises InputError for anything else."""
        try:
            return Signature(tuple(_from_dict(entry) for entry in json.loads(text)["arguments"]))
        except (ValueError, KeyError, TypeError) as problem:
            raise InputError(f"not a signature in JSON: {problem}") from problem

    @staticmethod
    def from_arguments(kernel: Kernel, arguments: Sequence[Any]) -> Signature:
        """The signature of a call with `arguments`; see tilec.specialization.call_signature."""
        # The readers of signatures build on this module.
        from tilec.specialization.call_signature import from_arguments

        return from_arguments(kernel, arguments)

    def bind(self, kernel: Kernel) -> Signature:
        """The arguments in the order of the kernel's parameters.

        Raises InputError where one is missing, unknown, given twice, or constant where it should not be.
        """
        given = {argument.name: argument for argument in self.arguments}
        if len(given) != len(self.arguments):
            twice = next(name for name in given if self.names.count(name) > 1)
            raise _mismatch(kernel, f"the signature gives '{twice}' twice")
        for name in given:
            if name not in kernel.parameters:
                known = ", ".join(f"'{name}'" for name in kernel.parameters) or "none"
                raise _mismatch(kernel, f"the kernel has no parameter '{name}', its parameters are: {known}")
        return Signature(tuple(_checked(kernel, name, given.get(name)) for name in kernel.parameters))


def parse(text: str) -> Signature:
    """Read the text form described at the top of this module; raises InputError that points into the text."""
    from tilec.specialization.signature_text import parse as parse_text

    return parse_text(text)


def elements_per(alignment: int, element: DType) -> int:
    """How many elements a stride must be a multiple of so that it is a multiple of `alignment` bytes."""
    return alignment * 8 // gcd(alignment * 8, element.bitwidth)


def _extent(value: int | None, divisibility: int) -> str:
    if value is not None:
        return str(value)
    return f"?%{divisibility}" if divisibility != 1 else "?%1"


def _checked(kernel: Kernel, name: str, argument: Argument | None) -> Argument:
    constant = name in kernel.constants
    if argument is None:
        example = f"{name}=128" if constant else f"'{name}: f16[?,?]' or '{name}: i32'"
        raise _mismatch(kernel, f"the signature lacks parameter '{name}': give {example}")
    if constant and not isinstance(argument, ConstantArgument):
        needs = f"is a ct.Constant and needs a value, as in {name}=128"
        raise _mismatch(kernel, f"parameter '{name}' {needs}, got '{argument}'")
    if not constant and isinstance(argument, ConstantArgument):
        annotation = f"ct.Constant[{type(argument.value).__name__}]"
        needs = f"is no ct.Constant: give its type, as in '{name}: i32', or annotate it as {annotation}"
        raise _mismatch(kernel, f"parameter '{name}' {needs}")
    return argument


def _mismatch(kernel: Kernel, message: str) -> InputError:
    return InputError(message, notes=[Note(f"kernel '{kernel.name}'", kernel.location)])


def _from_dict(entry: dict[str, Any]) -> Argument:
    match entry["kind"]:
        case "array":
            return ArrayArgument(
                entry["name"],
                _element(entry["element"]),
                tuple(entry["shape"]),
                tuple(entry["strides"]),
                entry["alignment"],
                tuple(entry["divisibility"]["shape"]),
                tuple(entry["divisibility"]["strides"]),
            )
        case "scalar":
            return ScalarArgument(entry["name"], _element(entry["element"]))
        case "constant":
            value = entry["value"]
            return ConstantArgument(entry["name"], _element(value["dtype"]) if isinstance(value, dict) else value)
        case kind:
            raise ValueError(f"unknown kind {kind!r}")


def _element(name: str) -> DType:
    dtype = by_element(name)
    if dtype is None:
        raise ValueError(f"unknown element type {name!r}")
    return dtype
