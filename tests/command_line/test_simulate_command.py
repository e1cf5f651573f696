"""`tilec simulate`: PTX with launch metadata, and PTX whose argument types are given on the command line."""

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

KERNELS = Path(__file__).parent / "kernels.py"
PTX_WITHOUT_METADATA = Path(__file__).parent / "foreign.ptx"


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.random.default_rng(0).standard_normal((2, 1000), np.float32)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    return a, b


def test_compiled_artifact_is_simulated(tilec: Any, tmp_path: Path, inputs: tuple[np.ndarray, np.ndarray]) -> None:
    signature = "a: f32[?], b: f32[?], c: f32[?], tile=256"
    assert tilec("compile", f"{KERNELS}:add", "--sig", signature, "-o", tmp_path / "add.ptx").status == 0
    arrays = [tmp_path / "a.npy", tmp_path / "b.npy", f"{tmp_path / 'c.npy'}:f32[1000]"]
    outcome = tilec(
        "simulate", tmp_path / "add.ptx", "--grid", 4, *(part for array in arrays for part in ("--arg", array))
    )
    assert (outcome.status, outcome.err) == (0, "")
    other = tilec("simulate", tmp_path / "add.ptx", "--grid", 4, "--entry", "sub")
    assert (other.status, "add.ptx was compiled for entry 'add', got 'sub'" in other.err) == (2, True)
    assert "instructions" in outcome.out
    assert np.array_equal(np.load(tmp_path / "c.npy"), inputs[0] + inputs[1])


def test_ptx_without_metadata_is_simulated(tilec: Any, tmp_path: Path, inputs: tuple[np.ndarray, np.ndarray]) -> None:
    arguments = [tmp_path / "a.npy", tmp_path / "b.npy", f"{tmp_path / 'c.npy'}:f32[1000]", "u32:1000"]
    options = [part for argument in arguments for part in ("--arg", argument)]
    outcome = tilec("simulate", PTX_WITHOUT_METADATA, "--grid", "4,2", "--block", "128", *options)
    assert (outcome.status, outcome.err) == (0, "")
    assert np.array_equal(np.load(tmp_path / "c.npy"), inputs[0] + inputs[1])


def test_forms_are_checked_without_a_launch(tilec: Any, tmp_path: Path) -> None:
    outcome = tilec("simulate", PTX_WITHOUT_METADATA, "--check-forms")
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    file = tmp_path / "other.ptx"
    text = PTX_WITHOUT_METADATA.read_text().replace("    ret;", "    vadd.u32.u32.u32 %r1, %r1, %r1;\n    ret;")
    text = text.replace("    ret;", "    mov.b32 %r1, nothing;\n    ret;")
    file.write_text(text)
    outcome = tilec("simulate", file, "--check-forms")
    assert (outcome.status, outcome.out) == (1, "")
    line = 1 + text[: text.index("vadd")].count("\n")
    assert "the simulator does not support 2 instructions of" in outcome.err
    assert f"other.ptx:{line}: note: vadd.u32.u32.u32: unknown instruction" in outcome.err
    assert f"other.ptx:{line + 1}: note: 'nothing' is not declared" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--grid", "1"), 2, "entry 'add' does not specify its block size: set --block"),
        (("--grid", "x"), 2, "--grid needs one to three integers separated by commas, got 'x'"),
        ((), 2, "the following arguments are required: --grid"),
        (("--grid", "1", "--block", "128"), 1, "declares 28 bytes of parameters, got 0"),
        (("--grid", "1", "--block", "128", "--arg", "3"), 1, "argument '3' needs its type"),
        (("--grid", "1", "--block", "128", "--arg", "x"), 2, "cannot parse argument 'x': expected FILE.npy"),
        (("--grid", "1", "--block", "128", "--arg", "no.npy"), 1, "cannot read no.npy"),
        (("--grid", "1", "--block", "128", "--arg", "c.npy:f31[4]"), 2, "unknown element type in 'c.npy:f31[4]'"),
        (
            ("--grid", "1", "--block", "128", "--arg", "c.npy:f32[4 4]"),
            2,
            "cannot parse the extents of 'c.npy:f32[4 4]'",
        ),
        (("--grid", "1", "--block", "128", "--entry", "sub"), 2, "has no entry 'sub' (entries: add)"),
    ],
)
def test_invalid_command_is_an_error(tilec: Any, arguments: tuple[str, ...], status: int, message: str) -> None:
    outcome = tilec("simulate", PTX_WITHOUT_METADATA, *arguments)
    assert (outcome.status, outcome.out) == (status, "")
    assert message in outcome.err and "Traceback" not in outcome.err


