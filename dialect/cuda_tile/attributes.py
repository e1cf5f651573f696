"""Attributes of Tile IR: optimization hints and the predicates of assume."""

from collections.abc import Sequence
from dataclasses import replace

from tilec.dialect.attributes import Dictionary
from tilec.dialect.constraints import DenseArray, Unconstrained, any_of
from tilec.dialect.cuda_tile.namespace import CudaTile
from tilec.dialect.fields import AttributeField, AttributeKind
from tilec.dialect.mlir import ir


def _hints_problem(attribute: ir.Attribute) -> str | None:
    for entry in attribute if isinstance(attribute, ir.DictAttr) else ():
        if not isinstance(entry.attr, ir.DictAttr):
            return f"expected dictionary attribute for optimization_hints entry `{entry.name}` got value={entry.attr}"
    return Dictionary.problem(attribute)


# A dictionary from architecture (sm_100, default) to a dictionary of hints; hints.py lists them.
Hints = replace(Dictionary, problem=_hints_problem)


def _integer(value: int | None) -> ir.Attribute:
    return ir.UnitAttr.get() if value is None else ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _value(parameter: ir.Attribute) -> int | None:
    parameter = parameter.maybe_downcast()
    return parameter.value if isinstance(parameter, ir.IntegerAttr) else None


class DivByAttr(CudaTile.Attribute, name="div_by"):
    """Each element (bytes for pointers), or the first of each `every` along dim `along`, is a multiple of `divisor`."""

    factor: Unconstrained
    group: Unconstrained
    dimension: Unconstrained

    @classmethod
    def get(cls, divisor: int, every: int | None = None, along: int | None = None) -> "DivByAttr":
        return super().get(_integer(divisor), _integer(every), _integer(along))

    divisor = property(lambda self: _value(self.params[0]))
    every = property(lambda self: _value(self.params[1]))
    along = property(lambda self: _value(self.params[2]))

    def spelled(self) -> str:
        groups = "" if self.every is None else f", every {self.every} along {self.along}"
        return f"div_by<{self.divisor}{groups}>"


class SameElementsAttr(CudaTile.Attribute, name="same_elements"):
    """Along each dimension, elements are equal within groups of this size."""

    groups: Unconstrained
    irdl = (DenseArray,)

    @classmethod
    def get(cls, values: Sequence[int]) -> "SameElementsAttr":
        return super().get(ir.DenseI64ArrayAttr.get(list(values)))

    values = property(lambda self: tuple(ir.DenseI64ArrayAttr(self.params[0])))

    def spelled(self) -> str:
        return f"same_elements<[{', '.join(map(str, self.values))}]>"


class BoundedAttr(CudaTile.Attribute, name="bounded"):
    """Each element lies between two signed bounds, both inclusive; None means unbounded."""

    low: Unconstrained
    high: Unconstrained

    @classmethod
    def get(cls, lower: int | None, upper: int | None) -> "BoundedAttr":
        return super().get(_integer(lower), _integer(upper))

    lower = property(lambda self: _value(self.params[0]))
    upper = property(lambda self: _value(self.params[1]))

    def spelled(self) -> str:
        return f"bounded<{_bound(self.lower)}, {_bound(self.upper)}>"


def _bound(value: int | None) -> str:
    return "?" if value is None else str(value)


PREDICATES = (DivByAttr, SameElementsAttr, BoundedAttr)


def _problem(attribute: ir.Attribute) -> str | None:
    if isinstance(attribute, PREDICATES):
        return None
    return f"must be div_by, same_elements or bounded, but got {attribute}"


Predicate = AttributeField(
    lambda value: value,
    lambda attribute: attribute,
    _problem,
    irdl=any_of([DivByAttr[(Unconstrained,) * 3], SameElementsAttr[Unconstrained], BoundedAttr[(Unconstrained,) * 2]]),
    kind=AttributeKind.PREDICATE,
)
