"""Compiles kernels whose syntax trees were changed at random: `python tests/fuzz/fuzz.py mutations --inputs 200000`.

Each input is a kernel of mutation_seeds.py with one to four changes. It compiles, or fails with an error that names a
line of the user: never an internal error, another exception, or a compile that does not end. One of PTX_SHARE inputs
that have valid Tile IR is compiled to PTX, the others to Tile IR. A failing input is written to the working folder;
its number is the seed that makes it again: `--inputs 1 --seed NUMBER`.
"""

from __future__ import annotations

import ast
import copy
import re
import resource
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from types import FrameType

import tilec as ct
from tilec.ast_to_tile.source_text import remember
from tilec.errors import InternalError, TilecError

SEEDS = Path(__file__).with_name("mutation_seeds.py")
# A process compiles this many inputs: a context of MLIR never frees types.
ROUND = 500
# The longest time for one input, in seconds of processor time.
LONGEST_S = 30
MEMORY_BYTES = 6 << 30
# Inputs with valid Tile IR for each one that is compiled to PTX, which takes ten times as long.
PTX_SHARE = 10
# What messages must not contain.
INTERNALS = ("object at 0x", "_tko", "tile_gpu.", "bug in tilec", "BadArgument", "TypedConstant", "Traceback")

NUMBERS = (-1, 0, 1, 2, 3, 7, 8, 16, 100, 128, 4096, 2**31, 2**40, 2**64, -(2**63), 0.5, -0.0, 1e30, float("inf"))
VALUES = (*NUMBERS, True, None, "text", "", b"bytes", 1j, ...)
NAMES = ("ct", "x", "y", "n", "tile", "i", "STEPS", "clamp", "pair", "unknown", "range", "len", "int", "float", "print")
# One expression per line.
EXPRESSIONS = """
ct.bid(0)
ct.float16
ct.int8(3)
ct.zeros((4, 4), ct.float32)
ct.arange(8, dtype=ct.int32)
x.shape
x.dtype
(1, 2)
()
[1, 2]
{}
lambda a: a
lambda a, b: a
x[0]
tile[None, :]
range(3)
ct.PaddingMode.NAN
float('nan')
(i for i in STEPS)
x.tiled_view((2, 2))
ct.load(x, 0, 4)
1 < 2 < 3
f'{x}'
ct
print
ct.kernel
elementwise
not x
-True
~n
x @ x
ct.Constant[int]
max(1, 2)
(y := 3)
[*STEPS]
{**STEPS}
await_
x if n else y
ct.static_eval(n + 1)
ct.sum(x)
int(n)
""".strip().split("\n")
# Statements, with blank lines between them.
STATEMENTS = """
return

return 1

break

continue

pass

del x

x = n = 1

x, y = y, x

x += 1

n -= x

y: int = 3

assert x

raise x

import math

global STEPS

ct.store(y, 0, n)

while True:
    pass

x.shape = 3

for i in range(3):
    x = i

for i in x:
    n = i

if x:
    n = 3

if ct.bid(0):
    x = 1
else:
    return

def f(a=n):
    return f(a)

with x:
    pass

try:
    n = 1
except Exception:
    pass

class A:
    pass

match n:
    case 1:
        x = 2

[x, *y] = STEPS

x[0] = 1

print(x, n)

for i in ct.static_iter(x):
    y = i
""".strip().split("\n\n")
BINARY = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.LShift, ast.MatMult)
COMPARED = (ast.Eq, ast.NotEq, ast.Lt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn)

# What a call may be changed to call.
FUNCTIONS = [name for name in ct.__all__ if callable(getattr(ct, name))]

Change = Callable[[ast.AST, Random], None]


class Endless(BaseException):
    """Raised by the alarm of an input that takes too long; not an Exception, which the compiler might convert."""


def _expressions(tree: ast.AST) -> list[tuple[ast.AST, str, int | None]]:
    """The places of expressions: parent, field, and position in a list."""
    found: list[tuple[ast.AST, str, int | None]] = []
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                found.append((node, name, None))
            elif isinstance(value, list):
                found += [(node, name, at) for at, item in enumerate(value) if isinstance(item, ast.expr)]
    return [place for place in found if not isinstance(getattr(_at(place), "ctx", None), ast.Store | ast.Del)]


