// Memory accesses of a warp: address resolution, bounds and race checks.
#include "execution/machine.h"
#include "numbers/hexadecimal.h"

namespace ptxsim {

uint64_t Warp::address(const Operand &operand, uint32_t lane) const {
  uint64_t base = bits(operand, lane);
  // A 32-bit address wraps at 32 bits.
  return operand.size == 4 ? uint32_t(base + uint64_t(operand.offset)) : base + uint64_t(operand.offset);
}

uint64_t Warp::defined_address(const Operand &operand, uint32_t lane) {
  require(operand, 1u << lane);
  return address(operand, lane);
}

uint64_t Warp::uniform_address(const Operand &operand) {
  require(operand);
  uint64_t first = address(operand, first_lane());
  for (uint32_t lane = 0; lane < lane_count; ++lane)
    if ((mask >> lane & 1) && address(operand, lane) != first)
      not_uniform(operand);
  return first;
}

MemoryLocation Warp::locate(Space space, uint64_t address, uint64_t size, uint32_t alignment, uint32_t lane,
                            bool write) {
  if (address & (alignment - 1))
    trap_lane(lane, trap_kind::misaligned,
              "'" + executing->text + "' needs an address aligned to " + std::to_string(alignment) + " bytes, found " +
                  hexadecimal(address));
  if (space == Space::Generic) {
    uint64_t window = address & window_mask;
    if (window == shared_window)
      return locate_shared(address & ~window_mask, size, alignment, lane);
    space = window == local_window ? Space::Local : window == parameter_window ? Space::Param : Space::Global;
    if (space != Space::Global)
      address &= ~window_mask;
  }
  if (space == Space::SharedCta && (address >> cta_rank_shift) != cta.rank)
    trap_lane(lane, trap_kind::bounds,
              "shared::cta address " + hexadecimal(address) + " is not in the shared memory of its CTA (rank " +
                  std::to_string(cta.rank) + ")");
  if (space == Space::SharedCta || space == Space::SharedCluster)
    return locate_shared(address, size, alignment, lane);
  if (space == Space::Local) {
    if (address > local_stride || size > local_stride - address)
      trap_lane(lane, trap_kind::bounds,
                "local address " + hexadecimal(address) + " is outside the " + std::to_string(local_stride) +
                    " bytes of the thread");
    return {Space::Local, nullptr, address, local(lane) + address};
  }
  if (space == Space::Param) {
    uint64_t available = machine.options.parameters.size();
    const auto bytes = [&] {
      return " parameter bytes " + std::to_string(address) + " to " + std::to_string(address + size);
    };
    if (write)
      trap_lane(lane, trap_kind::bounds, "write of" + bytes() + ", which are read-only");
    if (address > available || size > available - address)
      trap_lane(lane, trap_kind::bounds, "read of" + bytes() + " of " + std::to_string(available));
    return {Space::Param, nullptr, address, machine.parameters + address};
  }
  const Range *range = machine.global.find(address, size);
  if (!range || (write && !range->writable))
    trap_lane(lane, trap_kind::bounds,
              std::string(write ? "write" : "read") + " of " + std::to_string(size) + " bytes at " +
                  hexadecimal(address) + (range ? ", which is read-only" : ": " + machine.global.describe(address)));
  if (write && machine.program.loads_read_only && machine.options.checks)
    if (const auto line = machine.read_only_loads.write(address, size, executing->line))
      trap_lane(lane, trap_kind::race,
                "'" + executing->text + "' writes " + std::to_string(size) + " bytes of global memory at " +
                    hexadecimal(address) + " that the kernel also reads as read-only memory",
                {"read by line " + std::to_string(*line)});
  return {Space::Global, nullptr, address, reinterpret_cast<uint8_t *>(address)};
}

MemoryLocation Warp::locate_shared(uint64_t address, uint64_t size, uint32_t alignment, uint32_t lane) {
  if (address & (alignment - 1))
    trap_lane(lane, trap_kind::misaligned,
              "'" + executing->text + "' needs a shared address aligned to " + std::to_string(alignment) +
                  " bytes, found " + hexadecimal(address));
  Cta *owner = cluster.cta_of(address);
  uint64_t offset = address & ((1u << cta_rank_shift) - 1);
  if (!owner || offset < shared_base || offset + size > owner->shared.size())
    trap_lane(
        lane, trap_kind::bounds,
        "shared address " + hexadecimal(address) + " with " + std::to_string(size) +
            " bytes is outside the shared memory of the cluster: " + std::to_string(cta.shared.size() - shared_base) +
            " bytes from " + hexadecimal(shared_base) + " in each of " + std::to_string(cluster.ctas.size()) + " CTAs");
  if (owner != &cta && owner->finished())
    trap_lane(lane, trap_kind::bounds,
              "shared memory of CTA rank " + std::to_string(owner->rank) + ", whose threads have all exited");
  return {Space::SharedCta, owner, offset, owner->shared.data() + offset};
}

Actor Warp::actor(bool strong) const {
  Actor result;
  result.agent = clock.agent;
  result.epoch = clock.now();
  result.line = executing->line;
  result.strong = strong;
  result.happened = &clock.known.happened;
  result.proxied = &clock.known.proxied;
  result.fences_reads = machine.options.read_fences;
  return result;
}

Actor Warp::queue_actor(const AsyncQueue &queue, Epoch position) const {
  Actor result = actor();
  result.agent = queue.agent;
  result.epoch = position;
  result.asynchronous = true;
  return result;
}

Actor Warp::tensor_actor(const AsyncQueue &queue, Epoch position) const {
  Actor result = actor();
  result.agent = queue.agent;
  result.epoch = position;
  result.happened = &clock.tensor_ordered;
  return result;
}

Actor Warp::transaction_actor(const Mbarrier &mbarrier) const {
  Actor result = actor();
  result.agent = mbarrier.agent;
  result.epoch = mbarrier.epoch() + 1;
  result.asynchronous = true;
  result.in_order = false;
  return result;
}

static std::string describe(const Conflict &conflict, const std::string &where) {
  switch (conflict.kind) {
  case Conflict::Kind::Uninitialised:
    return "reads " + where +
           (conflict.earlier.mask ? ", which includes padding that a tensor copy leaves undefined"
                                  : ", which was never written");
  case Conflict::Kind::ReadAfterWrite:
    return conflict.needs_proxy_fence
               ? "reads " + where + " through the async proxy, but no fence.proxy.async follows the write"
               : "reads " + where + " while a write of it is not known to be complete";
  case Conflict::Kind::WriteAfterWrite:
    return conflict.needs_proxy_fence
               ? "writes " + where + " through the async proxy, but no fence.proxy.async follows an earlier write"
               : "writes " + where + " while an earlier write of it is not known to be complete";
  default:
    return conflict.needs_proxy_fence
               ? "writes " + where + " through the async proxy, but no fence.proxy.async follows an earlier read"
               : "writes " + where + " while a read of it is not known to be complete";
  }
}

void Warp::check(const std::optional<Conflict> &conflict, const std::string &where, uint32_t lane) {
  if (!conflict)
    return;
  std::string message = "'" + executing->text + "' " + describe(*conflict, where);
  if (conflict->kind == Conflict::Kind::Uninitialised)
    trap_lane(lane, trap_kind::uninitialised, message);
  const char *access = conflict->kind == Conflict::Kind::WriteAfterRead ? "read" : "written";
  trap_lane(lane, trap_kind::race, message,
            {std::string(access) + " by line " + std::to_string(conflict->earlier.line) + ", " +
             cluster.agent_names[conflict->earlier.agent]});
}

static bool touches_mbarrier(const Cta &cta, uint64_t offset, uint64_t size) {
  for (uint64_t block = offset / 16; block <= (offset + size - 1) / 16; ++block)
    if (cta.holds_mbarrier[block]) {
      auto next = cta.mbarriers.lower_bound(uint32_t(offset >= 7 ? offset - 7 : 0));
      return next != cta.mbarriers.end() && next->first < offset + size;
    }
  return false;
}

static std::string shared_bytes_at(const Cta &owner, uint64_t offset, uint64_t size) {
  return "shared memory of CTA rank " + std::to_string(owner.rank) + " at " + hexadecimal(offset) + " (" +
         std::to_string(size) + " bytes)";
}

void Warp::check_shared(bool write, Cta &owner, uint64_t offset, uint64_t size, const Actor &actor, uint32_t lane) {
  if (!machine.options.checks)
    return;
  if (touches_mbarrier(owner, offset, size))
    trap_lane(lane, trap_kind::mbarrier,
              "'" + executing->text +
                  (write ? "' overwrites an mbarrier object" : "' reads an mbarrier object as plain memory"));
  Shadow &shadow = owner.shadow;
  if (auto conflict = write ? shadow.write_bytes(offset, size, actor) : shadow.read_bytes(offset, size, actor))
    check(conflict, shared_bytes_at(owner, offset, size), lane);
}

void Warp::check_shared_read(Cta &owner, uint64_t offset, uint64_t size, const Actor &actor, uint32_t lane) {
  check_shared(false, owner, offset, size, actor, lane);
}

void Warp::check_shared_write(Cta &owner, uint64_t offset, uint64_t size, const Actor &actor, uint32_t lane) {
  check_shared(true, owner, offset, size, actor, lane);
}

AsyncQueue &Warp::queue(QueueKind kind, uint32_t discriminator) { return cluster.queue(kind, *this, discriminator); }
AsyncQueue *Warp::find_queue(QueueKind kind, uint32_t discriminator) {
  return cluster.find_queue(kind, *this, discriminator);
}

} // namespace ptxsim
