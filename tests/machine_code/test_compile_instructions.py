"""What benchmarks/compile_instructions.py asks of valgrind, and what it reads of it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import compile_instructions
import pytest

from tilec.driver import stages

OPTIONS = Namespace(target="sm_90a", tile="128,128,64", bytecode=None)
# Stands in for valgrind: the lines that matter of what `callgrind` writes for a request, and at the end of the program.
STAND_IN = """#!/bin/sh
for argument; do
    case $argument in --callgrind-out-file=*) file=${argument#*=};; esac
done
part() {
    printf 'version: 1\\npart: %s\\n\\ndesc: Trigger: %s\\n\\nevents: Ir\\nsummary: %s\\n\\n' "$1" "$2" "$3" >"$file.$1"
}
part 1 'Client Request: between' 20
part 2 'Client Request: tile' 3000
part 3 'Client Request: between' 1
part 10 'Client Request: gpu' 400
part 11 'Program termination' 70000
"""


def test_every_stage_is_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[object] = []

    class Recorder:
        def request(self, number: int) -> None:
            requests.append(number)

        def dump(self, name: str) -> None:
            requests.append(name)

    monkeypatch.setattr(compile_instructions, "Valgrind", Recorder)
    monkeypatch.setattr(stages, "_step", stages._step)
    compile_instructions.count_once(OPTIONS)
    names = [stage.name for stage in stages.STAGES if stage.name != "cubin"]
    parts = [part for name in names for part in ("between", name)]
    assert requests == [compile_instructions._START, *parts, "between", compile_instructions._STOP]


def test_parts_of_a_stage_are_summed_in_order(tmp_path: Path) -> None:
    valgrind = tmp_path / "valgrind"
    valgrind.write_text(STAND_IN)
    valgrind.chmod(0o755)
    found = compile_instructions.counted(str(valgrind), OPTIONS, tmp_path)
    assert list(found.items()) == [("between", 21), ("tile", 3000), ("gpu", 400)]
