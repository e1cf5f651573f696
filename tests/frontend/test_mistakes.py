"""Each user mistake has a traceback of the script's own lines, and a message with a source location and a remedy.

A file of `mistakes/` is a script, a line of dashes, and its complete output. After messages change,
`python tests/frontend/test_mistakes.py` rewrites the outputs; review the difference before it is committed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from script_output import in_a_process, in_process

MISTAKES = sorted((Path(__file__).parent / "mistakes").glob("*.txt"))
SEPARATOR = "-" * 40 + "\n"
# One mistake for each time of failure: parsing, the kernel, a called function, the launch, and run time.
IN_A_PROCESS = ("recursion", "mistake_in_a_helper", "launch_with_a_list", "assertion_fails", "module_of_random_bytes")
# Names of compiler internals, which messages must not contain.
INTERNALS = ("object at 0x", "_tko", "tile_gpu.", "InternalError", "bug in tilec", "BadArgument", "TypedConstant")


def script_in(folder: Path, mistake: Path) -> Path:
    """Writes the script of a mistake to a file."""
    script = folder / f"{mistake.stem}.py"
    script.write_text(mistake.read_text().partition(SEPARATOR)[0])
    return script


def expected_of(mistake: Path) -> str:
    return mistake.read_text().partition(SEPARATOR)[2]


@pytest.fixture(autouse=True)
def environment_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TILEC_TRACEBACK", "TILEC_BACKEND", "TILEC_TARGET", "TILEC_SEED"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda path: path.stem)
def test_output(mistake: Path, tmp_path: Path) -> None:
    output = in_process(script_in(tmp_path, mistake))
    assert output == expected_of(mistake)
    assert [word for word in INTERNALS if word in output] == []
    assert output.count('File "tilec/') <= 1
    assert "direct cause" not in output


@pytest.mark.parametrize("name", IN_A_PROCESS)
def test_output_of_a_process(name: str, tmp_path: Path) -> None:
    mistake = next(path for path in MISTAKES if path.stem == name)
    assert in_a_process(script_in(tmp_path, mistake)) == expected_of(mistake)


def test_option_shows_the_full_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEC_TRACEBACK", "full")
    mistake = next(path for path in MISTAKES if path.stem == "shape_not_a_power_of_two")
    output = in_process(script_in(tmp_path, mistake))
    assert output.count('File "tilec/') > 10
    last = expected_of(mistake).splitlines()[-3:]
    assert output.splitlines()[-3:] == last


def rewrite() -> None:
    """Rewrites the expected output of each mistake."""
    for mistake in MISTAKES:
        with tempfile.TemporaryDirectory() as folder:
            script = script_in(Path(folder), mistake)
            mistake.write_text(script.read_text() + SEPARATOR + in_process(script))


if __name__ == "__main__":
    rewrite()
