"""The attributes and rules that operations on all views of tilex share; a rule returns the problem, or None."""

from collections.abc import Sequence

from tilec.dialect.attributes import Enumeration
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote

# Accesses by TMA and gathers are not ordered but by tokens.
Weak = Enumeration("weak")
# The end of the assembly of an access, before its types.
ACCESS_TAIL = "{ token = $token}{ optimization_hints = $optimization_hints} attr-dict"


def tensor_problem(op: ir.OpView) -> str | None:
    """Checks the tensor view from which a view is made."""
    given, inner = op.tensor_view.type, op.result.type.tensor_view
    if inner.attribute == "multicast":
        return "multicast ptr_attr is not allowed"
    if given != inner:
        wanted = f"an operand of type {quote(inner)}, the tensor_view inside the result"
        return f"expects {wanted}, but got {quote(given)}"
    return None


def result_count_problem(op: ir.OpView, count: int) -> str | None:
    """Checks the number of extents that an operation on a view returns."""
    if len(op.results) != count:
        return f"expects {count} results for {quote(op.src.type)}, but got {len(op.results)}"
    return None


def operand_count_problem(name: str, values: Sequence[ir.Value], count: int) -> str | None:
    """Checks the number of indices or offsets of an access."""
    if len(values) != count:
        return f"expected {count} {name} operands (based on the view), but got {len(values)}"
    return None
