"""The forms of TMA that kernels reach, with the tests that compare them with numpy; docs/tensor_maps.md shows them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KernelRow:
    """A form of TMA: its section of the PTX ISA, the source that becomes it, its limits, and the tests."""

    section: str
    form: str
    source: str
    limits: str
    tests: tuple[str, ...]


_NARROW = "kernels/products/test_narrow_floats.py"
KERNEL_ROWS = (
    KernelRow(
        "5.5.1.1.1",
        "b4x16_p64 and b6x16_p32: padded elements of 4 and 6 bits",
        "loads of `ct.packed_view(array, dtype=..)` that multiplies read, and of bytes that are unpacked to "
        "float4_e2m1fn for a multiply of unlike types",
        "sm_100a; tiles of a multiple of 16 elements of K, rows of a multiple of 128 elements; address and strides are "
        "multiples of 32 bytes, all known from the signature. Threads convert the elements otherwise",
        (
            f"{_NARROW}::test_tma_unpacks_every_pair",
            f"{_NARROW}::test_tma_unpacks_tiles_of_bytes",
            f"{_NARROW}::test_block_scaling",
        ),
    ),
    KernelRow(
        "5.5.1.1.1",
        "b6p2x16: elements of 6 bits from bytes",
        "stores of `ct.packed_view` of elements of 6 bits",
        "sm_100a; as for the loads, whole rows of 128 elements. Threads pack them otherwise, and elements of 4 bits, "
        "for which no type packs",
        (f"{_NARROW}::test_stores_of_six_bits", f"{_NARROW}::test_store_drops_the_upper_bits"),
    ),
    KernelRow(
        "5.5.1.1.1",
        "b4x16: elements of 4 bits",
        "none: operands of kinds mxf4 and mxf4nvf4 have two elements in a byte in shared memory as in global memory, "
        "so that maps of bytes copy the same",
        "sm_100a",
        (
            "kernels/products/test_block_scaling.py::test_matmul",
            "ptxsim/tma/test_tma_packed.py::test_b4x16_is_copied_as_is",
        ),
    ),
    KernelRow(
        "5.5.3.4",
        "tile::gather4",
        "`ct.load_advanced_indexing` of rows of a matrix that a multiply reads",
        "sm_100a; the indices are one row of the tile, the columns a tile. Threads load the rows otherwise",
        (
            "tile_to_gpu/gathers/gather_by_tma.mlir::run",
            "kernels/accesses/test_sparse_accesses.py::test_gathered_product",
        ),
    ),
    KernelRow(
        "5.5.4",
        "im2col",
        '`ct.im2col_view` of images that a multiply reads, or `mode="im2col"`; one copy per tap, or per row of '
        'the window (`mode="run"`)',
        "both targets; strides are multiples of 16 bytes, and the corners reach the last tap. Threads gather "
        "otherwise, and a mode is an error",
        (
            "kernels/convolution/test_convolution.py::test_two_seeds",
            "kernels/convolution/test_image_runs.py::test_one_seed",
        ),
    ),
    KernelRow(
        "5.5.4",
        "im2col of pixels before the first image",
        'the hint `convolution="run"` with `allow_unconfirmed`: a run without padding starts before the pixels of its '
        "tile, so that multiplies read each tap in place and skip rows at the ends of rows of images",
        'sm_100a; tiles of a multiple of 128 pixels. Runs with padding, or threads, serve other views of mode "run"',
        (
            "kernels/convolution/test_dense_runs.py::test_one_seed",
            "kernels/convolution/test_dense_runs.py::test_rows_of_each_tap",
        ),
    ),
    KernelRow(
        "5.5.4",
        "im2col_no_offs",
        "stores through `ct.im2col_view` of one tap, without padding and without a mode along W",
        "both targets; strides are multiples of 16 bytes. Threads scatter rows otherwise",
        ("tile_to_gpu/gathers/test_im2col_stores.py::test_stores",),
    ),
    KernelRow(
        "5.5.5",
        "im2col::w and im2col::w::128",
        '`mode="w"` and `mode="w128"` of `ct.im2col_view`',
        "sm_100a; at least 64 bytes of channels, and 128 pixels for `w128`. The modes are errors otherwise",
        (
            "kernels/convolution/test_convolution.py::test_two_seeds",
            "kernels/convolution/test_im2col_vectors.py::test_rows",
        ),
    ),
    KernelRow(
        "9.7.9.27.1.2",
        ".multicast::cluster",
        "operands that several blocks of a cluster need (`num_ctas`)",
        "both targets; on sm_100a, pairs of blocks load a half each",
        (
            "kernels/convolution/test_convolution_clusters.py::test_filters_are_loaded_once",
            "kernels/blocks/test_clusters.py::test_product",
        ),
    ),
    KernelRow(
        "9.7.9.27.1.4",
        "cp.async.bulk.prefetch.tensor",
        "`ct.prefetch` of a tile of an array or a tiled view; loops with rings of one or two slots",
        "both targets; omitted if the index depends on memory",
        (
            "kernels/loads/test_prefetch.py::test_product",
            "kernels/loads/test_prefetch.py::test_tiled_view",
            "kernels/loads/test_prefetches_of_loops.py::test_results",
        ),
    ),
    KernelRow(
        "5.5.3.4",
        "tile::scatter4",
        "`ct.store_advanced_indexing` of rows of a matrix, where the stores of threads would be narrow or scattered, "
        "as those of a product are",
        "sm_100a; 4 rows have a multiple of 128 bytes, the first column and the rows a multiple of 16 bytes; tiles of "
        "at most 32768 bytes. Threads scatter otherwise, and the elements of `ct.scatter`, "
        "each of which has an index",
        (
            "kernels/accesses/test_scattered_rows.py::test_product",
            "kernels/accesses/test_scattered_rows.py::test_two_scatters",
        ),
    ),
    KernelRow(
        "5.5.6",
        "NC/8HWC8 and NC/16HWC16",
        "`ct.im2col_view(images, .., interleave=c)` of operands of multiplies: slices of 16 and 32 bytes are the "
        "dimension D of an im2col map without interleave",
        "both targets; whole slices of a constant number, at most 17 for `[N, H, W, C]` and 129 for `[N, W, C]`. Other "
        "loads are gathers, and stores are scatters",
        (
            "kernels/convolution/test_interleaved_by_tma.py::test_convolution",
            "kernels/convolution/test_interleaved_by_tma.py::test_slices_along_the_rows_of_a_multiply",
            "kernels/convolution/test_interleaved_by_tma.py::test_images_of_one_dimension",
        ),
    ),
    KernelRow(
        "5.5.7",
        "swizzles 32B, 64B, 128B and 128B_atom_32B",
        "operands of multiplies, in the widest swizzle of their rows; 128B_atom_32B for tf32 along M or N. No "
        "matrix unit reads 128B_atom_64B or the flip of 8 bytes: the descriptors of wgmma and tcgen05.mma have no code "
        "for them (9.7.15.5.1, 9.7.16.4.1). Threads read 16 bytes at once, which the swizzles with atoms of 16 bytes "
        "keep in order and without bank conflicts. So no kernel has them; 96B is of sm_103a",
        "128B_atom_32B is of sm_100a",
        (
            "tile_to_gpu/operands/test_matrix_decisions.py::test_rows_are_not_gathered_in_a_swizzle_of_32_byte_atoms",
            "kernels/products/test_tf32_operands.py::test_one_tile_as_k_major_and_mn_major_operand",
            "ptxsim/tma/test_tma_swizzles.py::test_table_of_the_swizzling_mode[128B_atom_64B]",
            "ptxsim/tma/test_tma_swizzles.py::test_flip_has_no_store",
            "ptxsim/tensor/test_matrix_descriptor.py::test_swizzles_that_no_multiply_reads",
        ),
    ),
    KernelRow(
        "9.7.9.27.1.3",
        "cp.reduce.async.bulk.tensor: add, min, max, and, or, xor, inc, dec",
        "`atomic_store_add`, `max`, `min`, `and`, `or`, `xor`, `inc` and `dec` of `Array.tiled_view`. The last two, "
        "which count up to a bound, are operations of tilex: no update of Tile IR means them",
        "both targets; TMA does not add f64, and rows are a multiple of 16 bytes. Threads reduce otherwise",
        (
            "kernels/atomics/test_view_reductions.py::test_blocks_reduce_into_one_view",
            "kernels/atomics/test_counting.py::test_tiles",
        ),
    ),
    KernelRow(
        "5.5.3.2",
        "traversal strides of tiled mode",
        "none: the traversal strides of `strided_view` (`traversal_steps` of `Array.tiled_view`) are distances "
        "between tiles. Each tile is a box whose element strides are 1. Steps between elements are strides of the "
        "array, as in `x[::2]`. Without interleave TMA ignores the element stride of dimension 0; along the others, a "
        "map with these strides copies the same elements, with a box of only those that are copied "
        "(cuTensorMapEncodeTiled, elementStrides)",
        "both targets; the step along the contiguous dimension is a multiple of 16 bytes, else threads load the tile. "
        "Steps between pixels are the element strides of im2col maps",
        (
            "kernels/views/test_traversal_steps.py::test_tiles_of_an_operand",
            "ptxsim/tma/test_tensor_map.py::test_element_strides_are_strides_of_another_map",
        ),
    ),
    KernelRow(
        "5.5.3.3",
        "OOB-NaN fill",
        "`padding_mode=ct.PaddingMode.NAN` of tiles that multiplies of floats read, with the hint `allow_unconfirmed`",
        "both targets; no thread reads the tile, because NVIDIA does not publish the bits of the NaN. Threads load it "
        "otherwise",
        (
            "kernels/products/test_nan_fill.py::test_rows_outside_are_nan",
            "kernels/products/test_nan_fill.py::test_gathered_rows_outside_are_nan",
            "kernels/products/test_nan_fill.py::test_a_tile_that_threads_read_has_the_nan_of_tile_ir",
        ),
    ),
    KernelRow(
        "5.5.5.3",
        "im2col::w::128 with wHalo",
        '`mode="stationary"` of `ct.im2col_view`, of left operands of multiplies, with the hint `allow_unconfirmed`; '
        'also hint `convolution="stationary"` for views of mode `w128`',
        "sm_100a; a known width, which is the stride times the output pixels along W; with a stride u, wHalo and "
        "wOffset of u copies (the examples of 5.5.5.3). The mode is an error otherwise",
        (
            "kernels/convolution/test_stationary_images.py::test_one_seed",
            "kernels/convolution/test_stationary_images.py::test_refused",
        ),
    ),
    KernelRow(
        "5.5.5.3",
        "im2col::w with wHalo",
        '`mode="weights"` of `ct.im2col_view`, of left operands of multiplies, with the hint `allow_unconfirmed`; '
        'also hint `convolution="weights"` for views of the modes `w` and `w128`',
        "sm_100a; the widths and strides of the row before; each tap has a copy without wHalo otherwise",
        (
            "kernels/convolution/test_weight_stationary.py::test_runs",
            "kernels/convolution/test_weight_stationary.py::test_a_copy_for_each_tap",
        ),
    ),
)
