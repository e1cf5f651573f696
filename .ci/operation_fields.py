"""A mypy plugin: gives the fields that an operation class declares their Python types.

    lhs: Operand[T]           ir.Value
    inits: Mixed[..., 256]    list of ir.Value
    dim: Int32                int
    mode: Rounding            str
    exact: Flag               bool
    body: Region              ir.Region

The declarations are values (`tilec.dialect.fields`), which a type checker does not accept as types.
"""

from __future__ import annotations

from collections.abc import Callable

from mypy.nodes import Var
from mypy.plugin import AnalyzeTypeContext, Plugin
from mypy.types import AnyType, Type, TypeOfAny

FIELDS = "tilec.dialect.fields."
ATTRIBUTES = "tilec.dialect.attributes."
# The Python types of attribute fields. All other fields are MLIR attributes, which have no type information.
PYTHON_TYPES = {
    "Int32": "builtins.int",
    "Int64": "builtins.int",
    "Text": "builtins.str",
    "Symbol": "builtins.str",
    "Flag": "builtins.bool",
    "Boolean": "builtins.bool",
}
LISTS = {"Booleans": "builtins.bool", "Integers32": "builtins.int"}
DIALECTS = ("tilec.dialect.cuda_tile.", "tilec.dialect.tilex.", "tilec.dialect.tile_gpu.", "tilec.dialect.ptx.")
ENUMERATION = "tilec.dialect.cuda_tile.enums."


class OperationFields(Plugin):
    """Provides the types of names that are declared as fields or as constraints of fields."""

    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        if fullname in (FIELDS + "Operand", FIELDS + "Result", FIELDS + "Region", FIELDS + "OptionalRegion"):
            return _untyped
        if fullname == FIELDS + "Mixed":
            return _list_of(None)
        if fullname.startswith(ATTRIBUTES):
            name = fullname.removeprefix(ATTRIBUTES)
            if name in PYTHON_TYPES:
                return _named(PYTHON_TYPES[name])
            if name in LISTS:
                return _list_of(LISTS[name])
        if fullname.startswith(ENUMERATION) and self._is_variable(fullname):
            return _named("builtins.str")
        if fullname.startswith((*DIALECTS, ATTRIBUTES)) and self._is_variable(fullname):
            return _untyped
        return None

    def _is_variable(self, fullname: str) -> bool:
        found = self.lookup_fully_qualified(fullname)
        return found is not None and isinstance(found.node, Var)


def _untyped(context: AnalyzeTypeContext) -> Type:
    return AnyType(TypeOfAny.special_form)


def _named(name: str) -> Callable[[AnalyzeTypeContext], Type]:
    return lambda context: context.api.named_type(name, [])


def _list_of(element: str | None) -> Callable[[AnalyzeTypeContext], Type]:
    def analyze(context: AnalyzeTypeContext) -> Type:
        argument = AnyType(TypeOfAny.special_form) if element is None else context.api.named_type(element, [])
        return context.api.named_type("builtins.list", [argument])

    return analyze


def plugin(version: str) -> type[Plugin]:
    """The entry point of the plugin, which mypy calls."""
    return OperationFields
