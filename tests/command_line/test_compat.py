"""`python -m tilec.compat` runs programs that import `cuda.tile` with tilec, in a process per program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tilec.capabilities import BytecodeVersion
from tilec.dialect.bytecode.version import VERSIONS

PROGRAM = """
import sys
import cuda.tile
import cuda.tile as ct
import numpy as np
from cuda.tile import bid, kernel

@kernel
def double(x, y):
    cuda.tile.store(y, bid(0), 2 * ct.load(x, bid(0), 8))

x, y = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
ct.launch(None, (2,), double, (x, y))
assert np.array_equal(y, 2 * x)
print(ct.__name__, __name__, *sys.argv)
"""


def run(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs Python in `folder`; the kernels run in the interpreter."""
    environment = {**os.environ, "TILEC_BACKEND": "interpret"}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


@pytest.mark.parametrize("form", ["file", "module", "code"])
def test_program_runs_unchanged(tmp_path: Path, form: str) -> None:
    path = tmp_path / "double.py"
    path.write_text(PROGRAM)
    selection = {"file": [path], "module": ["-m", "double"], "code": ["-c", PROGRAM]}[form]
    process = run("-m", "tilec.compat", *selection, "one", "two", folder=tmp_path)
    name = "-c" if form == "code" else path
    assert (process.stdout, process.stderr) == (f"tilec __main__ {name} one two\n", "")


def test_program_next_to_its_modules(tmp_path: Path) -> None:
    """The folder of a program is the first folder of its imports, and its exit status is that of the command."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "kernels.py").write_text("import cuda.tile as ct\nsizes = ct.cdiv(10, 4)\n")
    (tmp_path / "inner" / "program.py").write_text("import kernels\nraise SystemExit(kernels.sizes)\n")
    assert run("-m", "tilec.compat", "inner/program.py", folder=tmp_path).returncode == 3


INSTALLED = """
from tilec import compat
compat.install()
compat.install()
import cuda.tile
import cuda.tile as ct, tilec
from importlib import reload
assert ct is tilec is cuda.tile and tilec.__spec__.name == "tilec" and reload(tilec) is ct

def message(statement):
    try:
        exec(statement)
    except ImportError as error:
        return f"{type(error).__name__}: {error}"

for module in ("_passes", "_ir.hir", "stub", "errors"):
    print(message(f"import cuda.tile.{module}"))
print(message("from cuda.tile import nothing"))
import cuda.bindings
print(cuda.bindings.__name__)
"""


def test_modules_of_installed_imports(tmp_path: Path) -> None:
    process = run("-c", INSTALLED, folder=tmp_path)
    public = "the public modules are cuda.tile, cuda.tile.compilation, cuda.tile.jax, cuda.tile.tune"
    private = "is a private module of cuTile Python, which tilec does not have"
    assert process.stderr == ""
    *lines, missing_name, bindings = process.stdout.splitlines()
    assert lines == [
        f"ModuleNotFoundError: 'cuda.tile._passes' {private}",
        f"ModuleNotFoundError: 'cuda.tile._ir' {private}",
        f"ModuleNotFoundError: no module named 'cuda.tile.stub': {public}",
        f"ModuleNotFoundError: no module named 'cuda.tile.errors': {public}",
    ]
    assert missing_name.startswith("ImportError: cannot import name 'nothing' from 'tilec'")
    assert bindings == "cuda.bindings"


CAPABILITIES = """
import tempfile
from cuda.tile._cext import dev_features_enabled, get_compute_capability
from cuda.tile._bytecode import BytecodeVersion
from cuda.tile._bytecode.version import BytecodeVersion as Same
from cuda.tile._compile import _get_max_supported_bytecode_version

