"""`tilec opt`: status 0 for a valid module, status 1 and a diagnostic for an invalid module."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tilec.dialect.mlir import ir
from tilec.driver.entries import entries
from tilec.driver.opt_passes import PASSES
from tilec.text_input.module import Module

MODULE = """cuda_tile.module @kernels {
  entry @k(%p: tile<ptr<f32>>) {
    %a = constant <f32: 1.0> : tile<4xf32>
    %b = constant <f32: 2.0> : tile<4xf32>
    %c = addf %a, %b rounding<nearest_even> : tile<4xf32>
    return
  }
}
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "k.mlir"
    path.write_text(MODULE)
    return path


def test_valid_module_is_printed(tilec: Any, module: Path) -> None:
    outcome = tilec("opt", module)
    assert (outcome.status, outcome.err) == (0, "")
    assert "entry @k" in outcome.out and "addf" in outcome.out


def test_printed_module_is_read_back_as_the_same_module(tilec: Any, module: Path, tmp_path: Path) -> None:
    for generic in ((), ("--generic",)):
        first = tilec("opt", module, *generic).out
        again = tmp_path / "again.mlir"
        again.write_text(first)
        assert tilec("opt", again, *generic).out == first


def test_generic_option_prints_the_generic_form_of_mlir(tilec: Any, module: Path) -> None:
    assert '"cuda_tile.addf"(' in tilec("opt", module, "--generic").out


def test_standard_input(tilec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MODULE.encode())))
    assert "addf" in tilec("opt", "-").out


def test_passes_run_in_order(tilec: Any, module: Path) -> None:
    # The sum is unused.
    assert "addf" not in tilec("opt", module, "--passes", "canonicalize, cse").out


def test_pass_whose_result_is_invalid_is_an_error(tilec: Any, module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_return(given: ir.Module, _target: str, _observe: object) -> ir.Module:
        (entry,) = entries(given).values()
        list(entry.regions[0].blocks[0].operations)[-1].erase()
        return given

    changed = replace(PASSES["cse"], run=without_return)
    monkeypatch.setitem(PASSES, "cse", changed)
    outcome = tilec("opt", module, "--passes", "cse")
    assert outcome.status == 1
    assert "k.mlir:5:10: error: block with no terminator" in outcome.err


def test_list_of_passes(tilec: Any) -> None:
    out = tilec("opt", "--list-passes").out
    for name in ("canonicalize", "cse", "tile", "fuse-fma", "tile-to-gpu", "gpu", "pipeline", "gpu-to-ptx"):
        assert f"\n{name} " in f"\n{out}"


@pytest.mark.parametrize(
    ("old", "new", "status", "message"),
    [
        ("addf %a, %b", "addf %a, %p", 1, "addf"),
        ("addf %a, %b", "addf %a, %x", 1, "%x"),
        ("entry @k", "entri @k", 1, "entri"),
    ],
)
def test_invalid_module_is_an_error_with_a_location(
    tilec: Any, module: Path, old: str, new: str, status: int, message: str
) -> None:
    module.write_text(MODULE.replace(old, new))
    outcome = tilec("opt", module)
    line = 1 + MODULE[: MODULE.index(old)].count("\n")
    assert (outcome.status, outcome.out) == (status, "")
    assert f"{module}:{line}" in outcome.err and message in outcome.err


def test_file_is_required(tilec: Any) -> None:
    outcome = tilec("opt")
    assert (outcome.status, outcome.err) == (2, "error: tilec opt needs a file, or - for standard input\n")


KERNEL = "import tilec as ct\n@ct.kernel\ndef k(x): pass\n"


@pytest.mark.parametrize(
    ("name", "text"), [("k.py", KERNEL), ("k.ptx", ".version 8.0\n.target sm_90a\n.address_size 64\n")]
)
def test_file_without_a_module_is_an_error(tilec: Any, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    outcome = tilec("opt", tmp_path / name)
    assert (outcome.status, f"{tmp_path / name} is not an MLIR module" in outcome.err) == (1, True)


def test_unknown_pass_is_an_error(tilec: Any, module: Path) -> None:
    outcome = tilec("opt", module, "--passes", "magic")
    assert (outcome.status, "unknown pass 'magic': expected one of canonicalize" in outcome.err) == (2, True)


def test_bytecode_is_read(tilec: Any, tmp_path: Path) -> None:
    path = tmp_path / "k.tileirbc"
    path.write_bytes(Module.parse(MODULE).to_bytecode())
    outcome = tilec("opt", path)
    assert (outcome.status, outcome.out) == (0, Module.parse(MODULE).to_text())


def test_bytecode_is_read_from_standard_input(tilec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO(Module.parse(MODULE).to_bytecode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content))
    assert tilec("opt", "-").out == Module.parse(MODULE).to_text()


def test_error_in_bytecode_has_its_offset(tilec: Any, tmp_path: Path) -> None:
    path = tmp_path / "k.tileirbc"
    path.write_bytes(b"\x7fTileIR\x00\x0d\x01")
    outcome = tilec("opt", path)
    assert (outcome.status, outcome.err) == (
        1,
        f"{path}: error: byte 10 (header): expected 2 bytes, but only 0 bytes are left\n",
    )


def test_invalid_utf_8_is_an_error(tilec: Any, tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_bytes(b"cuda_tile.module \xff")
    outcome = tilec("opt", path)
    assert (outcome.status, "invalid UTF-8 at offset 17" in outcome.err) == (1, True)


def test_generic_form_of_nvidias_tools(tilec: Any, module: Path, tmp_path: Path) -> None:
    text = tilec("opt", module, "--nvidia-generic").out
    assert text.startswith('"cuda_tile.module"() <{sym_name = ')
    again = tmp_path / "again.mlir"
    again.write_text(text)
    assert tilec("opt", again).out == tilec("opt", module).out


MODULE_WITH_INVALID_HINT = (
    "cuda_tile.module @m {\n  entry @k() optimization_hints=<sm_90 = {occupancy = 99}> {\n    return\n  }\n}\n"
)
HINT_MESSAGE = "integer value in the range [1, 32] is expected for sm_90.occupancy, but got 99"


@pytest.mark.parametrize(
    ("arguments", "status", "severity"),
    [
        ((), 0, None),
        (("--hints", "ignore"), 0, None),
        (("--hints", "warn"), 0, "warning"),
        (("--hints", "error"), 1, "error"),
    ],
)
def test_hints_are_checked_on_request(
    tilec: Any, tmp_path: Path, arguments: tuple[str, ...], status: int, severity: str | None
) -> None:
    path = tmp_path / "hints.mlir"
    path.write_text(MODULE_WITH_INVALID_HINT)
    outcome = tilec("opt", path, *arguments)
    assert outcome.status == status
    assert outcome.out == (MODULE_WITH_INVALID_HINT if status == 0 else "")
    expected = f"{path}:2:3: {severity}: 'cuda_tile.entry' op {HINT_MESSAGE}"
    assert outcome.err.splitlines()[:1] == ([expected] if severity else [])


def test_misspelt_field_is_a_warning(tilec: Any, tmp_path: Path) -> None:
    path = tmp_path / "misspelt.mlir"
    path.write_text(
        'cuda_tile.module @m { entry @k(%a: tile<i32>) {\n%0 = addi %a, %a {overflw = "none"} : tile<i32>\n} }'
    )
    outcome = tilec("opt", path)
    assert outcome.status == 0
    assert outcome.err.startswith(f"{path}:2:6: warning: 'cuda_tile.addi' op attribute 'overflw' has no effect")
