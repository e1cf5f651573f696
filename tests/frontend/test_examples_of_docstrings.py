"""Public functions and classes have complete docstrings whose examples show their results."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum

import numpy as np
import pytest

import tilec as ct
from tilec.errors import TilecError

# Names that this module imports for its own use, not for kernels.
_INTERNAL = {"Any", "import_module"}
_SECTION = re.compile(r"^(Args|Returns|Raises|Example):$", re.MULTILINE)


def _public() -> Iterator[tuple[str, object]]:
    for name in dir(ct):
        if not name.startswith("_") and name not in _INTERNAL and callable(getattr(ct, name)):
            yield name, getattr(ct, name)


def _methods(name: str, kind: type) -> Iterator[tuple[str, object]]:
    for member, value in vars(kind).items():
        function = getattr(value, "__func__", value)
        if not member.startswith("_") and inspect.isfunction(function):
            yield f"{name}.{member}", function


CLASSES = [(name, value) for name, value in _public() if isinstance(value, type)]
EXPORT = [(f"compilation.{name}", getattr(ct.compilation, name)) for name in ct.compilation.__all__]
CLASSES += [(name, value) for name, value in EXPORT if isinstance(value, type)]
DOCUMENTED_CLASSES = [(name, value) for name, value in CLASSES if not issubclass(value, TilecError | Enum)]
FUNCTIONS = [(name, value) for name, value in [*_public(), *EXPORT] if inspect.isfunction(value)]
FUNCTIONS += [method for name, kind in DOCUMENTED_CLASSES for method in _methods(name, kind)]
FUNCTIONS += [(f"tensor_map.{name}", value) for name, value in vars(ct.tensor_map).items() if inspect.isfunction(value)]


def _sections(function: object) -> dict[str, str]:
    parts = _SECTION.split(inspect.getdoc(function) or "")
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_public_function_has_types_and_every_section(name: str, function: Callable[..., object]) -> None:
    signature = inspect.signature(function)
    parameters = [parameter for parameter in signature.parameters.values() if parameter.name not in ("self", "cls")]
    # The first parameter of a tile method is the tile.
    untyped = [parameter.name for parameter in parameters if parameter.annotation is parameter.empty]
    assert not untyped and signature.return_annotation is not signature.empty
    sections = _sections(function)
    required = {"Raises", "Example"} | ({"Args"} if parameters else set())
    required |= {"Returns"} if signature.return_annotation not in ("None", None) else set()
    assert required <= sections.keys()
    described = re.findall(r"^    (\w+):", sections.get("Args", ""), re.MULTILINE)
    assert described == [parameter.name for parameter in parameters]


@pytest.mark.parametrize(("name", "kind"), CLASSES, ids=[name for name, _ in CLASSES])
def test_public_class_has_a_docstring_with_an_example(name: str, kind: type) -> None:
    assert "Example" in _sections(kind)


def _examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestParser()
    names = {"ct": ct, "np": np}
    documented = {id(value): (name, value) for name, value in [*FUNCTIONS, *CLASSES]}
    return [
        finder.get_doctest(inspect.getdoc(value) or "", dict(names), f"tilec.{name}", None, 0)
        for name, value in documented.values()
    ]


@pytest.mark.parametrize("example", _examples(), ids=lambda example: example.name)
def test_example_shows_its_result(example: doctest.DocTest) -> None:
    assert example.examples and any(step.want for step in example.examples)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(example, out=report.append)
    assert not runner.failures, "".join(report)
