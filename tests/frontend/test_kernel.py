"""The kernel decorator, its hints, and finding kernels in files."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec as ct
from tilec.ast_to_tile.verify import verify
from tilec.dialect.build import build
from tilec.dialect.mlir import context, ir
from tilec.errors import CompileError, InputError, UsageError, VerificationError
from tilec.language.kernel import Kernel, find
from tilec.language.kernel_text import find_in_text
from tilec.runtime.artifact.kernel_folder import LoadedKernel

ConstInt = ct.Constant[int]


@ct.kernel
def scale(x, factor: float, T: ConstInt):
    """Multiplies."""
    ct.store(x, (0,), ct.load(x, (0,), (T,)) * factor)


def test_attributes_of_a_kernel() -> None:
    assert isinstance(scale, Kernel)
    assert (scale.name, scale.__doc__) == ("scale", "Multiplies.")
    assert scale.parameters == ("x", "factor", "T")
    # The annotations of this file are strings (PEP 563).
    assert scale.constants == {"T"}
    assert Path(scale.location.file).name == "test_kernel.py"


def test_calling_a_kernel_is_an_error() -> None:
    with pytest.raises(CompileError, match=r"kernel 'scale' cannot be called: run it with ct.launch"):
        scale(1, 2, 3)


@pytest.mark.parametrize("stage", ["kernel", "compiled", "loaded"])
def test_subscript_of_a_kernel_is_an_error(stage: str) -> None:
    kernels = {
        "kernel": scale,
        "compiled": ct.compile(scale, signature="x: f32[?], factor: f32, T=16", stop="tile"),
        "loaded": LoadedKernel("scale", ()),
    }
    with pytest.raises(CompileError) as caught:
        kernels[stage][(1,)](1, 2, 3)
    assert caught.value.message == (
        "kernel 'scale' cannot be subscripted: pass the grid to ct.launch(stream, grid, kernel, args)"
    )


def test_hints_become_attributes_by_target(tile_text: Callable[[Any, str], str]) -> None:
    hinted = scale.replace_hints(num_ctas=ct.ByTarget(sm_100=2, default=1), occupancy=4)
    text = tile_text(hinted, "x: f32[?], factor: f32, T=16")
    assert "sm_100 = {num_cta_in_cga = 2}" in text
    assert "default = {num_cta_in_cga = 1, occupancy = 4}" in text
    assert "optimization_hints" not in tile_text(scale, "x: f32[?], factor: f32, T=16")


@pytest.mark.parametrize(
    ("hints", "problem"),
    [
        ({"warps": 4}, "unknown hint 'warps', expected one of: num_ctas, occupancy, opt_level, num_worker_warps"),
        ({"num_ctas": 3}, "hint 'num_ctas': expected an integer from 1 to 16 that is a power of two, got 3"),
        ({"occupancy": ct.ByTarget(sm_90=33)}, "hint 'occupancy': expected an integer from 1 to 32, got 33"),
        ({"opt_level": True}, "hint 'opt_level': expected an integer from 0 to 3, got True"),
    ],
)
def test_invalid_hints_are_rejected_at_the_decorator(hints: dict[str, Any], problem: str) -> None:
    with pytest.raises(CompileError) as caught:
        ct.kernel(**hints)
    assert caught.value.message == problem


def test_only_functions_can_be_kernels() -> None:
    with pytest.raises(CompileError, match="ct.kernel expects a Python function, got type"):
        ct.kernel(int)
    with pytest.raises(CompileError, match="cannot take a variable number of arguments"):

        @ct.kernel
        def kernel(*arrays):
            pass


def test_kernel_is_found_by_name_or_if_it_is_the_only_one(tmp_path: Path) -> None:
    path = tmp_path / "kernels.py"
    path.write_text("import tilec as ct\n@ct.kernel\ndef first(x):\n    pass\n")
    assert find(path).name == find(path, "first").name == "first"
    path.write_text(path.read_text() + "@ct.kernel\ndef second(x):\n    pass\n")
    assert find(path, "second").name == "second"
    message = r"expected one kernel in .*, its kernels are: 'first', 'second': select one with"
    with pytest.raises(InputError, match=message):
        find(path)
    with pytest.raises(InputError, match="has no kernel 'third', its kernels are: 'first', 'second'"):
        find(path, "third")


@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        ("def (", "invalid Python syntax: ", 1),
        ("import tilec\nimport no_such_module\n", "cannot be imported: ModuleNotFoundError", 2),
    ],
)
def test_file_that_cannot_be_imported_is_an_error_at_its_line(
    tmp_path: Path, text: str, problem: str, line: int
) -> None:
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        find(path)
    assert problem in caught.value.message
    assert caught.value.location is not None and caught.value.location.line == line


def test_missing_file_is_an_error() -> None:
    with pytest.raises(InputError, match="cannot read nowhere.py: no such file"):
        find("nowhere.py", "kernel")


def test_launch_rejects_functions_bare_arguments_and_unknown_backends() -> None:
    with pytest.raises(UsageError, match="expects a function decorated with @ct.kernel, got function"):
        ct.launch(None, (1,), lambda: None, ())
    with pytest.raises(InputError, match="expects the arguments of the kernel as a tuple, got int"):
        ct.launch(None, (1,), scale, 3)
    with pytest.raises(UsageError, match="unknown backend 'emulate': expected one of interpret, python, simulate"):
        ct.launch(None, (1,), scale, (), backend="emulate")


@pytest.mark.parametrize(
    ("given", "count", "advice"),
    [
        (((1,), scale, ()), 3, "the stream is missing, pass None for the current stream"),
        ((None, (1,), scale), 3, "pass None for the current stream, and the arguments of the kernel as one tuple"),
        ((), 0, "pass None for the current stream, and the arguments of the kernel as one tuple"),
        ((None, (1,), scale, 1.0, 2.0), 5, "pass the arguments of the kernel as one tuple"),
    ],
)
def test_launch_with_a_wrong_number_of_arguments(given: tuple[Any, ...], count: int, advice: str) -> None:
    with pytest.raises(UsageError) as caught:
        ct.launch(*given)
    assert caught.value.message == f"ct.launch(stream, grid, kernel, args) takes 4 arguments, got {count}: {advice}"


def test_launch_with_arguments_in_another_order() -> None:
    with pytest.raises(UsageError) as caught:
        ct.launch(None, scale, (1,), ())
    assert caught.value.message == (
        "ct.launch expects a function decorated with @ct.kernel, got tuple: call ct.launch(stream, grid, kernel, args)"
    )


class Exporter:
    """An array of another library, in host memory."""

    def __init__(self, array: np.ndarray, error: Exception | None = None) -> None:
        self.array, self.error = array, error

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.error is not None:
            raise self.error
        return (1, 0)

    def __dlpack__(self, **_: object) -> Any:
        return self.array.__dlpack__()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (Exporter(np.zeros(16, np.complex64)), "argument 'x' needs an element type of Tile IR, got complex64"),
        (np.zeros(16, np.complex64), "argument 'x': arrays of complex64 cannot be passed to a kernel"),
        (Exporter(np.zeros(16), ValueError("no memory")), "argument 'x' cannot be exported by DLPack: no memory"),
    ],
)
def test_error_of_an_array_names_its_argument(array: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        ct.launch(None, (1,), scale, (array, 2.0, 16))
    assert caught.value.message == message


def test_kernel_is_compiled_once_per_signature(interpret: Callable[..., None]) -> None:
    fresh = scale.replace_hints()
    interpret(fresh, 1, np.ones(16, np.float32), 2.0, 16)
    (first,) = fresh.compiled.values()
    interpret(fresh, 1, np.ones(32, np.float32), 3.0, 16)
    assert list(fresh.compiled.values()) == [first]
    # An int is another type of scalar.
    interpret(fresh, 1, np.ones(16, np.float32), 2, 16)
    assert len(fresh.compiled) == 2


def test_file_of_another_language_and_text_that_fails(tmp_path: Path) -> None:
    (tmp_path / "k.txt").write_text("import tilec\n")
    with pytest.raises(InputError, match=f"expected a Python file, got {tmp_path / 'k.txt'}"):
        find(tmp_path / "k.txt")
    with pytest.raises(InputError, match="k.py:2:.*error: k.py cannot be imported: ZeroDivisionError") as caught:
        find_in_text("x = 0\n1 / x\n", "k.py")
    assert "1 / x" in str(caught.value)


@pytest.mark.parametrize("name", ["sm100", "sm_100a", "blackwell", "sm_"])
def test_invalid_target_name_is_rejected(name: str) -> None:
    with pytest.raises(ValueError, match=f"expected targets named sm_<number>, such as sm_100, got '{name}'"):
        ct.ByTarget(**{name: 2})


@pytest.mark.parametrize("dimensions", [[0], 0, (True,), (0.0,), ("0",)])
@pytest.mark.parametrize("name", ["static_shape_dims", "static_stride_dims"])
def test_invalid_static_dimensions_are_rejected(name: str, dimensions: object) -> None:
    with pytest.raises(TypeError, match=f"{name}"):
        ct.ArrayAnnotation(**{name: dimensions})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("annotate", "message"),
    [
        (lambda: ct.ArrayAnnotation(index_dtype=ct.int8), "expected an index_dtype of int32 or int64, got int8"),
        (lambda: ct.ListAnnotation(element=int), "expected an element with one ArrayAnnotation, got <class 'int'>"),
        (lambda: ct.signatures(3), "ct.signatures expects texts such as 'x: f32[?], tile=128', got int"),
        (
            lambda: ct.signatures("x: f32[?]")(min),
            "ct.signatures expects a kernel, got builtin_function_or_method: put it",
        ),
        (
            lambda: ct.load(np.zeros(4), 0, 4),
            "'ct.load' of an array can be called inside a kernel only: on the host it",
        ),
        (lambda: ct.Tile() + 1, "'operators of tiles' can be read inside a kernel only"),
        (lambda: -ct.Tile(), "'operators of tiles' can be read inside a kernel only"),
        (lambda: ct.Tile()[None], "'operators of tiles' can be read inside a kernel only"),
        (lambda: operator.index(ct.Tile()), "'operators of tiles' can be read inside a kernel only"),
        (lambda: ct.Tile().shape, "'shape' can be read inside a kernel only"),
    ],
)
def test_declaration_or_call_on_the_host_is_rejected(annotate: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError, CompileError)) as caught:
        annotate()
    assert message in str(caught.value)


def test_class_of_kernels_is_their_decorator() -> None:
    hinted = ct.kernel(occupancy=2)(scale.function)
    assert all(isinstance(found, ct.kernel) for found in (scale, hinted, ct.kernel()(test_kernel)))
    assert (hinted.hints.occupancy, hinted.replace_hints(num_ctas=2).hints.occupancy) == (2, 2)
    assert hinted.replace_hints(num_ctas=2).compiled is not hinted.compiled


def test_kernel() -> None:
    """A plain function, decorated above."""


class Scaled:
    """Kernels are attributes of classes and of instances; they are not bound."""

    @ct.kernel
    def filled(x, value):
        ct.store(x, 0, ct.full(4, value, ct.float32))

    @staticmethod
    @ct.kernel(opt_level=2)
    def hinted(x, value):
        ct.store(x, 0, ct.full(4, value, ct.float32))


@pytest.mark.parametrize("chosen", [Scaled.filled, Scaled().filled, Scaled.hinted, Scaled().hinted])
def test_kernel_in_a_class_is_launched_from_the_class_and_its_instances(chosen: ct.kernel) -> None:
    x = np.zeros(4, np.float32)
    ct.launch(None, 1, chosen, (x, 2.5), backend="interpret")
    assert x.tolist() == [2.5] * 4


def test_closures_have_their_own_variables_and_annotations() -> None:
    def adding(amount: int, Size: object) -> ct.kernel:
        @ct.kernel
        def add(x, n: Size):  # type: ignore[valid-type]
            ct.store(x, 0, ct.full(n, amount, ct.int32))

        return add

    x = np.zeros(4, np.int32)
    first, second = adding(1, ct.Constant[int]), adding(2, ct.Constant)
    for kernel, expected in ((first, 1), (second, 2), (first, 1)):
        ct.launch(None, 1, kernel, (x, 4), backend="interpret")
        assert x.tolist() == [expected] * 4


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: scale(1, 2, 3), TypeError),
        (lambda: ct.kernel(int), TypeError),
        (lambda: ct.kernel(warps=4), TypeError),
        (lambda: ct.kernel(num_ctas=3), ValueError),
        (lambda: scale.replace_hints(occupancy=33), ValueError),
        (lambda: ct.function(lambda: None)(), RuntimeError),
        (lambda: ct.zeros(4, ct.int32), RuntimeError),
        (lambda: ct.int32(4), RuntimeError),
    ],
)
def test_misuse_on_the_host_has_the_class_of_cutile(call: Callable[[], object], kind: type[Exception]) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, CompileError)


def test_invalid_operation_is_reported_at_its_line() -> None:
    """The checks of the front end come before the verifier of MLIR."""
    with context(), ir.Location.file("kernel.py", 3, 5):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            attributes = {"sym_name": "kernel", "function_type": ir.FunctionType.get([], [])}
            ir.Block.create_at_start(build("entry", [], [], attributes).regions[0], [])
        with pytest.raises(VerificationError, match="^kernel.py:3:5: error: empty block: expect at least a terminator"):
            verify(module)
