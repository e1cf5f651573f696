"""Random loads through views whose slices along one dimension are selected by computed indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from program_text import Environment, Shape, Step, Value, tile_type
from random_memory import float_bound, make_view, random_padding, strided_array

if TYPE_CHECKING:
    from random_values import Builder


def sparsely_loaded(build: Builder, element: str, shape: Shape, bound: int | None) -> Value:
    """Slices that may repeat, or be outside of the tensor; the dense indices count elements."""
    source, rank = build.source, len(shape)
    sparse = source.randrange(rank)
    extents = [max(1, extent + source.choice((0, 0, extent, -1, 3))) for extent in shape]
    extents[sparse] = source.choice((1, 4, 16, 64))
    layout = list(range(rank))
    if rank > 1 and source.random() < 0.3:
        source.shuffle(layout)
    array, strides = strided_array(build, element, tuple(extents), layout, bound)
    base = build.parameter(tile_type(f"ptr<{element}>"), array)
    padding, fill = random_padding(build, element, bound)
    ones = (1,) * rank
    view = make_view(
        build, base, element, shape, tuple(extents), strides, range(rank), ones, padding, sparse=sparse
    )  # fmt: skip
    dense = source.choice(("i32", "i64"))
    starts = [source.choice((0, 0, source.randrange(extent))) for extent in extents]
    index = [build.constant(dense, start) for start in starts]
    numbers = build.random_value(source.choice(("i16", "i32", "i64")), (shape[sparse],), 1)
    index[sparse] = chosen = build.masked(numbers, source.choice((1, 2)) * extents[sparse] - 1)
    unknown = bound is None and padding != "zero"
    result = build.value(element, shape, None if unknown else float_bound(element, bound))
    names, types = (", ".join(getattr(value, field) for value in index) for field in ("name", "type"))
    text = f"{result.name}, {build.name()} = load_view_tko weak {view.name}[{names}] : "
    text += f"{view.type}, {types} -> {result.type}, token"

    def run(environment: Environment) -> None:
        positions = [start + np.arange(extent) for start, extent in zip(starts, shape, strict=True)]
        positions[sparse] = environment[chosen].astype(np.int64)
        inside, offsets = np.ones(shape, np.bool_), np.zeros(shape, np.int64)
        for axis, (at, extent, stride) in enumerate(zip(positions, extents, strides, strict=True)):
            along = np.arange(rank) == axis
            within = (at < extent).reshape(np.where(along, shape, 1))
            inside = inside & within
            offsets = offsets + np.where(at < extent, at, 0).reshape(np.where(along, shape, 1)) * stride
        environment[result] = np.where(inside, environment.memory[base][offsets], np.asarray(fill, array.dtype))

    build.add(Step(text, run, [result], index))
    return result