def _at(place: tuple[ast.AST, str, int | None]) -> ast.expr:
    node, name, position = place
    value = getattr(node, name)
    return value if position is None else value[position]


def _replace(place: tuple[ast.AST, str, int | None], made: ast.expr) -> None:
    node, name, position = place
    if position is None:
        setattr(node, name, made)
    else:
        getattr(node, name)[position] = made


def _expression(tree: ast.AST, random: Random) -> None:
    """Another expression: of a list, a constant, a name, or one from elsewhere in the kernel."""
    places = _expressions(tree)
    if not places:
        return
    kind = random.randrange(4)
    if kind == 0:
        made = ast.parse(random.choice(EXPRESSIONS), mode="eval").body
    elif kind == 1:
        made = ast.Constant(random.choice(VALUES))
    elif kind == 2:
        made = ast.Name(random.choice(NAMES), ast.Load())
    else:
        made = copy.deepcopy(_at(random.choice(places)))
    _replace(random.choice(places), made)


def _bodies(tree: ast.AST) -> list[list[ast.stmt]]:
    return [
        value
        for node in ast.walk(tree)
        for name, value in ast.iter_fields(node)
        if name in ("body", "orelse") and isinstance(value, list) and value
    ]


def _statement(tree: ast.AST, random: Random) -> None:
    """Removes, repeats, moves or adds a statement."""
    bodies = _bodies(tree)
    if not bodies:
        return
    body, kind = random.choice(bodies), random.randrange(4)
    at = random.randrange(len(body))
    if kind == 0:
        del body[at]
        if not body:
            body.append(ast.Pass())
    elif kind == 1:
        body.insert(at, copy.deepcopy(random.choice(random.choice(bodies))))
    elif kind == 2:
        body[at:] = reversed(body[at:])
    else:
        body[at:at] = ast.parse(random.choice(STATEMENTS)).body


def _operator(tree: ast.AST, random: Random) -> None:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp | ast.AugAssign | ast.Compare)]
    if not nodes:
        return
    node = random.choice(nodes)
    if isinstance(node, ast.Compare):
        node.ops[0] = random.choice(COMPARED)()
    else:
        node.op = random.choice(BINARY)()


