"""Writes and reads mangled names of exported kernels; tilec.kernel_export.name_mangling describes them."""

from __future__ import annotations

import re
import struct
from typing import NoReturn

from tilec.errors import ArgumentValueError
from tilec.kernel_export.calling_convention import CallingConvention
from tilec.kernel_export.constraints import (
    ArrayConstraint,
    ConstantConstraint,
    ListConstraint,
    ParameterConstraint,
    ScalarConstraint,
    TupleConstraint,
)
from tilec.kernel_export.kernel_signature import KernelSignature
from tilec.kernel_export.name_mangling import DIMENSION_PROPERTIES, DTYPES, SEPARATOR, mangled_name
from tilec.language.datatypes import DType, int32, int64, uint32

_DTYPES = {name: dtype for dtype, name in DTYPES.items()}


def mangle_kernel_name(function_name: str, kernel_signature: KernelSignature) -> str:
    """The symbol of a kernel for a signature; `demangle_kernel_name` reads it.

    Args:
        function_name: the name of the Python function.
        kernel_signature: the signature.

    Returns:
        The symbol.

    Raises:
        ValueError: an element type has no mangled name.

    Example:
        >>> v1 = ct.compilation.CallingConvention.cutile_python_v1()
        >>> signature = ct.compilation.KernelSignature([ct.compilation.ScalarConstraint(ct.int32), 2.0], v1)
        >>> ct.compilation.mangle_kernel_name("scale", signature)
        'scale_Kt1_Si32_F4000000000000000'
    """
    return mangled_name(function_name, kernel_signature.parameters, kernel_signature.calling_convention)


def demangle_kernel_name(symbol: str) -> tuple[str, KernelSignature]:
    """The function and the signature of a mangled name; alias groups are named group0, group1, ...

    Args:
        symbol: a name by `mangle_kernel_name`.

    Returns:
        The name of the Python function, and the signature.

    Raises:
        ValueError: the symbol is not a mangled name.

    Example:
        >>> function, signature = ct.compilation.demangle_kernel_name("scale_Kt1_Si32_F4000000000000000")
        >>> function, signature.parameters[1]
        ('scale', ConstantConstraint(value=2.0))
    """
    function, mark, rest = symbol.rpartition(SEPARATOR)
    if not mark:
        raise ArgumentValueError(f"'{symbol}' is not a mangled kernel name: it has no '{SEPARATOR}'")
    reader = _Reader(symbol, len(function) + len(mark))
    convention = CallingConvention.from_code(reader.need("[^_]+", "a calling convention"))
    parameters: list[ParameterConstraint] = []
    while reader.position < len(symbol):
        reader.need("_", "'_'")
        parameters.append(reader.constraint())
    return function, KernelSignature(parameters, convention, symbol)


