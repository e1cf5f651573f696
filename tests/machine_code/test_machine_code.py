"""What benchmarks/machine_code.py reads from machine code: blocks, loops, roles and counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from sheet.machine_code.control_flow import Graph
from sheet.machine_code.counts import sheet_of
from sheet.machine_code.disassembly import INSTRUCTION_BYTES, Instruction, declared_bytes, parse
from sheet.machine_code.occupancy import blocks_per_processor
from sheet.machine_code.roles import roles
from sheet.table import markdown, text
from sheet.timeline import shares_of_loops


def code(source: str) -> list[Instruction]:
    """The instructions of lines `[@P0] OPCODE [OPERANDS]`, in which `->5` is the address of line 5."""
    found = []
    for number, line in enumerate(source.strip().splitlines()):
        words = line.split()
        predicate = words.pop(0) if words[0].startswith("@") else ""
        operands = " ".join(words[1:])
        if "->" in operands:
            before, _, target = operands.partition("->")
            operands = f"{before}{int(target) * INSTRUCTION_BYTES:#x}"
        found.append(Instruction(number * INSTRUCTION_BYTES, words[0], operands, predicate))
    return found


NESTED = """
    MOV R0,RZ
    MOV R1,RZ
    LDL R2,[R1]
    MUFU.EX2 R2,R2
    @P0 BRA ->3
    STL [R1],R2
    @P1 BRA ->1
    EXIT
"""


def test_natural_loops_are_nested_by_their_back_edges() -> None:
    graph = Graph(code(NESTED))
    loops = [([each.opcode for each in graph.of(loop.blocks)], loop.depth) for loop in graph.loops]
    assert loops == [
        (["MOV", "LDL", "MUFU.EX2", "BRA", "STL", "BRA"], 0),
        (["MUFU.EX2", "BRA"], 1),
    ]


def test_an_instruction_counts_in_each_loop_around_it_and_is_its_innermost_loops_own() -> None:
    sheet = sheet_of(code(NESTED), 128)
    assert [loop.counts["mufu_ex2"] for loop in sheet.loops] == [1, 1]
    assert [loop.own["mufu_ex2"] for loop in sheet.loops] == [0, 1]
    assert sheet.spills_in_loops == (1, 1)


def test_accesses_of_arrays_are_not_spills() -> None:
    """The operands of a loop that divides are in an array of 64 bytes, and spilled registers after it."""
    divisions = code("""
        STL.128 [R1+0x30],R8
        STL [R1+0x40],R5
        LDL R2,[R4]
        STL [R4],R2
        @P0 BRA ->2
        LDL.LU R5,[R1+0x40]
        LDL R8,[R1]
        BRA ->0
    """)
    assert sheet_of(divisions, 128).spills_in_loops == (3, 3)
    assert sheet_of(divisions, 128, array_bytes=64).spills_in_loops == (1, 1)


def test_a_jump_to_a_retry_out_of_line_belongs_to_the_loop_that_it_returns_to() -> None:
    sheet = sheet_of(
        code("""
            MOV R0,RZ
            SYNCS.PHASECHK.TRANS64.TRYWAIT P0[UR4],R0
            @!P0 BRA ->6
            UTCHMMA gdesc[UR4],gdesc[UR6],tmem[UR8]
            BRA.U UP0,->1
            EXIT
            SYNCS.PHASECHK.TRANS64.TRYWAIT P0[UR4],R0
            @!P0 BRA ->6
            BRA ->3
        """),
        128,
    )
    assert [(loop.depth, loop.counts["instructions"], loop.counts["waits"]) for loop in sheet.loops] == [
        (0, 7, 2),
        (1, 2, 1),
    ]


# Warps below 4 compute and leave; warp 4 loads, warp 5 multiplies.
ROLES = """
    S2R R0,SR_TID.X
    SHF.R.U32.HI R0,RZ,0x5,R0
    R2UR UR4,R0
    UISETP.GT.U32.AND UP0,UPT,{number},0x3,UPT
    PLOP3.LUT P0,PT,PT,PT,UP0,0x80,0x0
    @P0 BRA ->8
    MUFU.EX2 R2,R2
    BRA ->14
    UISETP.NE.AND UP1,UPT,{number},0x4,UPT
    BRA.U UP1,->12
    UTMALDG.2D [UR8][UR10]
    BRA ->14
    UTCHMMA gdesc[UR6],gdesc[UR8],tmem[UR10]
    NOP
    EXIT
