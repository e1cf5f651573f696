"""The namespace of `import tilec as ct`: its names, and modules that the import must not load."""

from __future__ import annotations

import importlib.resources
import importlib.util
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path, PurePath

import numpy as np
import pytest

import tilec as ct
from tilec.ast_to_tile import entry  # noqa: F401  (registers every op group)
from tilec.ast_to_tile.registry import HANDLERS, implements
from tilec.language.kernel_function import methods, properties
from tilec.language.operations import (
    arith,
    atomic,
    bitwise,
    comparison,
    control,
    convert,
    debug,
    grid_dependency,
    im2col,
    math,
    memory,
    mma,
    packed,
    raw_memory,
    reduce,
    scan,
    shape,
    view,
)

OP_GROUPS = (
    *(arith, atomic, bitwise, comparison, control, convert, debug, grid_dependency, im2col, math, memory),
    *(mma, packed, reduce, scan, shape),
)
FUNCTIONS = [
    (f"{module.__name__.rpartition('.')[2]}.{name}", value)
    for module in OP_GROUPS
    for name, value in vars(module).items()
    if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
]
CLASSES = (view.Array, view.Tile, view.TiledView, im2col.Im2colView, packed.PackedView, raw_memory.RawArrayMemory)
METHODS = [(f"{kind.__name__}.{name}", value) for kind in CLASSES for name, value in methods(kind).items()]


@pytest.mark.parametrize(("name", "function"), FUNCTIONS + METHODS)
def test_every_function_of_the_language_has_a_builder_with_its_parameters(name: str, function: object) -> None:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    builder = inspect.signature(HANDLERS[function])
    # Raises TypeError if the builder does not take the parameters of the language function.
    builder.bind(emitter=None, **dict.fromkeys(signature.parameters))


@pytest.mark.parametrize(("name", "function"), FUNCTIONS)
def test_every_function_of_the_language_is_in_the_namespace(name: str, function: object) -> None:
    assert getattr(ct, name.partition(".")[2]) is function


def test_second_builder_of_a_function_is_refused() -> None:
    with pytest.raises(ValueError, match="'zeros' is built by .*_zeros and .*other"):

        @implements(ct.zeros)
        def other() -> None:
            pass


def test_importing_tilec_does_not_load_mlir_or_the_compiler() -> None:
    code = "import sys, tilec; print([m for m in sys.modules if 'mlir' in m or 'tilec.driver' in m or 'cuda' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_exported_functions_do_not_have_the_name_of_a_module() -> None:
    for name in ("compile", "kernel", "launch", "run", "load", "Module", "Compiled"):
        assert callable(getattr(ct, name))
        assert name in dir(ct)
    functions = [name for name in dir(ct) if not name.startswith("_") and callable(getattr(ct, name))]
    assert not [name for name in functions if importlib.util.find_spec(f"tilec.{name}") is not None]


def test_cdiv_on_the_host() -> None:
    assert [ct.cdiv(n, 4) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]


ERRORS = (
    "TileSyntaxError TileTypeError TileValueError TileRecursionError TileStaticEvalError StaticException "
    "TileStaticAssertionError TileUnsupportedFeatureError TileInternalError"
).split()


def test_errors_of_cutile_are_distinct_subclasses_of_tile_error() -> None:
    classes = [getattr(ct, name) for name in ERRORS]
    assert len(set(classes)) == len(ERRORS)
    assert all(issubclass(error, ct.TileError) for error in classes)
    assert issubclass(ct.StaticException, ct.TileStaticEvalError)


def test_language_function_on_the_host_is_an_error() -> None:
    with pytest.raises(ct.TileError, match="'ct.zeros' can be called inside a kernel only"):
        ct.zeros((4,), ct.float32)


@ct.kernel
def members(x, seen: ct.Constant[str]):
    images, view = ct.im2col_view(x, 1, tile=(4, 4)), x.tiled_view((1, 4, 4))
    small, tile = ct.packed_view(x, bits=4, tile=(1, 4, 4)), view.load((0, 0, 0))
    value = x if seen == "Array" else images if seen == "Im2colView" else view if seen == "TiledView" else tile
    value = small if seen == "PackedView" else x.get_raw_memory() if seen == "RawArrayMemory" else value
    value.nothing  # noqa: B018


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_for_editors_have_the_attributes_of_kernel_values(kind: type) -> None:
    with pytest.raises(ct.TileTypeError) as caught:
        ct.launch(None, 1, members, (np.zeros((1, 4, 4), np.uint8), kind.__name__), backend="interpret")
    known = set(caught.value.message.partition("they have: ")[2].split(", "))
    assert known == {*methods(kind), *properties(kind)}
    assert all(getattr(kind, name).__doc__ for name in known)


def test_package_has_the_py_typed_marker() -> None:
    assert importlib.resources.files("tilec").joinpath("py.typed").is_file()


def test_wheel_contains_the_py_typed_marker() -> None:
    settings = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["tool"]["scikit-build"]
    # Files of the package folder are in the wheel unless a pattern excludes them.
    assert settings["wheel"]["packages"]["tilec"] == "python/tilec"
    assert not any(PurePath("tilec/py.typed").match(pattern) for pattern in settings["wheel"]["exclude"])