class _Reader:
    """Reads a symbol from a position on."""

    def __init__(self, symbol: str, position: int) -> None:
        self.symbol = symbol
        self.position = position
        self.groups = 0

    def constraint(self) -> ParameterConstraint:
        code = self.need("[SALTBIF]", "the code of a parameter, one of S A L T B I F")
        if code == "S":
            return ScalarConstraint(self._dtype())
        if code == "A":
            return self._array()
        if code == "L":
            return self._list()
        if code == "T":
            count = int(self.need("[0-9]+", "the number of items"))
            return TupleConstraint([self.constraint() for _ in range(count)])
        if code == "B":
            return ConstantConstraint(self.need("[01]", "0 or 1") == "1")
        if code == "I":
            return ConstantConstraint(self._integer())
        bits = self.need("[0-9a-f]{16}", "16 hexadecimal digits")
        return ConstantConstraint(struct.unpack(">d", bytes.fromhex(bits))[0])

    def _list(self) -> ListConstraint:
        groups, aliases = self._groups(), self.take("i")
        self.need("A", "the code A of the arrays of a list")
        return ListConstraint(self._array(), alias_groups=groups, elements_may_alias=aliases)

    def _array(self) -> ArrayConstraint:
        ndim = int(self.need("[0-9]+", "the number of dimensions"))
        dtype = self._dtype()
        values = {name: [default] * ndim for _, name, default in DIMENSION_PROPERTIES}
        while (mask := self._mask(ndim)) is not None:
            self._dimensions(mask, values)
        self._check(values)
        divisor, groups, aliases, index = 1, [], False, int32
        if self.found("_[pgiuw]"):
            self.need("_", "'_'")
            divisor = self._divisor() if self.take("p") else 1
            groups, aliases = self._groups(), self.take("i")
            index = uint32 if self.take("u") else int64 if self.take("w") else int32
        return ArrayConstraint(
            dtype,
            ndim,
            index_dtype=index,
            alias_groups=groups,
            may_alias_internally=aliases,
            base_addr_divisible_by=divisor,
            **values,  # type: ignore[arg-type]
        )

    def _mask(self, ndim: int) -> int | None:
        if not self.found("_[0-9a-f]"):
            return None
        mask = int(self.need("_[0-9a-f]+", "'_'")[1:], 16)
        if mask == 0 or mask.bit_length() > ndim:
            self._fail(f"a mask of {ndim} dimensions")
        return mask

    def _dimensions(self, mask: int, values: dict[str, list[int | None]]) -> None:
        for letter, name, default in DIMENSION_PROPERTIES:
            if not self.take(letter):
                continue
            value = self._divisor() if default == 1 else self._integer()
            for axis in (axis for axis in range(mask.bit_length()) if mask >> axis & 1):
                if values[name][axis] != default:
                    self._fail(f"'{name}' of dimension {axis} only once")
                values[name][axis] = value

    def _check(self, values: dict[str, list[int | None]]) -> None:
        for constant, others in (
            ("stride_constant", ("stride_divisible_by", "stride_lower_bound_incl")),
            ("shape_constant", ("shape_divisible_by",)),
        ):
            for axis, value in enumerate(values[constant]):
                if value is not None and any(values[other][axis] not in (None, 1) for other in others):
                    self._fail(f"no assumption about dimension {axis} beside its '{constant}'")

    def _groups(self) -> list[str]:
        """The names of alias groups; numbers increase, and a new number follows the greatest so far."""
        found: list[int] = []
        while self.take("g"):
            number = int(self.need("0|[1-9a-f][0-9a-f]*", "the number of an alias group"), 16)
            if number > self.groups or found and number <= found[-1]:
                self._fail("increasing numbers of alias groups")
            self.groups = max(self.groups, number + 1)
            found.append(number)
        return [f"group{number}" for number in found]

    def _integer(self) -> int:
        sign = -1 if self.take("_") else 1
        return sign * int(self.need("[0-9]+", "an integer"))

    def _divisor(self) -> int:
        divisor = self._integer()
        if divisor <= 1:
            self._fail("a divisor greater than 1")
        return divisor

    def _dtype(self) -> DType:
        name = self.need("[a-z0-9]+", "an element type")
        if name not in _DTYPES:
            self._fail(f"an element type, one of {', '.join(_DTYPES)}")
        return _DTYPES[name]

    def found(self, pattern: str) -> bool:
        return re.compile(pattern).match(self.symbol, self.position) is not None

    def take(self, text: str) -> bool:
        if not self.symbol.startswith(text, self.position):
            return False
        self.position += len(text)
        return True

    def need(self, pattern: str, expected: str) -> str:
        match = re.compile(pattern).match(self.symbol, self.position)
        if match is None:
            self._fail(expected)
        self.position = match.end()
        return match.group()

    def _fail(self, expected: str) -> NoReturn:
        raise ArgumentValueError(
            f"'{self.symbol}' is not a mangled kernel name: expected {expected} at offset {self.position}, "
            f"got '{self.symbol[self.position : self.position + 20]}'"
        )
