"""The public names of a package with the members of its classes and the parameters of its functions, as plain data.

    python tests/documents/public_surface.py

writes cutile_surface.json from the installed package cuda-tile.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import inspect
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("cutile_surface.json")
MODULES = ("", ".compilation", ".tune", ".jax")
# Methods that Python calls by syntax.
SYNTAX = ("__call__", "__getitem__", "__index__")
BINARY = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul", "and", "or", "xor"),
    *("lshift", "rshift"),
)
UNARY = ("neg", "invert")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
OPERATORS = (
    *(f"__{r}{name}__" for name in BINARY for r in ("", "r")),
    *(f"__{name}__" for name in (*UNARY, *COMPARISONS)),
)

Parameters = dict[str, list[str]]
Entry = dict[str, Any]


def describe(value: object) -> Entry:
    """The kind of a public value, its parameters and its members.

    Example: {"kind": "function", "parameters": {"x": ["positional only", "required"]}}.
    """
    if isinstance(value, enum.EnumType):
        return {"kind": "enumeration", "members": {name: {"kind": "value"} for name in sorted(value.__members__)}}
    if isinstance(value, type) and issubclass(value, Exception):
        return {"kind": "exception"}
    if isinstance(value, type):
        return {"kind": "class", **_parameters(value), "members": _members(value)}
    if inspect.isroutine(value):
        return {"kind": "function", **_parameters(value)}
    return {"kind": "value"}


def _members(value: type) -> dict[str, Entry]:
    classes = value.__mro__[:-1]
    # Other classes have only comparisons that Python generates.
    syntax = (*SYNTAX, *OPERATORS) if hasattr(value, "__add__") else SYNTAX
    names = {name for name in syntax if any(name in vars(each) for each in classes)}
    # A field of a dataclass without a default is not an attribute of the class.
    names |= {name for each in classes for name in (*vars(each), *_fields(each)) if not name.startswith("_")}
    return {name: _member(value, name) for name in sorted(names)}


def _fields(value: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(value)) if dataclasses.is_dataclass(value) else ()


def _member(value: type, name: str) -> Entry:
    if name.startswith("__"):
        return {"kind": "operator"}
    found = inspect.getattr_static(value, name, None)
    if isinstance(found, staticmethod):
        return {"kind": "function", **_parameters(found.__func__)}
    if inspect.isfunction(found):
        return {"kind": "function", **_parameters(found, method=True)}
    return {"kind": "value"}


def _parameters(value: object, method: bool = False) -> dict[str, Parameters]:
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return {}
    return {"parameters": {each.name: _parameter(each) for each in parameters[1 if method else 0 :]}}


def _parameter(parameter: inspect.Parameter) -> list[str]:
    default = "required" if parameter.default is parameter.empty else _default(parameter.default)
    return [parameter.kind.description, default]


def _default(value: object) -> str:
    if value is None or isinstance(value, (bool, int, float, str, tuple)):
        return repr(value)
    # Enumerations and element types print their name; other values are internal markers.
    return str(value) if isinstance(value, enum.Enum) or hasattr(value, "bitwidth") else "unspecified"


def surface(package: str) -> dict[str, Entry]:
    """The public names of cuTile Python by path, such as `compilation.export_kernel`."""
    found: dict[str, Entry] = {}
    for suffix in MODULES:
        module = importlib.import_module(package + suffix)
        for name in module.__all__:
            value = getattr(module, name)
            if not inspect.ismodule(value):
                found[f"{suffix[1:]}.{name}".lstrip(".")] = describe(value)
    # Not exported; programs get it from Array.get_raw_memory.
    found["RawArrayMemory"] = describe(importlib.import_module(f"{package}._stub").RawArrayMemory)
    hints = importlib.import_module(f"{package}._compiler_options").CompilerOptions
    # The decorator passes its keywords on to this class.
    del found["kernel"]["parameters"]["kwargs"]
    found["kernel"]["parameters"] |= {
        each.name: ["keyword-only", "unspecified"] for each in inspect.signature(hints).parameters.values()
    }
    return found


def text() -> str:
    """The text of cutile_surface.json for the installed package."""
    return json.dumps({"version": version("cuda-tile"), "names": surface("cuda.tile")}, indent=1) + "\n"


if __name__ == "__main__":
    DATA.write_text(text())
