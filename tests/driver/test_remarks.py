"""Remarks report slower code and hints that are not followed, at the source line and with the reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from remark_kernels import converted, product_with_itself

import tilec as ct
from tilec.compile_options import CompileOptions, hints_from_text
from tilec.errors import UsageError
from tilec.remarks import LOSSES, TOPICS, Loss, Remark, reported
from tilec.runtime.cubin.cubin import _WARNING

MATMUL = "A: f16[?,?], B: f16[?,?], C: f32[?,?%4], tm={}, tn={}, tk={}"


# CUDA programming guide, technical specifications of both targets.
SHARED_BYTES_OF_AN_SM, RESERVED_FOR_EACH_BLOCK = 228 * 1024, 1024
QUARTER = SHARED_BYTES_OF_AN_SM // 4 - RESERVED_FOR_EACH_BLOCK


def matmul(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        acc = ct.mma(ct.load(A, (0, k), (tm, tk), latency=2), ct.load(B, (k, 0), (tk, tn)), acc)
    ct.store(C, (0, 0), acc)


@ct.kernel
def without_tma(A, B, C):
    a, b = ct.load(A, (0, 0), (128, 64), allow_tma=False), ct.load(B, (0, 0), (64, 128))
    ct.store(C, (0, 0), ct.mma(a, b, ct.zeros((128, 128), ct.float32)), allow_tma=False)


@ct.kernel
def condition_of_a_bit(A, B, C, N):
    acc = ct.zeros((128, 128), ct.float32)
    positive = ct.load(N, (0,), (4,)) > 0
    for k in range(ct.num_tiles(A, 1, (128, 64))):
        if ct.extract(positive, (k % 4,), (1,)).item():
            acc = ct.mma(ct.load(A, (0, k), (128, 64)), ct.load(B, (k, 0), (64, 128)), acc)
    ct.store(C, (0, 0), acc)


def remarks(kernel, signature: str, *, target: str = "sm_100a", stop: str = "gpu", **hints) -> list[tuple[str, str]]:
    compiled = ct.compile(kernel, target=target, signature=signature, hints=hints, stop=stop)
    file = kernel.location.file
    assert all(remark.location is not None and remark.location.file == file for remark in compiled.all_remarks)
    return [(remark.topic, remark.message) for remark in compiled.all_remarks]


def test_matmul_with_tma_and_tensor_cores_has_no_remarks():
    for target in ("sm_100a", "sm_90a"):
        assert remarks(ct.kernel(matmul), MATMUL.format(128, 128, 64), target=target, stop="cubin") == []


@ct.kernel
def sums_along_rows(A, B, C):
    a, b = ct.load(A, (0, 0), (128, 64)), ct.load(B, (0, 0), (64, 128))
    ct.store(C, (0, 0), ct.cumsum(ct.mma(a, b, ct.zeros((128, 128), ct.float32)), axis=1))


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_a_tile_that_is_stored_whole_has_a_remark(target: str) -> None:
    """Each column of a cumulative sum derives from all columns before it."""
    (found,) = remarks(sums_along_rows, "A: f16[128,64], B: f16[64,128], C: f32[128,128]", target=target)
    expected = (
        "the stored tile has a staging buffer of 65536 bytes, which rings of loads cannot use: for a store in parts, "
    )
    assert found == ("staging", expected + "compute each column elementwise from the same column of a multiply")


@ct.kernel
def single(A, B, C):
    a, b = ct.load(A, (0, 0), (128, 64)), ct.load(B, (0, 0), (64, 128))
    ct.store(C, (0, 0), ct.mma(a, b, ct.zeros((128, 128), ct.float32)))


def test_ptxas_does_not_wait_between_the_row_blocks_of_one_multiply():
    """Two blocks of 64 rows on sm_90a: copies of their accumulators precede the first wgmma (otherwise C7517)."""
    assert remarks(single, "A: f16[?,?], B: f16[?,?], C: f32[?,?%4]", target="sm_90a", stop="cubin") == []


def test_slower_matrix_unit_is_a_remark_at_the_multiply():
    compiled = ct.compile(ct.kernel(matmul), target="sm_90a", signature=MATMUL.format(32, 32, 32), stop="gpu")
    (remark,) = [remark for remark in compiled.all_remarks if remark.topic == "matrix-unit"]
    assert remark.message == (
        "the multiply is done by mma.sync: wgmma needs a multiple of 64 rows, the accumulator has 32"
    )
    assert "acc = ct.mma(" in str(remark)


def test_each_access_without_tma_is_a_remark():
    signature = "A: f16[128,64], B: f16[64,128], C: f32[128,128]"
    assert remarks(without_tma, signature) == [
        ("tma", "TMA does not load the left operand: hint allow_tma=False"),
        ("tma", "the load does not use TMA: hint allow_tma=False"),
        ("tma", "the store does not use TMA: hint allow_tma=False"),
    ]
    ptx = ct.compile(without_tma, target="sm_100a", signature=signature, stop="ptx").ptx
    assert ptx.count("cp.async.bulk.tensor") == ptx.count("cp.async.bulk.tensor.2d.shared::cta.global") == 2


def test_unaligned_stride_is_the_reason_of_a_remark():
    signature = MATMUL.format(128, 128, 64).replace("A: f16[?,?]", "A: f16[?,?] strides (65,1)")
    reason = "stride 0 is not known to be a multiple of 16 bytes: pass arrays with padded rows"
    assert ("tma", f"TMA does not load the left operand: {reason}") in remarks(ct.kernel(matmul), signature)


def test_kernel_that_cannot_be_split_into_roles_is_a_remark():
    signature = "A: f16[?,?], B: f16[?,?], C: f32[?,?%4], N: i32[?]"
    found = ct.compile(condition_of_a_bit, target="sm_100a", signature=signature, stop="gpu").all_remarks
    (remark,) = [remark for remark in found if remark.topic == "roles"]
    assert remark.message == (
        "the kernel is not split into roles: role 'load' needs a value that another role computes: "
        "compute it from arguments, program numbers, loop counters and numbers of at least 8 bits"
    )
    assert "ct.extract(positive, " in str(remark)


@ct.kernel
def stored_under_flag(A, B, C, N):
    acc = ct.zeros((128, 128), ct.float32)
    for k in range(ct.num_tiles(A, 1, (128, 64))):
        acc = ct.mma(ct.load(A, (0, k), (128, 64)), ct.load(B, (k, 0), (64, 128)), acc)
    if ct.load(N, (0,), (1,)).item() > 0:
        ct.store(C, (0, 0), acc)


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_condition_on_stores_does_not_prevent_roles(target):
    signature = "A: f16[?,?], B: f16[?,?], C: f32[?,?%4], N: i32[?]"
    compiled = ct.compile(stored_under_flag, target=target, signature=signature, stop="gpu")
    assert [remark for remark in compiled.all_remarks if remark.topic == "roles"] == []
    assert "tile_gpu.roles" in compiled.stage("gpu").text


def test_spills_and_serialised_instructions_are_remarks():
    found = remarks(ct.kernel(matmul), MATMUL.format(128, 256, 64), target="sm_90a", stop="cubin", warps=4)
    assert [topic for topic, _ in found] == ["registers"] * 4
    assert "bytes spilled" in found[0][1] and "(C7511)" in found[1][1]


def test_spilled_tiles_are_remarks_at_the_lines_that_compute_them():
    """A thread of four warps holds 256 of the 128x256 sums; an instruction names 255 registers."""
    compiled = ct.compile(ct.kernel(matmul), target="sm_90a", signature=MATMUL.format(128, 256, 64), hints={"warps": 4})
    place, tile = compiled.all_remarks[-2:]
    assert place.message.startswith("role 'compute' needs the most registers here: ")
    assert place.message.endswith(" hold values, and it has 255: use smaller tiles, or more warps")
    assert tile.message == (
        "256 registers per thread hold a tile of 128x256 f32 at the operation that needs the most registers"
    )
    assert "acc = ct.mma(" in str(tile)


def test_without_spills_no_tile_is_named():
    found = remarks(ct.kernel(matmul), MATMUL.format(128, 256, 64), target="sm_90a", stop="cubin")
    assert [message for topic, message in found if topic == "registers"] == []


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("ptxas info    : (C7510) Potential Performance Loss: x", "(C7510) Potential Performance Loss: x"),
        ("ptxas warning : Value of threads per SM", "Value of threads per SM"),
        ("ptxas info    : Used 40 registers, used 1 barriers", None),
    ],
)
def test_messages_of_ptxas_that_become_remarks(line, warning):
    assert _WARNING.findall(f"ptxas info : other\n{line}\n") == ([] if warning is None else [warning])


def test_hints_of_a_kernel_are_followed_or_reported():
    kernel = ct.kernel(num_ctas=2, occupancy=2, num_worker_warps=8)(matmul)
    compiled = ct.compile(kernel, target="sm_100a", signature=MATMUL.format(64, 64, 64), stop="ptx")
    hints = [remark.message for remark in compiled.all_remarks if remark.topic == "hint"]
    assert hints == [
        "num_ctas=2 is not followed: each of 2 blocks needs at least 128 rows of each multiply, which has 64; "
        "each tile block runs as one block"
    ]
    assert ".minnctapersm 2" in compiled.ptx
    # Eight compute warps, load and mma; half of the shared memory of an SM.
    assert ".reqntid 320" in compiled.ptx
    assert compiled.metadata.shared_bytes <= SHARED_BYTES_OF_AN_SM // 2 - RESERVED_FOR_EACH_BLOCK
    # latency=2 of the load is the depth of the ring.
    assert "stages 2 " in compiled.stage("gpu").text


@pytest.mark.parametrize(
    ("target", "tile", "occupancy", "reason"),
    [
        # One slot of 64 KB for A and 16 KB for B, 16 KB for the result, two mbarriers for the ring.
        ("sm_90a", (128, 32, 256), 4, f"98320 bytes of shared memory, 4 blocks have {QUARTER} each"),
        # One mbarrier more for the accumulator, and the address of the tensor memory.
        ("sm_100a", (128, 32, 256), 4, f"98336 bytes of shared memory, 4 blocks have {QUARTER} each"),
        ("sm_100a", (128, 256, 64), 3, "256 columns of tensor memory, 3 blocks have 128 each"),
    ],
)
def test_occupancy_that_exceeds_memory_is_a_remark(target, tile, occupancy, reason):
    kernel = ct.kernel(matmul)
    found = compile_matmul(kernel.replace_hints(occupancy=occupancy), tile, target)
    (remark,) = [remark for remark in found.all_remarks if remark.topic == "hint"]
    assert remark.message == f"occupancy={occupancy} is not followed: a block needs {reason}"
    assert remark.location is not None and "def matmul(" in str(remark)
    # The code is equal to the code without the hint.
    assert found.ptx == compile_matmul(kernel, tile, target).ptx


def compile_matmul(kernel, tile, target, **hints):
    return ct.compile(kernel, target=target, signature=MATMUL.format(*tile), hints=hints, stop="ptx")


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_occupancy_that_exceeds_memory_is_a_remark_if_rings_have_one_slot(target):
    found = compile_matmul(ct.kernel(matmul), (128, 32, 256), target, occupancy=4, pipeline=False)
    (remark,) = [remark for remark in found.all_remarks if remark.topic == "hint"]
    assert remark.message.startswith("occupancy=4 is not followed: a block needs 983")
    assert ".minnctapersm 1\n" in found.ptx


@ct.kernel
def product_and_sums(A, B, C, D):
    acc = ct.zeros((64, 128), ct.float32)
    for k in range(ct.num_tiles(A, 1, (64, 256))):
        acc = ct.mma(ct.load(A, (0, k), (64, 256)), ct.load(B, (k, 0), (256, 128)), acc)
    ct.store(C, (0, 0), acc, allow_tma=False)
    ct.store(D, (0, 0), ct.cumsum(acc, axis=0), allow_tma=False)


def test_occupancy_counts_the_scratch_of_a_block():
    """Without scratch the block needs 97 KB; 32 KB of scratch, known after slots are assigned, exceed its share.

    The slot holds whole tiles because its number is given.
    """
    signature = "A: f16[?,?], B: f16[?,?], C: f32[?,?%4], D: f32[?,?%4]"
    hints = {"occupancy": 2, "stages": 1}
    found = ct.compile(product_and_sums, target="sm_90a", signature=signature, hints=hints, stop="ptx")
    half = SHARED_BYTES_OF_AN_SM // 2 - RESERVED_FOR_EACH_BLOCK
    assert [remark.message for remark in found.all_remarks if remark.topic == "hint"] == [
        f"occupancy=2 is not followed: a block needs 132096 bytes of shared memory, 2 blocks have {half} each"
    ]
    assert found.metadata.shared_bytes == 132096
    assert ".minnctapersm 1\n" in found.ptx


@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
@pytest.mark.parametrize("hints", [{}, {"stages": 1}], ids=str)
def test_loads_that_cannot_run_ahead_are_a_remark_unless_a_hint_asks_for_it(target, hints):
    """A slot of 128 KB: the tile is read by threads too, so that it stays whole."""
    signature = "A: f16[?,?], C: f32[?,?%4], D: f32[?,?%4]"
    compiled = ct.compile(product_with_itself, target=target, signature=signature, hints=hints, stop="gpu")
    found = [remark for remark in compiled.all_remarks if remark.topic == "pipeline"]
    assert "stages 1 producer tma" in compiled.gpu
    assert len(found) == (0 if hints else 1)
    for remark in found:
        assert "a = ct.load(A, (0, k), (64, 1024))" in str(remark)
        assert "room for one slot of 131088 bytes" in remark.message


def test_hints_that_cannot_be_followed_are_remarks():
    kernel = ct.kernel(occupancy=16, num_worker_warps=16)(matmul)
    compiled = ct.compile(kernel, target="sm_90a", signature=MATMUL.format(64, 16, 64), stop="cubin")
    hints = [remark.message for remark in compiled.all_remarks if remark.topic == "hint"]
    assert hints == [
        "occupancy=16 is not followed: 16 blocks of 5 warps leave 24 registers per thread of 41",
        "num_worker_warps=16 is not followed: the matrix instructions would lack registers, or rows for each warp; "
        "4 are used",
    ]
    assert ".minnctapersm 1\n" in compiled.ptx


def test_opt_level_is_passed_to_the_assembler():
    signature = MATMUL.format(128, 64, 64)
    kernel = ct.kernel(matmul)
    default, hinted = (ct.compile(k, signature=signature).cubin for k in (kernel, kernel.replace_hints(opt_level=0)))
    from_options = ct.compile(kernel, signature=signature, hints={"opt_level": 0}).cubin
    assert hinted == from_options != default


@pytest.mark.parametrize("level", range(4))
def test_assembler_accepts_each_opt_level(level: int):
    compiled = ct.compile(ct.kernel(matmul), signature=MATMUL.format(128, 64, 64), hints={"opt_level": level})
    assert compiled.cubin.startswith(b"\x7fELF")


def test_options_override_hints_of_the_kernel():
    kernel = ct.kernel(num_worker_warps=8)(matmul)
    compiled = ct.compile(kernel, signature=MATMUL.format(128, 64, 64), hints={"warps": 4, "stages": 3}, stop="gpu")
    assert " warps 4 " in compiled.stage("gpu-raw").text
    assert "stages 3 " in compiled.stage("gpu").text


def test_launch_accepts_hints(monkeypatch):
    monkeypatch.setenv("TILEC_TARGET", "sm_100a")
    kernel = ct.kernel(matmul)
    a, b, c = np.ones((128, 64), np.float16), np.ones((64, 64), np.float16), np.zeros((128, 64), np.float32)
    for hints in ({}, {"roles": False}, {"tma": False}):
        ct.launch(None, (1,), kernel, (a, b, c, 128, 64, 64), hints=hints)
        np.testing.assert_array_equal(c, 64)
        c[:] = 0
    texts = [compiled.ptx for compiled in kernel.compiled.values()]
    assert len(texts) == 3 == len(set(texts))
    with pytest.raises(UsageError, match="unknown hint 'rolls'"):
        ct.launch(None, (1,), kernel, (a, b, c, 128, 64, 64), hints={"rolls": True})


def test_printed_options_are_read_back():
    options = CompileOptions.of({"roles": False, "stages": 3, "convolution": "run"})
    assert options.to_text() == ["roles=off", "stages=3", "convolution=run"]
    assert CompileOptions.of(hints_from_text(options.to_text())) == options


def test_a_remark_shows_its_estimate_and_is_silent_below_one_percent():
    shares = {0.99: "less than 1 %", 1.0: "1 % of the kernel", 42.4: "42 % of the kernel", None: "no estimate"}
    texts = {percent: f"tma, {text}" for percent, text in shares.items()}
    found = [Remark("tma", "message", percent=percent) for percent in texts]
    assert [str(remark) for remark in found] == [f"remark: message [{text}]" for text in texts.values()]
    assert reported(found) == tuple(found[1:])


@pytest.mark.parametrize("topic", ["cache", "checks"])
def test_a_remark_that_is_not_about_time_has_no_estimate(topic):
    assert str(Remark(topic, "message")) == f"remark: message [{topic}]"


def test_unknown_loss_is_an_error():
    with pytest.raises(ValueError, match=f"unknown loss 'x': expected one of {', '.join(LOSSES)}"):
        Loss("x")


def test_unknown_topic_is_an_error():
    with pytest.raises(ValueError, match=f"unknown topic 'x': expected one of {', '.join(TOPICS)}"):
        Remark("x", "message")


@pytest.mark.parametrize("option", ["--remarks", "--remarks=all"])
def test_command_prints_remarks(tmp_path, option):
    """A load outside of loops costs nothing: `--remarks` is silent. The source may follow the option."""
    source = tmp_path / "k.py"
    source.write_text(
        "import tilec as ct\n\n@ct.kernel\ndef k(X, Y):\n    ct.store(Y, (0,), ct.load(X, (0,), (128,)) + 1)\n"
    )
    command = [sys.executable, "-m", "tilec", "compile", option, f"{source}:k", "--sig", "X: f32[?], Y: f32[?]"]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    reason = "it is outside of loops, where no load can run ahead"
    expected = f":5:23: remark: the load does not use TMA: {reason} [tma, less than 1 %]"
    assert (expected in process.stderr) == (option == "--remarks=all")
    assert ("remark" in process.stderr) == (option == "--remarks=all")
    assert ".visible .entry k(" in process.stdout


def test_a_loop_whose_operands_threads_load_is_a_remark():
    """On sm_100a role `mma` issues the multiplies, on sm_90a the threads that load."""
    signature = "A: f32[?,?] strides (65,1), B: f32[?,?] strides (65,1), C: f32[?,?%4]"
    found = remarks(converted, signature, target="sm_90a")
    message = "the kernel is not split into roles: none of its loads uses TMA, and threads issue its multiplies"
    assert [each for each in found if each[0] == "roles"] == [("roles", message)]
    assert [each for each in remarks(converted, signature) if each[0] == "roles"] == []
    reason = "the operand is computed by 'cuda_tile.ftof', which a copy to shared memory cannot do"
    advice = "change the array in an earlier kernel"
    assert ("tma", f"TMA does not load the left operand: {reason}: {advice}") in found


@ct.function
def products_of_rows(A, B, C, i):
    acc = ct.zeros((128, 128), ct.float32)
    for k in range(ct.num_tiles(A, 1, (128, 64))):
        acc = ct.mma(ct.load(A, (i, k), (128, 64)), ct.load(B, (k, 0), (64, 128)), acc)
    ct.store(C, (i, 0), acc)


@ct.kernel
def tiles_from_acquires(A, B, C, Counter):
    i = ct.int32(0)
    while i < ct.num_tiles(A, 0, (128, 64)):
        i = ct.atomic_add(Counter, 0, 1).item()
        products_of_rows(A, B, C, i)


@ct.kernel
def tiles_from_relaxed_updates(A, B, C, Counter):
    i = ct.int32(0)
    while i < ct.num_tiles(A, 0, (128, 64)):
        i = ct.atomic_add(Counter, 0, 1, memory_order=ct.MemoryOrder.RELAXED).item()
        products_of_rows(A, B, C, i)


def test_a_load_after_an_acquire_names_it():
    signature = "A: f16[?,?], B: f16[?,?], C: f32[?,?%4], Counter: i32[?]"
    found = ct.compile(tiles_from_acquires, target="sm_100a", signature=signature, stop="gpu").all_remarks
    loads = [each.message for each in found if each.message.startswith("the load does not use TMA")]
    lines = Path(__file__).read_text().splitlines()
    acquire = next(number for number, line in enumerate(lines, 1) if "Counter, 0, 1)" in line)
    expected = f"the load comes after an acquire in line {acquire}: memory order relaxed orders no loads"
    assert loads == [f"the load does not use TMA: {expected}"] * 2
    assert f"TMA does not load the left operand: {expected}" in [each.message for each in found]
    assert remarks(tiles_from_relaxed_updates, signature) == []
