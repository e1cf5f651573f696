"""`tuple(element for target in ct.static_iter(...) if condition)`, unrolled at compile time."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tilec.ast_to_tile.assignment import bind
from tilec.ast_to_tile.compile_time import static_items
from tilec.ast_to_tile.control_flow.liveness import assigned
from tilec.ast_to_tile.static_calls import is_static_call
from tilec.ast_to_tile.values.values import KernelValue
from tilec.errors import TileSyntaxError, TileTypeError
from tilec.language.operations.control import static_iter

if TYPE_CHECKING:
    from tilec.ast_to_tile.tracer import Tracer


def tuple_of(tracer: Tracer, node: ast.GeneratorExp) -> tuple[KernelValue, ...]:
    """The elements of a comprehension; its names are not visible outside of it."""
    for generator in node.generators:
        _check(tracer, generator)
    first = static_items(tracer, _iterable(node.generators[0]))
    outer = tracer.frame
    tracer.frame = outer.inner_scope(assigned([each.target for each in node.generators]))
    try:
        return tuple(_elements(tracer, node.elt, node.generators, first))
    finally:
        tracer.frame = outer


def _check(tracer: Tracer, generator: ast.comprehension) -> None:
    if generator.is_async:
        raise TileSyntaxError("'async for' cannot be used in a kernel: use 'for'")
    call = generator.iter
    if not is_static_call(tracer, call, static_iter):
        location = tracer.frame.source_location(call)
        raise TileSyntaxError("the iterable of a comprehension must be ct.static_iter(...)", location)
    assert isinstance(call, ast.Call)
    if len(call.args) != 1 or call.keywords or isinstance(call.args[0], ast.Starred):
        raise TileSyntaxError("'ct.static_iter' takes one expression, by position")


def _iterable(generator: ast.comprehension) -> ast.expr:
    assert isinstance(generator.iter, ast.Call)
    return generator.iter.args[0]


def _elements(
    tracer: Tracer, element: ast.expr, generators: Sequence[ast.comprehension], items: Sequence[KernelValue]
) -> Iterator[KernelValue]:
    first, rest = generators[0], generators[1:]
    for item in items:
        bind(tracer, first.target, item)
        if not all(_is_chosen(tracer, condition) for condition in first.ifs):
            continue
        if rest:
            yield from _elements(tracer, element, rest, static_items(tracer, _iterable(rest[0])))
        else:
            yield tracer.evaluate(element)


def _is_chosen(tracer: Tracer, node: ast.expr) -> bool:
    condition = tracer.condition(node)
    if not isinstance(condition, bool):
        location = tracer.frame.source_location(node)
        raise TileTypeError(
            "expected a compile-time condition in a comprehension: use ct.where on its elements", location
        )
    return condition
