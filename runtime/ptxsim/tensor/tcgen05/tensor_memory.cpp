#include "tensor/tcgen05/tensor_memory.h"

#include <algorithm>

namespace ptxsim {
namespace {

constexpr uint32_t column_blocks = TensorMemory::lanes / TensorMemory::lanes_per_block; // of a column

bool is_allocatable(uint32_t count) {
  return count >= TensorMemory::smallest_allocation && count <= TensorMemory::columns && (count & (count - 1)) == 0;
}

std::string columns_text(uint32_t base, uint32_t count) {
  return "columns " + std::to_string(base) + " to " + std::to_string(base + count - 1);
}

} // namespace

std::string TensorMemory::allocation_error(uint32_t count) const {
  if (!is_allocatable(count))
    return "expected a power of two of columns from 32 to 512, got " + std::to_string(count);
  if (relinquished)
    return "expected no allocation after tcgen05.relinquish_alloc_permit";
  if (count > latest_count)
    return "expected at most as many columns as in the preceding allocation, " + std::to_string(latest_count) +
           ", got " + std::to_string(count);
  return "";
}

bool TensorMemory::is_unallocated(uint32_t base, uint32_t count) const {
  return std::none_of(allocations.begin(), allocations.end(), [&](const TensorAllocation &other) {
    return base < other.base + other.columns && other.base < base + count;
  });
}

std::optional<uint32_t> TensorMemory::allocate(uint32_t count, bool from_top, uint32_t line) {
  if (cells.empty()) {
    cells.resize(size_t{lanes} * columns);
    shadow.emplace(size_t{columns} * column_blocks);
  }
  for (uint32_t skip = 0; skip + count <= columns; skip += smallest_allocation) {
    const uint32_t base = from_top ? columns - count - skip : skip;
    if (!is_unallocated(base, count))
      continue;
    allocations.push_back({base, count, line});
    latest_count = count;
    shadow->forget(size_t{base} * column_blocks, size_t{count} * column_blocks);
    return base;
  }
  return std::nullopt;
}

std::string TensorMemory::deallocate(uint32_t address, uint32_t count) {
  const auto found = std::find_if(allocations.begin(), allocations.end(), [&](const TensorAllocation &allocation) {
    return allocation.base == address && allocation.columns == count;
  });
  if (found != allocations.end()) {
    allocations.erase(found);
    return "";
  }
  std::string text = "expected the address and column count of an allocation, got " + std::to_string(count) +
                     " columns at address " + std::to_string(address);
  for (const TensorAllocation &allocation : allocations)
    text += "; allocated: " + columns_text(allocation.base, allocation.columns);
  return text;
}

std::string TensorMemory::relinquish() {
  if (relinquished)
    return "expected one tcgen05.relinquish_alloc_permit per CTA, got a second one";
  relinquished = true;
  return "";
}

std::string TensorMemory::access_error(uint32_t first, uint32_t count) const {
  for (const TensorAllocation &allocation : allocations)
    if (first >= allocation.base && first + count <= allocation.base + allocation.columns)
      return "";
  return "expected columns of one allocation, got " + columns_text(first, count);
}

std::string TensorMemory::leak() const {
  if (allocations.empty())
    return "";
  const TensorAllocation &left = allocations.front();
  return "expected all tensor memory to be freed before the CTA exits, got " + columns_text(left.base, left.columns) +
         " allocated in line " + std::to_string(left.line);
}

template <class Visit>
std::optional<Conflict> TensorMemory::visit(uint32_t lane, uint32_t lane_count, uint32_t column, Visit visit_block) {
  while (lane_count) {
    const uint32_t within = lane % lanes_per_block, part = std::min(lane_count, lanes_per_block - within);
    const auto mask = static_cast<uint16_t>(((1u << part) - 1) << within);
    if (auto conflict = visit_block(size_t{column} * column_blocks + lane / lanes_per_block, mask))
      return conflict;
    lane += part;
    lane_count -= part;
  }
  return std::nullopt;
}

std::optional<Conflict> TensorMemory::read(uint32_t lane, uint32_t lane_count, uint32_t column, const Actor &actor) {
  return visit(lane, lane_count, column, [&](size_t block, uint16_t mask) { return shadow->read(block, mask, actor); });
}

uint32_t TensorMemory::undefined_bytes(uint32_t lane, uint32_t column) const {
  const auto cell = undefined_cells.find(lane * columns + column);
  return cell == undefined_cells.end() ? 0 : cell->second;
}

void TensorMemory::set_undefined_bytes(uint32_t lane, uint32_t column, uint32_t bytes) {
  if (bytes)
    undefined_cells[lane * columns + column] = uint8_t(bytes);
  else
    undefined_cells.erase(lane * columns + column);
}

void TensorMemory::shift_down(uint32_t first_lane, uint32_t column) {
  for (uint32_t index = first_lane; index < lanes; ++index)
    if (index % lanes_per_warp != lanes_per_warp - 1)
      std::copy_n(lane(index + 1) + column, operand_columns, lane(index) + column);
}

void TensorMemory::record_operand_shift(uint32_t column, Agent queue, Epoch position) {
  operand_shifts[column] = {queue, position};
}

bool TensorMemory::has_operand_shift_in_flight(uint32_t column, uint32_t count, Agent queue,
                                               const VectorClock &happened) const {
  return std::any_of(operand_shifts.begin(), operand_shifts.end(), [&](const auto &shift) {
    const auto [agent, position] = shift.second;
    const bool overlaps = shift.first < column + count && column < shift.first + operand_columns;
    return overlaps && agent == queue && happened[agent] < position;
  });
}

std::optional<Conflict> TensorMemory::write(uint32_t lane, uint32_t lane_count, uint32_t column, const Actor &actor) {
  for (uint32_t i = 0; !undefined_cells.empty() && i < lane_count; ++i)
    undefined_cells.erase((lane + i) * columns + column);
  return visit(lane, lane_count, column,
               [&](size_t block, uint16_t mask) { return shadow->write(block, mask, actor); });
}

} // namespace ptxsim
