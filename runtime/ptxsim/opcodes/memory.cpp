// Loads and stores (PTX ISA 9.7.9.8 to 9.7.9.16), of multicast addresses too.
#include "execution/lanewise.h"
#include "execution/machine.h"
#include "opcodes/multimem.h"
#include "opcodes/ordering.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace ptxsim {

namespace {

/// settings: bytes of an element, elements, ordering; 1 for ld.global.nc and ldu.
enum Setting { ElementSize, Elements, Order, ReadOnly };

/// Race checks of one instruction. Contiguous accesses of consecutive lanes are checked together; flush() checks the
/// last ones.
class SharedChecks {
public:
  /// A load sets `met_undefined` if bytes are undefined.
  SharedChecks(Warp &warp, bool write, bool strong, bool *met_undefined)
      : warp(warp), actor(warp.actor(strong)), write(write) {
    actor.met_undefined = met_undefined;
  }
  void add(const MemoryLocation &location, uint64_t size, uint32_t at_lane) {
    if (owner == location.cta && location.offset == offset + length) {
      save_old_bytes(location, size);
      length += size;
      return;
    }
    flush();
    owner = location.cta;
    offset = location.offset;
    length = 0;
    save_old_bytes(location, size);
    length = size;
    lane = at_lane;
  }
  void flush() {
    if (!owner)
      return;
    Cta &cta = *owner;
    owner = nullptr;
    actor.first_byte = offset;
    actor.after = cta.shared.data() + offset;
    if (write)
      warp.check_shared_write(cta, offset, length, actor, lane);
    else
      warp.check_shared_read(cta, offset, length, actor, lane);
  }

private:
  /// Saves the bytes before the store, since concurrent stores of the same value do not conflict.
  void save_old_bytes(const MemoryLocation &location, uint64_t size) {
    if (!write || warp.machine.options.same_value_races)
      return;
    std::memcpy(old.data() + length, location.bytes, size);
    actor.before = old.data();
  }

  static constexpr size_t maximum_lane_bytes = 32;
  std::array<uint8_t, lane_count * maximum_lane_bytes> old;
  Warp &warp;
  Actor actor;
  bool write;
  Cta *owner = nullptr;
  uint64_t offset = 0;
  uint64_t length = 0;
  uint32_t lane = 0;
};

/// Counts the bank conflicts of one access to the 32 banks of 4 bytes: the wavefronts beyond the minimum.
void count_bank_conflicts(Warp &warp, const uint64_t *offsets, uint32_t mask, uint32_t size) {
  uint32_t lanes_at_once = size <= 4 ? 32 : size == 8 ? 16 : 8;
  uint64_t conflicts = 0;
  for (uint32_t first = 0; first < lane_count; first += lanes_at_once) {
    uint64_t words[lane_count][4];
    uint32_t count[lane_count] = {};
    uint32_t most = 0;
    for (uint32_t lane = first; lane < first + lanes_at_once; ++lane) {
      if (!(mask >> lane & 1))
        continue;
      for (uint64_t word = offsets[lane] / 4; word <= (offsets[lane] + size - 1) / 4; ++word) {
        uint32_t bank = word % 32;
        bool known = false;
        for (uint32_t i = 0; i < std::min(count[bank], 4u); ++i)
          known |= words[bank][i] == word;
        if (known)
          continue;
        if (count[bank] < 4)
          words[bank][count[bank]] = word;
        most = std::max(most, ++count[bank]);
      }
    }
    conflicts += most > 1 ? most - 1 : 0;
  }
  warp.machine.traffic.bank_conflicts += conflicts;
}

void count_traffic(Warp &warp, Space space, uint64_t bytes, bool write) {
  Traffic &traffic = warp.machine.traffic;
  if (space == Space::SharedCta)
    (write ? traffic.shared_written : traffic.shared_read) += bytes;
  else if (space == Space::Global)
    (write ? traffic.global_written : traffic.global_read) += bytes;
}

/// Calls access(lane, bytes) with the memory that each active lane loads or stores at `address`. Checks the accesses
/// and counts them. Returns the state space of the memory. `met_undefined` is that of SharedChecks.
template <class Access>
Space access_memory(Warp &warp, const Instruction &in, const Operand &address, bool write, bool *met_undefined,
                    Access access) {
  const uint32_t size = uint32_t(in.settings[ElementSize]) * uint32_t(in.settings[Elements]);
  SharedChecks checks(warp, write, is_strong(in.settings[Order]), met_undefined);
  uint64_t offsets[lane_count];
  Space space = Space::Global;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const MemoryLocation location = warp.locate(in.space, warp.address(address, lane), size, size, lane, write);
    if (location.space == Space::SharedCta)
      checks.add(location, size, lane);
    space = location.space;
    offsets[lane] = location.offset;
    access(lane, location.bytes);
  });
  checks.flush();
  count_traffic(warp, space, uint64_t(size) * uint32_t(__builtin_popcount(warp.mask)), write);
  if (space == Space::SharedCta)
    count_bank_conflicts(warp, offsets, warp.mask, size);
  return space;
}

