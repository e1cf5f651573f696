"""The type of an im2col view; `get` raises ValueError if a type rule is violated."""

from collections.abc import Sequence
from typing import Any

from tilec.dialect.cache import cached
from tilec.dialect.constraints import DenseArray, Unconstrained, keyword_or_unit
from tilec.dialect.cuda_tile.types import TensorViewType, TileType
from tilec.dialect.generic_types import parameters_problem
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tilex.im2col_rules import MODES, im2col_view_problem
from tilec.dialect.tilex.namespace import TileX


class Im2colViewType(TileX.Type, name="im2col_view"):
    """A tensor of images as a matrix of output pixels by channels, at one tap of a convolution window at a time.

    The parameters are one per spatial dimension of the tensor, outermost first. The tensor is padded with zeros by
    `lower` before and `upper` after its elements; a negative padding leaves elements out. With `interleave`, channels
    are in slices of that many, and the tensor has a dimension of slices after that of the images.
    """

    tile: Unconstrained
    view: Unconstrained
    taps: Unconstrained
    spacing: Unconstrained
    step: Unconstrained
    before: Unconstrained
    after: Unconstrained
    pixel_order: Unconstrained
    slice_channels: Unconstrained
    # IRDL cannot name a type of another dialect.
    irdl = (DenseArray, Unconstrained, *(DenseArray,) * 5, keyword_or_unit(MODES), DenseArray)

    @classmethod
    def get(
        cls,
        tile_shape: Sequence[int],
        tensor_view: TensorViewType,
        window: Sequence[int],
        dilation: Sequence[int],
        stride: Sequence[int],
        lower: Sequence[int],
        upper: Sequence[int],
        mode: str | None = None,
        interleave: int | None = None,
    ) -> "Im2colViewType":
        arrays = (tile_shape, window, dilation, stride, lower, upper)
        problem = im2col_view_problem(tile_shape, tensor_view, *arrays[1:], mode, interleave)
        if problem is not None:
            raise ValueError(problem)
        made = tensor_view.context
        tile, *others = [ir.DenseI32ArrayAttr.get(list(values), made) for values in arrays]
        order = ir.UnitAttr.get(made) if mode is None else ir.StringAttr.get(mode, made)
        # IRDL has no optional parameters; an empty array stands for an absent number.
        channels = ir.DenseI32ArrayAttr.get([] if interleave is None else [interleave], made)
        return super().get(tile, tensor_view, *others, order, channels, context=made)

    tile_shape = property(lambda self: _facts(self)["tile_shape"])
    tensor_view = property(lambda self: _facts(self)["tensor_view"])
    window = property(lambda self: _facts(self)["window"])
    dilation = property(lambda self: _facts(self)["dilation"])
    stride = property(lambda self: _facts(self)["stride"])
    lower = property(lambda self: _facts(self)["lower"])
    upper = property(lambda self: _facts(self)["upper"])
    mode = property(lambda self: _facts(self)["mode"])
    interleave = property(lambda self: _facts(self)["interleave"])
    element = property(lambda self: self.tensor_view.element)
    tile_type = property(lambda self: TileType.get(self.tile_shape, self.element))
    rank = property(lambda self: len(self.tile_shape))
    spatial_rank = property(lambda self: len(self.window))

    def with_tile(self, tile_shape: Sequence[int]) -> "Im2colViewType":
        """The type with tiles of another shape."""
        return Im2colViewType.get(**{**_facts(self), "tile_shape": tuple(tile_shape)})

    def with_mode(self, mode: str) -> "Im2colViewType":
        """The type with another mode."""
        return Im2colViewType.get(**{**_facts(self), "mode": mode})

    def spelled(self) -> str:
        facts = _facts(self)
        parts = [f"tile=({'x'.join(map(str, facts['tile_shape']))})"]
        parts += [f"{name}=[{', '.join(map(str, facts[name]))}]" for name in ARRAYS]
        if facts["interleave"] is not None:
            parts.append(f"interleave={facts['interleave']}")
        if facts["mode"] is not None:
            parts.append(f"mode={facts['mode']}")
        return f"tilex.im2col_view<{', '.join((*parts, spell(facts['tensor_view'])))}>"

    @cached
    def problem(self) -> str | None:
        """The problem with a type from generic text, which MLIR does not check, or None."""
        return parameters_problem(self, lambda type: Im2colViewType.get(**_facts(type)))


# The modes whose tiles do not cross rows of an image.
BY_ROW = ("w", "w128", "stationary", "weights")
# The modes in which one copy has the pixels of all taps along W: threads or multiplies read the rows of each tap, or
# they move from tap to tap in tensor memory, or multiplies with the filters as their first operand read them.
RUN, STATIONARY, WEIGHTS = "run", "stationary", "weights"
# The parameters with one value per spatial dimension, in the order of the text.
ARRAYS = ("window", "dilation", "stride", "lower", "upper")


@cached
def _facts(type: Im2colViewType) -> dict[str, Any]:
    tile, view, *arrays, mode, channels = type.params
    mode = mode.maybe_downcast()
    return {
        "tile_shape": tuple(ir.DenseI32ArrayAttr(tile)),
        "tensor_view": ir.TypeAttr(view).value,
        **{name: tuple(ir.DenseI32ArrayAttr(array)) for name, array in zip(ARRAYS, arrays, strict=True)},
        "mode": mode.value if isinstance(mode, ir.StringAttr) else None,
        "interleave": next(iter(ir.DenseI32ArrayAttr(channels)), None),
    }