def _call(tree: ast.AST, random: Random) -> None:
    """Removes, adds, renames or swaps arguments of a call, or calls another function of the language."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    if not nodes:
        return
    node = random.choice(nodes)
    kind = random.randrange(6)
    if kind == 0 and node.args:
        node.args.pop(random.randrange(len(node.args)))
    elif kind == 1 and node.keywords:
        node.keywords.pop()
    elif kind == 2:
        node.args.append(ast.Constant(random.choice(VALUES)))
    elif kind == 3:
        node.keywords.append(ast.keyword(random.choice((*NAMES, "axis", "shape", "dtype")), ast.Constant(1)))
    elif kind == 4:
        random.shuffle(node.args)
    else:
        node.func = ast.Attribute(ast.Name("ct", ast.Load()), random.choice(FUNCTIONS), ast.Load())


def _attribute(tree: ast.AST, random: Random) -> None:
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    if nodes:
        random.choice(nodes).attr = random.choice([*(node.attr for node in nodes), "unknown", "__class__", "__dict__"])


CHANGES: tuple[Change, ...] = (_expression, _expression, _expression, _statement, _operator, _call, _call, _attribute)


@cache
def _seeds() -> dict[str, str]:
    """For each kernel of SEEDS, the source of the module without the other kernels, which would triple the time."""
    tree = ast.parse(SEEDS.read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    kernels = [node for node in functions if [ast.unparse(each) for each in node.decorator_list] == ["ct.kernel"]]
    sources = {}
    for kernel in kernels:
        body = [node for node in tree.body if node is kernel or node not in kernels]
        sources[kernel.name] = ast.unparse(ast.Module(body, []))
    return sources


def mutated(seed: int) -> tuple[str, str]:
    """The source of a changed module, and the name of the kernel to compile."""
    random = Random(seed)
    name = random.choice(list(_seeds()))
    while True:
        tree = ast.parse(_seeds()[name])
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        kernel = next(node for node in functions if node.name == name)
        for _ in range(random.choice((1, 1, 2, 4))):
            target = kernel if random.random() < 0.9 else random.choice(functions)
            body = ast.Module(target.body, [])
            random.choice(CHANGES)(body, random)
            target.body = body.body or [ast.Pass()]
        try:
            source = ast.unparse(ast.fix_missing_locations(tree))
            compile(source, "<mutation>", "exec", dont_inherit=True)
            return source, name
        except (SyntaxError, ValueError, TypeError, AttributeError):
            # Not a Python program: change the original again.
            continue


def _alarm(_signal: int, _frame: FrameType | None) -> None:
    raise Endless


def failure(seed: int) -> str | None:
    """What is wrong with the compile of one input; None if it succeeds or has an error of the user."""
    source, name = mutated(seed)
    file = f"<mutation {seed}>"
    remember(file, source)
    namespace: dict[str, object] = {"__name__": "mutation"}
    signal.signal(signal.SIGVTALRM, _alarm)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S)
    try:
        exec(compile(source, file, "exec", dont_inherit=True), namespace)
        signatures = namespace["SIGNATURES"]
        assert isinstance(signatures, dict)
        stop = "ptx" if seed % PTX_SHARE == 0 else "tile"
        ct.compile(namespace[name], signature=signatures[name], stop=stop, target=("sm_100a", "sm_90a")[seed // 10 % 2])
    except InternalError as error:
        return f"internal error: {error}"
    except TilecError as error:
        # Python's own messages may contain addresses.
        message = re.sub(r"raised \w+: .*", "", str(error))
        return next((f"message with '{word}': {error}" for word in INTERNALS if word in message), None)
    except Endless:
        return f"no end after {LONGEST_S} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def run_round(count: int, seed: int, work: Path) -> None:
    """Compiles the inputs from `seed` on in this process, and writes failing ones to `work`."""
    # Python warns of mistakes such as calls of numbers.
    warnings.simplefilter("ignore", SyntaxWarning)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for number in range(seed, seed + count):
        # The end of the process without an answer has this as its reason.
        (work / f"running-{seed}").write_text(str(number))
        problem = failure(number)
        if problem is not None:
            report(work, number, problem)
    (work / f"running-{seed}").unlink(missing_ok=True)


def report(work: Path, number: int, problem: str) -> None:
    source, name = mutated(number)
    (work / f"mutation-{number}.py").write_text(source)
    lines = problem.splitlines()
    print(f"input {number}, kernel {name}: {lines[0][:300] if lines else 'no message'}", flush=True)


def main(count: int, seed: int, work: Path, jobs: int) -> int:
    """Compiles inputs in `jobs` processes at a time; prints progress and failures; returns 1 if an input fails."""
    work.mkdir(parents=True, exist_ok=True)
    rounds = [(min(ROUND, count - done), seed + done) for done in range(0, count, ROUND)]
    running: list[tuple[subprocess.Popen[str], int, int]] = []
    started, done, failed = time.monotonic(), 0, 0
    while rounds or running:
        while rounds and len(running) < jobs:
            size, first = rounds.pop(0)
            command = [sys.executable, str(SEEDS.with_name("fuzz.py")), "mutations", "--work", str(work)]
            command += ["--round", str(size), str(first)]
            running.append((subprocess.Popen(command, stdout=subprocess.PIPE, text=True), size, first))
        process, size, first = running.pop(0)
        # Kernels may print at compile time.
        output = [line for line in process.communicate()[0].splitlines() if line.startswith("input ")]
        failed += len(output)
        print("".join(f"{line}\n" for line in output), end="")
        died = work / f"running-{first}"
        if process.returncode and not died.exists():
            failed += 1
            reason = f"status {process.returncode} before its first input"
            print(f"inputs from {first} on: the process ended with {reason}", flush=True)
        if died.exists():
            failed += 1
            number = int(died.read_text())
            report(work, number, f"the process ended with status {process.returncode}")
            died.unlink()
            if number + 1 < first + size:
                rounds.insert(0, (first + size - number - 1, number + 1))
            size = number + 1 - first
        done += size
        rate = done / (time.monotonic() - started)
        print(f"mutations: {done} of {count} inputs, {failed} fail, {rate:.0f} per second", flush=True)
    return 1 if failed else 0
