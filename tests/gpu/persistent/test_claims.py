"""The proof of liveness knows the channel of claims, whose producer is a consumer of its own slots."""

from __future__ import annotations

import pytest

from tilec.dialect.tile_gpu.operations.kernel import KernelOp
from tilec.dialect.walk import operations_named
from tilec.lowering.gpu.schedule.role_liveness import Liveness, liveness
from tilec.text_input.stage_module import read_stage_module

REQUEST = """
%s = tile_gpu.put_begin %c : !claims
tile_gpu.try_cancel %s of %c : !response, !claims
tile_gpu.put_commit %c : !claims
"""
RESPONSE = """
%g = tile_gpu.get %c consumer {0} : !claims
%r:4 = tile_gpu.claimed_block %g : !response
tile_gpu.release %c consumer {0} : !claims
"""
ROLE = """
%last{0} = scf.while (%more = %true, %at = %x) : (i1, i32) -> (i32) id 0 {{
  scf.condition(%more) %at : i32
}} do (%i: i32) {{
  {1}
  scf.yield %r#0, %r#1 : i1, i32
}}
"""


def proven(compute: str, load: str, slots: int) -> Liveness:
    text = f"""
    !response = buffer<4xi32, shared, contiguous=0 swizzle=none>
    !claims = channel<[!response]>
    tile_gpu.kernel @k() target "sm_100a" warps 4 {{
      %true = arith.constant true
      %x = tile_gpu.program_id 0
      %c = tile_gpu.make_channel stages {slots} producer claims consumers [threads, warp] reuse ring : !claims
      tile_gpu.roles compute warps 4 {{ {ROLE.format(0, compute)} }} load warps 1 {{ {ROLE.format(1, load)} }}
    }}
    """
    module = read_stage_module(text, "k.mlir")
    (kernel,) = operations_named(module, (KernelOp.OPERATION_NAME,))
    with module.context:
        return liveness(kernel)


@pytest.mark.parametrize("slots", [1, 2])
def test_roles_that_request_before_they_read_the_response_terminate(slots):
    assert not proven(RESPONSE.format(0), REQUEST + RESPONSE.format(1), slots).is_deadlock


def test_role_that_reads_the_response_before_it_requests_it():
    found = proven(RESPONSE.format(0), RESPONSE.format(1) + REQUEST, 2)
    assert found.is_deadlock
    assert "role 'load' waits in get" in found.problem
