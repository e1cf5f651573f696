"""The mnemonics of the instruction table differ, and each occurs in a test."""

from __future__ import annotations

import re
from pathlib import Path

from tilec.runtime.ptxsim import _native


def test_each_mnemonic_has_one_row():
    assert len(set(_native.opcodes())) == len(_native.opcodes())


def test_every_row_is_tested():
    texts = [path.read_text() for path in Path(__file__).parent.rglob("test_*.py") if path != Path(__file__)]
    names = set(re.findall(r"[a-z_0-9]+(?:\.[\w:]+)*", "\n".join(texts)))
    tested = {row for row in _native.opcodes() if any(name == row or name.startswith(row + ".") for name in names)}
    # The longest matching row decodes an instruction, so each row needs a name that no longer row matches.
    rows = sorted(_native.opcodes(), key=len, reverse=True)
    decoded_by = {next((row for row in rows if name == row or name.startswith(row + ".")), None) for name in names}
    assert sorted(set(_native.opcodes()) - decoded_by) == []
    assert tested == set(_native.opcodes())