/// The bytes of the registers that come from undefined bytes of shared memory are undefined: reading them is harmless.
void leave_undefined(Warp &warp, const Instruction &in, const std::array<const uint8_t *, lane_count> &loaded) {
  const uint32_t size = uint32_t(in.settings[ElementSize]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    Cta *owner = warp.owner_of_shared(loaded[lane]);
    if (!owner)
      return;
    uint64_t offset = uint64_t(loaded[lane] - owner->shared.data());
    for (const Operand &to : in.operands[0].elements) {
      const uint32_t undefined = owner->shadow.undefined_bytes(offset, size);
      offset += size;
      if (!undefined)
        continue;
      const bool sign_undefined = is_signed(in.type) && undefined >> (size - 1) & 1;
      const uint32_t above = sign_undefined ? ~0u << size : 0;
      warp.set_defined_bytes(to, lane, uint16_t(~(undefined | above) & ((1u << to.size) - 1)));
      warp.loaded_undefined(*owner, offset - size, size);
    }
  });
}

/// Traps if the kernel also writes the memory that ld.global.nc reads.
void check_read_only(Warp &warp, const Instruction &in, uint32_t lane, const uint8_t *bytes) {
  const uint64_t size = uint64_t(in.settings[ElementSize]) * uint32_t(in.settings[Elements]);
  const auto line = warp.machine.read_only_loads.read(reinterpret_cast<uint64_t>(bytes), size, in.line);
  if (line && warp.machine.options.checks)
    warp.trap_lane(lane, trap_kind::race,
                   "'" + in.text + "' reads " + std::to_string(size) +
                       " bytes of global memory as read-only memory that the kernel also writes",
                   {"written by line " + std::to_string(*line)});
}

Outcome load(Warp &warp, const Instruction &in) {
  const Operand &d = in.operands[0], &a = in.operands[1];
  warp.require(a);
  const uint32_t size = uint32_t(in.settings[ElementSize]);
  const bool sign = is_signed(in.type);
  bool met_undefined = false;
  std::array<const uint8_t *, lane_count> loaded;
  access_memory(warp, in, a, /*write=*/false, &met_undefined, [&](uint32_t lane, const uint8_t *bytes) {
    loaded[lane] = bytes;
    if (in.settings[ReadOnly])
      check_read_only(warp, in, lane, bytes);
    for (const Operand &to : d.elements) {
      if (to.size == size) {
        std::memcpy(warp.lanes<uint8_t>(to) + lane * size, bytes, size);
      } else {
        uint64_t value = 0;
        std::memcpy(&value, bytes, size);
        if (sign)
          value = uint64_t(int64_t(value << (64 - size * 8)) >> (64 - size * 8));
        warp.set_bits(to, lane, value);
      }
      bytes += size;
    }
  });
  if (is_acquire(in.settings[Order]))
    for_each_lane(warp.mask,
                  [&](uint32_t lane) { acquire_from(warp, in.space, warp.address(a, lane), in.settings[Order]); });
  for (const Operand &to : d.elements)
    warp.wrote(to);
  if (met_undefined)
    leave_undefined(warp, in, loaded);
  return Outcome::Next;
}

