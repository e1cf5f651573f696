#include "tensor/tcgen05/tensor_core.h"

#include "tensor/operand_matrix.h"

#include <utility>

namespace ptxsim {

namespace {

/// PTX requires tcgen05.fence before and after a thread synchronisation. Hardware orders accesses without it, on which
/// Triton relies; NVIDIA does not document this.
Actor ordered_by_threads(Warp &warp, Actor actor) {
  warp.clock.tensor_ordered.join(warp.clock.known.happened);
  actor.happened = &warp.clock.tensor_ordered;
  return actor;
}

} // namespace

AsyncQueue &tensor_core_queue(Warp &warp, uint32_t cta_group, uint32_t lane) {
  return warp.queue(QueueKind::TensorCore, cta_group | lane << 2);
}

void submit_in_order(Warp &warp, uint32_t lane, AsyncQueue &queue, Epoch position, std::function<void()> perform) {
  Cluster *const cluster = &warp.cluster;
  warp.cluster.async.submit({warp.origin(lane), &queue, true, [=, &queue, perform = std::move(perform)] {
                               perform();
                               queue.unfinished.erase(position);
                               ++cluster->progress;
                             }});
}

std::vector<Cta *> tensor_core_ctas(Warp &warp, uint32_t cta_group, uint32_t lane) {
  if (cta_group == 1)
    return {&warp.cta};
  const uint32_t even = warp.cta.rank & ~1u;
  if (even + 1 >= warp.cluster.ctas.size())
    warp.trap_lane(lane, trap_kind::illegal, "expected a cluster with the other CTA of the pair for cta_group::2");
  if (warp.cta.rank & 1)
    warp.unconfirmed("a tcgen05 operation with cta_group::2 issued by the CTA of odd rank");
  return {warp.cluster.ctas[even].get(), warp.cluster.ctas[even + 1].get()};
}

uint32_t take_cta_group(Decoder &decoder) {
  const int group = decoder.take_one_of({"cta_group::1", "cta_group::2"});
  if (group < 0)
    decoder.malformed("expected .cta_group::1 or .cta_group::2");
  return static_cast<uint32_t>(group) + 1;
}

MatrixLayout read_tcgen05_descriptor(Warp &warp, uint64_t descriptor, uint32_t lane) {
  const DecodedDescriptor decoded = decode_tcgen05_descriptor(descriptor);
  if (!decoded.violation.empty())
    warp.trap_lane(lane, trap_kind::descriptor, decoded.violation);
  if (!decoded.unconfirmed.empty())
    warp.unconfirmed(decoded.unconfirmed);
  return decoded.layout;
}

void check_unit_read(Warp &warp, Cta &cta, uint32_t offset, uint32_t bytes, const Actor &actor, uint32_t lane) {
  if (offset < shared_base || offset + unit_bytes > cta.shared.size())
    warp.trap_lane(lane, trap_kind::bounds,
                   "expected a matrix within the " + std::to_string(cta.shared.size() - shared_base) +
                       " bytes of shared memory, got shared address " + std::to_string(offset));
  warp.check_shared_read(cta, offset, bytes, actor, lane);
}

/// Traps if bytes of a cell that the operation uses were undefined in the register that tcgen05.st has stored.
static void check_defined(Warp &warp, const TensorMemory &memory, const TensorRegion &region, uint32_t lane) {
  for (uint32_t column = region.column; column < region.column + region.column_count; ++column)
    for (uint32_t row = region.lane; row < region.lane + region.lane_count; ++row)
      if (memory.undefined_bytes(row, column) & region.bytes)
        warp.trap_lane(lane, trap_kind::uninitialised,
                       "'" + warp.instruction().text + "' reads tensor memory lane " + std::to_string(row) +
                           " column " + std::to_string(column) +
                           ", in which tcgen05.st has stored an undefined register");
}

void check_region(Warp &warp, Cta &cta, const TensorRegion &region, bool write, const Actor &actor, uint32_t lane) {
  TensorMemory &memory = *cta.tensor_memory;
  if (std::string wrong = memory.access_error(region.column, region.column_count); !wrong.empty())
    warp.trap_lane(lane, trap_kind::tensor_memory, wrong);
  if (!warp.machine.options.checks)
    return;
  const auto access = [&](uint32_t column, const Actor &by) {
    return write ? memory.write(region.lane, region.lane_count, column, by)
                 : memory.read(region.lane, region.lane_count, column, by);
  };
  for (uint32_t column = region.column; column < region.column + region.column_count; ++column) {
    auto conflict = access(column, actor);
    if (conflict && warp.machine.options.allow_unconfirmed)
      conflict = access(column, ordered_by_threads(warp, actor));
    if (conflict)
      warp.check(conflict, "tensor memory lane " + std::to_string(region.lane) + " column " + std::to_string(column),
                 lane);
  }
  if (!write && memory.has_undefined_bytes())
    check_defined(warp, memory, region, lane);
}

} // namespace ptxsim
