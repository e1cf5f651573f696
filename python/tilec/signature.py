"""Signatures: the element types, ranks and assumptions about its arguments that a kernel is specialized for.

The text form (`--sig`) is a list of arguments separated by commas, in any order, each with the name of its parameter:

    A: f16[?,?]                        a matrix of any extents; row-major, rows 16-byte aligned
    A: f16[1000,776]                   known extents become constants of the kernel
    A: f16[?,?%64]                     an extent known to be divisible by 64
    B: f16[?,?] strides (1,?)          column-major
    B: f16[?,?] strides (?%8,1)        strides in elements, here a row stride divisible by 8
    B: f16[?,?] align 2                base and strides are only known to be multiples of 2 bytes
    x: f32                             a scalar
    TM=128, flag=True, dtype=f16       compile-time constants (ct.Constant)
    pair: (f16[?,?], i32, =8)          a tuple of an array, a scalar and a constant
    shape=(64, 128)                    a tuple of constants
    xs: list f16[?,?]                  a list of arrays, which the kernel indexes at run time
    w: Layer{scale: f32, n=8}          a dataclass, by the names of its fields
    A: f16[?,?] index i64              extents and strides of 64 bits (ct.IndexedWithInt64)

An extent or stride is an integer, `?` (any) or `?%n` (any multiple of n). Without `strides` the last stride is 1 and
the others are `?`. `align n` (16 if absent) asserts that the base address and every stride written `?` are multiples
of n bytes; each run checks the assertion. Element types are `i1`, `u8`..`u64`, `i8`..`i64`, `f16`, `bf16`, `f32`,
`f64`, `tf32`, `f8E4M3FN`, `f8E5M2` and `f8E8M0FNU`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tilec.errors import InputError, Note
from tilec.frozen import Frozen, replace
from tilec.language.datatypes import DType, by_element
from tilec.language.parameter_annotations import ParameterAnnotation, field_annotations
from tilec.runtime.arguments.arguments import (
    Argument,
    ConstantArgument,
    ConstantValue,
    ElementConstant,
    MemberConstant,
    RecordArgument,
    TupleArgument,
    classes_in,
    from_text,
    to_text,
)
from tilec.specialization.argument_values import Constant
from tilec.specialization.call_signature import arguments_of_call

if TYPE_CHECKING:
    from tilec.language.kernel_declaration import KernelDeclaration


class Signature(Frozen):
    """The arguments of one compiled kernel, in the order of its parameters.

    Args:
        arguments: the arguments, of the classes of tilec.runtime.arguments.arguments.

    Example:
        >>> @ct.kernel
        ... def example(x, n: ct.Constant[int]): ct.store(x, 0, ct.arange(n, dtype=ct.int32))
        >>> signature = ct.Signature.from_arguments(example, (np.zeros(6, np.int32), 4))
        >>> signature.names
        ('x', 'n')
    """

    arguments: tuple[Argument, ...]

    def __iter__(self) -> Iterator[Argument]:
        return iter(self.arguments)

    def __str__(self) -> str:
        return ", ".join(map(str, self.arguments))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters."""
        return tuple(argument.name for argument in self.arguments)

    @property
    def classes(self) -> tuple[object, ...]:
        """The classes of records and the members of enumerations, which the text names but does not identify."""
        return tuple(classes_in(self.arguments))

    def to_json(self) -> str:
        """The signature as JSON, in the form of the attribute `tilec.signature` and of the artifact.

        Returns:
            JSON text, which `from_json` reads.

        Raises:
            InputError: an argument has no JSON form.

        Example:
            >>> ct.Signature(()).to_json()
            '{"arguments": []}'
        """
        return to_text(self.arguments)

    @staticmethod
    def from_json(text: str) -> Signature:
        """Reads the JSON text of a signature.

        Args:
            text: text that `to_json` returned.

        Returns:
            The signature.

        Raises:
            InputError: the text is not the JSON of a signature.

        Example:
            >>> ct.Signature.from_json('{"arguments": []}') == ct.Signature(())
            True
        """
        return Signature(from_text(text, "tilec.signature"))

    @staticmethod
    def from_arguments(kernel: KernelDeclaration, arguments: Sequence[object]) -> Signature:
        """Derives the signature of a launch from its arguments.

        Args:
            kernel: the kernel.
            arguments: arrays, numbers and values of constants, in the order of the parameters.

        Returns:
            The element types, ranks, strides of 0 and 1, alignment and divisors of arrays, the types of scalars, and
            the values of constants.

        Raises:
            InputError: an argument does not fit its parameter.

        Example:
            >>> @ct.kernel
            ... def example(x, scale): ct.store(x, 0, ct.load(x, 0, 4) * scale)
            >>> print(ct.Signature.from_arguments(example, (np.zeros(4, np.float32), 0.5)))
            x: f32[?%4] strides (1) align 16, scale: f32
        """
        return Signature(arguments_of_call(kernel, arguments))

    def bind(self, kernel: KernelDeclaration) -> Signature:
        """Checks the arguments against the parameters of a kernel, and orders them like the parameters.

        Args:
            kernel: the kernel.

        Returns:
            A signature with one argument per parameter.

        Raises:
            InputError: an argument is missing, unknown or specified twice, or is a constant where the parameter is not.

        Example:
            >>> from tilec.signature import parse
            >>> @ct.kernel
            ... def example(x, n: ct.Constant[int]): ct.store(x, 0, ct.arange(n, dtype=ct.int32))
            >>> parse("n=4, x: i32[?]").bind(example).names
            ('x', 'n')
        """
        given = {argument.name: argument for argument in self.arguments}
        if len(given) != len(self.arguments):
            repeated = next(name for name in given if self.names.count(name) > 1)
            raise _mismatch(kernel, f"the signature specifies '{repeated}' twice")
        for name in given:
            if name not in kernel.parameters:
                known = ", ".join(f"'{name}'" for name in kernel.parameters) or "none"
                raise _mismatch(kernel, f"the kernel has no parameter '{name}', its parameters are: {known}")
        return Signature(tuple(_given(kernel, name, given.get(name)) for name in kernel.parameters))


