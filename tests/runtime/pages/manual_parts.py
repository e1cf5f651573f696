"""The tables, examples and figures of PTX ISA 5.5, with their tests; docs/tensor_maps.md shows these rows."""

from __future__ import annotations

from dataclasses import dataclass

_RULES = "runtime/test_tensor_map_rules.py::test_illegal_map_violates_its_rule"


@dataclass(frozen=True)
class ManualPart:
    """A table, an example or a figure of PTX ISA 5.5, and the tests of its values."""

    section: str
    content: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """A statement of the manual that is not right, the one that is, and its tests."""

    section: str
    statement: str
    right: str
    tests: tuple[str, ...]


DIFFERENCES = (
    Difference(
        "5.5.3.4",
        "gather4 and scatter4 have four coordinates across dimension 0 and one across dimension 1",
        "one column and four rows, `{column, row, row, row, row}`, as figure 10 shows",
        (
            "ptxsim/tma/test_tensor_map.py::test_gather4_copies_four_rows",
            "ptxsim/tma/test_tma_rows.py::test_scattered_rows",
        ),
    ),
    Difference(
        "5.5.4.1, 5.5.5.3",
        "the examples print coordinates as (N, H, W, C), (7, 7, 4, 0)",
        "an instruction has the innermost dimension first, `{0, 4, 7, 7}`",
        (
            "ptxsim/im2col/test_im2col.py::test_example_of_the_manual",
            "ptxsim/im2col/test_im2col_w.py::test_example_of_the_manual",
        ),
    ),
    Difference(
        "5.5.6",
        "interleaves of 8 and 16 bytes; 16 channels of 4 bytes are 32 bytes",
        "slices of 16 and 32 bytes, which are 8 and 16 channels of 2 bytes",
        (
            "ptxsim/tma/test_tma_interleave.py::test_slices_of_16_bytes",
            "ptxsim/tma/test_tma_interleave.py::test_slices_of_32_bytes",
        ),
    ),
)