newest = _get_max_supported_bytecode_version(tempfile.gettempdir(), allow_dev=dev_features_enabled())
print(get_compute_capability(), newest.as_string(), newest >= BytecodeVersion.V_13_3, BytecodeVersion is Same)
from cuda.tile._cext import launch
"""


@pytest.mark.parametrize(("target", "capability"), [("sm_100a", "(10, 0)"), ("sm_90a", "(9, 0)")])
def test_program_asks_what_it_can_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, capability: str
) -> None:
    """NVIDIA's sample BlockScaledMatMul begins like this; other private names are missing."""
    monkeypatch.setenv("TILEC_TARGET", target)
    process = run("-m", "tilec.compat", "-c", CAPABILITIES, folder=tmp_path)
    assert process.stdout == f"{capability} 13.5 True True\n"
    assert process.stderr.splitlines()[-1].startswith("ImportError: cannot import name 'launch' from 'cuda.tile._cext'")


PRIVATE_NAMES = """
import cuda.tile as ct
import cuda.tile._stub as stub
from cuda.tile._datatype import DType, float4_e2m1fn, float8_e4m3fn, float8_e5m2, float8_e8m0fnu, int32
from cuda.tile._exception import TileError, TileSyntaxError, TileTypeError, TileUnsupportedFeatureError
from cuda.tile._execution import function, kernel
from cuda.tile._memory_model import MemoryOrder, MemoryScope
from cuda.tile._numeric_semantics import PaddingMode, RoundingMode
from cuda.tile._stub import load, mma, pack_to_bytes

for value in (float4_e2m1fn, TileError, kernel, MemoryOrder, RoundingMode, PaddingMode, pack_to_bytes, load, mma):
    assert value in vars(ct).values(), value
assert all(getattr(ct, name) is value for name, value in vars(stub).items() if not name.startswith("__"))

@ct.kernel(occupancy=2)
def double(x):
    ct.store(x, ct.bid(0), 2 * ct.load(x, ct.bid(0), 8))

# TileGym makes kernels with other hints like this.
import numpy as np
x = np.ones(8, np.float32)
ct.launch(None, (1,), ct.kernel(double._pyfunc, occupancy=1), (x,))
print(x.tolist(), double._pyfunc.__name__)
"""


def test_public_names_in_the_private_modules_that_define_them(tmp_path: Path) -> None:
    process = run("-m", "tilec.compat", "-c", PRIVATE_NAMES, folder=tmp_path)
    assert (process.stdout, process.stderr) == (f"{[2.0] * 8} double\n", "")


def test_versions_of_programs_are_those_of_bytecode() -> None:
    known = [(version.major(), version.minor(), version.tag(), version.as_string()) for version in BytecodeVersion]
    assert known == [(*version, 0, str(version)) for version in VERSIONS]


def test_without_any_package_below_cuda(tmp_path: Path) -> None:
    program = "import sys\nfor finder in sys.meta_path[:-1]: finder.find_spec = lambda name, *_: None\nimport cuda\n"
    hide = f"{program}print(list(cuda.__path__))"
    installed = "from tilec import compat\ncompat.install()\n"
    process = run("-c", f"{installed}{hide}", folder=tmp_path)
    assert (process.stdout, process.stderr) == ("[]\n", "")


def test_install_after_the_first_import_of_cutile(tmp_path: Path) -> None:
    program = "import sys, tilec\nsys.modules['cuda.tile'] = tilec\ntilec.compat.install()"
    process = run("-c", program, folder=tmp_path)
    assert "'cuda.tile' is already imported: call tilec.compat.install() before the first import" in process.stderr


@pytest.mark.parametrize(
    ("arguments", "found"), [(["-x"], "'-x'"), ([], "no argument"), (["nothing.py"], "'nothing.py'")]
)
def test_invalid_command_line(capsys: pytest.CaptureFixture[str], arguments: list[str], found: str) -> None:
    from tilec import compat

    assert compat.main(arguments) == 2
    assert capsys.readouterr().err == f"error: expected a Python file, '-m MODULE' or '-c CODE', got {found}\n"
