"""The forms of tcgen05.mma for convolutions (table 9 of docs/tensor_core.md), and the facts of algorithm 3b."""

from __future__ import annotations

# The forms of table 9: the modifier or operand, its effect, the kernels that have it, and the tests that run it.
FORMS = (
    (
        "`disable-output-lane`",
        "a lane of D whose bit is 1 is not written",
        '`mode="stationary"`',
        (
            "ptxsim/tensor/test_tcgen05_operands.py::test_disabled_lanes_keep_their_values",
            "ptxsim/tensor/test_activation_stationary.py::test_each_bit_of_the_masks_counts",
        ),
    ),
    (
        "`enable-input-d`",
        "false: D = A * B",
        "all",
        ("ptxsim/tensor/test_tcgen05_operands.py::test_accumulation_adds_to_the_destination",),
    ),
    (
        "`scale-input-d`",
        "0 to 15, of f16 and tf32: D = A * B + D / 2 ** scale. Scaled elements of D are exact unless subnormal, "
        "for which no manual states a rounding: errors are below 2 ** -126 then",
        "`ct.mma(a, b, total * 2.0**-n)` with n from 1 to 15 and sums in f32 that stay in tensor memory; other "
        "factors, sums and kinds are multiplied in registers",
        (
            "kernels/accumulators/test_scaled_accumulators.py::test_a_constant_decay",
            "kernels/accumulators/test_scaled_accumulators.py::test_changed_scales_are_noticed",
            "ptxsim/tensor/test_tcgen05_shift.py::test_scale_input_d_multiplies_the_addend",
            "ptxsim/tensor/test_tcgen05_shift.py::test_a_subnormal_addend_that_does_not_change_the_sum",
        ),
    ),
    (
        "`.ashift`",
        "A in tensor memory moves by one lane after the multiply; M 128 or 256",
        '`mode="stationary"`, in all steps along K but the last, whose `tcgen05.shift` precedes the copies of new rows',
        (
            "kernels/convolution/test_stationary_images.py::test_changed_instructions_are_noticed",
            "ptxsim/tensor/test_tcgen05_shift.py::test_four_multiplies_of_groups_of_four_rows",
            "ptxsim/tensor/test_activation_stationary.py::test_equals_the_direct_convolution",
        ),
    ),
    (
        "`.collector::a::fill`, `use`, `lastuse`, `discard`",
        "`use` and `lastuse` read A from the collector that a `fill` with the same A has filled; results are the same; "
        "with `.ashift` the last two",
        "multiplies of a loop that read one A with accumulators of their own: more than 256 columns, two products of "
        "one A. The first one of each step along K fills the collector, the last one is its last use",
        (
            "kernels/accumulators/test_kept_left_operands.py::test_wide_products",
            "kernels/accumulators/test_kept_left_operands.py::test_two_products",
            "kernels/accumulators/test_kept_left_operands.py::test_changed_usages_are_noticed",
            "ptxsim/tensor/test_tcgen05_shift.py::test_a_use_needs_a_fill_that_is_not_discarded",
            "ptxsim/tensor/test_tcgen05_shift.py::test_collector_usages",
            "ptxsim/program/test_refused_lines.py::test_line_is_refused",
        ),
    ),
    (
        "`.ws` with a zero-column mask",
        "filters in A, pixels in B: taps shift the columns of B, and the mask clears those of the borders",
        '`mode="weights"`, the mask with the hint `allow_unconfirmed`',
        (
            "kernels/products/test_tensor_core_kernels.py::test_equals_the_exact_sums[convolution weights-sm_100a]",
            "kernels/convolution/test_weight_stationary.py::test_changed_masks_are_noticed",
            "kernels/convolution/test_convolution_clusters.py::test_tiles_that_end_with_a_row",
            "ptxsim/tensor/test_tcgen05_weight_stationary.py::test_a_window_of_three_taps_over_one_run_of_pixels",
            "ptxsim/tensor/test_tcgen05_weight_stationary.py::test_masked_columns_are_zero",
        ),
    ),
)
STATIONARY_TESTS = (
    "ptxsim/tensor/test_activation_stationary.py::test_equals_the_direct_convolution",
    "ptxsim/tensor/test_activation_stationary.py::test_a_wrong_step_changes_the_sums",
    "ptxsim/im2col/test_im2col_w.py::test_halo_continues_with_the_next_image",
    "kernels/convolution/test_convolution_clusters.py::test_tiles_that_end_with_a_row",
    "mutants/test_convolution_mutants.py::test_mutants_of_one_copy_for_all_taps",
)
STATIONARY_DIFFERS = (
    ("one row enters at lane 0 after each shift", "four rows enter, at lanes 31, 63, 95 and 127"),
    (
        "`halo` is one number of rows per tile",
        "wHalo is S - 1 for a stride of 1; im2col::w::128 has it after each 32 pixels",
    ),
    (
        "starts with `n - 1`, `W - w`, `w - W`",
        "not needed: a start may be left of the images, and the walk goes to the next one",
    ),
    (
        "lanes with w < 0 or w >= W are disabled",
        "needed between images; the first pixel of a tile is filled with zeros",
    ),
)