"""


def test_roles_are_the_warps_that_reach_the_same_instructions() -> None:
    graph = Graph(code(ROLES.format(number="UR4")))
    found = [(role.warps, [each.opcode for each in graph.of(role.blocks)]) for role in roles(graph, 192)]
    assert found == [
        (4, ["MUFU.EX2", "BRA"]),
        (1, ["UTMALDG.2D", "BRA"]),
        (1, ["UTCHMMA", "NOP"]),
    ]


def test_a_branch_on_another_value_separates_no_roles() -> None:
    assert roles(Graph(code(ROLES.format(number="UR5"))), 192) == []


def test_a_number_that_is_overwritten_is_not_known() -> None:
    source = ROLES.format(number="UR4").replace("R2UR UR4,R0", "R2UR UR4,R0\n LDCU.64 UR4,c[0x0][0x380]")
    assert roles(Graph(code(source.replace("->8", "->9").replace("->12", "->13").replace("->14", "->15"))), 192) == []


@pytest.fixture(scope="module")
def tileiras_matmul() -> tuple[Instruction, ...]:
    """tileiras 13.5.37, -O3, of the f16 matmul with tiles of 128x128x64 for sm_100."""
    stored = Path(__file__).with_name("gemm_128x128x64_sm_100.json")
    return parse(stored.read_text())["kernel"]


def test_figures_of_a_matmul_by_tileiras(tileiras_matmul: tuple[Instruction, ...]) -> None:
    """Counted by other code in an earlier measurement: six stages, and 69 instructions around four multiplies.

    That measurement counts 832 instructions; seven after the last jump, which nothing reaches, nvdisasm leaves out of
    JSON. The sum of the roles is that of what is reached.
    """
    sheet = sheet_of(tileiras_matmul, 256)
    counts = sheet.whole.counts
    assert counts["instructions"] == 832 - 7
    assert (counts["tma_loads"], counts["tma_stores"]) == (3, 2)
    assert (counts["lds"], counts["sts"], counts["ldtm"], counts["sttm"]) == (3, 18, 16, 16)
    assert (counts["mufu"], counts["barriers"], counts["ldl"], counts["stl"]) == (6, 2, 0, 0)
    assert (sheet.setmaxreg, sheet.mbarriers, sheet.rings) == (("dealloc 32",), 24, (6, 6, 7))
    assert [(role.name, role.counts["instructions"]) for role in sheet.roles] == [
        ("epilogue (4 warps)", 262),
        ("load (1 warp)", 194),
        ("mma (1 warp)", 119),
        ("store (1 warp)", 156),
        ("common", 91),
    ]
    (multiplies,), (loads,) = sheet.loops_with("tensor"), sheet.loops_with("tma_loads")
    assert (multiplies.counts["instructions"], multiplies.tensor_opcodes) == (69, {"UTCHMMA": 4})
    assert (loads.counts["instructions"], loads.counts["tma_loads"]) == (50, 3)


def test_widths_of_accesses_to_global_memory() -> None:
    sheet = sheet_of(
        code("""
            LDG.E.128 R4,desc[UR4][R2.64]
            LDG.E.U16 R4,desc[UR4][R2.64]
            LDG.E R4,desc[UR4][R2.64]
            STG.E.64 desc[UR4][R2.64],R4
            EXIT
        """),
        128,
    )
    assert (sheet.ldg_bits, sheet.stg_bits) == ({16: 1, 32: 1, 128: 1}, {64: 1})


@pytest.mark.parametrize(
    ("threads", "registers", "shared_bytes", "expected"),
    [
        # 65,536 registers, of which four warps take 4 * 32 * 128.
        (128, 128, 0, 4),
        # A quarter of the registers has three warps with 168 registers, and two with 176: cuda_occupancy.h has 2 and 1.
        (160, 168, 0, 2),
        (160, 176, 0, 1),
        (320, 77, 0, 2),
        # 64 warps.
        (512, 32, 0, 4),
        # 228 KB, of which a block takes 1 KB more than it asks for.
        (128, 32, 75 * 1024, 3),
        (128, 32, 113 * 1024, 2),
        (32, 16, 0, 32),
    ],
)
def test_occupancy_of_the_programming_guide(threads: int, registers: int, shared_bytes: int, expected: int) -> None:
    assert blocks_per_processor(threads, registers, shared_bytes) == expected


@pytest.mark.parametrize(("reported", "declared"), [(0, 0), (1024, 0), (1536, 512)])
def test_the_kilobyte_of_the_system_is_not_counted_twice(reported: int, declared: int) -> None:
    """ptxas 13.0, kernels for sm_90a: without shared memory, with dynamic shared memory, and with 512 bytes."""
    assert declared_bytes(reported) == declared
    assert blocks_per_processor(384, 168, declared_bytes(1024) + 232448) == 1


def test_a_kernel_that_does_not_compile_has_its_reason_in_the_table() -> None:
    rows = [
        {"kernel": "gemm", "target": "sm_90a", "compiler": "tilec", "failure": "needs 300000 bytes"},
        {
            "kernel": "loops", "target": "sm_90a", "compiler": "tilec", "threads": 128, "registers": 24,
            "shared_bytes": 0, "blocks_per_processor": 16, "seconds": 0, "model": None,
            **sheet_of(code(NESTED), 128).fields(),
        },
    ]  # fmt: skip
    assert "fails: needs 300000 bytes" in text(rows)
    assert "| loops | sm_90a | tilec | 8 | 128 | 24 | 0 | 16 | 1+1 | 1+1 |" in markdown(rows)
    assert "| loops | sm_90a | tilec | - | - | 2 (1 mufu_ex2) |" in markdown(rows)


def test_share_of_several_loops_is_weighted_by_their_iterations() -> None:
    loops = [{"units": {"tensor pipe": 100.0}, "cycles": 200.0}, {"units": {"tensor pipe": 100.0}, "cycles": 400.0}]
    shares = shares_of_loops(loops, (3, 1))
    assert [loop["tensor_share"] for loop in shares["loops"]] == [0.5, 0.25]
    assert shares["tensor_share_of_loops"] == 0.4