def test_python_is_not_simulated(tilec: Any) -> None:
    outcome = tilec("simulate", f"{KERNELS}:add", "--grid", "1")
    assert outcome.status == 2
    assert f"{KERNELS}:add needs a signature: compile it with 'tilec compile', then simulate its PTX" in outcome.err


def test_program_of_several_entries(tilec: Any, tmp_path: Path) -> None:
    text = PTX_WITHOUT_METADATA.read_text()
    start = text.index(".visible .entry")
    (tmp_path / "two.ptx").write_text(
        text + text[start:].replace(".entry add", ".entry sub").replace("add_param", "sub_param")
    )
    outcome = tilec("simulate", tmp_path / "two.ptx", "--grid", "1", "--block", "32")
    assert (outcome.status, "has 2 entries: select one with --entry: add, sub" in outcome.err) == (2, True)


def test_error_in_the_kernel_has_status_1(tilec: Any, tmp_path: Path, inputs: tuple[np.ndarray, np.ndarray]) -> None:
    arguments = [tmp_path / "a.npy", tmp_path / "b.npy", f"{tmp_path / 'c.npy'}:f32[999]", "u32:1000"]
    options = [part for argument in arguments for part in ("--arg", argument)]
    outcome = tilec("simulate", PTX_WITHOUT_METADATA, "--grid", "4,2", "--block", "128", *options)
    assert (outcome.status, outcome.out) == (1, "")
    assert "error: bounds: " in outcome.err and f"{PTX_WITHOUT_METADATA}:" in outcome.err
    assert not (tmp_path / "c.npy").exists()


def test_file_bytes_are_read_as_bf16(tilec: Any, tmp_path: Path) -> None:
    from tilec.commands.argument import read_argument

    array = np.arange(8).astype(ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", array)
    assert np.array_equal(read_argument(f"{tmp_path / 'x.npy'}:bf16").value, array)
    outcome = tilec("simulate", PTX_WITHOUT_METADATA, "--grid", 1, "--arg", f"{tmp_path / 'x.npy'}:f32")
    assert (outcome.status, "an element has 2 bytes, expected 4" in outcome.err) == (1, True)


HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
# Two warps store the value 5 to the same address.
SAME_VALUES = f"""{HEADER}.visible .entry k() {{
  .shared .align 4 .b32 s;
  st.shared.u32 [s], 5;
  ret;
}}
"""
# One thread reads a slot and copies to it, without a proxy fence between the read and the copy.
READ_THEN_COPY = f"""{HEADER}.visible .entry k(.param .u64 p) {{
  .shared .align 128 .b8 slot[128];
  .shared .align 8 .b64 full;
  .reg .u64 %rd<3>;
  .reg .u32 %r<3>;
  .reg .pred %done;
  ld.param.u64 %rd1, [p];
  mbarrier.init.shared.b64 [full], 1;
  fence.mbarrier_init.release.cluster;
  st.shared.u32 [slot], 1;
  fence.proxy.async.shared::cta;
  ld.shared.u32 %r1, [slot];
  mbarrier.arrive.expect_tx.shared.b64 _, [full], 128;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [slot], [%rd1], 128, [full];
wait:
  mbarrier.try_wait.parity.shared.b64 %done, [full], 0;
  @!%done bra wait;
  ret;
}}
"""


def test_same_value_races_are_reported_on_request(tilec: Any, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(SAME_VALUES)
    command = ["simulate", tmp_path / "k.ptx", "--grid", 1, "--block", 64]
    assert tilec(*command).status == 0
    outcome = tilec(*command, "--same-value-races")
    assert outcome.status == 1 and "an earlier write" in outcome.err


def test_check_of_read_fences_can_be_disabled(tilec: Any, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(READ_THEN_COPY)
    np.save(tmp_path / "a.npy", np.arange(32, dtype=np.uint32))
    command = ["simulate", tmp_path / "k.ptx", "--grid", 1, "--block", 1, "--arg", tmp_path / "a.npy"]
    outcome = tilec(*command)
    assert outcome.status == 1 and "no fence.proxy.async follows an earlier read" in outcome.err
    assert tilec(*command, "--no-read-fences").status == 0
