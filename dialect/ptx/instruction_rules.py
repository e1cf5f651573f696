"""Cheap well-formedness rules of instructions; ptxas and the simulator check the rest."""

from __future__ import annotations

import re

from tilec.dialect.cache import table
from tilec.dialect.mlir import ir
from tilec.dialect.ptx.registers import REGISTER_CLASSES
from tilec.dialect.ptx.template import mentioned

# Instructions whose results and operands all have the type of the last suffix; not setp.lt.and or atom.add.
_UNIFORM = re.compile(
    r"(?<![\w.%])(?:add|sub|mul|mul\.lo|mul\.hi|mad\.lo|mad\.hi|fma|div|rem|min|max|neg|abs|and|or|xor|not)"
    r"(?:\.(?:rn|rz|rm|rp|ftz|sat|cc|full|approx|NaN|xorsign|abs|lo|hi))*"
    r"\.(?P<kind>[busf])(?P<width>16|32|64) (?P<values>[^;@]*);"
)
_VALUE = re.compile(r"\$(\d+)")


# Cached, because texts and types recur in a kernel and each call to the bindings costs a tenth of a microsecond.
_known: dict[tuple[object, ...], str | None] = table()
_KNOWN_LIMIT = 100_000


def problem(operation: ir.Operation) -> str | None:
    """The problem with a compute or execute operation, or None."""
    attributes = operation.attributes
    if "text" not in attributes:
        return "needs a string attribute 'text'"
    results = operation.results
    types = [value.type for value in results]
    types += [value.type for value in operation.operands]
    tied = attributes["tied"] if "tied" in attributes else None
    key = (attributes["text"], tied, len(results), *types)
    if key in _known:
        return _known[key]
    if len(_known) >= _KNOWN_LIMIT:
        _known.clear()
    found = _known[key] = _problem_of(*key)
    return found


def _problem_of(text: ir.Attribute, tied: ir.Attribute | None, results: int, *types: ir.Type) -> str | None:
    if not isinstance(text, ir.StringAttr):
        return "needs a string attribute 'text'"
    if tied is not None and not isinstance(tied, ir.DenseI32ArrayAttr):
        return f"needs 'tied' as an array of i32, got {tied}"
    names = tuple(map(str, types))
    return _problem(text.value, names[:results], names[results:], tuple(tied) if tied is not None else None)


def _problem(
    text: str, results: tuple[str, ...], operands: tuple[str, ...], tied: tuple[int, ...] | None
) -> str | None:
    for found in results + operands:
        if found not in REGISTER_CLASSES:
            return f"has a value of type {found}, but registers are {', '.join(REGISTER_CLASSES)}"
    return (
        _tied_problem(results, operands, tied)
        or _placeholder_problem(text, len(results), len(operands), tied)
        or _type_problem(text, results + operands)
    )


def _tied_problem(results: tuple[str, ...], operands: tuple[str, ...], tied: tuple[int, ...] | None) -> str | None:
    if tied is None:
        return None
    if len(tied) != len(results):
        return f"ties {len(tied)} results, but has {len(results)}"
    chosen = [index for index in tied if index != -1]
    if len(set(chosen)) != len(chosen):
        return "ties two results to one operand"
    for result, operand in enumerate(tied):
        if not -1 <= operand < len(operands):
            return f"ties result {result} to operand {operand}, but has {len(operands)} operands"
        if operand != -1 and results[result] != operands[operand]:
            return f"ties result {result} of type {results[result]} to operand {operand} of type {operands[operand]}"
    return None


def _placeholder_problem(text: str, results: int, operands: int, tied: tuple[int, ...] | None) -> str | None:
    named, total = mentioned(text), results + operands
    beyond = sorted(index for index in named if index >= total)
    if beyond:
        return f"names ${beyond[0]}, but has {results} results and {operands} operands: {text}"
    # Instructions that wait for registers, such as tcgen05.wait::ld, name neither a result nor its tied operand.
    pairs = [(result, results + operand) for result, operand in enumerate(tied or ()) if operand != -1]
    silent = {index for pair in pairs for index in pair}
    missing = sorted(set(range(total)) - named - silent)
    if missing:
        return f"has {results} results and {operands} operands, but does not name ${missing[0]}: {text}"
    return None


def _type_problem(text: str, types: tuple[str, ...]) -> str | None:
    match = _UNIFORM.search(text)
    if match is None:
        return None
    for name in _VALUE.findall(match["values"]):
        row = REGISTER_CLASSES[types[int(name)]]
        mixes = row.is_float and match["kind"] in "us"
        if row.width != int(match["width"]) or mixes:
            return f"has ${name} of type {types[int(name)]}, which .{match['kind']}{match['width']} cannot take: {text}"
    return None
