"""Kernels of programs that are not in a file: `python -c`, standard input, and exec."""

from __future__ import annotations

import importlib
import inspect
import linecache
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tilec as ct
from tilec.ast_to_tile.source_text import text_of

KERNEL = "import tilec as ct\n@ct.kernel\ndef kernel(x):\n    ct.store(x, 0, ct.full(4, {value}, ct.int32))\n"
CALL = (
    "import numpy\nx = numpy.zeros(4, numpy.int32)\n"
    'ct.launch(None, 1, kernel, (x,), backend="interpret")\nprint(x.tolist())\n'
)
PROGRAM = KERNEL.format(value=3) + CALL
MISTAKE = KERNEL.format(value="unknown") + CALL


def python(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **settings)  # type: ignore[call-overload]


def test_a_program_of_c_is_read() -> None:
    assert python("-c", PROGRAM).stdout == "[3, 3, 3, 3]\n"


def test_a_mistake_in_a_program_of_c_shows_its_line() -> None:
    last = python("-c", MISTAKE).stderr.splitlines()[-3:]
    assert last[0].endswith("<string>:4:31: error: unknown name 'unknown'")
    assert last[1:] == ["        ct.store(x, 0, ct.full(4, unknown, ct.int32))", " " * 34 + "^^^^^^^"]


def test_redirected_standard_input_is_read(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    with (tmp_path / "program.py").open() as file:
        assert python("-", stdin=file).stdout == "[3, 3, 3, 3]\n"


def test_a_pipe_is_refused_with_the_remedy() -> None:
    error = python("-", input=PROGRAM).stderr.splitlines()[-1]
    assert error.endswith("define it in a file, in a notebook, or with 'python -c'")


def test_exec_in_a_program_of_c_does_not_take_the_text_of_the_program() -> None:
    """Both texts define `kernel` in the same line; only the outer one is known."""
    inner = KERNEL.format(value=5) + CALL
    result = python("-c", KERNEL.format(value=3) + f"exec({inner!r})")
    assert result.stdout == ""
    assert "the source of 'kernel' cannot be read" in result.stderr


def test_text_that_python_keeps_of_interactive_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.13 returns it from inspect.findsource, earlier versions raise OSError."""
    text = "def function():\n    return 1\n"
    scope: dict[str, object] = {}
    exec(compile(text, "<stdin>", "exec", dont_inherit=True), scope)
    function = scope["function"]
    monkeypatch.setattr(inspect, "findsource", lambda _: (text.splitlines(keepends=True), 0))
    assert text_of(function) == text  # type: ignore[arg-type]


def test_compile_of_exec_names_the_reason() -> None:
    scope: dict[str, object] = {}
    exec(KERNEL.format(value=1), scope)
    with pytest.raises(ct.TileSyntaxError, match="because Python keeps no text of exec"):
        ct.compile(scope["kernel"], signature="x: i32[?]", stop="tile")


def test_file_that_changed_before_the_first_compile(tmp_path: Path) -> None:
    path = tmp_path / "changed.py"
    path.write_text(KERNEL.format(value=1))
    scope: dict[str, object] = {}
    exec(compile(path.read_text(), path, "exec"), scope)
    path.write_text("# Nothing.\n")
    with pytest.raises(ct.TileSyntaxError, match="changed.py:.*because its file has changed: import it again"):
        ct.compile(scope["kernel"], signature="x: i32[?]", stop="tile")


def stored(kernel: object) -> int:
    out = np.zeros(4, np.int32)
    ct.launch(None, 1, kernel, (out,), backend="interpret")
    return int(out[0])


@pytest.fixture
def edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, Callable[[str], object]]]:
    """A module with the kernel that stores 3, and a function that edits its file."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "edited_kernel.py"
    file.write_text(KERNEL.format(value=3))
    yield importlib.import_module("edited_kernel"), file.write_text
    del sys.modules["edited_kernel"]


def test_reloaded_module_has_its_new_text(edited: Any) -> None:
    module, edit = edited
    old = module.kernel
    assert stored(old) == 3
    edit(KERNEL.format(value=57))
    importlib.reload(module)
    assert [stored(kernel) for kernel in (module.kernel, old)] == [57, 3]


def test_function_of_the_text_before_an_edit(edited: Any) -> None:
    """Its text was read before the edit, for a traceback or for another kernel."""
    module, edit = edited
    old = module.kernel
    linecache.getlines(module.__file__)
    edit(KERNEL.format(value=57))
    assert stored(old) == 3
    importlib.reload(module)
    assert stored(module.kernel) == 57


def test_body_that_changed_before_the_first_compile(edited: Any) -> None:
    """The kernel is at the same line, so that its new text would be taken for that of the imported function."""
    module, edit = edited
    edit(KERNEL.format(value=57))
    with pytest.raises(ct.TileSyntaxError, match="edited_kernel.py:.*because its file has changed: import it again"):
        stored(module.kernel)
    importlib.reload(module)
    assert stored(module.kernel) == 57


def test_file_that_was_written_again_without_a_change(edited: Any) -> None:
    module, edit = edited
    edit(KERNEL.format(value=3))
    assert stored(module.kernel) == 3


def test_file_that_is_removed_after_its_text_was_read(edited: Any) -> None:
    module, _ = edited
    linecache.getlines(module.__file__)
    Path(module.__file__).unlink()
    assert stored(module.kernel) == 3
