// A warp: 32 lanes that share a register file, in one or more fragments with a program counter each.
#pragma once

#include "memory/async.h"
#include "memory/clocks.h"
#include "memory/memory.h"
#include "memory/shadow.h"
#include "program/program.h"

#include <array>
#include <cstring>
#include <unordered_map>

namespace ptxsim {

class Machine;
class Cluster;
class Cta;
struct LoopSlice;
struct Mbarrier;

/// Lanes of a warp that are at the same instruction with the same return addresses.
struct Fragment {
  enum class State : uint8_t { Runnable, Waiting, Converging };
  uint32_t pc = 0;
  uint32_t mask = 0;
  State state = State::Runnable;
  bool poll_returns = false;   // a poll that fails returns false instead of waiting
  uint32_t failed_polls = 0;   // since the last successful one
  uint32_t backward_jumps = 0; // for fairness between fragments
  uint64_t ticket = 0;         // state of the waiting instruction; 0 before its first try
  uint64_t waiting_since = 0;  // progress count at the last try
  std::vector<uint32_t> stack; // return addresses
};

class Warp {
public:
  Warp(Machine &machine, Cluster &cluster, Cta &cta, uint32_t index, uint32_t live);

  Machine &machine;
  Cluster &cluster;
  Cta &cta;
  const uint32_t index; // within the CTA
  uint32_t mask = 0;    // lanes that execute the current instruction, its guard included
  uint32_t live;        // lanes that have not exited
  WarpClock clock;
  std::vector<Fragment> fragments;
  uint32_t current = 0; // index of the running fragment

  Fragment &fragment() { return fragments[current]; }
  bool finished() const { return live == 0; }
  /// Executes up to `steps` instructions and returns their number: fewer if every fragment waits or all lanes have
  /// exited.
  uint64_t run(uint64_t steps);
  bool runnable() const;
  /// True if the fragment is runnable, if progress has changed since it waited, or if its lanes have converged.
  bool can_run(const Fragment &fragment) const;
  /// Executes instructions like run(), up to and including the first backward jump, and records them in the machine's
  /// spin detector.
  uint64_t run_round(uint64_t steps);

  /// The values of registers and local memory.
  struct Storage {
    std::vector<uint8_t> registers, local_memory;
    std::vector<uint32_t> written;
  };
  Storage storage() const { return {registers, local_memory, written}; }
  /// True if local memory and the registers of the slice have these values.
  bool equals(const Storage &earlier, const LoopSlice &slice) const;

  // Registers. A slot holds 32 values side by side.
  template <class T> T *lanes(const Operand &operand) { return reinterpret_cast<T *>(registers.data() + operand.slot); }
  template <class T> const T *lanes(const Operand &operand) const {
    return reinterpret_cast<const T *>(registers.data() + operand.slot);
  }
  uint32_t predicate(const Operand &operand) { return *lanes<uint32_t>(operand) ^ (operand.negated ? ~0u : 0u); }
  void set_predicate(const Operand &operand, uint32_t values);
  /// Bits of one lane, whatever the size of the register (at most 8 bytes), zero-extended.
  uint64_t bits(const Operand &operand, uint32_t lane) const;
  /// Stores into one lane, truncated to the size of the register. The caller calls `wrote`.
  void set_bits(const Operand &operand, uint32_t lane, uint64_t value);
  /// Traps unless the register is defined in every active lane; if the instruction propagates undefined values, the
  /// lanes count as undefined in the registers that the instruction writes.
  void require(const Operand &operand) { require(operand, mask); }
  /// The same in the lanes `lanes` only.
  void require(const Operand &operand, uint32_t lanes) {
    if (tracking)
      touched_registers[operand.number] = true;
    if ((written[operand.number] & lanes) != lanes)
      undefined_register(operand, operand.size, lanes);
  }
  /// The same for the low `size` bytes only.
  void require_low_bytes(const Operand &operand, uint32_t size) {
    if (tracking)
      touched_registers[operand.number] = true;
    if ((written[operand.number] & mask) != mask)
      undefined_register(operand, size, mask);
  }
  void wrote(const Operand &operand) { wrote(operand, mask); }
  void wrote(const Operand &operand, uint32_t lanes_written) {
    if (tracking)
      touch_for_write(operand);
    if (undefined_lanes)
      wrote_undefined(operand, lanes_written);
    else
      written[operand.number] |= lanes_written;
  }
  /// Lanes in which all bytes of the register are defined.
  uint32_t written_lanes(const Operand &operand) const { return written[operand.number]; }
  /// The defined bytes of the register in a lane, as a mask.
  uint16_t defined_bytes(const Operand &operand, uint32_t lane) const;
  /// Makes the register undefined in these lanes.
  void mark_undefined(const Operand &operand, uint32_t lanes_undefined);
  void set_defined_bytes(const Operand &operand, uint32_t lane, uint16_t bytes);
  /// Records that the instruction loads undefined bytes of shared memory, for the message about their use.
  void loaded_undefined(const Cta &owner, uint64_t offset, uint64_t size);
  /// The CTA of the cluster whose shared memory holds this host address; nullptr if none does.
  Cta *owner_of_shared(const uint8_t *bytes) const;

  /// The value of the operand, which must be the same in all active lanes. Traps otherwise.
  template <class T> T uniform(const Operand &operand) {
    require(operand);
    T *values = lanes<T>(operand);
    T first = values[first_lane()];
    for (uint32_t lane = 0; lane < lane_count; ++lane)
      if ((mask >> lane & 1) && std::memcmp(&values[lane], &first, sizeof(T)) != 0)
        not_uniform(operand);
    return first;
  }
  uint32_t first_lane() const { return mask ? uint32_t(__builtin_ctz(mask)) : 0; }

