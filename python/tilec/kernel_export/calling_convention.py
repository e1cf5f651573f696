"""Calling conventions of exported kernels: the order of the kernel's parameters, and the names of symbols."""

from __future__ import annotations

from dataclasses import dataclass

from tilec.errors import ArgumentValueError

# The first version with constant extents and tuples.
CONSTANT_EXTENTS = 2


@dataclass(frozen=True)
class CallingConvention:
    """The parameters and the symbol of an exported kernel.

    The parameters of the kernel are those of the Python function in order, without constants: a scalar is one value; an
    array of rank n is its address, n extents and n strides; a list of arrays is the address of its table and its length
    (int32); a tuple has the parameters of its items.

    Attributes:
        name: `cutile_python_v1` or `cutile_python_v2`.
        code: the code in mangled symbols, `t1` or `t2`.
        version: 1 or 2; tuples and constant extents need 2.

    Example:
        >>> convention = ct.compilation.CallingConvention.cutile_python_v2()
        >>> convention.name, convention == ct.compilation.CallingConvention.from_code("t2")
        ('cutile_python_v2', True)
    """

    name: str
    code: str
    version: int

    @staticmethod
    def cutile_python_v1() -> CallingConvention:
        """The convention without tuples and constant extents.

        Returns:
            The convention.

        Raises:
            Nothing.

        Example:
            >>> ct.compilation.CallingConvention.cutile_python_v1().code
            't1'
        """
        return _VERSIONS[0]

    @staticmethod
    def cutile_python_v2() -> CallingConvention:
        """The convention with tuples and constant extents.

        Returns:
            The convention.

        Raises:
            Nothing.

        Example:
            >>> ct.compilation.CallingConvention.cutile_python_v2().version
            2
        """
        return _VERSIONS[1]

    @staticmethod
    def from_code(code: str) -> CallingConvention:
        """The convention with a code.

        Args:
            code: the code in symbols, `t1` or `t2`.

        Returns:
            The convention.

        Raises:
            ValueError: the code is unknown.

        Example:
            >>> ct.compilation.CallingConvention.from_code("t1").name
            'cutile_python_v1'
        """
        for version in _VERSIONS:
            if version.code == code:
                return version
        known = " or ".join(version.code for version in _VERSIONS)
        raise ArgumentValueError(f"Unknown calling convention code '{code}': expected {known}")


_VERSIONS = tuple(CallingConvention(f"cutile_python_v{version}", f"t{version}", version) for version in (1, 2))