Outcome store(Warp &warp, const Instruction &in) {
  const Operand &a = in.operands[0], &s = in.operands[1];
  warp.require(a);
  const uint32_t size = uint32_t(in.settings[ElementSize]);
  for (const Operand &from : s.elements)
    warp.require_low_bytes(from, size);
  if (is_release(in.settings[Order]))
    for_each_lane(warp.mask,
                  [&](uint32_t lane) { release_to(warp, in.space, warp.address(a, lane), in.settings[Order]); });
  bool changes = false;
  const bool recorded = warp.machine.spin_detector.active;
  const Space space = access_memory(warp, in, a, /*write=*/true, nullptr, [&](uint32_t lane, uint8_t *bytes) {
    for (const Operand &from : s.elements) {
      const uint8_t *value = warp.lanes<uint8_t>(from) + lane * from.size;
      if (recorded)
        for (uint32_t i = 0; i < size; ++i)
          warp.machine.spin_detector.record_store(warp.cluster, bytes + i, value[i]);
      changes = changes || std::memcmp(bytes, value, size) != 0;
      std::memcpy(bytes, value, size);
      bytes += size;
    }
  });
  if (space == Space::SharedCta)
    warp.clock.wrote_shared(warp.mask);
  // The state of a spinning cluster includes shared memory, but a strong store may be part of a race for a lock, which
  // another order of the warps decides otherwise.
  if (changes && space == Space::SharedCta && !is_strong(in.settings[Order]))
    warp.machine.changed_shared();
  else if (changes && space != Space::Local)
    warp.machine.changed();
  return Outcome::Next;
}