  /// Marks a register that an asynchronous operation has yet to write or to read. Until the instruction `until`, a
  /// register to be written must not be accessed and a register to be read must not be written.
  /// The values of a register that will be written are already there if `is_complete`, but may not be read.
  void mark_in_flight(const Operand &operand, bool will_be_written, const char *until, bool is_complete = false);
  void clear_in_flight(const Operand &operand);
  bool in_flight(const Operand &operand) const { return in_flight_registers.count(operand.number) != 0; }

  /// True if the register was read or written since the last wgmma.fence. Recorded only in programs with wgmma.
  bool touched(const Operand &operand) const { return touched_registers[operand.number]; }
  void clear_touched() { touched_registers.assign(touched_registers.size(), false); }

  // Addresses.
  uint64_t address(const Operand &operand, uint32_t lane) const;
  /// The same for a register that has not been required: traps if it is undefined in the lane.
  uint64_t defined_address(const Operand &operand, uint32_t lane);
  uint64_t uniform_address(const Operand &operand);
  /// Checks range and alignment and returns the location of the bytes. A Generic address is resolved by its window.
  MemoryLocation locate(Space space, uint64_t address, uint64_t size, uint32_t alignment, uint32_t lane, bool write);
  /// The same for a shared::cluster or shared::cta address.
  MemoryLocation locate_shared(uint64_t address, uint64_t size, uint32_t alignment, uint32_t lane);

  // Race checks of accesses by the warp, or by a queue to which it issues.
  Actor actor(bool strong = false) const;
  Actor queue_actor(const AsyncQueue &queue, Epoch position) const;  // shared memory, async proxy
  Actor tensor_actor(const AsyncQueue &queue, Epoch position) const; // tensor memory
  Actor transaction_actor(const Mbarrier &mbarrier) const;           // data that completes on an mbarrier
  void check_shared_read(Cta &owner, uint64_t offset, uint64_t size, const Actor &actor, uint32_t lane = 0);
  void check_shared_write(Cta &owner, uint64_t offset, uint64_t size, const Actor &actor, uint32_t lane = 0);
  /// Traps if there is a conflict; the message names both accesses.
  void check(const std::optional<Conflict> &conflict, const std::string &where, uint32_t lane = 0);

  AsyncQueue &queue(QueueKind kind, uint32_t discriminator = 0);
  AsyncQueue *find_queue(QueueKind kind, uint32_t discriminator = 0); // nullptr if no operation was ever issued

  const Instruction &instruction() const { return *executing; }
  Origin origin() { return origin(first_lane()); }
  Origin origin(uint32_t lane) { return {executing, this, lane}; }
  [[noreturn]] void trap(const char *kind, const std::string &message, std::vector<std::string> notes = {});
  [[noreturn]] void trap_lane(uint32_t lane, const char *kind, const std::string &message,
                              std::vector<std::string> notes = {});
  /// Traps "unconfirmed" unless the run allows undocumented behaviour.
  void unconfirmed(const std::string &behaviour);

  // Control flow.
  void jump(uint32_t target, uint32_t taken); // lanes `taken` jump to target, the others continue
  void call(uint32_t target);
  void return_from_call();
  void exit_lanes();

  uint32_t cluster_arrived = 0; // lanes between barrier.cluster.arrive and .wait
  uint64_t cluster_ticket = 0;
  uint32_t carry = 0;           // the CC flag of each lane
  uint32_t owned_registers = 0; // per lane, as setmaxnreg counts them; 0: unknown

  uint8_t *local(uint32_t lane) { return local_memory.data() + size_t(lane) * local_stride; }

private:
  template <bool observed> uint64_t run_instructions(uint64_t steps);
  void check_shared(bool write, Cta &owner, uint64_t offset, uint64_t size, const Actor &actor, uint32_t lane);
  void initialise_registers();
  bool select_fragment();
  void merge_fragments();
  void remove_empty_fragments();
  void undefined_register(const Operand &operand, uint32_t size, uint32_t lanes);
  void wrote_undefined(const Operand &operand, uint32_t lanes_written);
  void touch_for_write(const Operand &operand);
  void check_exit_pending();
  [[noreturn]] void trap_unsupported(const Instruction &next);
  bool may_converge(const Instruction &next, uint32_t together) const;
  [[noreturn]] void not_uniform(const Operand &operand);

  struct InFlight {
    bool will_be_written;
    const char *until;
    uint32_t line;
    uint32_t count;
    uint32_t defined_lanes; // those of a written register that are defined after the wait
  };
  std::vector<uint8_t> registers;
  std::vector<uint32_t> written;                                                 // lanes, by register number
  std::unordered_map<uint32_t, std::array<uint16_t, lane_count>> partly_written; // bytes, of lanes not in `written`
  std::string undefined_load;   // the latest load of undefined shared memory
  uint32_t undefined_lanes = 0; // lanes in which the current instruction has read an undefined register
  std::vector<uint8_t> local_memory;
  uint32_t local_stride = 0;
  std::unordered_map<uint32_t, InFlight> in_flight_registers;
  bool tracking = false; // true while registers in flight or touched registers are recorded
  std::vector<bool> touched_registers;
  const Instruction *executing = nullptr;
  bool jumped_back = false; // by the current instruction
};

} // namespace ptxsim
