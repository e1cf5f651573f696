"""PTX is assembled to a cubin in process; errors of ptxas name their lines."""

from pathlib import Path

import pytest

import tilec
from tilec.errors import CompileError
from tilec.runtime.cubin import cubin
from tilec.runtime.cubin.cubin import assemble

VECTOR_ADD = (Path(__file__).parent / "vector_add.ptx").read_text()
ELF_MACHINE_CUDA = 190


def test_cubin_is_an_elf_file_for_cuda() -> None:
    found = assemble(VECTOR_ADD, "sm_90a")
    assert found.content[:4] == b"\x7fELF"
    assert int.from_bytes(found.content[18:20], "little") == ELF_MACHINE_CUDA
    assert b"vector_add" in found.content
    assert (found.registers > 0, found.spill_bytes, found.warnings) == (True, 0, ())


def test_error_quotes_its_line() -> None:
    wrong = VECTOR_ADD.replace("add.rn.f32", "add.rn.f33")
    line = 1 + wrong[: wrong.index("add.rn.f33")].count("\n")
    with pytest.raises(CompileError, match="ptxas refuses k.ptx: Unknown modifier '.f33'") as raised:
        assemble(wrong, "sm_90a", "k.ptx")
    assert raised.value.notes[0].message.startswith(f"k.ptx:{line}: ")
    assert "add.rn.f33 %f3, %f1, %f2;" in raised.value.notes[0].message


def test_too_much_shared_memory_is_an_error() -> None:
    wrong = VECTOR_ADD.replace("    .reg .pred", "    .shared .b8 big[300000];\n    .reg .pred")
    wrong = wrong.replace("DONE:", "    mov.b32 %r5, big;\n    st.shared.b32 [%r5], %r4;\nDONE:")
    with pytest.raises(CompileError, match="uses too much shared data"):
        assemble(wrong, "sm_90a")


def test_unknown_target_is_an_error() -> None:
    with pytest.raises(CompileError, match="does not support target 'sm_33'"):
        assemble(VECTOR_ADD, "sm_33")


def test_spills_are_counted() -> None:
    # 40 live values do not fit in the 24 registers of .maxnreg.
    names = range(40)
    loads = "\n".join(f"    ld.volatile.global.f32 %x{i}, [%d1+{4 * i}];" for i in names)
    stores = "\n".join(f"    st.volatile.global.f32 [%d1+{4 * i}], %x{39 - i};" for i in names)
    head = ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n.maxnreg 24\n"
    registers = "    .reg .b64 %d<2>;\n    .reg .f32 %x<40>;\n    ld.param.u64 %d1, [p];"
    ptx = f"{head}{{\n{registers}\n{loads}\n{stores}\n    ret;\n}}\n"
    assert assemble(ptx, "sm_90a").spill_bytes > 0


@tilec.kernel
def quotients(A, B, C):
    """A product by wgmma, whose sums are divided."""
    total = tilec.zeros((128, 128), tilec.float32)
    for k in range(tilec.num_tiles(A, 1, (128, 64))):
        total = tilec.mma(tilec.load(A, (0, k), (128, 64)), tilec.load(B, (k, 0), (64, 128)), total)
    tilec.store(C, (0, 0), total / tilec.load(C, (0, 0), (128, 128)))


def test_divisions_do_not_serialize_multiplies(monkeypatch: pytest.MonkeyPatch) -> None:
    """nvJitLink makes calls of divisions, between which wgmma waits; ptxas, if it is installed, does not."""
    signature = "A: f16[?,?%8], B: f16[?,?%8], C: f32[?,?%4]"
    hints = {"register_budgets": False}
    ptx = tilec.compile(quotients, target="sm_90a", signature=signature, hints=hints, stop="ptx").ptx
    assert (assemble(ptx, "sm_90a").warnings == ()) == (cubin.ptxas_executable() is not None)
    monkeypatch.setattr(cubin, "ptxas_executable", lambda: None)
    compiled = tilec.compile(quotients, target="sm_90a", signature=signature, hints=hints)
    (remark,) = (each.message for each in compiled.all_remarks if "ptxas" in each.message)
    assert "(C7509)" in remark and remark.endswith("install ptxas (pip install tilec[ptxas])")
