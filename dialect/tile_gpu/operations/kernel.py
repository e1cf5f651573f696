"""Kernels, roles and the position of a tile block in the grid."""

from tilec.dialect.attributes import Array, Int32, Integers32, OneType, Symbol, Text
from tilec.dialect.cache import texts_of
from tilec.dialect.fields import OptionalRegion, Region, Result
from tilec.dialect.mlir import ext, ir
from tilec.dialect.tile_gpu.ids import NamedOperations, id_problem
from tilec.dialect.tile_gpu.interface import Category, Executor, Interface, Scratch
from tilec.dialect.tile_gpu.layouts import upstream_disagreement
from tilec.dialect.tile_gpu.namespace import Operation
from tilec.dialect.tile_gpu.registers import budget_error
from tilec.dialect.tile_gpu.schedule import schedule_problem
from tilec.dialect.tile_gpu.sets import Integer32
from tilec.dialect.walk import operations_inside, views_in

# CUDA programming guide, "Thread Block Clusters": every device runs clusters of up to eight CTAs.
CLUSTERS = (1, 2, 4, 8)


class KernelOp(Operation, name="kernel", traits=[ir.IsIsolatedFromAboveTrait]):
    """A kernel of `warps` compute warps; its arguments are scalars in the order of the entry's parameters.

    With `cluster` a tile block is a cluster of this number of CTAs, each with all roles and memory of its own. With
    `joined_programs` a tile block is one CTA, and this number of adjacent CTAs along axis 0 of the grid are a cluster,
    if the grid can be divided into them.
    """

    interface = Interface(Category.STRUCTURE)
    sym_name: Symbol
    target: Text
    function_type: OneType
    warps: Int32
    cluster: Int32 | None
    joined_programs: Int32 | None
    body: Region

    @property
    def ctas(self) -> int:
        """The number of CTAs that run a tile block."""
        return self.cluster or 1

    @property
    def cluster_ctas(self) -> int:
        """The number of CTAs of a cluster, of one tile block or of several; one of several may be smaller at launch."""
        return self.joined_programs or self.ctas

    @property
    def roles(self) -> "RolesOp | None":
        """The operation with the roles of the kernel; None without roles."""
        return next(iter(views_in(self.body.blocks[0], (RolesOp.OPERATION_NAME,))), None)

    def check(self) -> str | None:
        if self.warps <= 0 or self.warps % 4:
            return f"warps must be a positive multiple of 4, but got {self.warps}"
        if self.ctas not in CLUSTERS:
            return f"cluster must be one of: {', '.join(map(str, CLUSTERS))}, but got {self.cluster}"
        if self.cluster_ctas not in CLUSTERS:
            return f"joined_programs must be one of: {', '.join(map(str, CLUSTERS))}, but got {self.joined_programs}"
        if self.joined_programs is not None and self.ctas > 1:
            return f"a cluster has either one tile block or several, but got cluster {self.cluster} and joined_programs"
        return upstream_disagreement(self)

    def check_regions(self) -> str | None:
        operations = [(op, op.name) for op in operations_inside(self)]
        return (
            id_problem(operations)
            or schedule_problem(operations)
            or _gather_problem(self, operations)
            or (_pairs_problem(operations) if self.ctas > 1 else None)
        )


def kernel_around(op: ir.OpView) -> KernelOp:
    """The kernel that an operation is in."""
    operation = op.operation
    while operation.name != KernelOp.OPERATION_NAME:
        operation = operation.parent.operation
    return operation.opview


def _gather_problem(kernel: KernelOp, operations: NamedOperations) -> str | None:
    """Exchanges of tiles have a part of each CTA, and all threads of the CTAs take part in their barriers."""
    for op in (each.opview for each, name in operations if name == "tile_gpu.gather_parts"):
        if op.result.type.shape[0] != kernel.ctas:
            return f"expected parts of {kernel.ctas} CTAs, but got {op.result.type}"
        if any(name == "tile_gpu.roles" for _, name in operations):
            return "gather_parts needs a kernel without roles"
    return None


_MULTIPLIES = (
    "tile_gpu.tcgen05_mma",
    "tile_gpu.tcgen05_mma_scaled",
    "tile_gpu.tcgen05_mma_sparse",
    "tile_gpu.tcgen05_copy_scales",
    "tile_gpu.tcgen05_copy_rows",
    "tile_gpu.tcgen05_shift_rows",
)


def _pairs_problem(operations: NamedOperations) -> str | None:
    """PTX ISA 9.7.16.5: all tcgen05 operations of a kernel have the same cta_group."""
    in_pairs = ["pair" in op.attributes for op, name in operations if name in _MULTIPLIES]
    if not any(in_pairs):
        return None
    if not all(in_pairs):
        return "either all multiplies of tcgen05 in a kernel are those of pairs, or none"
    for op, name in operations:
        if name == "tile_gpu.make_channel" and _joins_mma(op.opview) and op.opview.across != "pair":
            return "a channel from or to mma is across pair if the multiplies are those of pairs"
    return None


def _joins_mma(channel: ir.OpView) -> bool:
    return "mma" in (channel.producer, *(name.value for name in channel.consumers))


