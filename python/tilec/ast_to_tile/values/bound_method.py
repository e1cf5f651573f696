"""Methods of kernel values, and the error for attributes that they do not have."""

from __future__ import annotations

from tilec.ast_to_tile.values.values import KernelValue, Method
from tilec.errors import TileTypeError
from tilec.language.kernel_function import methods, properties


def bound_method(receiver: KernelValue, name: str, kind: type, plural: str) -> Method:
    """`receiver.name`, a method of the class `kind` of the language; raises TileTypeError for an unknown attribute.

    `plural` names the values of this class in the message.
    """
    found = methods(kind)
    if name not in found:
        known = ", ".join((*properties(kind), *found))
        raise TileTypeError(f"{plural} have no attribute '{name}', they have: {known}")
    return Method(receiver, found[name])