MANUAL_PARTS = (
    ManualPart(
        "5.5.1", "element types", ("runtime/test_tensor_map_rules.py::test_element_types_equal_those_of_the_driver",)
    ),
    ManualPart(
        "5.5.1",
        "tf32 is rounded to nearest even",
        ("ptxsim/tma/test_tma_values.py::test_loads_convert_to_the_element_type",),
    ),
    ManualPart("5.5.1.1.1", "b4x16 is copied as is", ("ptxsim/tma/test_tma_packed.py::test_b4x16_is_copied_as_is",)),
    ManualPart(
        "5.5.1.1.1",
        "figures 5 and 6: b4x16_p64, b6x16_p32 and their padding",
        (
            "ptxsim/tma/test_tma_packed.py::test_padded_types_have_a_unit_of_16_bytes_per_16_elements",
            "ptxsim/tma/test_tma_packed.py::test_padding_is_undefined",
        ),
    ),
    ManualPart(
        "5.5.1.1.1", "figure 7: b6p2x16", ("ptxsim/tma/test_tma_packed.py::test_b6p2x16_drops_two_bits_per_byte",)
    ),
    ManualPart(
        "5.5.1.1.1",
        "table of the valid copy directions",
        (
            "ptxsim/tma/test_tma_packed.py::test_padded_types_have_a_unit_of_16_bytes_per_16_elements",
            "ptxsim/tma/test_tma_packed.py::test_b6p2x16_drops_two_bits_per_byte",
            "ptxsim/tma/test_tma_packed.py::test_b4x16_p64_has_no_store",
        ),
    ),
    ManualPart(
        "5.5.2", "access modes of the instructions", ("ptxsim/tma/test_access_modes.py::test_form_that_ptxas_refuses",)
    ),
    ManualPart(
        "5.5.3.2", "figure 8: traversal strides", ("ptxsim/tma/test_tensor_map.py::test_element_strides_skip_elements",)
    ),
    ManualPart(
        "5.5.3.3",
        "figure 9: zero fill of loads, stores drop elements",
        (
            "ptxsim/tma/test_tensor_map.py::test_elements_outside_the_tensor_are_zero",
            "ptxsim/tma/test_tma.py::test_store_drops_elements_outside_the_tensor",
        ),
    ),
    ManualPart(
        "5.5.3.3",
        "zero fill and OOB-NaN fill",
        (
            "ptxsim/tma/test_tma_values.py::test_zero_fill",
            "ptxsim/tma/test_tma_values.py::test_nan_fill",
        ),
    ),
    ManualPart(
        "5.5.3.4",
        "figure 10: tile::gather4 and tile::scatter4",
        (
            "ptxsim/tma/test_tensor_map.py::test_gather4_copies_four_rows",
            "ptxsim/tma/test_tma_rows.py::test_gathered_rows",
            "ptxsim/tma/test_tma_rows.py::test_scattered_rows",
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
            "ptxsim/im2col/test_im2col.py::test_walk_equals_the_order_of_positions",
            "ptxsim/im2col/test_im2col.py::test_base_is_inside_the_bounding_box",
        ),
    ),
    ManualPart(
        "5.5.4.1",
        "examples 1 and 2, figures 13 and 14",
        (
            "ptxsim/im2col/test_im2col.py::test_example_of_the_manual[5.5.4.1 example 1, figure 13]",
            "ptxsim/im2col/test_im2col.py::test_example_of_the_manual[5.5.4.1 example 2, figure 14]",
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
        (
            "ptxsim/im2col/test_im2col.py::test_limits_of_offsets",
            "ptxsim/im2col/test_im2col.py::test_largest_offset_of_rank_3",
        ),
    ),
    ManualPart(
        "5.5.4.2",
        "figure 15: traversal strides of im2col",
        (
            "ptxsim/im2col/test_im2col.py::test_example_of_the_manual[5.5.4.2 traversal stride, figure 15]",
            "ptxsim/im2col/test_im2col.py::test_walk_equals_the_order_of_positions",
        ),
    ),
    ManualPart(
        "5.5.4.3", "pixels beyond the batch", ("ptxsim/im2col/test_im2col.py::test_images_outside_the_tensor_are_zero",)
    ),
    ManualPart(
        "5.5.5.1",
        "figure 16: pixels of one row of each image",
        (
            "ptxsim/im2col/test_im2col_w.py::test_walk_equals_the_order_of_positions",
            "ptxsim/im2col/test_im2col_w.py::test_rows_outside_the_tensor_are_zero",
        ),
    ),
    ManualPart(
        "5.5.5.1",
        "figure 17: a first pixel left of the bounding box",
        ("ptxsim/im2col/test_im2col_w.py::test_first_pixel_left_of_the_box",),
    ),
    ManualPart(
        "5.5.5.3",
        "figure 18: wHalo of im2col::w",
        ("ptxsim/im2col/test_im2col_w.py::test_example_of_the_manual[5.5.5.3 wHalo, figure 18]",),
    ),
    ManualPart(
        "5.5.5.3",
        "figure 19: wHalo of im2col::w::128",
        ("ptxsim/im2col/test_im2col_w.py::test_example_of_the_manual_with_128_pixels",),
    ),
    ManualPart(
        "5.5.5.4",
        "examples 1 and 2, figures 20 to 24: wOffset",
        tuple(
            f"ptxsim/im2col/test_im2col_w.py::test_example_of_the_manual[5.5.5.4 example {buffer}]"
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
            "ptxsim/tma/test_tma_interleave.py::test_slices_of_16_bytes",
            "ptxsim/tma/test_tma_interleave.py::test_slices_of_32_bytes",
        ),
    ),
    ManualPart(
        "5.5.7",
        "table of swizzles and atomicities",
        (
            "runtime/test_tensor_map_rules.py::test_atomicities_of_swizzles",
            "ptxsim/tma/test_tma_swizzles.py::test_valid_combinations_of_mode_and_atomicity",
        ),
    ),
    ManualPart(
        "5.5.7",
        "tables of the swizzles",
        (
            "ptxsim/tma/test_tma_swizzles.py::test_table_of_the_swizzling_mode",
            "ptxsim/tma/test_tma_swizzles.py::test_stores_read_the_same_image",
        ),
    ),
    ManualPart(
        "5.5.7",
        "figures 25 to 27: swizzle 32B of NC/(32B)HWC(32B)",
        ("ptxsim/tma/test_tma_interleave.py::test_fragments_of_the_example_with_swizzle_32b",),
    ),
    ManualPart(
        "5.5.7",
        "figures 28 to 30: swizzle 64B of NHWC",
        ("ptxsim/tma/test_tma_swizzles.py::test_swizzle_64b_of_the_example_of_an_image",),
    ),
    ManualPart(
        "5.5.7",
        "figures 32 to 34: swizzle 128B of NHWC",
        ("ptxsim/tma/test_tma_swizzles.py::test_swizzle_128b_of_the_example_of_an_image",),
    ),
    ManualPart(
        "5.5.7",
        "figures 31 and 36: swizzles whose images are unconfirmed",
        ("ptxsim/tma/test_tma_swizzles.py::test_undocumented_images_are_unconfirmed",),
    ),
    ManualPart(
        "5.5.7",
        "figures 35 and 37: swizzle 128B with atoms of 32 and 64 bytes",
        tuple(
            f"ptxsim/tma/test_tma_swizzles.py::{test}[{swizzle}]"
            for test in ("test_table_of_the_swizzling_mode", "test_stores_read_the_same_image")
            for swizzle in ("128B_atom_32B", "128B_atom_64B")
        ),
    ),
    ManualPart(
        "5.5.7", "tables of swizzle base offsets", ("ptxsim/tma/test_tma_swizzles.py::test_swizzle_base_offset",)
    ),
    ManualPart(
        "5.5.8",
        "a tensor map in global memory that the program makes",
        ("ptxsim/tma/test_tensor_map_made_by_program.py::test_load_through_the_map",),
    ),
)
