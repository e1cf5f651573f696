"""A cache folder that other users could write is neither read nor written; folders and files of tilec are private."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilec import cache_files
from tilec.driver.failure_folder import new_failure_folder
from tilec.lowering.math.functions import cached

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="the platform has no owners of files")
# A user who exists on no machine of the tests.
STRANGER = 54321


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The cache folder, which exists, and no warning was given."""
    folder = tmp_path / "cache"
    folder.mkdir(0o700)
    monkeypatch.setenv("TILEC_CACHE", str(folder))
    monkeypatch.setattr(cache_files, "_WARNED", set())
    old = os.umask(0)
    yield folder
    os.umask(old)


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the path that of another user: for the administrator it is, for others this process is that user's."""
    if os.geteuid() == 0:
        os.chown(path, STRANGER, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: STRANGER)


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o750, 0o500])
def test_folder_that_only_its_owner_writes_is_used(root: Path, mode: int) -> None:
    root.chmod(mode)
    assert cache_files.folder("kernels") == str(root / "kernels")
    root.chmod(0o700)


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o770, 0o777, 0o1777, 0o775])
@pytest.mark.parametrize("name", [".", "kernels"])
def test_folder_that_others_write_is_refused(root: Path, mode: int, name: str) -> None:
    (root / "kernels").mkdir(0o700)
    (root / name).chmod(mode)
    path = root if name == "." else root / name
    with pytest.warns(RuntimeWarning) as caught:
        assert cache_files.folder("kernels") is None
        assert cache_files.folder("kernels") is None
    assert [str(warning.message) for warning in caught] == [
        f"the cache folder {path} is neither read nor written, because its group or other users can write it (mode "
        f"{mode:04o}): run 'chmod 700 {path}' after a look at its files, or set TILEC_CACHE to a folder of your own"
    ]


@pytest.mark.parametrize("name", [".", "kernels"])
def test_folder_of_another_user_is_refused(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "kernels").mkdir(0o700)
    give_away(root / name, monkeypatch)
    with pytest.warns(RuntimeWarning, match="because it belongs to another user"):
        assert cache_files.folder("kernels") is None


def test_link_of_another_user_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    monkeypatch.setenv("TILEC_CACHE", f"{link}/")
    assert cache_files.folder("kernels") is not None
    give_away(link, monkeypatch)
    with pytest.warns(RuntimeWarning, match="because it belongs to another user"):
        assert cache_files.folder("kernels") is None


def test_folder_of_the_administrator_is_used(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # /usr belongs to the administrator on every platform with owners.
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    assert cache_files._distrust("/usr") is None


def test_file_of_another_user_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = root / "kernels" / "entry"
    cache_files.write(file, b"content")
    assert cache_files.read(file) == b"content"
    give_away(file, monkeypatch)
    assert cache_files.read(file) is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_file_that_others_write_is_not_read(root: Path, mode: int) -> None:
    file = root / "kernels" / "entry"
    cache_files.write(file, b"content")
    file.chmod(mode)
    assert cache_files.read(file) is None


def test_file_under_another_name_is_not_read(root: Path) -> None:
    cache_files.write(root / "kernels" / "entry", b"content")
    (root / "kernels" / "entry").rename(root / "kernels" / "other")
    assert cache_files.read(root / "kernels" / "other") is None


PROGRAM = """
import numpy as np
import tilec as ct
from tilec.tuning import stored_measurements
from tilec.tuning.result import Measurement
from tilec.driver.failure_folder import new_failure_folder

@ct.kernel
def power(x, n: ct.Constant[int]):
    ct.store(x, 0, ct.load(x, 0, n) ** ct.load(x, 0, n))

x = np.full(8, 2, np.float32)
ct.launch(None, 1, power, (x, 8), backend="simulate")
assert x.tolist() == [4] * 8
measured = Measurement(config=8, mean_us=1.0, num_samples=1, error_margin_us=0.0, cycles=None)
stored_measurements.store("identity", "timer", measured)
print(stored_measurements.stored("identity", "timer", 8) == measured)
print(new_failure_folder())
"""


def run(folder: Path, temporary: Path) -> tuple[list[str], str]:
    """The standard output and error of a program that uses every part of the cache."""
    program = temporary / "program.py"
    program.write_text(PROGRAM)
    settings = {"TILEC_CACHE": str(folder), "TILEC_CACHE_SIZE": str(1 << 20), "TMPDIR": str(temporary)}
    environment = {**os.environ, **settings}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


PARTS = {"kernels", "math", "dialects", "tuning", "failures"}


def test_every_part_is_private(root: Path, tmp_path: Path) -> None:
    folder = root / "parent" / "cache"
    assert run(folder, tmp_path)[1] == ""
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o777, "the mode of the umask"
    assert {path.name for path in folder.iterdir()} == PARTS
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}
    assert {path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()


def test_no_part_uses_a_folder_that_others_write(root: Path, tmp_path: Path) -> None:
    first, _ = run(root, tmp_path)
    assert first[0] == "True" and Path(first[1]).is_relative_to(root)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    root.chmod(0o777)
    second, warned = run(root, tmp_path)
    assert second[0] == "False" and not Path(second[1]).is_relative_to(root)
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    assert warned.count("RuntimeWarning: ") == 1
    assert f"the cache folder {root} is neither read nor written, because its group or other users" in warned


def test_refused_folder_costs_the_cache_only(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(root.parent))
    root.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="neither read nor written"):
        assert cached(["key"], lambda: "first") == "first"
        assert cached(["key"], lambda: "second") == "second"
        assert not new_failure_folder().is_relative_to(root)
    assert list(root.iterdir()) == []


def test_platform_without_owners_uses_every_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_files, "_HAS_OWNERS", False)
    root.chmod(0o777)
    assert cache_files.folder("kernels") == str(root / "kernels")
    cache_files.write(root / "kernels" / "entry", b"content")
    (root / "kernels" / "entry").chmod(0o666)
    assert cache_files.read(root / "kernels" / "entry") == b"content"
