"""`tilec tune`: times a kernel with each combination of candidates, and prints a table and a plot.

tilec tune k.py:matmul --sig 'A: f16[512,512], B: f16[512,512], C: f32[512,512]' \\
    --candidates TM=64,128 --candidates TN=64,128 --candidates TK=64 --candidates stages=2,3 \\
    --grid 'cdiv(C.shape[0], TM), cdiv(C.shape[1], TN)'

A candidate is a constant of the kernel, a hint of the kernel or an option of the compiler. The arrays of the signature
are filled with small integers. On a machine with a GPU of the target, times are measured by CUDA events; elsewhere they
are estimated from the counters of the simulator.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tilec import options
from tilec.commands import json_output
from tilec.commands.grid_expression import evaluate_grid, parse_grid
from tilec.compile_options import CHOICES, SIZES, SWITCHES
from tilec.errors import LaunchError, UsageError
from tilec.language.hints import NO_HINTS
from tilec.language.kernel import Kernel, find
from tilec.runtime.arguments.arguments import Argument, ArrayArgument, ConstantArgument, ScalarArgument
from tilec.runtime.arguments.elements import ELEMENTS
from tilec.runtime.artifact.artifact import read
from tilec.signature import parse, python_value
from tilec.tune import TIMED, exhaustive_search

# The largest magnitude of the elements of arrays: sums of products of them are exact in short formats.
_LARGEST = 3


def define(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("source", metavar="FILE:KERNEL", help="the kernel; FILE alone if it has one")
    parser.add_argument(
        "--sig",
        "--signature",
        metavar="TEXT",
        required=True,
        help="the arrays with their extents, scalars, and constants that are not candidates",
    )
    parser.add_argument(
        "--candidates",
        metavar="NAME=A,B,..|FILE.json",
        action="append",
        default=[],
        required=True,
        help="values of one name, or a file with a list of objects; the combinations of all are tried",
    )
    parser.add_argument("--grid", metavar="X[,Y[,Z]]", required=True, help="expressions of constants and A.shape[0]")
    parser.add_argument("--set", metavar="NAME=NUMBER", action="append", default=[], help="the value of a scalar")
    parser.add_argument("--target", metavar="ARCH", help="sm_100a or sm_90a (default: TILEC_TARGET)")
    parser.add_argument("--backend", choices=TIMED, help="default: TILEC_BACKEND, else launch if there is a GPU")
    parser.add_argument("--jobs", metavar="N", type=int, help="processes that compile (default: one per processor)")
    parser.add_argument("--dask", metavar="ADDRESS", help="compile on the cluster of this Dask scheduler")
    parser.add_argument("--prune", metavar="X", type=float, help="skip what the cost model estimates X times slower")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, help="the limit of one run")
    parser.add_argument("--no-cache", action="store_true", help="time all candidates again")
    parser.add_argument("--plot", metavar="FILE.svg", help="also write the plot as an image")


def run(arguments: argparse.Namespace) -> None:
    """Tunes, then prints the table and the plot, or JSON."""
    file, colon, name = arguments.source.rpartition(":")
    kernel = find(file, name) if colon and file.endswith(".py") else find(arguments.source)
    given = {argument.name: argument for argument in parse(arguments.sig)}
    space = [_checked(config, kernel, given) for config in _space(arguments.candidates)]
    values = _values(kernel, given, _numbers(arguments.set))
    grid = parse_grid(arguments.grid)
    with _executor(arguments.dask) as executor:
        result = exhaustive_search(
            space,
            None,
            lambda config: evaluate_grid(grid, {**values, **config}),
            kernel,
            lambda config: _arguments(kernel, values, config),
            lambda config: {key: value for key, value in config.items() if key not in kernel.parameters},
            quiet=arguments.json,
            executor=executor,
            jobs=arguments.jobs,
            backend=arguments.backend or _default_backend(arguments.target),
            target=arguments.target,
            prune=arguments.prune,
            single_run_timeout_sec=arguments.timeout,
            cache=not arguments.no_cache,
        )
    if arguments.plot is not None:
        result.save_plot(arguments.plot)
    if arguments.json:
        json_output.write("tune", result.to_json())
    else:
        print(f"\n{result.plot()}")


def _default_backend(target: str | None) -> str:
    """`TILEC_BACKEND` if it has times, else "launch" if this machine has a GPU of the target, else "simulate"."""
    from tilec.runtime.devices.devices import device_for

    settings = options.from_environment()
    if settings.backend in TIMED:
        return settings.backend
    try:
        device_for(target or settings.target)
    except LaunchError:
        return "simulate"
    return "launch"


@contextmanager
def _executor(address: str | None) -> Iterator[Any]:
    """The executor of a Dask cluster, closed at the end; None for processes of this machine."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError:
        raise UsageError("--dask needs the package distributed: pip install 'tilec[dask]'") from None
    try:
        client = Client(address)
    except (OSError, ValueError) as error:
        raise UsageError(f"--dask: cannot connect to the scheduler at {address}: {error}") from None
    with client:
        yield client.get_executor()


