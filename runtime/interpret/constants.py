"""Constants of MLIR as tiles."""

from __future__ import annotations

import numpy as np

from tilec.dialect.mlir import ir
from tilec.runtime.interpret.element import Element
from tilec.runtime.interpret.integer import wrap

# The types whose elements the bindings give as a buffer.
_BUFFERED = frozenset(("i1", "i8", "i16", "i32", "i64", "f16", "f32", "f64"))


def array_of_elements(attribute: ir.DenseElementsAttr, element: Element) -> np.ndarray:
    """The tile that dense elements stand for."""
    shape = tuple(ir.RankedTensorType(attribute.type).shape)
    if attribute.is_splat:
        return np.broadcast_to(scalar_of_attribute(attribute.get_splat_value(), element), shape)
    if element.name in _BUFFERED:
        return np.array(attribute).reshape(shape)
    elements = ir.DenseFPElementsAttr(attribute)
    values = np.array([elements[index] for index in range(len(elements))], np.float64)
    return element.format.encode(values).reshape(shape)


def scalar_of_attribute(attribute: ir.Attribute, element: Element) -> np.ndarray:
    """The 0-D tile of an integer or float attribute, whose type may be wider than the element's."""
    if element.is_float:
        return element.format.encode(np.asarray(attribute.value, np.float64))
    return np.asarray(wrap(np.asarray(int(attribute.value) % 2**64, np.uint64), element))
