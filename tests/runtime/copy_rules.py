"""The rules of copies through tensor maps, and the parts of PTX ISA 5.5, with their tests.

docs/tensor_maps.md shows these rows.
"""

from __future__ import annotations

from dataclasses import dataclass

_RULES = "runtime/test_tensor_map_rules.py::test_illegal_map_violates_its_rule"


@dataclass(frozen=True)
class CopyRule:
    """A rule of the instructions: its section of the PTX ISA, a part of the message, and the test of both sides."""

    rule: str
    section: str
    message: str
    test: str


@dataclass(frozen=True)
class ManualPart:
    """A table, an example or a figure of PTX ISA 5.5, and the tests of its values."""

    section: str
    content: str
    tests: tuple[str, ...]


COPY_RULES = (
    CopyRule(
        "im2col::w needs sm_100",
        "9.7.9.27.1",
        "'.im2col::w of a copy to .shared::cta' does not exist on target sm_90a, only on sm_100",
        "ptxsim/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "im2col::w::128 needs sm_100a",
        "9.7.9.27.1",
        "'.im2col::w::128 of a copy to .shared::cta' does not exist on target sm_120a, only on sm_100a",
        "ptxsim/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "tile::gather4 to .shared::cluster needs sm_100a",
        "9.7.9.27.1",
        "'.tile::gather4 of a copy to .shared::cluster' does not exist on target sm_100, only on sm_100a",
        "ptxsim/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "tile::scatter4 needs sm_100a",
        "9.7.9.27.1",
        "'.tile::scatter4 of a store' does not exist on target sm_90a, only on sm_100a",
        "ptxsim/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "reductions have no tile::scatter4",
        "9.7.9.27.1",
        "a mode of a reduction, got .tile::scatter4",
        "ptxsim/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "stores of pixels have no offsets: im2col_no_offs",
        "9.7.9.27.1",
        "a mode of a store, got .im2col",
        "ptxsim/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "im2col copies have 3 to 5 dimensions",
        "9.7.9.27.1",
        "expected .3d to .5d with .im2col, got .2d",
        "ptxsim/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "im2col loads have one offset per dimension of an image",
        "9.7.9.27.1",
        "a vector of 2 offsets as operand 3",
        "ptxsim/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "the mode of a copy of pixels is the kind of its map",
        "5.5.2",
        "a tensor map of kind",
        "ptxsim/test_im2col_map.py::test_mode_and_kind_agree",
    ),
    CopyRule(
        "copies without a mode, or with .tile, need a map of kind tiled",
        "5.5.2",
        "a tensor map of kind tiled with .tile, got",
        "ptxsim/test_im2col_map.py::test_tiled_copies_need_a_tiled_map",
    ),
    CopyRule(
        "the rank of a copy is that of its map",
        "9.7.9.27.1.2",
        "a tensor map of rank 3, got rank 4",
        "ptxsim/test_im2col_map.py::test_rank_of_the_instruction",
    ),
    CopyRule(
        "stores of pixels go through maps of kind im2col",
        "9.7.9.27.1.2",
        "kind im2col with .im2col_no_offs, got",
        "ptxsim/test_im2col_map.py::test_stores_need_a_map_of_kind_im2col",
    ),
    CopyRule(
        "the first pixel is inside the bounding box",
        "5.5.4.1",
        "in the bounding box without offsets, -1 to 2, got -2",
        "ptxsim/test_im2col.py::test_base_is_inside_the_bounding_box",
    ),
    CopyRule(
        "offsets have 8 bits for rank 4, and 5 for rank 5",
        "5.5.4.1",
        "im2col offset W of 0 to 255 for a map of kind im2col and rank 4, got 256",
        "ptxsim/test_im2col.py::test_limits_of_offsets",
    ),
    CopyRule(
        "wHalo is 0 to 511 for im2col::w, and 0 to 31 for im2col::w::128",
        "5.5.5.3",
        "wHalo of 0 to 511 for a map of kind im2col_w and rank 4, got 512",
        "ptxsim/test_im2col_w.py::test_limits_of_halo_and_offset",
    ),
    CopyRule(
        "wOffset is 0 to 31",
        "5.5.5.4",
        "wOffset of 0 to 31 for a map of kind im2col_w and rank 4, got 32",
        "ptxsim/test_im2col_w.py::test_limits_of_halo_and_offset",
    ),
    CopyRule(
        "the first pixel of im2col::w is inside the bounding box or left of it",
        "5.5.5.1",
        "of at most 6, the end of the bounding box, got 7",
        "ptxsim/test_im2col_w.py::test_first_pixel_is_not_right_of_the_box",
    ),
    CopyRule(
        "stores of pixels have lower corners of at least 0",
        "9.7.9.27",
        "lower corner W of at least 0 in a store, got -1",
        "ptxsim/test_im2col_store.py::test_store_stays_inside_the_tensor",
    ),
    CopyRule(
        "stores of pixels have upper corners of at most 0",
        "9.7.9.27",
        "upper corner W of at most 0 in a store, got 1",
        "ptxsim/test_im2col_store.py::test_store_stays_inside_the_tensor",
    ),
    CopyRule(
        "a tensormap.replace of the box needs a map of kind tiled",
        "9.7.9.28",
        "a tiled tensor map in the replacement of a box extent, got",
        "ptxsim/test_im2col_map.py::test_im2col_map_has_no_box_to_replace",
    ),
    CopyRule(
        "gather4 starts at a multiple of 16 bytes",
        "5.5.3.4",
        "expected the column of gather4 at a multiple of 16 bytes, got 8",
        "ptxsim/test_tma_rows.py::test_invalid_copy_is_reported",
    ),
    CopyRule(
        "gather4 and scatter4 have a box of one row",
        "5.5.3.4",
        "expected a box of one row for gather4 and scatter4, got 2",
        "ptxsim/test_tma_rows.py::test_invalid_copy_is_reported",
    ),
    CopyRule(
        "stores start at coordinates of at least 0",
        "9.7.9.27",
        "expected coordinates of at least 0 in a tensor store, got -8 in dimension 0",
        "ptxsim/test_tma_rows.py::test_invalid_copy_is_reported",
    ),
    CopyRule(
        "copies of padded types start at a multiple of 128 elements",
        "9.7.9.27.1.1",
        "coordinate 0 that is a multiple of",
        "ptxsim/test_tma_packed.py::test_first_coordinate_of_packed_types",
    ),
    CopyRule(
        "b4x16_p64 has no store",
        "9.7.9.27.1.1",
        "an element type that stores support, got b4x16_p64",
        "ptxsim/test_tma_packed.py::test_b4x16_p64_has_no_store",
    ),
    CopyRule(
        "packed types have no reduction",
        "9.7.9.27.1.1",
        "an element type that the reduction supports, got",
        "ptxsim/test_tma_packed.py::test_packed_types_have_no_reduction",
    ),
    CopyRule(
        "copies have a shared address that is a multiple of 128 bytes",
        "CUDA C++ Programming Guide",
        "needs a shared address aligned to 128 bytes",
        "ptxsim/test_tma_values.py::test_alignment_of_shared_memory",
    ),
    CopyRule(
        "the image is inside the shared memory of its CTA",
        "5.2",
        "bytes is outside the shared memory",
        "ptxsim/test_tma_bounds.py::test_largest_box",
    ),
    CopyRule(
        "an operand in .shared::cta is in the shared memory of the issuing CTA",
        "9.7.9.25",
        "expected an address in .shared::cta, the shared memory of CTA rank 0, got that of rank 1",
        "ptxsim/test_tma_spaces.py::test_address_of_another_cta",
    ),
    CopyRule(
        "the mbarrier of a load with .cta_group::2 is in the CTA of the destination or of its pair",
        "9.7.9.27.1.2",
        "of its pair, rank",
        "ptxsim/test_tma_pairs.py::test_mbarrier_outside_the_pair",
    ),
    CopyRule(
        "mbarriers are aligned to 8 bytes",
        "9.7.13.15.1",
        "aligned to 8 bytes",
        "ptxsim/test_tma_values.py::test_alignment_of_the_mbarrier",
    ),
    CopyRule(
        "each reduction has its element types",
        "9.7.9.27.1.3",
        "an element type that the reduction supports, got",
        "ptxsim/test_tma_values.py::test_reduction_by_element_type",
    ),
    CopyRule(
        "swizzles with a flip of 8 bytes have no store",
        "5.5.7",
        "a swizzle that stores support, got",
        "ptxsim/test_tma_swizzles.py::test_flip_has_no_store",
    ),
    CopyRule(
        "swizzle 96B needs sm_103a, and atoms of other sizes than 16 bytes need sm_100",
        "9.7.9.28",
        "expected target",
        "ptxsim/test_tma_swizzles.py::test_targets_of_swizzles",
    ),
)