def _space(texts: list[str]) -> list[dict[str, Any]]:
    """The combinations of all candidates."""
    axes = [_axis(text) for text in texts]
    combined = [dict(itertools.chain(*(part.items() for part in parts))) for parts in itertools.product(*axes)]
    for parts in itertools.product(*(axis[:1] for axis in axes)):
        names = [name for part in parts for name in part]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise UsageError(f"--candidates lists '{min(repeated)}' twice: give all its values at once")
    return combined


def _axis(text: str) -> list[dict[str, Any]]:
    if text.endswith(".json"):
        return _configs_of_file(Path(text))
    name, equals, values = text.partition("=")
    if not equals or not name or not values:
        raise UsageError(f"cannot parse --candidates '{text}': expected NAME=A,B,.. or FILE.json")
    return [{name.strip(): _value(value)} for value in values.split(",")]


def _configs_of_file(path: Path) -> list[dict[str, Any]]:
    try:
        configs = json.loads(read(path))
    except ValueError as error:
        raise UsageError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(configs, list) or not configs or not all(isinstance(config, dict) for config in configs):
        raise UsageError(f"{path}: expected a list of objects such as {{'TM': 64, 'TN': 128}}")
    return configs


def _value(text: str) -> Any:
    """A number, a truth value or a text."""
    known = {"true": True, "on": True, "false": False, "off": False, "none": None}
    if text.strip().lower() in known:
        return known[text.strip().lower()]
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()
    return value if isinstance(value, int | float | str) else text.strip()


def _checked(config: dict[str, Any], kernel: Kernel, given: Mapping[str, Argument]) -> dict[str, Any]:
    hints = {*SWITCHES, *SIZES, *CHOICES, *vars(NO_HINTS)}
    for name in config:
        if name not in kernel.constants and name not in hints:
            known = ", ".join([*sorted(kernel.constants), *sorted(hints)])
            raise UsageError(f"'{name}' of --candidates is neither a constant nor a hint: expected one of {known}")
        if name in given:
            raise UsageError(f"'{name}' is in --candidates and in --sig: remove it from one of them")
    return config


def _numbers(texts: list[str]) -> dict[str, int | float]:
    numbers: dict[str, int | float] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        number = _value(value)
        if not equals or not isinstance(number, int | float):
            raise UsageError(f"cannot parse --set '{text}': expected NAME=NUMBER")
        numbers[name] = number
    return numbers


def _values(kernel: Kernel, given: Mapping[str, Argument], numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are not candidates, by name."""
    for name in given:
        if name not in kernel.parameters:
            known = ", ".join(kernel.parameters) or "none"
            raise UsageError(f"kernel '{kernel.name}' has no parameter '{name}', its parameters are: {known}")
    for name in numbers:
        if not isinstance(given.get(name), ScalarArgument):
            raise UsageError(f"'{name}' of --set is not a scalar of --sig")
    return {name: _argument(argument, numbers) for name, argument in given.items()}


def _argument(argument: Argument, numbers: Mapping[str, Any]) -> Any:
    if isinstance(argument, ConstantArgument):
        return python_value(argument.value)
    if isinstance(argument, ArrayArgument):
        return _array(argument)
    if isinstance(argument, ScalarArgument):
        if argument.name not in numbers:
            raise UsageError(f"scalar '{argument.name}' needs a value: add --set {argument.name}=NUMBER")
        number = numbers[argument.name]
        try:
            return ELEMENTS[argument.element].dtypes[0].type(number)
        except (OverflowError, ValueError):
            raise UsageError(
                f"--set {argument.name}={number}: {number} is out of range of {argument.element}"
            ) from None
    raise UsageError(f"'tilec tune' supports arrays, scalars and constants, got '{argument.name}': use ct.tune")


def _array(argument: ArrayArgument) -> np.ndarray:
    extents = [extent for extent in argument.shape if extent is not None]
    if len(extents) < argument.rank:
        raise UsageError(f"array '{argument.name}' needs known extents, as in '{argument.name}: f16[512,512]'")
    low = 0 if argument.element[0] == "u" or argument.element == "i1" else -_LARGEST
    high = 1 if argument.element == "i1" else _LARGEST
    numbers = np.random.default_rng(0).integers(low, high, extents, endpoint=True)
    array = numbers.astype(ELEMENTS[argument.element].dtypes[0])
    return np.asfortranarray(array) if argument.rank > 1 and argument.strides[0] == 1 else array


def _arguments(kernel: Kernel, values: Mapping[str, Any], config: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of one run, with copies of the arrays."""
    for name in kernel.parameters:
        if name not in values and name not in config:
            raise UsageError(f"parameter '{name}' has no value: add it to --sig or to --candidates")
    found = ({**values, **config}[name] for name in kernel.parameters)
    return tuple(value.copy(order="A") if isinstance(value, np.ndarray) else value for value in found)
