"""`tilec.run`: all backends accept the same arguments and compute the same results."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilec
from tilec.driver.backends import BACKENDS
from tilec.errors import InputError, LaunchError, UsageError
from tilec.runtime.simulate import Settings

KERNELS = Path(__file__).parent / "kernels.py"
SCALE = "x: f32[?], y: f32[?], factor: f32, tile=128"
TARGETS = ("sm_100a", "sm_90a")


@pytest.fixture(scope="module", params=TARGETS)
def scale(request: pytest.FixtureRequest) -> Any:
    return tilec.compile(f"{KERNELS}:scale", signature=SCALE, target=request.param, stop="ptx")


def arrays() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).standard_normal(1000, np.float32)
    return x, np.zeros_like(x)


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
def test_backends_agree_with_numpy(scale: Any, backend: str) -> None:
    x, y = arrays()
    tilec.run(scale, (8, 1, 1), [x, y, 3.0], backend=backend)
    assert np.array_equal(y, 3 * x)


def test_host_arrays_are_simulated(scale: Any) -> None:
    x, y = arrays()
    counters = tilec.run(scale, 8, [x, y, 3.0])
    assert counters["instructions"] > 0
    assert np.array_equal(y, 3 * x)


def test_backend_is_read_from_the_environment(scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_BACKEND", "interpret")
    assert tilec.run(scale, 8, [*arrays(), 3.0]) is None
    monkeypatch.setenv("TILEC_BACKEND", "guess")
    with pytest.raises(UsageError, match="unknown backend 'guess': expected one of interpret, python, simulate"):
        tilec.run(scale, 8, [*arrays(), 3.0])


def test_loaded_artifact_computes_the_same_results(scale: Any, tmp_path: Path) -> None:
    loaded = tilec.load(scale.save(tmp_path / "scale"))
    x, y = arrays()
    tilec.run(loaded, 8, [x, y, 3.0])
    assert np.array_equal(y, 3 * x)
    with pytest.raises(UsageError, match="an artifact contains no Tile IR to interpret"):
        tilec.run(loaded, 8, [x, y, 3.0], backend="interpret")


# y[i] = x[i] + 1 for the 128 elements at two addresses.
TILE_IR = """cuda_tile.module @kernels {
  entry @increment(%x: tile<ptr<i32>>, %y: tile<ptr<i32>>) {
    %one = constant <i32: 1> : tile<128xi32>
    %i = iota : tile<128xi32>
    %x1 = reshape %x : tile<ptr<i32>> -> tile<1xptr<i32>>
    %xs = broadcast %x1 : tile<1xptr<i32>> -> tile<128xptr<i32>>
    %from = offset %xs, %i : tile<128xptr<i32>>, tile<128xi32> -> tile<128xptr<i32>>
    %y1 = reshape %y : tile<ptr<i32>> -> tile<1xptr<i32>>
    %ys = broadcast %y1 : tile<1xptr<i32>> -> tile<128xptr<i32>>
    %to = offset %ys, %i : tile<128xptr<i32>>, tile<128xi32> -> tile<128xptr<i32>>
    %loaded, %t0 = load_ptr_tko weak %from : tile<128xptr<i32>> -> tile<128xi32>, token
    %sum = addi %loaded, %one : tile<128xi32>
    %t1 = store_ptr_tko weak %to, %sum : tile<128xptr<i32>>, tile<128xi32> -> token
    return
  }
}
"""


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
@pytest.mark.parametrize("as_address", [False, True])
def test_pointer_argument_is_an_array_or_an_address(backend: str, as_address: bool) -> None:
    x, y = np.arange(128, dtype=np.int32), np.zeros(128, np.int32)
    arguments = [x.ctypes.data, y.ctypes.data] if as_address else [x, y]
    tilec.run(tilec.Module.parse(TILE_IR), 1, arguments, backend=backend)
    assert np.array_equal(y, x + 1)


LAUNCH = "tilec.launch"
PTX = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n    ret;\n}\n"


@tilec.kernel
def widened(x, y):
    tilec.store(y, 0, x.astype(tilec.float32))


# 1.1, 1000 and -3 rounded to each type, by hand: floats of 8 bits saturate, and two of them have no sign.
NARROW = {
    "bf16": (1.1015625, 1000, -3),
    "tf32": (1.099609375, 1000, -3),
    "f8E4M3FN": (1.125, 448, -3),
    "f8E5M2": (1.0, 1024, -3),
    "f8E8M0FNU": (1.0, 1024, 2.0**-127),
    "fnv8E5M3FNU": (1.125, 1024, 0),
}


@pytest.mark.parametrize("backend", ["interpret", "simulate"])
@pytest.mark.parametrize("element", NARROW)
def test_scalar_of_a_narrow_float_is_rounded(element: str, backend: str) -> None:
    compiled = tilec.compile(widened, signature=f"x: {element}, y: f32[1]", stop="ptx")
    y = np.zeros(1, np.float32)
    stored = []
    for x in (1.1, 1000.0, -3.0):
        tilec.run(compiled, 1, [x, y], backend=backend)
        stored.append(float(y[0]))
    assert tuple(stored) == NARROW[element]


def test_arguments_are_checked_before_execution(scale: Any) -> None:
    x, y = arrays()
    with pytest.raises(InputError, match="argument 'y' needs elements of f32, got f64"):
        tilec.run(scale, 8, [x, y.astype(np.float64), 3.0])


def test_launch_without_a_gpu_is_an_error(scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilec.runtime.devices.devices.devices", lambda: ())
    with pytest.raises(LaunchError, match=r"kernels of sm_\d+a need a GPU of that architecture, found none"):
        tilec.run(scale, 8, [*arrays(), 3.0], backend="launch")


@pytest.mark.gpu("sm_90a")
def test_launch_agrees_with_numpy() -> None:
    x, y = arrays()
    tilec.run(tilec.compile(f"{KERNELS}:scale", signature=SCALE, target="sm_90a"), 8, [x, y, 3.0], backend="launch")
    assert np.array_equal(y, 3 * x)


@pytest.mark.parametrize(
    ("backend", "setting", "message"),
    [
        ("interpret", "seed", "backend 'interpret' has no setting 'seed': its settings are check, truncate_tf32"),
        ("simulate", "speed", "backend 'simulate' has no setting 'speed': its settings are seed, checks"),
        ("launch", "seed", "backend 'launch' has no setting 'seed': its settings are programmatic_dependent_launch"),
    ],
)
def test_unknown_setting_of_a_backend_is_an_error(scale: Any, backend: str, setting: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        tilec.run(scale, 8, [*arrays(), 3.0], backend=backend, **{setting: 1})


@pytest.mark.parametrize("target", TARGETS)
def test_a_launch_compiles_the_kernel_for_its_target(target: str) -> None:
    @tilec.kernel
    def ones(x: Any) -> None:
        tilec.store(x, 0, tilec.ones(4, tilec.int32))

    tilec.launch(None, 1, ones, (np.zeros(4, np.int32),), target=target)
    assert [compiled.target for compiled in ones.compiled.values()] == [target]


@pytest.mark.parametrize("to_run", [lambda compiled: compiled, lambda compiled: compiled.artifact])
def test_another_target_than_that_of_the_compile_is_an_error(to_run: Any) -> None:
    compiled = tilec.compile(f"{KERNELS}:scale", signature=SCALE, target="sm_90a", stop="ptx")
    with pytest.raises(UsageError, match="'scale' is already compiled for sm_90a and cannot run for sm_100a"):
        tilec.run(to_run(compiled), 8, [*arrays(), 3.0], target="sm_100a")
    tilec.run(to_run(compiled), 8, [*arrays(), 3.0], target="sm_90a")


def test_hints_of_a_launch_that_are_not_a_dictionary_are_an_error() -> None:
    @tilec.kernel
    def ones(x: Any) -> None:
        tilec.store(x, 0, tilec.ones(4, tilec.int32))

    with pytest.raises(UsageError, match="expected hints as a dictionary, got list"):
        tilec.launch(None, 1, ones, (np.zeros(4, np.int32),), hints=[("stages", 2)])


def test_run_accepts_every_setting_of_the_simulator() -> None:
    assert set(BACKENDS["simulate"]) == {field.name for field in fields(Settings)}


class DeviceArray:
    """An array in device memory."""

    __cuda_array_interface__ = {"version": 3, "data": (4096, True), "shape": (4,), "typestr": "<f4"}


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (
            lambda scale: tilec.run(widened, 1, [1.0, DeviceArray()], backend="python"),
            "backend 'python' needs host arrays, got an array in device memory: copy it to the host",
        ),
        (
            lambda scale: tilec.run(tilec.compile(PTX, stop="ptx"), 1, [], backend="interpret"),
            "the text is at a stage after Tile IR: only Tile IR can be interpreted",
        ),
        (
            lambda scale: tilec.compile(PTX, stop="ptx").artifact,
            "the text has no launch metadata: add its .launch.json",
        ),
        (
            lambda scale: tilec.compile(tilec.Module.parse("cuda_tile.module @m {}"), stop="ptx"),
            "the module has no entry",
        ),
        (
            lambda scale: (
                tilec.compile(
                    tilec.compile(f"{KERNELS}:scale", signature=SCALE, stop="ptx")
                    .stage("ptx-mlir")
                    .text.replace(LAUNCH, "tilec.other"),
                    stop="ptx",
                ).metadata
            ),
            "the ptx module has no 'tilec.launch' attribute, which launch metadata require",
        ),
    ],
)
def test_source_that_a_backend_cannot_run(scale: Any, run: Any, message: str) -> None:
    with pytest.raises(tilec.TileError) as caught:
        run(scale)
    assert caught.value.message == message


@pytest.mark.parametrize("seed", range(5))
def test_results_do_not_depend_on_the_order_of_asynchronous_operations(scale: Any, seed: int) -> None:
    x, y = arrays()
    tilec.run(scale, 8, [x, y, 3.0], seed=seed)
    assert np.array_equal(y, 3 * x)