class ReturnOp(Operation, name="return", traits=[ir.IsTerminatorTrait]):
    """The end of a kernel or of a role."""

    interface = Interface(Category.STRUCTURE, scratch=Scratch.NONE)


# IRDL needs a fixed number of regions; those beyond the names have no block.
MAXIMUM_ROLES = 8
# The roles that compute on register tiles: their warps come first, as tensor memory and named barriers count from them.
COMPUTE = "compute"
COMPUTE_ROLES = (COMPUTE, "compute1", "compute2", "compute3")
# The role that copies global to shared memory, of one warpgroup.
COPY, COPY_WARPS = "copy", 4


class RolesOp(Operation, name="roles", traits=[ir.NoTerminatorTrait]):
    """Groups of whole warps that run concurrently: region i is the role called `names[i]`, of `warps[i]` warps.

    Threads of role i have `registers[i]` registers; without `registers`, all threads have equally many.
    """

    interface = Interface(Category.STRUCTURE, scratch=Scratch.NONE)
    names: Array
    warps: Integers32
    registers: Integers32 | None
    first: OptionalRegion
    second: OptionalRegion
    third: OptionalRegion
    fourth: OptionalRegion
    fifth: OptionalRegion
    sixth: OptionalRegion
    seventh: OptionalRegion
    eighth: OptionalRegion

    @property
    def bodies(self) -> dict[str, ir.Region]:
        """The region of each role by its name."""
        return dict(zip(texts_of(self.names), self.regions, strict=False))

    def check(self) -> str | None:
        names = [name.value if isinstance(name, ir.StringAttr) else str(name) for name in self.names]
        warps = list(self.warps)
        if not 1 <= len(names) <= MAXIMUM_ROLES:
            return f"expected 1 to {MAXIMUM_ROLES} roles, but got {len(names)}"
        if len(set(names)) != len(names):
            return f"expected a name for each role, but got {', '.join(names)}"
        if names[0] != COMPUTE:
            return f"expected the role '{COMPUTE}' first, but got '{names[0]}'"
        if len(warps) != len(names) or min(warps) < 1:
            return f"expected a positive number of warps for each of {len(names)} roles, but got {warps}"
        kernel = self.operation.parent
        if kernel is None or kernel.name != KernelOp.OPERATION_NAME:
            return "expected roles in a kernel, outside of loops and branches"
        computing = [name for name in names if name in COMPUTE_ROLES]
        if names[: len(computing)] != list(COMPUTE_ROLES[: len(computing)]):
            return f"expected the roles {', '.join(COMPUTE_ROLES)} in this order before all others"
        for name, count in zip(names, warps, strict=True):
            if name in COMPUTE_ROLES and count != kernel.opview.warps:
                return f"expected {kernel.opview.warps} warps of '{name}', as the kernel has, but got {count}"
            if name == COPY and count != COPY_WARPS:
                return f"expected {COPY_WARPS} warps of '{name}', but got {count}"
        return None if self.registers is None else budget_error(names, warps, list(self.registers))

    def check_regions(self) -> str | None:
        filled = [len(region.blocks) > 0 for region in self.regions]
        names = [name.value for name in self.names]
        if filled != [index < len(names) for index in range(len(filled))]:
            return f"expected a body for each of {', '.join(names)} and no other, but got {sum(filled)}"
        return None


class ProgramIdOp(Operation, name="program_id", traits=[ext.Pure]):
    """The coordinate of this tile block in the grid along `axis` (0, 1, 2)."""

    interface = Interface(Category.SCALAR, executor=Executor.ANY, scratch=Scratch.NONE, is_pure=True)
    result: Result[Integer32]
    axis: Int32
    assembly = "$axis attr-dict"


class ClusterRankOp(Operation, name="cluster_rank", traits=[ext.Pure]):
    """The number of this CTA in its cluster, from 0 on."""

    interface = Interface(Category.SCALAR, executor=Executor.ANY, scratch=Scratch.NONE, is_pure=True)
    result: Result[Integer32]
    assembly = "attr-dict"


class ClusterSizeOp(Operation, name="cluster_size", traits=[ext.Pure]):
    """The number of CTAs in the cluster of this CTA, which the launch determines in a kernel with `joined_programs`."""

    interface = Interface(Category.SCALAR, executor=Executor.ANY, scratch=Scratch.NONE, is_pure=True)
    result: Result[Integer32]
    assembly = "attr-dict"


class GdcWaitOp(Operation, name="gdc_wait"):
    """Waits until the grids that this grid depends on have completed and their memory is visible."""

    interface = Interface(Category.SYNCHRONIZATION, executor=Executor.EVERY)


class GdcLaunchDependentsOp(Operation, name="gdc_launch_dependents"):
    """Allows the grids that depend on this grid to start, once every tile block has executed it or has ended."""

    interface = Interface(Category.SYNCHRONIZATION)


class NumProgramsOp(Operation, name="num_programs", traits=[ext.Pure]):
    """The extent of the grid along `axis` (0, 1, 2)."""

    interface = Interface(Category.SCALAR, executor=Executor.ANY, scratch=Scratch.NONE, is_pure=True)
    result: Result[Integer32]
    axis: Int32
    assembly = "$axis attr-dict"
