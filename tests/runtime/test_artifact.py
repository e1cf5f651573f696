"""Artifacts are saved to files, and loaded by the path of any of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from tilec.errors import InputError
from tilec.runtime.arguments.arguments import PointerArgument, ScalarArgument
from tilec.runtime.artifact import artifact
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.artifact.metadata import Metadata, ValueParameter

PTX = (Path(__file__).parent / "vector_add.ptx").read_text()
VECTOR_ADD = Artifact(
    Metadata(
        entry="vector_add",
        target="sm_90a",
        arguments=(*(PointerArgument(name, "f32", 4) for name in "abc"), ScalarArgument("n", "i32")),
        parameters=(*(ValueParameter("u64", name) for name in "abc"), ValueParameter("s32", "n")),
        tensor_maps=(),
        block=(128, 1, 1),
    ),
    PTX,
    b"\x7fELF",
)


@pytest.mark.parametrize("name", ["k", "k.ptx", "k.cubin", "k.launch.json"])
def test_artifact_is_loaded_by_any_of_its_files(tmp_path: Path, name: str) -> None:
    saved = artifact.save(VECTOR_ADD, tmp_path / "k")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["k.cubin", "k.launch.json", "k.ptx"]
    assert artifact.load(tmp_path / name) == saved
    assert saved.metadata == replace(VECTOR_ADD.metadata, ptx_sha256=artifact.digest(PTX))


def test_name_may_contain_dots(tmp_path: Path) -> None:
    artifact.save(VECTOR_ADD, tmp_path / "k.v2.ptx")
    assert (tmp_path / "k.v2.launch.json").exists()


def test_artifact_without_ptx_is_loaded(tmp_path: Path) -> None:
    artifact.save(replace(VECTOR_ADD, ptx=""), tmp_path / "k")
    assert artifact.load(tmp_path / "k").cubin == b"\x7fELF"


def test_changed_ptx_is_refused(tmp_path: Path) -> None:
    artifact.save(VECTOR_ADD, tmp_path / "k")
    (tmp_path / "k.ptx").write_text(PTX.replace("add.rn", "sub.rn"))
    with pytest.raises(InputError, match=r"k.ptx does not match the SHA-256 in its .launch.json"):
        artifact.load(tmp_path / "k")


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*/k.launch.json: No such file"):
        artifact.load(tmp_path / "k.ptx")
    artifact.save(replace(VECTOR_ADD, cubin=b""), tmp_path / "k")
    (tmp_path / "k.ptx").unlink()
    with pytest.raises(InputError, match=r"has neither .ptx nor .cubin"):
        artifact.load(tmp_path / "k")


def test_failed_write_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write .*/file/k.ptx: Not a directory"):
        artifact.save(VECTOR_ADD, tmp_path / "file" / "k")
    (tmp_path / "k.ptx").mkdir()
    with pytest.raises(InputError, match="cannot write .*k.ptx: Is a directory"):
        artifact.write(tmp_path / "k.ptx", b"text")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "k.ptx"]
