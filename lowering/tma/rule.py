"""A rule of TMA on tensor maps: where it is documented, to which kinds it applies, and how a map violates it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from tilec.frozen import Frozen
from tilec.lowering.target import Target
from tilec.lowering.tma.tensor_map import KINDS, WIDE_KINDS, TensorMap


class Violation(Frozen):
    """A violated rule: the field, its dimension, the expected value, the actual value, and the rule's source."""

    field: str
    dimension: int | None
    expected: str
    found: str
    source: str = ""


Check = Callable[[TensorMap, Target | None], Iterator[Violation]]


class Rule(Frozen):
    """A rule.

    Attributes:
        name: the name of its check.
        check: yields the violations of a map for a target. Its docstring states the rule.
        kinds: the kinds of maps to which it applies.
        driver: whether the CUDA driver API states it.
        ptx: the section of the PTX ISA that states it.
        undocumented: whether it forbids values that the manuals neither define nor forbid.
    """

    name: str
    check: Check
    kinds: Collection[str]
    driver: bool
    ptx: str
    undocumented: bool

    @property
    def statement(self) -> str:
        """The rule in one sentence."""
        return self.check.__doc__ or ""

    def source(self, kind: str, field: str) -> str:
        """The sections of the manuals that state the rule."""
        sections = [driver_source(kind, field)] if self.driver else []
        return "; ".join([*sections, *([f"PTX ISA {self.ptx}"] if self.ptx else [])])


# The parameter of the driver's functions by field.
_PARAMETERS = {
    "element": "tensorDataType",
    "rank": "tensorRank",
    "base": "globalAddress",
    "extents": "globalDim",
    "strides": "globalStrides",
    "box": "boxDim",
    "lower": "pixelBoxLowerCorner",
    "upper": "pixelBoxUpperCorner",
    "channels_per_pixel": "channelsPerPixel",
    "pixels_per_column": "pixelsPerColumn",
    "element_strides": "elementStrides",
    "l2_promotion": "l2Promotion",
    "fill": "oobFill",
    "target": "compute capability",
}


def driver_source(kind: str, field: str) -> str:
    """The function of the driver that encodes maps of this kind, and its parameter for a field."""
    width = "Width" if kind in WIDE_KINDS and field in ("lower", "upper") else ""
    return f"CUDA driver API, {KINDS[kind].function}, {_PARAMETERS.get(field, field)}{width}"


def rule(
    table: list[Rule],
    *,
    kinds: Collection[str] = tuple(KINDS),
    driver: bool = True,
    ptx: str = "",
    undocumented: bool = False,
) -> Callable[[Check], Check]:
    """Adds a check to the table as a rule with its name; the other arguments are the fields of Rule."""

    def add(check: Check) -> Check:
        table.append(Rule(check.__name__, check, kinds, driver, ptx, undocumented))
        return check

    return add
