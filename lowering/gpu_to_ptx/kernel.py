"""From tile_gpu.kernel to ptx.entry: parameters, initialization of barriers and tensor memory, roles, deallocation."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence

from tilec.dialect.mlir import ir
from tilec.dialect.ptx.builder import PtxBuilder, entry, shared_attribute
from tilec.dialect.tile_gpu.categories import TENSOR_MEMORY_MULTIPLIES
from tilec.dialect.tile_gpu.operations.channel import CLAIMS, CLUSTER
from tilec.dialect.tile_gpu.operations.global_memory import GlobalOp
from tilec.dialect.tile_gpu.operations.kernel import COMPUTE, COMPUTE_ROLES, KernelOp, ReturnOp, RolesOp
from tilec.dialect.tile_gpu.operations.matrix import MmaSyncOp
from tilec.dialect.tile_gpu.operations.tensor_map import MakeTensorMapOp, words_of
from tilec.dialect.tile_gpu.registers import launch_registers, roles_by_warpgroups, whole_warpgroups
from tilec.dialect.walk import operations_in, operations_named, used_by
from tilec.lowering.gpu.channels.make_channels import with_channels
from tilec.lowering.gpu.memory.occupancy import blocks_for_bandwidth, blocks_that_convert, followed_occupancy
from tilec.lowering.gpu.memory.shared_plan import BARRIER_BYTES, ChannelPlan, check_shared_bytes, shared_plan
from tilec.lowering.gpu_to_ptx.launch_record import launch_record, parameter_type
from tilec.lowering.gpu_to_ptx.memory.channel_position import await_commits, start_parties
from tilec.lowering.gpu_to_ptx.memory.map_address import acquisitions
from tilec.lowering.gpu_to_ptx.memory.memory import declare_global
from tilec.lowering.gpu_to_ptx.registers.cluster import cluster_barrier
from tilec.lowering.gpu_to_ptx.registers.declarations import call_free, symbol_name
from tilec.lowering.gpu_to_ptx.registers.guards import if_first_thread
from tilec.lowering.gpu_to_ptx.registers.lowering import SHARED_SYMBOL, Lowering, Role, named_location
from tilec.lowering.kernel_hints import OCCUPANCY, blocks_of_hint, kernel_hint
from tilec.lowering.layout.shared_layout import BASE_ALIGNMENT_BYTES
from tilec.lowering.target import LANES, target_named
from tilec.lowering.upstream_passes import run_upstream
from tilec.remarks import Remark

# Importing an op group registers its lowerings.
_OP_GROUPS = {
    "registers": ("pack",),
    "memory": (
        "atomic",
        "channel",
        "copy",
        "fences",
        "memory",
        "multimem",
        "shared_memory",
        "shared_rows",
        "tensor_memory",
        "tma",
    ),
    "arithmetic": ("arith", "convert", "float_division", "integer_division", "math"),
    "tiles": ("convert_layout", "reduce", "scan", "shape", "sub_tile"),
    "matrix": ("dot", "mma_sync", "shifted_rows", "tcgen05", "wgmma"),
    "control": ("claims", "control", "grid", "printing", "runtime_calls", "warpgroup_order"),
}
for _folder, _groups in _OP_GROUPS.items():
    for _group in _groups:
        importlib.import_module(f"tilec.lowering.gpu_to_ptx.{_folder}.{_group}")

# Merges address arithmetic that several operations computed. A second iteration would remove nothing more, and make
# branches that have `.uni` branches without it.
CLEAN_UP = "canonicalize{max-iterations=1},cse"
# Named barriers of the roles that compute, in kernels with several roles; barrier 0 belongs to the whole CTA.
_BARRIERS = {name: number for number, name in enumerate(COMPUTE_ROLES, 1)}


def convert(module: ir.Module, *, target: str | None = None, remarks: list[Remark] | None = None) -> ir.Module:
    """Converts globals to variables, and each tile_gpu.kernel to a ptx.entry.

    Raises UnsupportedError for operations without a lowering. `remarks` gets the hint `occupancy` of kernels whose
    memory has no room for this number of blocks.
    """
    with module.context, ir.Location.unknown():
        module = with_channels(module)
        converted = ir.Module.create(module.operation.location)
        for op in module.body.operations:
            if op.operation.name == GlobalOp.OPERATION_NAME:
                declare_global(op, converted)
        for op in module.body.operations:
            if op.operation.name == KernelOp.OPERATION_NAME:
                _kernel(op, converted, target, [] if remarks is None else remarks)
        run_upstream(CLEAN_UP, converted)
        return converted


def _kernel(kernel: KernelOp, converted: ir.Module, target_name: str | None, remarks: list[Remark]) -> None:
    target = target_named(target_name or kernel.target)
    block = kernel.operation.regions[0].blocks[0]
    operations = list(block.operations)
    roles = kernel.roles
    warps = kernel.warps if roles is None else _block_warps(roles)
    plan = shared_plan(kernel, target)
    maps = [op for op in operations if op.operation.name == MakeTensorMapOp.OPERATION_NAME]
    name = symbol_name(kernel)
    types = [argument.type for argument in block.arguments]
    parameters = [(f"{name}_param_{number}", parameter_type(type)) for number, type in enumerate(types)]
    kinds = ["tensor_map" if words_of(map) is None else "u64" for map in maps]
    parameters += [(f"{name}_param_{len(types) + number}", kind) for number, kind in enumerate(kinds)]
    threads = LANES * warps
    location = named_location(kernel.operation)
    written = entry(
        converted,
        name,
        target=target.name,
        threads=[threads],
        cluster=[kernel.ctas] if kernel.ctas > 1 else None,
        parameters=parameters,
        maxnreg=None if roles is None or roles.registers is None else launch_registers(roles.warps, roles.registers),
        loc=location,
    )
    lowering = Lowering(PtxBuilder(written, location), target, plan, LANES * kernel.warps, kernel.cluster_ctas)
    lowering.joins_programs = kernel.joined_programs is not None
    # PTX ISA 9.7.16.5: all tcgen05 operations of a kernel have the same cta_group.
    lowering.multiplies_in_pairs = any(
        "pair" in op.operation.attributes for op in operations_named(kernel, TENSOR_MEMORY_MULTIPLIES)
    )
    if roles is not None:
        lowering.compute_roles = sum(name in COMPUTE_ROLES for name in roles.bodies)
    for number, op in enumerate(maps):
        lowering.maps[op.operation.results[0]] = parameters[len(types) + number][0]
    lowering.acquisitions = acquisitions(kernel)
    _load_parameters(lowering, block, parameters)
    _set_up(lowering, kernel.warps)
    _run(lowering, kernel, operations, roles)
    _finish(lowering, written, kernel, maps, threads)
    _follow_occupancy(lowering, written, kernel, remarks)


def _load_parameters(lowering: Lowering, block: ir.Block, parameters: list[tuple[str, str]]) -> None:
    for argument, (name, kind) in zip(block.arguments, parameters, strict=False):
        bits = kind[1:]
        register = kind if kind in ("f32", "f64") else f"i{max(16, int(bits))}"
        loaded = lowering.b.compute(f"ld.param.b{bits} $0, [{name}];", lowering.type(register))
        if str(argument.type) == "i1":
            loaded = lowering.b.compute("setp.ne.b16 $0, $1, 0;", lowering.b.i1, loaded)
        lowering.set(argument, [loaded])


def _set_up(lowering: Lowering, compute_warps: int) -> None:
    """Initializes barriers (one thread) and tensor memory (first warp), then synchronizes the CTA."""
    b, plan = lowering.b, lowering.plan
    lowering.number_warps()
    if lowering.ctas > 1:
        lowering.number_ctas()
    # Every thread executes the code before the roles.
    lowering.begin_role(Role(COMPUTE, compute_warps))
    if plan.barrier_count:
        _initialise_barriers(lowering)
        if lowering.ctas > 1:
            # PTX ISA 9.7.13.15: other CTAs arrive at barriers after their initialization, and allocate in pairs.
            cluster_barrier(lowering)
    if plan.tensor_columns:
        _allocate_tensor_memory(lowering)
    if plan.barrier_count or plan.tensor_columns:
        if plan.tensor_columns:
            b.execute("tcgen05.fence::before_thread_sync;")
        b.execute("bar.sync 0;")
    if plan.tensor_columns:
        b.execute("tcgen05.fence::after_thread_sync;")
        address = lowering.shared_address(plan.tensor_address)
        lowering.tensor_base = b.execute("ld.shared.b32 $0, [$1];", b.i32, address)


def _initialise_barriers(lowering: Lowering) -> None:
    b, plan = lowering.b, lowering.plan
    arrivals: list[tuple[ir.Value, int | ir.Value]] = []
    for channel in plan.channels.values():
        if channel.ring is not None:
            continue
        groups: list[tuple[int, int | ir.Value]] = [(channel.full, channel.full_arrivals(lowering.compute_threads))]
        if channel.is_ring:
            groups.append((channel.empty, _empty_arrivals(lowering, channel)))
        for first, count in groups:
            offsets = [plan.barriers + BARRIER_BYTES * (first + stage) for stage in range(channel.stages)]
            # Computed by all threads, so that the roles use the same registers.
            arrivals += [(lowering.shared_address(offset), count) for offset in offsets]
    with lowering.issuing() as elected:
        for address, count in arrivals:
            number, registers = (count, ()) if isinstance(count, int) else ("$2", (count,))
            b.execute(f"@$0 mbarrier.init.shared::cta.b64 [$1], {number};", (), elected, address, *registers)
        # PTX ISA 9.7.13.4: TMA and tensor cores reach the barriers through the async proxy.
        b.execute("@$0 fence.mbarrier_init.release.cluster;", (), elected)


def _empty_arrivals(lowering: Lowering, channel: ChannelPlan) -> int | ir.Value:
    """The arrivals at an empty barrier: those of each CTA of the cluster, if the launch has the number of them.

    The CTA of rank 0, which requests a tile block, waits for all CTAs, and the others for themselves alone.
    """
    of_all = channel.empty_arrivals(lowering.compute_threads)
    if channel.across != CLUSTER:
        return of_all
    arrivals: int | ir.Value = of_all
    of_each = of_all // channel.ctas
    if lowering.joins_programs:
        arrivals = lowering.compute(f"mul.lo.s32 $0, $1, {of_each};", "i32", lowering.cluster_size)
    if channel.producer == CLAIMS:
        requests = lowering.compute("setp.eq.s32 $0, $1, 0;", "i1", lowering.cluster_rank)
        arrivals = lowering.compute("selp.b32 $0, $1, $2, $3;", "i32", arrivals, of_each, requests)
    return arrivals


def _allocate_tensor_memory(lowering: Lowering) -> None:
    b, plan = lowering.b, lowering.plan
    first = lowering.compute("setp.eq.s32 $0, $1, $2;", "i1", lowering.warp, 0)
    with lowering.where(first, "allocate_tensor_memory", "allocated"):
        address = lowering.shared_address(plan.tensor_address)
        group = lowering.cta_group
        b.execute(f"tcgen05.alloc.{group}.sync.aligned.shared::cta.b32 [$0], {plan.tensor_columns};", (), address)
        b.execute(f"tcgen05.relinquish_alloc_permit.{group}.sync.aligned;")


def _run(lowering: Lowering, kernel: KernelOp, operations: list[ir.OpView], roles: ir.OpView | None) -> None:
    whole = [op.operation for op in operations] if roles is None else []
    start_parties(lowering, whole)
    for op in operations:
        if op.operation.name == ReturnOp.OPERATION_NAME:
            await_commits(lowering, whole)
            return
        if roles is not None and op.operation == roles.operation:
            _roles(lowering, kernel, roles)
        else:
            lowering.lower(op.operation)


def _block_warps(roles: RolesOp) -> int:
    """The warps of the block: those of the roles, and idle ones if setmaxnreg needs whole warpgroups."""
    warps = sum(roles.warps)
    return warps if roles.registers is None else whole_warpgroups(warps)


def _roles(lowering: Lowering, kernel: KernelOp, roles: RolesOp) -> None:
    """Branches each warp to the code of its role; the roles join at the end."""
    parts = _role_parts(roles)
    joined = lowering.b.block(label="roles_done")
    # The number of the warp in the block, which begin_role replaces.
    warp = lowering.warp
    budgets = roles.registers
    if budgets is None:
        _roles_in_order(lowering, warp, parts, joined, idle=False)
        return
    runs = roles_by_warpgroups(roles.warps)
    at_launch = launch_registers(roles.warps, budgets)
    for indices in runs:
        run, last = [parts[index] for index in indices], indices == runs[-1]
        name = run[0][0].name
        following = joined
        if not last:
            following, own = lowering.b.block(label=f"after_{name}"), lowering.b.block(label=f"warpgroups_of_{name}")
            _branch_by_warp(lowering, warp, run[-1][0], own, following)
            lowering.at(own)
        budget = budgets[indices[0]]
        if budget != at_launch:
            action = "inc" if budget > at_launch else "dec"
            lowering.b.execute(f"setmaxnreg.{action}.sync.aligned.u32 {budget};")
        if blocks_of_hint(kernel) > 1:
            _repeat_constants(lowering, roles, [code for _, code in run])
        _roles_in_order(lowering, warp, run, joined, idle=last and _block_warps(roles) > sum(roles.warps))
        lowering.at(following)


def _repeat_constants(lowering: Lowering, roles: RolesOp, codes: Sequence[ir.Block]) -> None:
    """Gives the code of roles registers of its own for constants that were lowered before the roles.

    With two blocks on an SM, threads have 128 registers at launch, as many as scores of 128x128 take. ptxas 13.0 and
    13.5 spill the initial value of a loop that is live across setmaxnreg then (roles/repeat_scalars.py).
    """
    used = used_by(op for code in codes for op in operations_in(code))
    for op in operations_in(roles.operation.block):
        if op.name == "arith.constant" and op.results[0] in used:
            lowering.lower(op)


def _role_parts(roles: RolesOp) -> list[tuple[Role, ir.Block]]:
    """The roles with their code, in the order of their warps."""
    parts, first = [], 0
    for (name, region), count in zip(roles.bodies.items(), roles.warps, strict=True):
        parts.append((Role(name, count, first, _BARRIERS.get(name, 0)), region.blocks[0]))
        first += count
    return parts


def _roles_in_order(
    lowering: Lowering, warp: ir.Value, parts: list[tuple[Role, ir.Block]], joined: ir.Block, idle: bool
) -> None:
    """The code of consecutive roles; with `idle`, the warps after those of the last role only join the others."""
    b = lowering.b
    for number, (role, code) in enumerate(parts):
        last, following = number + 1 == len(parts), joined
        body = b.block(label=f"role_{role.name}")
        if not last:
            following = b.block(label=f"after_role_{role.name}")
        if last and not idle:
            b.branch(body)
        else:
            _branch_by_warp(lowering, warp, role, body, following)
        lowering.at(body)
        lowering.begin_role(role)
        operations = operations_in(code)
        start_parties(lowering, operations)
        lowering.lower_block(code)
        await_commits(lowering, operations)
        b.branch(joined)
        lowering.at(following)


def _branch_by_warp(lowering: Lowering, warp: ir.Value, role: Role, own: ir.Block, others: ir.Block) -> None:
    """Branches the warps up to the last of a role to `own`."""
    end = role.first_warp + role.warps
    before = lowering.compute("setp.lt.s32 $0, $1, $2;", "i1", warp, end)
    lowering.b.cond_branch(before, own, [], others, [], uniform=True)


def _finish(
    lowering: Lowering, written: ir.Operation, kernel: KernelOp, maps: list[MakeTensorMapOp], threads: int
) -> None:
    if lowering.plan.tensor_columns:
        _free_tensor_memory(lowering)
    elif lowering.ctas > 1:
        # Other CTAs arrive at barriers of this one until they end.
        cluster_barrier(lowering)
    if lowering.allocated:
        _free_heap_memory(lowering)
    lowering.b.leave()
    size = lowering.plan.bytes_with(lowering.scratch_size_bytes)
    check_shared_bytes(kernel, lowering.plan, size, lowering.target)
    if size:
        buffer = {"name": SHARED_SYMBOL, "bytes": size, "alignment": BASE_ALIGNMENT_BYTES, "dynamic": True}
        written.attributes["shared"] = shared_attribute([buffer])
    record = launch_record(kernel, maps, threads, size)
    written.attributes["tilec.launch"] = ir.StringAttr.get(json.dumps(record))


def _follow_occupancy(lowering: Lowering, written: ir.Operation, kernel: KernelOp, remarks: list[Remark]) -> None:
    """Limits registers for the blocks of the hint `occupancy`, if memory leaves room for them, or of the bandwidth."""
    size = lowering.plan.bytes_with(lowering.scratch_size_bytes)
    blocks = followed_occupancy(kernel, lowering.target, size, lowering.plan.tensor_columns, remarks)
    if blocks is None and (kernel.cluster_ctas > 1 or _needs_registers(kernel)):
        # In a cluster too, ptxas 13.0 and 13.5 save registers: 43 and 256 bytes of spills for a pair of 256x128x64,
        # where they use 75 registers for the same block alone.
        blocks = 1 if kernel.cluster_ctas > 1 else blocks_that_convert(kernel, lowering.target, size)
    elif blocks is None and kernel_hint(kernel, OCCUPANCY) is None:
        blocks = blocks_for_bandwidth(kernel, lowering.target, size)
    # ptxas ignores .minnctapersm beside .maxnreg, which register budgets have.
    if blocks is not None and "maxnreg" not in written.attributes:
        written.attributes["min_ctas"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), blocks)


def _needs_registers(kernel: KernelOp) -> bool:
    """Whether shared memory, not registers, limits the blocks of an SM, or threads load operands into registers.

    Without .minnctapersm, ptxas saves registers for as many blocks as possible. For a product of 128x128x64 by roles
    with eight warps on sm_100a, ptxas 13.5 then uses 46 registers and spills 384 bytes, with it 70 and none. For a
    tile of 16x128x64 ptxas 13.0 loads each fragment just before its multiply (32 registers), with it up to seven
    fragments ahead (51 registers).
    """
    return bool(operations_named(kernel, (MmaSyncOp.OPERATION_NAME, RolesOp.OPERATION_NAME)))


def _free_heap_memory(lowering: Lowering) -> None:
    """Frees the memory that one thread allocated, after all roles have ended."""
    lowering.b.execute("bar.sync 0;")
    lowering.begin_role(Role(COMPUTE, lowering.compute_threads // LANES))
    with if_first_thread(lowering, "free"):
        for address in lowering.allocated:
            call_free(lowering, address)


def _free_tensor_memory(lowering: Lowering) -> None:
    """Deallocates tensor memory in the warp that allocated it, after all roles have ended."""
    b, plan = lowering.b, lowering.plan
    b.execute("tcgen05.fence::before_thread_sync;")
    if lowering.ctas > 1:
        cluster_barrier(lowering)
    else:
        b.execute("bar.sync 0;")
    b.execute("tcgen05.fence::after_thread_sync;")
    lowering.begin_role(Role(COMPUTE, lowering.compute_threads // LANES))
    first = lowering.compute("setp.eq.s32 $0, $1, $2;", "i1", lowering.warp, 0)
    with lowering.where(first, "free_tensor_memory", "end"):
        text = f"tcgen05.dealloc.{lowering.cta_group}.sync.aligned.b32 $0, {plan.tensor_columns};"
        assert lowering.tensor_base is not None
        b.execute(text, (), lowering.tensor_base)
