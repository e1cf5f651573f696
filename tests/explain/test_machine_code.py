"""The disassembly of a cubin."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.errors import InputError
from tilec.explain.machine_code import disassembly


def test_file_that_nvdisasm_cannot_read(tmp_path: Path) -> None:
    tool = tmp_path / "nvdisasm"
    tool.write_text("#!/bin/sh\necho 'nvdisasm fatal: not an ELF file' >&2\nexit 1\n")
    tool.chmod(0o755)
    with pytest.raises(InputError, match=f"{tool} cannot read the cubin: nvdisasm fatal: not an ELF file"):
        disassembly(b"text", tool)
