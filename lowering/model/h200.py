"""The constants of H200 SXM and of H100 SXM."""

from __future__ import annotations

from tilec.lowering.model.constant import Constant, assumed, derived, measured, probed, vendor

CONSTANTS: dict[str, Constant] = {
    # The chip.
    "processors": vendor(132, "data sheet"),
    "clock_ghz": vendor(1.83, "data sheet"),
    "hbm_terabytes_per_second": probed(4.2, "reads 4.58, copies 3.98"),
    "l2_megabytes": vendor(50, "data sheet"),
    "l2_bytes_per_cycle": derived(
        52, "a GEMM whose operands several SMs read; 38 where each reads other lines (PROBES, TILESIGHT)"
    ),
    "launch_microseconds": probed(1.4, "end to start; 1.26 between empty kernels"),
    "graph_launch_microseconds": probed(0.55),
    "block_start_cycles": probed(325),
    # Capacities of one SM.
    "shared_kilobytes": vendor(228, "guide"),
    "registers": vendor(65536, "guide"),
    "warps": vendor(64, "guide"),
    "resident_blocks": vendor(32, "guide"),
    "tensor_memory_columns": vendor(0, "PTX ISA"),
    # Tensor pipe.
    "tensor_rows": vendor(64, "PTX ISA"),
    "tensor_operand_bytes": vendor(32, "PTX ISA"),
    "tensor_columns_per_cycle": derived(2, "989 TFLOP/s of the data sheet: 4096 FLOP per cycle"),
    "multiply_latency_cycles": probed(60, "55 to 66"),
    "pair_multiply_latency_cycles": vendor(0, "PTX ISA: not on this target"),
    "tensor_memory_multiply_latency_cycles": probed(50, "46 to 56"),
    "multiply_issue_cycles": assumed(40, "not measured"),
    "multiply_issue_depth": assumed(0, "not measured"),
    "mma_sync_multiply_adds_per_cycle": probed(1348, "8 warps; 1186 with 4"),
    # Memories of one SM.
    "shared_bytes_per_cycle": vendor(128, "guide"),
    "shared_write_share": probed(0, "106 bytes/cycle of copies beside multiplies that read 128"),
    "tensor_memory_read_bytes_per_cycle": vendor(0, "PTX ISA: not on this target"),
    "tensor_memory_write_bytes_per_cycle": vendor(0, "PTX ISA: not on this target"),
    "tensor_copy_cycles": vendor(0, "PTX ISA: not on this target"),
    "tensor_row_copy_cycles": vendor(0, "PTX ISA: not on this target"),
    "tensor_shift_cycles": vendor(0, "PTX ISA: not on this target"),
    "tensor_memory_allocation_cycles": vendor(0, "PTX ISA: not on this target"),
    # TMA.
    "tma_issue_cycles": probed(15, "copies of 16 to 1024 bytes"),
    "tma_l2_latency_cycles": probed(315),
    "tma_dram_latency_cycles": probed(750),
    "tma_cycles_per_kilobyte": probed(9, "from L2; 24 from DRAM"),
    "tma_further_copy_cycles": probed(10, "beyond the transfer"),
    "tma_store_latency_cycles": probed(51),
    # Loads of threads.
    "load_dram_latency_cycles": probed(667),
    "load_l2_latency_cycles": probed(280),
    "thread_loaded_kilobytes": measured(16, "DECISIONS: layer norm of rows of 4096: 161 us by threads, 215 by TMA"),
    # Synchronization.
    "barrier_latency_cycles": probed(45),
    "named_barrier_cycles": probed(30),
    "block_barrier_cycles": probed(12),
    "block_barrier_cycles_per_warp": probed(2),
    "proxy_fence_cycles": probed(18, "4 warps; 43 with 8"),
    "cluster_barrier_cycles": probed(336),
    # Instructions of warps.
    "warp_instructions_per_cycle": vendor(4, "guide"),
    "fma_per_cycle": vendor(128, "guide"),
    "alu_per_cycle": vendor(64, "guide"),
    "exponentials_per_cycle": vendor(16, "guide"),
    "shuffles_per_cycle": vendor(32, "guide"),
    "floats_per_instruction": vendor(1, "PTX ISA"),
    "comparisons_per_instruction": vendor(1, "PTX ISA"),
    "independent_instructions": assumed(2, "not measured"),
    "dependent_issue_cycles": probed(4.0),
}
# H100 differs by its memory.
H100_CONSTANTS = CONSTANTS | {"hbm_terabytes_per_second": measured(3.0, "QUACK: 3.0 of 3.35 nominal")}
