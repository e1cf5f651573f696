"""The PTX simulator. A program is parsed once and runs on host memory."""

from collections.abc import Callable, Sequence

class PtxError(Exception):
    """The text is not PTX; line and column start at one."""

    line: int
    column: int
    message: str

class Trap(Exception):
    """The program executed behaviour that PTX forbids or leaves undefined; `file` and `source_line` are from `.loc`."""

    kind: str
    message: str
    line: int
    file: str
    source_line: int
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    notes: list[str]

class Entry:
    """A kernel: parameters are (name, size in bytes, alignment); extents that the PTX does not specify are 0."""

    name: str
    parameters: list[tuple[str, int, int]]
    required_threads: tuple[int, int, int]
    max_threads: tuple[int, int, int]
    parameter_bytes: int
    cluster: tuple[int, int, int]
    shared_bytes: int

def check_forms(text: str) -> list[tuple[int, str]]: ...

class Program:
    """Parsed PTX; `unsupported` lists (line, text) of instructions that are not supported."""

    def __init__(self, text: str) -> None: ...
    entries: list[Entry]
    unsupported: list[tuple[int, str]]
    def run(
        self,
        entry: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        cluster: tuple[int, int, int],
        shared_bytes: int,
        parameters: bytes,
        ranges: Sequence[tuple[int, int, bool]] = ...,
        seed: int = 0,
        checks: bool = True,
        allow_unconfirmed: bool = False,
        unchecked_global: bool = False,
        step_limit: int = 0,
        idle_limit: int = ...,
        same_value_races: bool = False,
        read_fences: bool = True,
        print: Callable[[str], object] | None = None,
        progress: Callable[[int, int], object] | None = None,
        time_limit_s: float = 0.0,
        tensor_load_waits: bool = False,
    ) -> dict[str, int]: ...
