"""Launches keep no arguments alive, and leak neither memory nor references; exceptions of protocols are reported."""

from __future__ import annotations

START = """
import gc, resource, weakref

@ct.kernel
def example(x, y, scale, n: ct.Constant): pass

replace_compiler()
"""


def test_references_and_memory_are_flat(run_program) -> None:
    program = """
kinds = Interface, Property, Capsule, Exchange
held = [kind(0x10000 * index, (64, 32)) for index, kind in enumerate(kinds, start=1)]
argument_sets = [(x, y, 300.5, 300) for x in held for y in held]
ct.launch(0, 1, example, argument_sets[0])
watched = [*held, *argument_sets, example, ct.float16, held[0].__cuda_array_interface__, "<f4"]

def launch_all(times):
    for _ in range(times):
        for args in argument_sets:
            ct.launch(0, (1, 1, 1), example, args)

def references():
    gc.collect()
    return [sys.getrefcount(value) for value in watched]

import sys
launch_all(300)
before, memory = references(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
launch_all(3000)
after, more = references(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(before == after, more - memory < 1000)
"""
    assert run_program(START + program) == ["True True"]


def test_arrays_and_kernels_are_collected(run_program) -> None:
    program = """
def once():
    @ct.kernel
    def local(x, n: ct.Constant): pass
    x = Interface(0x10000, (64, 32))
    for _ in range(3): ct.launch(0, 1, local, (x, 8))
    return weakref.ref(local), weakref.ref(x)

references = once()
gc.collect()
print(references[1]())
"""
    assert run_program(START + program) == ["None"]


def test_exception_of_a_protocol_is_raised(run_program) -> None:
    program = """
class Broken:
    fails = False
    @property
    def __cuda_array_interface__(self):
        if self.fails: raise ValueError("broken")
        return Interface(0x10000, (64, 32)).__cuda_array_interface__

x = Broken()
args = (x, x, 1.0, 8)
for _ in range(2): ct.launch(0, 1, example, args)
x.fails = True
try: ct.launch(0, 1, example, args)
except ValueError as error: print(error)
x.fails = False
ct.launch(0, 1, example, args)
print(ct.launch_counts())
"""
    assert run_program(START + program) == [
        "broken",
        "{'native': 2, 'first launch of a specialization': 1, 'form of an array': 1}",
    ]


def test_interrupt_in_a_protocol_is_not_swallowed(run_program) -> None:
    program = """
reads = 0
class Interrupted:
    @property
    def __cuda_array_interface__(self):
        global reads
        reads += 1
        if reads > 20: raise KeyboardInterrupt
        return Interface(0x10000, (64, 32)).__cuda_array_interface__

x = Interrupted()
try:
    while True: ct.launch(0, 1, example, (x, x, 1.0, 8))
except KeyboardInterrupt: print("interrupted", reads)
"""
    assert run_program(START + program) == ["interrupted 21"]