MANUAL_PARTS = (
    ManualPart(
        "5.5.1", "element types", ("runtime/test_tensor_map_rules.py::test_element_types_equal_those_of_the_driver",)
    ),
    ManualPart(
        "5.5.1",
        "tf32 is rounded to nearest even",
        ("ptxsim/test_tma_values.py::test_loads_convert_to_the_element_type",),
    ),
    ManualPart("5.5.1.1.1", "b4x16 is copied as is", ("ptxsim/test_tma_packed.py::test_b4x16_is_copied_as_is",)),
    ManualPart(
        "5.5.1.1.1",
        "figures 5 and 6: b4x16_p64, b6x16_p32 and their padding",
        (
            "ptxsim/test_tma_packed.py::test_padded_types_have_a_unit_of_16_bytes_per_16_elements",
            "ptxsim/test_tma_packed.py::test_padding_is_undefined",
        ),
    ),
    ManualPart("5.5.1.1.1", "figure 7: b6p2x16", ("ptxsim/test_tma_packed.py::test_b6p2x16_drops_two_bits_per_byte",)),
    ManualPart(
        "5.5.1.1.1",
        "table of the valid copy directions",
        (
            "ptxsim/test_tma_packed.py::test_padded_types_have_a_unit_of_16_bytes_per_16_elements",
            "ptxsim/test_tma_packed.py::test_b6p2x16_drops_two_bits_per_byte",
            "ptxsim/test_tma_packed.py::test_b4x16_p64_has_no_store",
        ),
    ),
    ManualPart(
        "5.5.2", "access modes of the instructions", ("ptxsim/test_access_modes.py::test_form_that_ptxas_refuses",)
    ),
    ManualPart(
        "5.5.3.2", "figure 8: traversal strides", ("ptxsim/test_tensor_map.py::test_element_strides_skip_elements",)
    ),
    ManualPart(
        "5.5.3.3",
        "figure 9: zero fill of loads, stores drop elements",
        (
            "ptxsim/test_tensor_map.py::test_elements_outside_the_tensor_are_zero",
            "ptxsim/test_tma.py::test_store_drops_elements_outside_the_tensor",
        ),
    ),
    ManualPart(
        "5.5.3.3",
        "zero fill and OOB-NaN fill",
        (
            "ptxsim/test_tma_values.py::test_zero_fill",
            "ptxsim/test_tma_values.py::test_nan_fill",
        ),
    ),
    ManualPart(
        "5.5.3.4",
        "figure 10: tile::gather4 and tile::scatter4",
        (
            "ptxsim/test_tensor_map.py::test_gather4_copies_four_rows",
            "ptxsim/test_tma_rows.py::test_gathered_rows",
            "ptxsim/test_tma_rows.py::test_scattered_rows",
        ),
    ),
    ManualPart(
        "5.5.4",
        "table of the dimensions",
        ("runtime/test_tensor_map_rules.py::test_dimensions_of_images",),
    ),
    ManualPart(
        "5.5.4.1",
        "figures 11 and 12: corners of bounding boxes, inside and outside of the images",
        (
            "ptxsim/test_im2col.py::test_walk_equals_the_order_of_positions",
            "ptxsim/test_im2col.py::test_base_is_inside_the_bounding_box",
        ),
    ),
    ManualPart(
        "5.5.4.1",
        "examples 1 and 2, figures 13 and 14",
        (
            "ptxsim/test_im2col.py::test_example_of_the_manual[5.5.4.1 example 1, figure 13]",
            "ptxsim/test_im2col.py::test_example_of_the_manual[5.5.4.1 example 2, figure 14]",
        ),
    ),
    ManualPart(
        "5.5.4.1",
        "table of corner sizes",
        tuple(
            f"{_RULES}[corner_values: im2col {case}]"
            for case in ("3D f16 128B, lower[0] -32769", "4D f16 128B, upper[1] 128", "5D f16 128B, lower[2] -17")
        ),
    ),
    ManualPart(
        "5.5.4.1",
        "table of offset ranges",
        ("ptxsim/test_im2col.py::test_limits_of_offsets", "ptxsim/test_im2col.py::test_largest_offset_of_rank_3"),
    ),
    ManualPart(
        "5.5.4.2",
        "figure 15: traversal strides of im2col",
        (
            "ptxsim/test_im2col.py::test_example_of_the_manual[5.5.4.2 traversal stride, figure 15]",
            "ptxsim/test_im2col.py::test_walk_equals_the_order_of_positions",
        ),
    ),
    ManualPart(
        "5.5.4.3", "pixels beyond the batch", ("ptxsim/test_im2col.py::test_images_outside_the_tensor_are_zero",)
    ),
    ManualPart(
        "5.5.5.1",
        "figure 16: pixels of one row of each image",
        (
            "ptxsim/test_im2col_w.py::test_walk_equals_the_order_of_positions",
            "ptxsim/test_im2col_w.py::test_rows_outside_the_tensor_are_zero",
        ),
    ),
    ManualPart(
        "5.5.5.1",
        "figure 17: a first pixel left of the bounding box",
        ("ptxsim/test_im2col_w.py::test_first_pixel_left_of_the_box",),
    ),
    ManualPart(
        "5.5.5.3",
        "figure 18: wHalo of im2col::w",
        ("ptxsim/test_im2col_w.py::test_example_of_the_manual[5.5.5.3 wHalo, figure 18]",),
    ),
    ManualPart(
        "5.5.5.3",
        "figure 19: wHalo of im2col::w::128",
        ("ptxsim/test_im2col_w.py::test_example_of_the_manual_with_128_pixels",),
    ),
    ManualPart(
        "5.5.5.4",
        "examples 1 and 2, figures 20 to 24: wOffset",
        tuple(
            f"ptxsim/test_im2col_w.py::test_example_of_the_manual[5.5.5.4 example {buffer}]"
            for buffer in (
                *("1, buffer 1, figure 20", "1, buffer 2, figure 21"),
                *("2, buffer 1, figure 22", "2, buffer 2, figure 23", "2, buffer 3, figure 24"),
            )
        ),
    ),
    ManualPart(
        "5.5.6",
        "dimensionalities of interleaved layouts",
        (f"{_RULES}[interleave_rank: tiled 2D f16, interleave 16B]",),
    ),
    ManualPart(
        "5.5.6",
        "NC/8HWC8 and NC/16HWC16",
        (
            "ptxsim/test_tma_interleave.py::test_slices_of_16_bytes",
            "ptxsim/test_tma_interleave.py::test_slices_of_32_bytes",
        ),
    ),
    ManualPart(
        "5.5.7",
        "table of swizzles and atomicities",
        (
            "runtime/test_tensor_map_rules.py::test_atomicities_of_swizzles",
            "ptxsim/test_tma_swizzles.py::test_valid_combinations_of_mode_and_atomicity",
        ),
    ),
    ManualPart(
        "5.5.7",
        "tables of the swizzles",
        (
            "ptxsim/test_tma_swizzles.py::test_table_of_the_swizzling_mode",
            "ptxsim/test_tma_swizzles.py::test_stores_read_the_same_image",
        ),
    ),
    ManualPart(
        "5.5.7",
        "figures 25 to 27: swizzle 32B of NC/(32B)HWC(32B)",
        ("ptxsim/test_tma_interleave.py::test_fragments_of_the_example_with_swizzle_32b",),
    ),
    ManualPart(
        "5.5.7",
        "figures 28 to 30: swizzle 64B of NHWC",
        ("ptxsim/test_tma_swizzles.py::test_swizzle_64b_of_the_example_of_an_image",),
    ),
    ManualPart(
        "5.5.7",
        "figures 32 to 34: swizzle 128B of NHWC",
        ("ptxsim/test_tma_swizzles.py::test_swizzle_128b_of_the_example_of_an_image",),
    ),
    ManualPart(
        "5.5.7",
        "figures 31 and 36: swizzles whose images are unconfirmed",
        ("ptxsim/test_tma_swizzles.py::test_undocumented_images_are_unconfirmed",),
    ),
    ManualPart(
        "5.5.7",
        "figures 35 and 37: swizzle 128B with atoms of 32 and 64 bytes",
        tuple(
            f"ptxsim/test_tma_swizzles.py::{test}[{swizzle}]"
            for test in ("test_table_of_the_swizzling_mode", "test_stores_read_the_same_image")
            for swizzle in ("128B_atom_32B", "128B_atom_64B")
        ),
    ),
    ManualPart("5.5.7", "tables of swizzle base offsets", ("ptxsim/test_tma_swizzles.py::test_swizzle_base_offset",)),
    ManualPart(
        "5.5.8",
        "a tensor map in global memory that the program makes",
        ("ptxsim/test_tensor_map_made_by_program.py::test_load_through_the_map",),
    ),
)