/// Cache hints have no effect in the simulator.
void take_cache_hints(Decoder &d) {
  d.take_one_of({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  d.take_prefixed("L1::");
  while (d.take_prefixed("L2::")) {
  }
}

void take_size(Decoder &d) {
  Instruction &in = d.instruction;
  int vector = d.take_one_of({"v2", "v4", "v8"});
  in.type = d.take_type();
  in.settings[ElementSize] = int32_t(type_size(in.type));
  in.settings[Elements] = vector < 0 ? 1 : 2 << vector;
  if (in.type == Type::B128 && vector >= 0)
    d.malformed("'" + in.text + "' has no vectors of .b128");
}

/// Sets the space of an access to a named variable. Parameters of entries are in .param, those of calls in local
/// memory.
void resolve_parameter_space(Decoder &d, size_t operand) {
  Instruction &in = d.instruction;
  const Operand &address = in.operands[operand];
  if (in.space != Space::Param && address.variable < 0)
    return;
  if (address.variable >= 0) {
    const Variable &variable = d.program.variables[size_t(address.variable)];
    if (variable.space == Space::Param)
      in.space = variable.entry_parameter ? Space::Param : Space::Local;
    else if (in.space == Space::Generic)
      in.space = variable.space; // the name of a variable is an address in its space
  }
}

/// ld d, [a] and st [a], b: `address` and `data` are operand indices.
void decode_access(Decoder &d, size_t address, size_t data, bool is_store) {
  Instruction &in = d.instruction;
  bool hint = d.has("L2::cache_hint");
  take_cache_hints(d);
  in.settings[Order] = take_ordering(d);
  in.space = d.take_space();
  take_size(d);
  d.expect_operands(2, hint ? 3 : 2);
  d.vector(data, in.type, size_t(in.settings[Elements]), is_store, true);
  resolve_parameter_space(d, address);
  d.address(address);
  if (hint)
    d.source(2, Type::B64);
}

Execute decode_ld(Decoder &d) {
  const bool nc = d.take("nc"), uniform = d.instruction.opcode->mnemonic == "ldu";
  decode_access(d, 1, 0, false);
  if (nc && d.instruction.space != Space::Global)
    d.malformed("'" + d.instruction.text + "' needs .global with .nc");
  d.instruction.settings[ReadOnly] = nc || uniform;
  d.program.loads_read_only |= nc || uniform;
  return &load;
}

Execute decode_st(Decoder &d) {
  decode_access(d, 0, 1, true);
  return &store;
}

void require_multimem_form(Decoder &d, bool exists) {
  const Instruction &in = d.instruction;
  if (!exists || !is_multimem_access(in.type, uint32_t(in.settings[Elements]), in.space))
    d.malformed("'" + in.text + "' is not a form of multimem");
}

/// The reduction over one device is the value of that device.
Execute decode_multimem_load(Decoder &d) {
  Instruction &in = d.instruction;
  in.settings[Order] = take_ordering(d);
  in.space = d.take_space();
  const auto operation = take_multimem_operation(d);
  d.take_prefixed("acc::");
  take_size(d);
  require_multimem_form(d, has_multimem_reduction(operation, in.type, /*loads=*/true));
  d.expect_operands(2, 2);
  d.vector(0, in.type, size_t(in.settings[Elements]), false, true);
  d.address(1);
  return &load;
}

Execute decode_multimem_store(Decoder &d) {
  Instruction &in = d.instruction;
  in.settings[Order] = take_ordering(d);
  in.space = d.take_space();
  take_size(d);
  require_multimem_form(d, true);
  d.expect_operands(2, 2);
  d.vector(1, in.type, size_t(in.settings[Elements]), true, true);
  d.address(0);
  return &store;
}

/// Hints: prefetch, prefetchu, applypriority, discard, createpolicy.
Execute decode_hint(Decoder &d) {
  d.take_space();
  d.take_one_of({"L1", "L2"});
  d.take("tensormap");
  while (d.take_prefixed("L2::")) {
  }
  for (size_t i = 0; i < d.count(); ++i)
    if (d.instruction.operands[i].kind == Operand::Kind::Address)
      d.address(i);
  return &no_operation;
}

/// A cache policy is opaque; the simulator uses zero.
Outcome create_policy(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) { warp.set_bits(in.operands[0], lane, 0); });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

Execute decode_createpolicy(Decoder &d) {
  if (d.take_one_of({"fractional", "range", "cvt"}) < 0)
    d.malformed("'" + d.instruction.text + "' needs .fractional, .range or .cvt");
  d.take_space();
  d.take_prefixed("L2");
  const auto secondary = d.take_prefixed("L2::");
  if (secondary && *secondary != "evict_first" && *secondary != "evict_unchanged")
    d.malformed("'" + d.instruction.text + "' needs .L2::evict_first or .L2::evict_unchanged as second priority");
  d.take_type();
  d.destination(0, Type::B64);
  return &create_policy;
}

} // namespace

const OpcodeTable &memory_opcodes() {
  static const OpcodeTable table = {
      {"ld", OpcodeGroup::Memory, decode_ld},
      {"ldu", OpcodeGroup::Memory, decode_ld},
      {"st", OpcodeGroup::Memory, decode_st},
      {"prefetch", OpcodeGroup::Memory, decode_hint},
      {"prefetchu", OpcodeGroup::Memory, decode_hint},
      {"applypriority", OpcodeGroup::Memory, decode_hint},
      {"discard", OpcodeGroup::Memory, decode_hint},
      {"createpolicy", OpcodeGroup::Memory, decode_createpolicy},
      {"multimem.ld_reduce", OpcodeGroup::Memory, decode_multimem_load},
      {"multimem.st", OpcodeGroup::Memory, decode_multimem_store},
  };
  return table;
}

} // namespace ptxsim
