"""The C header of a folder refuses kernels and arguments that it has no name or type for; tuples become arguments."""

from __future__ import annotations

from pathlib import Path

import pytest


def test_argument_without_a_c_type_is_refused(tilec_compile, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(
        f"import tilec as ct\n@ct.signatures('x: f32[{','.join('?' * 9)}]')\n@ct.kernel\ndef k(x): pass\n"
    )
    outcome = tilec_compile(tmp_path / "k.py", "--folder", tmp_path / "out", "--header", "k.h")
    assert outcome.status == 1
    assert "a C header supports arrays of rank 0 to 8, and 'x' of kernel 'k' has rank 9" in outcome.err
    assert not (tmp_path / "out").exists()


def test_number_without_a_c_type_is_refused(tilec_compile, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("import tilec as ct\n@ct.signatures('x: fnv8E5M3FNU')\n@ct.kernel\ndef k(x): pass\n")
    outcome = tilec_compile(tmp_path / "k.py", "--folder", tmp_path / "out", "--header", "k.h")
    message = (
        "a C header does not support the number 'x' of kernel 'k', whose type is fnv8E5M3FNU: launch it from Python"
    )
    assert (outcome.status, message in outcome.err) == (1, True)


def test_kernel_with_the_prefix_of_the_header_is_refused(tilec_compile, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("import tilec as ct\n@ct.signatures('x: f32')\n@ct.kernel\ndef tilec(x): pass\n")
    outcome = tilec_compile(tmp_path / "k.py", "--folder", tmp_path / "out", "--header", "k.h")
    assert (outcome.status, "rename kernel 'tilec'" in outcome.err) == (1, True)


@pytest.mark.parametrize("name", ["kernels", "../kernels.h", ".h", "a b.h"])
def test_name_of_a_header(tilec_compile, tmp_path: Path, name: str) -> None:
    (tmp_path / "k.py").write_text("")
    outcome = tilec_compile(tmp_path / "k.py", "--folder", tmp_path / "out", "--header", name)
    assert outcome.status == 2
    assert f"--header needs the name of a file that ends with .h, got '{name}'" in outcome.err


def test_items_of_tuples_are_arguments(tilec_compile, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(
        "import tilec as ct\n@ct.signatures('pair: (f32[?], i32), new: f32')\n@ct.kernel\ndef k(pair, new): pass\n"
    )
    assert tilec_compile(tmp_path / "k.py", "--folder", tmp_path / "out", "--header", "k.h").status == 0
    header = (tmp_path / "out" / "k.h").read_text()
    assert "k_mismatch(tilec_array_1d pair_0, int32_t pair_1, float new_)" in header


def test_list_of_arrays_without_a_c_type_is_refused(tilec_compile, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(
        f"import tilec as ct\n@ct.signatures('x: list f32[{','.join('?' * 9)}]')\n@ct.kernel\ndef k(x): pass\n"
    )
    outcome = tilec_compile(tmp_path / "k.py", "--folder", tmp_path / "out", "--header", "k.h")
    assert outcome.status == 1
    assert "a C header supports arrays of rank 0 to 8, and 'x' of kernel 'k' has rank 9" in outcome.err
