"""The constants of B200."""

from __future__ import annotations

from tilec.lowering.model.constant import Constant, assumed, derived, measured, vendor

NAME = "B200"
CONSTANTS: dict[str, Constant] = {
    # The chip.
    "processors": vendor(148, "data sheet"),
    "clock_ghz": vendor(1.85, "data sheet"),
    "hbm_terabytes_per_second": measured(7.2, "SEMI: 7.0 to 7.26; CUTILE-RS: 7.02 of 7.67 nominal"),
    "l2_megabytes": vendor(126, "data sheet"),
    "l2_bytes_per_cycle": derived(71, "20.5 TB/s by TMA on B300 (QRC), over the SMs and the clock of its measurement"),
    "launch_microseconds": measured(2.0, "QRC: 1.8 to 2.05"),
    "graph_launch_microseconds": measured(0.56, "QRC"),
    "block_start_cycles": assumed(1038, "QRC, unit not clear"),
    # Capacities of one SM.
    "shared_kilobytes": vendor(228, "guide"),
    "registers": vendor(65536, "guide"),
    "warps": vendor(64, "guide"),
    "resident_blocks": vendor(32, "guide"),
    "tensor_memory_columns": vendor(512, "PTX ISA"),
    # Tensor pipe.
    "tensor_rows": vendor(128, "PTX ISA"),
    "tensor_operand_bytes": vendor(32, "PTX ISA"),
    "tensor_columns_per_cycle": measured(2, "SEMI, QRC: interval N/2 for each type"),
    "multiply_latency_cycles": measured(136, "SEMI"),
    "pair_multiply_latency_cycles": measured(170, "SEMI"),
    "tensor_memory_multiply_latency_cycles": measured(104, "SEMI"),
    "multiply_issue_cycles": measured(12, "META"),
    "multiply_issue_depth": measured(16, "META"),
    "mma_sync_multiply_adds_per_cycle": assumed(1024, "rate of earlier devices"),
    # Memories of one SM.
    "shared_bytes_per_cycle": vendor(128, "guide"),
    "shared_write_share": assumed(1, "not measured: 0 or 1; 1 agrees with the step times of tutorials of Gluon"),
    "tensor_memory_read_bytes_per_cycle": measured(256, "QRC, META: 210 to 256"),
    "tensor_memory_write_bytes_per_cycle": measured(470, "META, QRC"),
    "tensor_copy_cycles": measured(67, "QRC"),
    "tensor_row_copy_cycles": measured(52, "QRC"),
    "tensor_shift_cycles": measured(51, "QRC"),
    "tensor_memory_allocation_cycles": measured(245, "QRC: 195 to 253"),
    # TMA.
    "tma_issue_cycles": measured(30, "META"),
    "tma_l2_latency_cycles": measured(460, "META"),
    "tma_dram_latency_cycles": measured(900, "SEMI: 458 ns for 512 bytes"),
    "tma_cycles_per_kilobyte": measured(6, "META"),
    "tma_further_copy_cycles": measured(240, "META"),
    "tma_store_latency_cycles": measured(130, "META"),
    # Loads of threads.
    "load_dram_latency_cycles": measured(789, "QRC"),
    "load_l2_latency_cycles": measured(300, "QRC"),
    "thread_loaded_kilobytes": assumed(0, "not measured"),
    # Synchronization.
    "barrier_latency_cycles": measured(92, "META; QRC: 54 to 123"),
    "named_barrier_cycles": measured(30, "META"),
    "block_barrier_cycles": measured(22, "QRC"),
    "block_barrier_cycles_per_warp": measured(2, "QRC"),
    "proxy_fence_cycles": measured(36, "QRC"),
    "cluster_barrier_cycles": measured(370, "QRC"),
    # Instructions of warps.
    "warp_instructions_per_cycle": vendor(4, "guide"),
    "fma_per_cycle": vendor(128, "guide"),
    "alu_per_cycle": vendor(64, "guide"),
    "exponentials_per_cycle": vendor(16, "guide"),
    "shuffles_per_cycle": vendor(32, "guide"),
    "floats_per_instruction": vendor(2, "PTX ISA"),
    "comparisons_per_instruction": vendor(2, "PTX ISA"),
    "independent_instructions": assumed(2, "not measured"),
    "dependent_issue_cycles": measured(4.2, "QRC"),
}

# The bandwidth of HBM as a fraction of the largest, by the bytes that each SM of B200 has in flight (SEMI).
BANDWIDTH_BY_KILOBYTES_IN_FLIGHT = (
    (0.0, 0.0),
    (0.5, 0.024),
    (4.0, 0.16),
    (8.0, 0.30),
    (16.0, 0.50),
    (32.0, 0.78),
    (64.0, 0.99),
    (128.0, 1.0),
)
