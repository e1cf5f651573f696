"""Threads launch kernels at the same time: each launch has the parameters of its own arguments."""

from __future__ import annotations

import pytest

PROGRAM = """
import threading

@ct.kernel
def example(x, y, n: ct.Constant): pass

replace_compiler()
sets = [
    (kind(0x1000_0000 + 0x1000 * i, (64 + 16 * i, 32)), Property(0x2000_0000 + 0x1000 * i, (32, 64)), i % 3)
    for i, kind in enumerate((Interface, Property, Capsule, Exchange) * 10)
]
expected = [by_python(0, 1, example, args) for args in sets]
wrong = []

def work(first):
    for step in range(2000):
        index = (first * 7 + step) % len(sets)
        ct.launch(0, 1, example, sets[index])
        # The record is of this thread alone.
        if last(sizes_of(metadata_of(Signature.from_arguments(example, sets[index])))) != expected[index]:
            wrong.append(index)

threads = [threading.Thread(target=work, args=(n,)) for n in range({threads})]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(wrong))
"""


@pytest.mark.parametrize("threads", [1, 4, pytest.param(8, marks=pytest.mark.soak)])
def test_threads_launch_their_own_arguments(run_program, threads: int) -> None:
    program = PROGRAM.replace("{threads}", str(threads)).replace(
        "last(sizes_of(metadata_of(Signature.from_arguments(example, sets[index]))))", "last(sizes[index])"
    )
    program = program.replace(
        "wrong = []", "wrong = []\nsizes = [sizes_of(metadata_of(Signature.from_arguments(example, s))) for s in sets]"
    )
    assert run_program(program) == ["0"]


def test_racing_first_launches_compile_once(run_program) -> None:
    program = """
import threading
from tilec.driver import specialized

@ct.kernel
def example(x): ct.store(x, 0, ct.ones(4, ct.int32))

compiled = []
original = specialized._compile
specialized._compile = lambda *given: compiled.append(1) or original(*given)
x = Interface(0x10000, (64,), "<i4")
barrier = threading.Barrier(6)

def work():
    barrier.wait()
    ct.launch(0, 1, example, (x,))

threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(compiled))
"""
    assert run_program(program, TILEC_CACHE_SIZE="0") == ["1"]