def parse(text: str) -> Signature:
    """Parses the text form that this module describes; raises InputError with a caret into the text."""
    # Imported here because a launch reads no text.
    from tilec.specialization.signature_text import arguments_of_text

    return Signature(arguments_of_text(text))


def dtype_named(element: str) -> DType:
    """The element type with this name; raises InputError if kernel arguments cannot have it."""
    dtype = by_element(element)
    if dtype is None:
        raise InputError(f"element type '{element}' is not supported for kernel arguments")
    return dtype


def python_value(constant: ConstantValue) -> Constant:
    """The Python value of a constant in a kernel; raises InputError for a member of an enumeration read from text."""
    if isinstance(constant, MemberConstant):
        if constant.member is None:
            raise InputError(f"the member '{constant.name}' of an enumeration cannot be compiled from text")
        return constant.member
    return dtype_named(constant.element) if isinstance(constant, ElementConstant) else constant


def _given(kernel: KernelDeclaration, name: str, argument: Argument | None) -> Argument:
    if argument is None:
        example = f"{name}=128" if name in kernel.constants else f"'{name}: f16[?,?]' or '{name}: i32'"
        raise _mismatch(kernel, f"the signature lacks parameter '{name}': add {example}")
    _check(kernel, argument, kernel.annotations[name])
    return argument


def _check(kernel: KernelDeclaration, argument: Argument, annotation: ParameterAnnotation) -> None:
    """Compares an argument, and the items of a tuple or a record, with the annotation of the parameter."""
    name = argument.name
    if isinstance(argument, TupleArgument | RecordArgument):
        for item, found in zip(argument.items, _item_annotations(kernel, argument, annotation), strict=True):
            _check(kernel, item, found)
    elif annotation.constant and not isinstance(argument, ConstantArgument):
        expected = f"is a ct.Constant and needs a value, as in {name}=128"
        raise _mismatch(kernel, f"parameter '{name}' {expected}, got '{argument}'")
    elif not annotation.constant and isinstance(argument, ConstantArgument) and not _is_always_constant(argument.value):
        written = f"ct.Constant[{type(argument.value).__name__}]"
        correction = f"give its type, as in '{name}: i32', or annotate it as {written}"
        raise _mismatch(kernel, f"parameter '{name}' is not a ct.Constant: {correction}")


def _is_always_constant(value: ConstantValue) -> bool:
    """Whether kernels have no run-time values of this type."""
    return value is None or isinstance(value, str | ElementConstant | MemberConstant)


def _item_annotations(
    kernel: KernelDeclaration, argument: TupleArgument | RecordArgument, annotation: ParameterAnnotation
) -> list[ParameterAnnotation]:
    if isinstance(argument, TupleArgument):
        count = len(argument.items)
        if annotation.items is not None and len(annotation.items) != count:
            annotated = f"is annotated as a tuple of {len(annotation.items)}"
            raise _mismatch(kernel, f"parameter '{argument.name}' {annotated}, the signature has one of {count}")
        return [annotation.item(index) for index in range(count)]
    fields = field_annotations(argument.kind) if argument.kind is not None else {}
    found = [fields.get(name, ParameterAnnotation()) for name in argument.field_names()]
    # The fields of a record that was read from text may be annotated in its class, which is not known.
    return [
        replace(field, constant=field.constant or annotation.constant or argument.kind is None and _constant(item))
        for field, item in zip(found, argument.items, strict=True)
    ]


def _constant(argument: Argument) -> bool:
    return isinstance(argument, ConstantArgument)


def _mismatch(kernel: KernelDeclaration, message: str) -> InputError:
    return InputError(message, notes=[Note(f"kernel '{kernel.name}'", kernel.location)])
