"""Launches of TileGym: each kernel is compiled for the target, recorded, and run in the simulator."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tilec
from tilec.driver.specialized import specialized
from tilec.errors import TilecError
from tilec.signature import Signature
from tilegym_host.kernel_records import bytecode_name

Record = dict[str, Any]


class Launches:
    """Replaces ct.launch and the search of ct.tune, and records what they do.

    Attributes:
        target: the target of all compiles.
        folder: the bytecode of each kernel's first launch is written here.
        of_test: the launches of the test that runs.
    """

    def __init__(self, target: str, folder: Path, every_configuration: bool, record: Callable[[Record], None]) -> None:
        self.target = target
        self.folder = folder
        self.of_test: list[Record] = []
        self._every_configuration = every_configuration
        self._record = record
        self._launch = tilec.launch
        self._compiled: set[tuple[str, str]] = set()
        self._kernels: set[str] = set()

    def launch(self, stream: Any, grid: Any, kernel: Any, args: Sequence[Any], *rest: Any, **options: Any) -> None:
        """Does what ct.launch does, for kernels of the target."""
        name = name_of(kernel)
        found: Record = {"kernel": name, "outcome": "refused"}
        self.of_test.append(found)
        self._compile(name, kernel, args)
        found["outcome"] = "stopped"
        start = time.perf_counter()
        self._launch(stream, grid, kernel, args, *rest, **options)
        found["outcome"], found["seconds"] = "ran", round(time.perf_counter() - start, 2)

    def search(
        self,
        search_space: Sequence[Any],
        stream: Any,
        grid_fn: Callable[[Any], Any],
        kernel: Any,
        args_fn: Callable[[Any], Sequence[Any]],
        hints_fn: Callable[[Any], Any] | None = None,
        **_options: Any,
    ) -> SimpleNamespace:
        """The result of ct.tune.exhaustive_search if the first configuration is the fastest."""
        configurations = list(search_space)
        if self._every_configuration:
            for configuration in configurations:
                hints = hints_fn(configuration) if hints_fn is not None else {}
                try:
                    self._compile(name_of(kernel), kernel.replace_hints(**hints), args_fn(configuration))
                except TilecError:
                    # The failure is in the records; the test goes on with the first configuration.
                    continue
        best = SimpleNamespace(config=configurations[0], mean_us=1.0)
        return SimpleNamespace(best=best, successes=[best], failures=[])

    def _compile(self, name: str, kernel: Any, args: Sequence[Any]) -> None:
        """Compiles a kernel and records the first compile for each signature and hints."""
        signature = Signature.from_arguments(kernel, args)
        hints = {hint: str(value) for hint, value in vars(kernel.hints).items() if value is not None}
        key = name, f"{signature} {hints}"
        is_first = name not in self._kernels
        found: Record = {"compile": name, "signature": str(signature), "hints": hints}
        is_new = key not in self._compiled
        self._compiled.add(key)
        self._kernels.add(name)
        try:
            if is_first:
                self._write_bytecode(name, kernel, args)
            compiled = specialized(kernel, "simulate", args, target=self.target)
        except TilecError as error:
            if is_new:
                self._record({**found, "error": str(error)})
            raise
        if is_new:
            remarks = [[remark.topic, remark.message, str(remark.location)] for remark in compiled.remarks]
            self._record({**found, "remarks": remarks, "lines": compiled.ptx.count("\n")})

    def _write_bytecode(self, name: str, kernel: Any, args: Sequence[Any]) -> None:
        module = tilec.Module.parse(specialized(kernel, "interpret", args).stage("tile").located_text, name)
        (self.folder / f"{bytecode_name(name)}.tileirbc").write_bytes(module.to_bytecode())


def name_of(kernel: Any) -> str:
    """The file of a kernel below the package tilegym, and its function."""
    path = Path(kernel.function.__code__.co_filename)
    parts = path.parts[path.parts.index("tilegym") + 1 :] if "tilegym" in path.parts else path.parts[-1:]
    return f"{'/'.join(parts)}:{kernel.function.__name__}"
