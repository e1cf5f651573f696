// Tensor memory of a CTA: 128 lanes by 512 columns of 32 bits, its allocation and its shadow (PTX ISA, tcgen05).
#pragma once

#include "memory/shadow.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ptxsim {

/// A tensor-memory address: the lane in the upper, the column in the lower 16 bits.
struct TensorAddress {
  explicit TensorAddress(uint32_t bits) : lane(bits >> 16), column(bits & 0xffff) {}
  uint32_t lane, column;
};

/// Columns of an allocation.
struct TensorAllocation {
  uint32_t base = 0;
  uint32_t columns = 0;
  uint32_t line = 0; // of the tcgen05.alloc
};

/// A collector buffer: an operand that tcgen05.mma keeps for those after it.
struct Collector {
  uint64_t source = 0;            ///< the matrix descriptor or the address of the operand
  std::vector<uint32_t> elements; ///< of an operand A
  bool is_filled = false;
};

class TensorMemory {
public:
  static constexpr uint32_t lanes = 128, columns = 512;
  static constexpr uint32_t lanes_per_warp = 32;  // a warp can access 32 lanes, selected by warp % 4
  static constexpr uint32_t lanes_per_block = 16; // of the shadow
  static constexpr uint32_t smallest_allocation = 32;

  /// The cells of a lane, column by column.
  uint32_t *lane(uint32_t index) { return cells.data() + size_t{index} * columns; }

  // Each returns an error message, or an empty string.
  std::string allocation_error(uint32_t count) const;
  std::string deallocate(uint32_t address, uint32_t count);
  std::string relinquish();
  /// Checks that columns [first, first + count) belong to one allocation.
  std::string access_error(uint32_t first, uint32_t count) const;
  /// Checks that all allocations have been freed when the CTA exits.
  std::string leak() const;

  /// The base column, or nullopt if too few consecutive columns are free. NVIDIA does not document which columns are
  /// allocated: the lowest ones or, with `from_top`, the highest ones.
  std::optional<uint32_t> allocate(uint32_t count, bool from_top, uint32_t line);

  std::optional<Conflict> read(uint32_t lane, uint32_t lane_count, uint32_t column, const Actor &actor);
  std::optional<Conflict> write(uint32_t lane, uint32_t lane_count, uint32_t column, const Actor &actor);

  /// The undefined bytes of a cell that was written, as a mask.
  uint32_t undefined_bytes(uint32_t lane, uint32_t column) const;
  void set_undefined_bytes(uint32_t lane, uint32_t column, uint32_t bytes);
  bool has_undefined_bytes() const { return !undefined_cells.empty(); }

  /// Copies each row of the operand at `column` to the preceding lane, from `first_lane` on. The last lane of each 32
  /// keeps its value.
  void shift_down(uint32_t first_lane, uint32_t column);
  static constexpr uint32_t operand_columns = 8; // of a row of an operand: 32 bytes

  std::array<Collector, 5> collectors; // a, and b0 to b3

  /// Records that the operation at `position` of `queue`, a tcgen05.mma.ashift, shifts the operand at `column`.
  void record_operand_shift(uint32_t column, Agent queue, Epoch position);
  /// Whether `queue` has shifted an operand in these columns by .ashift and `happened` lacks the operation.
  bool has_operand_shift_in_flight(uint32_t column, uint32_t count, Agent queue, const VectorClock &happened) const;

private:
  bool is_unallocated(uint32_t base, uint32_t count) const;
  template <class Visit>
  std::optional<Conflict> visit(uint32_t lane, uint32_t lane_count, uint32_t column, Visit visit_block);

  // Empty until the first allocation, since most kernels do not use tensor memory.
  std::vector<uint32_t> cells;
  std::optional<Shadow> shadow;
  std::unordered_map<uint32_t, uint8_t> undefined_cells; // of registers with undefined bytes that were stored
  std::unordered_map<uint32_t, std::pair<Agent, Epoch>> operand_shifts; // the latest .ashift, by column
  std::vector<TensorAllocation> allocations;
  uint32_t latest_count = columns;
  bool relinquished = false;
};

} // namespace ptxsim
