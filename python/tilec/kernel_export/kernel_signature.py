"""The signature of an exported kernel: a constraint per parameter, the calling convention and the symbol."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilec.errors import ArgumentTypeError, ArgumentValueError
from tilec.kernel_export.calling_convention import CallingConvention
from tilec.kernel_export.constraint_arguments import constraints_of_call
from tilec.kernel_export.constraints import (
    ArrayConstraint,
    ListConstraint,
    ParameterConstraint,
    ParameterConstraintLike,
    TupleConstraint,
    alias_groups_of,
    constraint,
)
from tilec.kernel_export.name_mangling import mangled_name

if TYPE_CHECKING:
    from tilec.language.kernel import Kernel


@dataclass(frozen=True, init=False)
class KernelSignature:
    """The signature that a kernel is exported for.

    Args:
        parameters: a constraint per parameter of the Python function; a constant stands for its ConstantConstraint, a
            tuple for its TupleConstraint.
        calling_convention: the calling convention.
        symbol: the name of the entry; None for the mangled name.

    Raises:
        TypeError: a parameter is not a constraint, or the calling convention or the symbol has the wrong type.
        ValueError: the calling convention does not support a constraint, or alias groups are inconsistent.

    Example:
        >>> v2 = ct.compilation.CallingConvention.cutile_python_v2()
        >>> ct.compilation.KernelSignature([ct.compilation.ScalarConstraint(ct.int32), 4], v2).parameters[1]
        ConstantConstraint(value=4)
    """

    parameters: tuple[ParameterConstraint, ...]
    calling_convention: CallingConvention
    symbol: str | None

    def __init__(
        self,
        parameters: Sequence[ParameterConstraintLike],
        calling_convention: CallingConvention,
        symbol: str | None = None,
    ) -> None:
        if symbol is not None and not isinstance(symbol, str):
            raise ArgumentTypeError(f"expected a string as symbol, got {type(symbol).__name__}")
        if not isinstance(calling_convention, CallingConvention):
            raise ArgumentTypeError(f"expected a CallingConvention, got {calling_convention!r}")
        constraints = tuple(map(constraint, parameters))
        _check_alias_groups(constraints)
        for parameter in constraints:
            _check_supported(parameter, calling_convention)
        object.__setattr__(self, "parameters", constraints)
        object.__setattr__(self, "calling_convention", calling_convention)
        object.__setattr__(self, "symbol", symbol)

    def with_symbol(self, symbol: str | None) -> KernelSignature:
        """This signature with another symbol.

        Args:
            symbol: the name of the entry; None for the mangled name.

        Returns:
            The signature.

        Raises:
            TypeError: the symbol is not a string.

        Example:
            >>> v1 = ct.compilation.CallingConvention.cutile_python_v1()
            >>> ct.compilation.KernelSignature([], v1).with_symbol("entry").symbol
            'entry'
        """
        return dataclasses.replace(self, symbol=symbol)

    def with_mangled_symbol(self, function_name: str) -> KernelSignature:
        """This signature with the mangled name as symbol.

        Args:
            function_name: the name of the Python function.

        Returns:
            The signature.

        Raises:
            ValueError: an element type has no mangled name.

        Example:
            >>> v1 = ct.compilation.CallingConvention.cutile_python_v1()
            >>> ct.compilation.KernelSignature([4], v1).with_mangled_symbol("add").symbol
            'add_Kt1_I4'
        """
        return self.with_symbol(mangled_name(function_name, self.parameters, self.calling_convention))

    @staticmethod
    def from_kernel_args(
        kernel: Kernel,
        kernel_args: Sequence[Any],
        calling_convention: CallingConvention,
        *,
        symbol: str | None = None,
    ) -> KernelSignature:
        """The signature that `ct.launch` compiles a kernel for, given its arguments.

        The signature contains the alignment and the divisors of these arguments, which arguments of later launches of
        the exported kernel may lack: use it for tests.

        Args:
            kernel: the kernel.
            kernel_args: the arguments of a launch.
            calling_convention: the calling convention.
            symbol: the name of the entry; None for the mangled name.

        Returns:
            The signature.

        Raises:
            TypeError: an argument has a type that kernels do not take, or that no constraint describes.
            ValueError: the calling convention does not support an argument.

        Example:
            >>> @ct.kernel
            ... def add(x, n: ct.Constant[int]): ct.store(x, 0, ct.load(x, 0, n) + 1)
            >>> v1 = ct.compilation.CallingConvention.cutile_python_v1()
            >>> ct.compilation.KernelSignature.from_kernel_args(add, (np.zeros((), np.int8), 4), v1).symbol
            'add_Kt1_A0i8_p..._I4'
        """
        signature = KernelSignature(
            constraints_of_call(kernel, kernel_args, calling_convention), calling_convention, symbol
        )
        return signature.with_mangled_symbol(kernel.function.__name__) if symbol is None else signature


def _check_alias_groups(parameters: Sequence[ParameterConstraint]) -> None:
    uses: Counter[str] = Counter()
    kinds: dict[str, type] = {}
    for owner, groups in alias_groups_of(parameters):
        if len(set(groups)) != len(groups):
            raise ArgumentValueError(f"alias_groups {list(groups)} contains a group twice")
        uses.update(groups)
        for group in groups:
            if kinds.setdefault(group, type(owner)) is not type(owner):
                raise ArgumentValueError(f"alias group '{group}' contains an array and the table of a list")
    for group, count in uses.items():
        if count == 1:
            raise ArgumentValueError(f"alias group '{group}' has one member: leave alias_groups empty")


def _check_supported(parameter: ParameterConstraint, convention: CallingConvention) -> None:
    if isinstance(parameter, TupleConstraint):
        _need_version(2, "Tuple parameters", convention)
        for item in parameter.items:
            _check_supported(item, convention)
    if isinstance(parameter, ListConstraint):
        _check_supported(parameter.element, convention)
    if isinstance(parameter, ArrayConstraint) and any(extent is not None for extent in parameter.shape_constant):
        _need_version(2, "Static array shapes", convention)


def _need_version(version: int, feature: str, convention: CallingConvention) -> None:
    if convention.version < version:
        raise ArgumentValueError(
            f"{feature} are not supported by calling convention {convention.name}; version >= {version} is required"
        )
