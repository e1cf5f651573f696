"""Simulation of artifacts and of PTX text: arguments, results and errors."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tilec.errors import InputError, SimulationError
from tilec.runtime.arguments.arguments import PointerArgument, ScalarArgument
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.artifact.metadata import Metadata, ValueParameter
from tilec.runtime.simulate import Settings, Shape, program, run_text, simulate, unsupported_forms

PTX = (Path(__file__).parent / "vector_add.ptx").read_text()
VECTOR_ADD = Artifact(
    Metadata(
        entry="vector_add",
        target="sm_90a",
        arguments=(*(PointerArgument(name, "f32", 4) for name in "abc"), ScalarArgument("n", "i32")),
        parameters=(*(ValueParameter("u64", name) for name in "abc"), ValueParameter("u32", "n")),
        tensor_maps=(),
        block=(128, 1, 1),
    ),
    PTX,
)


def arrays(count: int = 200) -> list[np.ndarray]:
    a = np.arange(count, dtype=np.float32)
    return [a, 1000 * a, np.zeros_like(a)]


def test_arrays_are_updated_in_place() -> None:
    a, b, c = arrays()
    simulate(VECTOR_ADD, 2, [a, b, c, 200])
    assert np.array_equal(c, 1001 * a)


def test_pointer_argument_may_be_an_integer() -> None:
    a, b, c = arrays()
    simulate(VECTOR_ADD, (2, 1, 1), [a.ctypes.data, b.ctypes.data, c.ctypes.data, 200])
    assert np.array_equal(c, 1001 * a)


def test_out_of_bounds_error_names_python_line_ptx_line_block_and_thread() -> None:
    a, b, c = arrays()
    with pytest.raises(SimulationError, match="bounds: (read|write) of 4 bytes at") as raised:
        simulate(VECTOR_ADD, 2, [a, b[:150], c, 200])
    error = raised.value
    load = next(i for i, line in enumerate(PTX.splitlines(), 1) if "ld.global.f32 %f2" in line)
    assert (Path(error.location.file).name, error.location.line) == ("vector_add.py", 3)
    assert str(error.notes[0].location) == f"vector_add.ptx:{load}"
    # Thread 22 of block 1 accesses element 150; the seed determines which of its warps fails first.
    where = re.fullmatch(
        r"in block \(1, 0, 0\), thread \((\d+), 0, 0\): ld.global.f32 %f2, \[%d6\];", error.notes[0].message
    )
    assert where and int(where[1]) in (22, 32, 64)


def test_read_only_arrays_are_not_written() -> None:
    a, b, c = arrays()
    c.flags.writeable = False
    with pytest.raises(SimulationError, match="bounds: (read|write) of 4 bytes at"):
        simulate(VECTOR_ADD, 2, [a, b, c, 200])
    assert not c.any()


def test_infinite_loop_reaches_the_step_limit() -> None:
    infinite = replace(VECTOR_ADD, ptx=PTX.replace("    ret;", "    bra.uni DONE;"))
    with pytest.raises(SimulationError, match="step-limit: the run exceeds 1000 warp instructions"):
        simulate(infinite, 1, [*arrays(), 0], Settings(step_limit=1000))


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (-1, "the grid needs one to three integers of at least 0, got -1"),
        ((1, 1, 1, 1), r"the grid needs one to three integers of at least 0, got \(1, 1, 1, 1\)"),
        ((1, 65536), "the grid needs extents of at most"),
    ],
)
def test_invalid_grid_is_refused(grid: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate(VECTOR_ADD, grid, [*arrays(), 200])


def test_invalid_shared_memory_is_refused() -> None:
    with pytest.raises(InputError, match="dynamic shared memory needs"):
        run_text(PTX, "vector_add", Shape((1, 1, 1), (128, 1, 1), shared_bytes=-1), b"", [], Settings())


def test_error_of_text_that_is_no_program_has_its_line() -> None:
    with pytest.raises(InputError) as caught:
        unsupported_forms(".version 8.0\n.target sm_90a\n.version", "wrong.ptx")
    assert caught.value.location is not None and (caught.value.location.file, caught.value.location.line) == (
        "wrong.ptx",
        3,
    )


def test_grid_without_extents_is_one_block() -> None:
    a, b, c = arrays()
    simulate(VECTOR_ADD, (), [a, b, c, 200])
    np.testing.assert_array_equal(c[:128], a[:128] + b[:128])
    assert not c[128:].any()


def test_grid_must_be_a_multiple_of_the_cluster() -> None:
    clustered = replace(VECTOR_ADD, metadata=replace(VECTOR_ADD.metadata, cluster=(2, 1, 1)))
    with pytest.raises(
        InputError, match=r"the grid needs extents that are multiples of the cluster \(2, 1, 1\), got \(3, 1, 1\)"
    ):
        simulate(clustered, 3, [*arrays(), 200])


class DeviceArray:
    __cuda_array_interface__ = {"version": 3, "data": (4096, False), "shape": (200,), "typestr": "<f4"}


def test_device_arrays_are_refused() -> None:
    with pytest.raises(InputError, match="argument 'b' is a device array; the simulator needs host arrays"):
        a, _, c = arrays()
        simulate(VECTOR_ADD, 2, [a, DeviceArray(), c, 200])


def test_artifact_without_ptx_is_refused() -> None:
    with pytest.raises(InputError, match="vector_add has no PTX, which the simulator requires"):
        simulate(replace(VECTOR_ADD, ptx="", cubin=b"\x7fELF"), 2, [*arrays(), 200])


def test_metadata_and_ptx_must_have_the_same_parameters() -> None:
    # The entry declares three pointers and a count: 28 bytes.
    fewer = replace(
        VECTOR_ADD.metadata, arguments=VECTOR_ADD.metadata.arguments[:3], parameters=VECTOR_ADD.metadata.parameters[:3]
    )
    with pytest.raises(InputError, match="entry 'vector_add' declares 28 bytes of parameters, got 24"):
        simulate(replace(VECTOR_ADD, metadata=fewer), 2, arrays())


def test_unknown_entry_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"k.ptx has no entry 'add' \(entries: vector_add\)"):
        run_text(PTX, "add", Shape((1, 1, 1), (128, 1, 1)), b"", [], Settings(), "k.ptx")


def test_error_in_ptx_has_its_line() -> None:
    line = 1 + PTX[: PTX.index("add.rn")].count("\n")
    with pytest.raises(InputError) as raised:
        program(PTX.replace("add.rn.f32 %f3, %f1, %f2;", "add.rn.f32 %f3, %f1, %f9;"), "k.ptx")
    assert (raised.value.location.file, raised.value.location.line) == ("k.ptx", line)


UNSUPPORTED = PTX.replace("    add.rn.f32", "    suld.b.1d.b32.trap %r5, [surface, {%r1}];\n    add.rn.warp.f32")
REFUSED = UNSUPPORTED.replace("    suld", "    add.rn.f32 %f3, %f1, %d1;\n    suld")
LINE = 1 + PTX[: PTX.index("add.rn")].count("\n")


def _launch(ptx: str, count: int) -> None:
    artifact, given = replace(VECTOR_ADD, ptx=ptx), arrays()
    simulate(artifact, 1, [*given[:3], count])


def test_a_launch_stops_at_the_unsupported_instruction_that_it_reaches() -> None:
    """With no elements, the kernel returns before it."""
    _launch(UNSUPPORTED, 0)
    with pytest.raises(SimulationError, match="unsupported: the simulator does not support suld.b.1d") as raised:
        _launch(UNSUPPORTED, 8)
    assert raised.value.notes[0].location.line == LINE


def test_all_unsupported_and_refused_instructions_are_listed() -> None:
    notes = unsupported_forms(REFUSED, "k.ptx")
    assert [note.location.line for note in notes] == [LINE, LINE + 1, LINE + 2]
    assert "expects 32 bits" in notes[0].message
    assert "suld" in notes[1].message and ".warp" in notes[2].message
    assert unsupported_forms(PTX) == []


def test_a_refused_instruction_is_an_error_of_the_program() -> None:
    for text, message in [("add.rn.f32 %f3, %f1, %d1;", "expects 32 bits"), ("bogus.b32 %r1;", "not an instruction")]:
        with pytest.raises(InputError, match=message) as raised:
            program(PTX.replace("    add.rn", f"    {text}\n    add.rn", 1), "k.ptx")
        assert raised.value.location.line == LINE
