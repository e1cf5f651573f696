"""`tilec.load` of a folder: each run selects the most specialized variant that fits its arguments."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilec
from tilec.errors import UsageError

RUN = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("mlir", "torch_mlir", "cuda") or name.startswith("tilec.dialect"):
            raise ImportError(f"{name} must not be imported")

sys.meta_path.insert(0, Refuse())
import numpy as np
import tilec

x, y = np.load(sys.argv[2]), np.zeros(300, np.float32)
tilec.run(tilec.load(sys.argv[1])["scale"], 3, [x, y, 3.0, 128])
np.save(sys.argv[3], y)
"""


def test_kernels_of_a_folder_run_without_mlir_and_cuda(compiled: Path, tmp_path: Path) -> None:
    x = np.arange(300, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    command = [sys.executable, "-c", RUN, compiled, tmp_path / "x.npy", tmp_path / "y.npy"]
    process = subprocess.run([str(argument) for argument in command], capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert np.array_equal(np.load(tmp_path / "y.npy"), 3 * x)


@pytest.mark.parametrize("target", ["sm_90a", "sm_100a"])
@pytest.mark.parametrize(("extent", "name"), [(256, "scale_1"), (300, "scale_0")])
def test_most_specialized_variant_is_selected(compiled: Path, target: str, extent: int, name: str) -> None:
    kernels = tilec.load(compiled)
    x, y = np.arange(extent, dtype=np.float32), np.zeros(extent, np.float32)
    artifact = kernels["scale"].artifact_for((x, y, 2.0), target)
    assert artifact.path == compiled / f"{name}.{target}"
    tilec.run(kernels["scale"], 3, (x, y, 2.0), target=target)
    assert np.array_equal(y, 2 * x)


def test_launch_takes_a_kernel_of_a_folder(compiled: Path) -> None:
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    tilec.launch(None, 2, tilec.load(compiled)["scale"], (x, y, 2.0, 128))
    assert np.array_equal(y, 2 * x)
    with pytest.raises(UsageError, match="kernel 'scale' is already compiled, so hints have no effect: remove them"):
        tilec.launch(None, 2, tilec.load(compiled)["scale"], (x, y, 2.0, 128), hints={"tma": False})


def test_folder_lists_its_kernels(compiled: Path) -> None:
    kernels = tilec.load(compiled)
    assert list(kernels) == ["nothing", "nothing_else", "scale"]
    assert (len(kernels), "scale" in kernels, "shrink" in kernels) == (3, True, False)
    assert kernels["scale"].targets == ("sm_90a", "sm_100a")
    with pytest.raises(tilec.TilecError, match=r"has no kernel 'shrink', its kernels are: 'nothing', 'nothing_else'"):
        kernels["shrink"]


def test_error_states_why_each_variant_does_not_fit(compiled: Path) -> None:
    x = np.zeros(300, np.float16)
    with pytest.raises(tilec.TilecError, match="the arguments fit none of the 2 variants of kernel 'scale'") as caught:
        tilec.run(tilec.load(compiled)["scale"], 3, (x, x, 2.0, 128))
    assert [note.message.rpartition("): ")[2] for note in caught.value.notes] == [
        "argument 'x' needs elements of f32, got f16"
    ] * 2


def test_target_that_was_not_compiled(compiled: Path) -> None:
    with pytest.raises(tilec.TilecError, match="was not compiled for sm_80, only for: sm_90a, sm_100a"):
        tilec.run(tilec.load(compiled)["scale"], 3, (), target="sm_80")


def test_kernel_of_a_folder_cannot_be_interpreted(compiled: Path) -> None:
    with pytest.raises(tilec.TilecError, match="contains no Tile IR to interpret"):
        tilec.run(tilec.load(compiled)["nothing"], 1, (), backend="interpret")


def changed(index: dict, change: str) -> object:
    """The index with one mistake."""
    variant = index["variants"][0]
    if change == "schema":
        index["schema"] = "tilec.index/9"
    elif change == "missing":
        del variant["target"]
    elif change == "unknown":
        variant["speed"] = 1
    elif change == "folder":
        variant["files"]["ptx"] = "../other.ptx"
    elif change == "metadata":
        del variant["files"]["metadata"]
    else:
        variant["hints"] = {"warps": "two"}
    return index


INDEX_ERRORS = {
    "schema": "'schema' needs 'tilec.index/1', got \"tilec.index/9\"",
    "missing": "'variants[0]' needs a field 'target'",
    "unknown": "'variants[0]' needs no field 'speed'",
    "folder": "'variants[0].files.ptx' needs the name of a file in the folder, got \"../other.ptx\"",
    "metadata": "'variants[0].files' needs a field 'metadata'",
    "hints": "'variants[0].hints.warps' needs an integer, got \"two\"",
}


@pytest.mark.parametrize("change", INDEX_ERRORS)
def test_mistakes_in_an_index(compiled: Path, tmp_path: Path, change: str) -> None:
    index = json.loads((compiled / "index.json").read_text())
    (tmp_path / "index.json").write_text(json.dumps(changed(index, change)))
    with pytest.raises(tilec.TilecError) as caught:
        tilec.load(tmp_path)
    assert INDEX_ERRORS[change] in caught.value.message


def test_missing_file_of_a_variant(compiled: Path, tmp_path: Path) -> None:
    shutil.copy(compiled / "index.json", tmp_path)
    with pytest.raises(tilec.TilecError, match=r"cannot read .*nothing.sm_100a.launch.json: No such file"):
        tilec.run(tilec.load(tmp_path)["nothing"], 1, ())
