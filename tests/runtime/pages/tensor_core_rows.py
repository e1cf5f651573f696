"""The parts of docs/tensor_core.md: each algorithm, table and example, with its programs, its drawing and its tests."""

from __future__ import annotations

from dataclasses import dataclass, field

import tensor_core_drawings as drawings

_COPIES = "ptxsim/tensor/test_tensor_memory.py::test_copy_forms"
_KERNELS = "kernels/products/test_tensor_core_kernels.py::test_equals_the_exact_sums"


@dataclass(frozen=True)
class Excerpt:
    """Instructions of a program of tests/kernels/tensor_core_kernels.py: those that begin with one of `names`."""

    program: str
    names: tuple[str, ...]
    target: str = "sm_100a"


@dataclass(frozen=True)
class Row:
    """A row of a table of the text: its cells, the instruction that a program has for it, and the tests."""

    cells: tuple[str, ...]
    excerpt: Excerpt | None
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """A section of the page. `differs` has statements of the text, and what is right."""

    title: str
    text: str
    drawing: str = ""
    kernels: tuple[str, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    tests: tuple[str, ...] = ()
    differs: tuple[tuple[str, str], ...] = field(default=())


def program_test(name: str, target: str = "sm_100a") -> str:
    """The test that runs a program."""
    return f"{_KERNELS}[{name}-{target}]"


def _mma(program: str) -> Excerpt:
    return Excerpt(program, ("tcgen05.mma",))


TENSOR_MEMORY = (
    Part(
        "Table 8 and figure 1: the memories of a multiply",
        "A multiply `tcgen05.mma` reads B from shared memory and A from shared or tensor memory, and adds to D in "
        "tensor memory. Kernels do not choose: an operand that TMA loads stays in shared memory, and one that threads "
        "compute goes to tensor memory.",
        drawings.storage(),
        ("product", "chained", "sparse"),
        columns=("matrix", "memory"),
        rows=(
            Row(("A", "shared memory"), _mma("product f16"), (program_test("product f16"),)),
            Row(
                ("A", "tensor memory"),
                Excerpt("chained", ("tcgen05.mma.cta_group::1.kind::f16 [%r1], [",)),
                (program_test("chained"), "ptxsim/tensor/test_tcgen05_operands.py::test_a_in_tensor_memory"),
            ),
            Row(
                ("B", "shared memory"),
                _mma("product f16"),
                ("ptxsim/tensor/test_tcgen05_operands.py::test_mn_major_operands",),
            ),
            Row(
                ("D", "tensor memory"),
                Excerpt("product f16", ("tcgen05.ld",)),
                ("ptxsim/tensor/test_tcgen05_operands.py::test_kinds",),
            ),
            Row(
                ("metadata of a sparse A", "tensor memory"),
                _mma("sparse"),
                (program_test("sparse"), "ptxsim/tensor/test_tcgen05_sparse.py::test_product_of_kept_elements"),
            ),
            Row(
                ("scale factors of A and B", "tensor memory"),
                _mma("scaled mxf8"),
                (
                    program_test("scaled mxf8"),
                    "ptxsim/tensor/test_block_scaling.py::test_products_of_whole_numbers_are_exact",
                ),
            ),
        ),
    ),
    Part(
        "Figure 2: 128 lanes of 512 columns",
        "A CTA allocates columns, a power of two from 32 on, and frees them before it exits. Allocation does not clear "
        "them. A warp reaches the 32 lanes of its number modulo 4.",
        drawings.tensor_memory(),
        excerpts=(Excerpt("product f16", ("tcgen05.alloc", "tcgen05.relinquish_alloc_permit", "tcgen05.dealloc")),),
        tests=(
            "ptxsim/tensor/test_tensor_memory.py::test_invalid_allocation_is_reported",
            "ptxsim/tensor/test_tensor_memory.py::test_allocation_waits_for_free_columns",
            "ptxsim/tensor/test_tcgen05.py::test_warp_must_access_its_own_lanes",
            "ptxsim/tensor/test_tcgen05.py::test_accumulating_on_uninitialised_tensor_memory_is_reported",
        ),
        differs=(
            (
                "8 banks for each 32 lanes, and a shift in one cycle (section 1.1.2, figure 5)",
                "a conjecture about hardware, on which no instruction depends: it has no row",
            ),
        ),
    ),
    Part(
        "Figure 3: moves between the memories",
        "Threads move 32-bit cells by `tcgen05.ld` and `tcgen05.st`. The tensor core copies from shared memory by "
        "`tcgen05.cp`; a kernel has it for scale factors and metadata.",
        drawings.moves(),
        ("scaled",),
        (
            Excerpt("chained", ("tcgen05.ld", "tcgen05.st")),
            Excerpt("scaled mxf8", ("tcgen05.cp",)),
            Excerpt("sparse", ("tcgen05.cp",)),
        ),
        tests=(
            "ptxsim/tensor/test_tensor_memory.py::test_load_shapes",
            _COPIES,
            "ptxsim/tensor/test_tensor_memory.py::test_4x256b_copies_one_row_to_each_quarter",
            "ptxsim/tensor/test_tensor_memory.py::test_copy_widens_elements_of_4_bits",
        ),
    ),
    Part(
        "Figure 4: tcgen05.shift",
        "`tcgen05.shift.down` moves the rows of 8 columns by one lane. `.ashift` of a multiply does the same to its A "
        "after it has read it. `tcgen05.cp.4x256b` brings four new rows. Of all kernels only those of algorithm 3b may "
        "have it.",
        drawings.shift(),
        tests=(
            "ptxsim/tensor/test_tensor_memory.py::test_shift_moves_rows_towards_lane_zero",
            "ptxsim/tensor/test_tcgen05_shift.py::test_the_multiply_uses_rows_before_the_shift_and_the_next_one_after_it",
            "ptxsim/tensor/test_tcgen05_shift.py::test_the_last_lane_of_each_32_is_refreshed",
        ),
        differs=(
            ("a row moves to the next lane, and lane 0 is the last one", "a row moves to the preceding lane"),
            ("one lane of 128 keeps its row", "lanes 31, 63, 95 and 127 keep theirs: the shift is in each 32 lanes"),
        ),
    ),
)
CONVOLUTION = (
    Part(
        "Algorithm 1: the sum",
        "The loops of the algorithm are the definition that all kernels are compared with, in numpy: "
        "`tests/kernels/direct_convolution.py`. The kernel has the same loops over taps and channels; a tile has 128 "
        "outputs of all rows and images, and 32 filters.",
        kernels=("convolution",),
        tests=(
            "kernels/convolution/test_direct_convolution.py::test_elements_at_taps",
            "kernels/convolution/test_convolution.py::test_two_seeds",
        ),
        differs=(
            (
                'for p = 0 without padding along H, "W(r=1) is multiplied with the first row of images"',
                "r = 0 reads row 0, and r = 1 reads row 1",
            ),
        ),
    ),
    Part(
        "Algorithm 2: a multiply per tap",
        'With `mode="im2col"` TMA loads the pixels of a tile for each tap (PTX ISA 5.5.4). They are the rows of A, and '
        "the filters are B. D stays in tensor memory for all taps and channels.",
        drawings.columns_of_a_tap(),
        excerpts=(
            Excerpt("convolution im2col", ("cp.async.bulk.tensor.4d.shared::cta.global", "tcgen05.mma")),
            Excerpt("convolution im2col", ("wgmma.mma_async",), "sm_90a"),
        ),
        tests=(
            program_test("convolution im2col"),
            program_test("convolution im2col", "sm_90a"),
            "ptxsim/im2col/test_im2col.py::test_taps_of_a_convolution",
            "kernels/convolution/test_im2col_vectors.py::test_rows",
        ),
        differs=(
            ("filters in A, pixels in B", "either way is right here; the corrected algorithm 3b needs pixels in A"),
            ("D is loaded from and stored to the output at each step", "D stays in tensor memory"),
            (
                "MMA_M = 16 and MMA_K = 32 as examples",
                "M is 64 or 128 for a CTA, and K is 32 bytes: 16 elements of f16",
            ),
        ),
    ),
    Part(
        "Algorithm 3: one load for the taps of a row",
        'With `mode="run"` TMA loads a run of pixels once, with the padding between rows, for all taps along W. '
        "Threads read the rows of each tap from shared memory; on sm_100a they store them to tensor memory, on sm_90a "
        "they are operands in registers. A window of 3 by 3 needs a third of the bytes of algorithm 2. With the hint "
        "`allow_unconfirmed` matrix descriptors start at the row of each tap in shared memory: an instruction has "
        "pixels of one row of images, or skips those of others.",
        drawings.run_of_pixels(),
        excerpts=(
            Excerpt("convolution run", ("cp.async.bulk.tensor.4d.shared::cta.global", "tcgen05.st", "tcgen05.mma")),
            Excerpt("convolution run", ("wgmma.mma_async",), "sm_90a"),
        ),
        tests=(
            program_test("convolution run"),
            program_test("convolution run", "sm_90a"),
            "kernels/convolution/test_image_runs.py::test_one_seed",
            "kernels/convolution/test_image_runs.py::test_run_loads_each_pixel_once",
            "kernels/convolution/test_dense_runs.py::test_rows_of_each_tap",
        ),
        differs=(
            (
                "filters in A, pixels in B, of which rows are shifted",
                "B is never in tensor memory, so that only A can be shifted",
            ),
            ("`MMA_B[n] = MMA_B[n - 1]`, and the new row is row 0", "row i takes row i + 1, and the last row is new"),
        ),
    ),
    Part(
        "The example: images of 9 by 9 pixels, figures 5 to 7",
        "A window of three taps and a padding of 1 along W: each image row has 9 outputs. Cells are `image,position` "
        "of the pixel that a lane holds. In parentheses: the pixel is of another image than the output, and the bit of "
        "the lane in disable-output-lane is 1. `zero` is filled by TMA. The second drawing begins at output 5.",
        f"{drawings.example(0)}\n\n{drawings.example(5)}",
        tests=(
            "ptxsim/tensor/test_activation_stationary.py::test_equals_the_direct_convolution",
            "ptxsim/tensor/test_activation_stationary.py::test_each_bit_of_the_masks_counts",
        ),
        differs=(
            (
                "at tap 0 the pixel left of the second image is replaced by zero, or zero is written",
                "the instruction leaves the lane of D as it is; nothing is replaced or cleared",
            ),
            (
                "pixels left of the first image need another image or row",
                "a copy may start left of the images, where TMA fills zeros, and the walk goes to the next image",
            ),
        ),
    ),
)
SHAPES = (
    Part(
        "Table 10: multiplies of Ampere and Hopper",
        "The sizes of the table are those of a part of the hardware. The instructions are `mma.sync` of 16 by 8 for a "
        "warp, which kernels have where the tile does not suit the other units, and `wgmma` of 64 rows and 8 to 256 "
        "columns for four warps.",
        columns=("type", "K of wgmma"),
        rows=(
            Row(
                ("tf32", "8"),
                Excerpt("product tf32", ("wgmma.mma_async",), "sm_90a"),
                (program_test("product tf32", "sm_90a"),),
            ),
            Row(
                ("f16", "16"),
                Excerpt("product f16", ("wgmma.mma_async",), "sm_90a"),
                (program_test("product f16", "sm_90a"),),
            ),
            Row(
                ("f8", "32"),
                Excerpt("product e4m3", ("wgmma.mma_async",), "sm_90a"),
                (program_test("product e4m3", "sm_90a"),),
            ),
            Row(
                ("i8", "32"),
                Excerpt("product i8", ("wgmma.mma_async",), "sm_90a"),
                (program_test("product i8", "sm_90a"),),
            ),
            Row(
                ("all of them, tiles of 16 rows", "mma.sync"),
                None,
                ("kernels/products/test_mma_sync.py::test_decode", "ptxsim/tensor/test_mma_sync.py::test_8_bit_floats"),
            ),
            Row(
                ("all of them, with a sparse A, tiles of 16 rows", "mma.sp of 64 bytes"),
                None,
                (
                    "kernels/products/test_sparse_by_warps.py::test_instructions",
                    "ptxsim/tensor/test_mma_sync_sparse.py::test_product_of_kept_elements",
                ),
            ),
        ),
        differs=(
            ("Ampere multiplies FP8", "multiplies of 8-bit floats exist from sm_89 on"),
            ("no FP8 of Hopper", "wgmma multiplies 8-bit floats with K = 32"),
        ),
    ),
    Part(
        "Table 11: kinds of tcgen05.mma",
        "M is 64 or 128 for a CTA and 128 or 256 for a pair (`num_ctas=2`), and 32, 64 or 128 with `.ws`. N is 8 to "
        "256 in steps of 8; of i8 8, 24 and multiples of 16; in steps of 16 or 32 for a pair. K has 32 bytes.",
        drawings.layouts(),
        ("narrow",),
        columns=("kind", "types", "K"),
        rows=(
            Row(("tf32", "tf32", "8"), _mma("product tf32"), (program_test("product tf32"),)),
            Row(("f16", "f16, bf16", "16"), _mma("product f16"), (program_test("product f16"),)),
            Row(("i8", "i8, u8", "32"), _mma("product i8"), (program_test("product i8"),)),
            Row(
                ("f8f6f4", "any two of e4m3, e5m2, e2m3, e3m2, e2m1", "32"),
                _mma("narrow e2m3 e2m1"),
                (program_test("narrow e2m3 e2m1"), "kernels/products/test_narrow_floats.py::test_every_pair"),
            ),
            Row(
                ("mxf8f6f4", "the same with factors", "32"),
                _mma("scaled mxf6"),
                (program_test("scaled mxf6"), "kernels/products/test_narrow_floats.py::test_block_scaling"),
            ),
            Row(
                ("mxf4", "e2m1", "64"),
                _mma("scaled mxf4"),
                (program_test("scaled mxf4"), "kernels/products/test_block_scaling.py::test_matmul"),
            ),
            Row(
                ("mxf4nvf4", "e2m1", "64"),
                _mma("scaled nvf4"),
                (program_test("scaled nvf4"), "kernels/products/test_block_scaling.py::test_matmul"),
            ),
            Row(
                ("f16, tf32, f8f6f4, i8 with `.ws`", "as without", "as without"),
                Excerpt("convolution weights", ("tcgen05.mma.ws",)),
                (
                    program_test("convolution weights"),
                    "gpu_to_ptx/matrix/test_weight_stationary.py::test_each_type",
                    "ptxsim/tensor/test_tcgen05_weight_stationary.py::test_lanes_of_each_shape",
                ),
            ),
        ),
        differs=(
            ('shapes "8x8xK"', "the sizes above"),
            ("nvf4 has 4 factors of ue4m3", "kind mxf4nvf4 with blocks of 16 has factors of ue4m3 or ue8m0"),
        ),
    ),
    Part(
        "Table 12: scale factors",
        "Factors are ue8m0 (powers of two) or ue4m3, one per 32 or 16 elements along K. The factors of A and B are in "
        "tensor memory, to which `tcgen05.cp.32x128b.warpx4` copies them.",
        drawings.factors(),
        columns=("type", "factor", "elements"),
        rows=(
            Row(("mx_float8", "ue8m0", "32"), _mma("scaled mxf8"), (program_test("scaled mxf8"),)),
            Row(("mx_float6", "ue8m0", "32"), _mma("scaled mxf6"), (program_test("scaled mxf6"),)),
            Row(("mx_float4", "ue8m0", "32"), _mma("scaled mxf4"), (program_test("scaled mxf4"),)),
            Row(("nv_float4", "ue4m3", "16"), _mma("scaled nvf4"), (program_test("scaled nvf4"),)),
        ),
        tests=(
            "ptxsim/tensor/test_block_scaling.py::test_lanes_use_their_own_copy_of_the_scale_factors",
            "ptxsim/tensor/test_block_scaling.py::test_sign_of_ue4m3_is_ignored",
        ),
    ),
)
