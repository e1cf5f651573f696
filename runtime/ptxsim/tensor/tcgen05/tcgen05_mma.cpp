#include "tensor/tcgen05/tcgen05_mma.h"

#include "execution/machine.h"
#include "memory/memory.h"

#include <algorithm>
#include <utility>

namespace ptxsim {
namespace {

/// The upper half of a cell that holds a 16-bit result is undefined; a pattern makes reads of it visible.
constexpr uint32_t undefined_half = 0xdead0000;

/// The cells of the accumulator. Neighbouring lanes with the same columns form one region.
std::vector<std::pair<uint32_t, TensorRegion>> regions_of(const Tcgen05Mma &mma) {
  std::vector<std::pair<uint32_t, TensorRegion>> regions;
  for (const AccumulatorRun &run : mma.runs) {
    if (mma.is_disabled(run.cta, run.lane))
      continue;
    const TensorRegion next{run.lane, 1, mma.d_address.column + run.column, run.count};
    if (!regions.empty()) {
      auto &[cta, region] = regions.back();
      if (cta == run.cta && region.lane + region.lane_count == run.lane && region.column == next.column) {
        ++region.lane_count;
        continue;
      }
    }
    regions.emplace_back(run.cta, next);
  }
  return regions;
}

/// An element of A in tensor memory: 4-bit formats are in bits 5:2 of their byte unless they are packed.
uint32_t element_in_cells(const uint32_t *cells, uint32_t index, NumberFormat format, bool packed) {
  if (packed)
    return cells[index / 8] >> index % 8 * 4 & 0xf;
  const uint32_t bytes = container_bytes(format);
  const uint32_t bits = cells[index * bytes / 4] >> index * bytes % 4 * 8;
  if (bytes == 4)
    return bits;
  if (bytes == 2)
    return bits & 0xffff;
  return format == NumberFormat::E2M1 ? bits >> 2 & 0xf : bits & 0xff;
}

/// The columns of tensor memory with the scale factors of `count` rows or columns.
uint32_t scale_columns(uint32_t count) {
  return (count + TensorMemory::lanes_per_warp - 1) / TensorMemory::lanes_per_warp;
}

/// Rows [row, row + rows) and columns [column, column + columns).
ElementMatrix part_of(const ElementMatrix &matrix, uint32_t row, uint32_t rows, uint32_t column, uint32_t columns) {
  ElementMatrix part(matrix.format, rows, columns, matrix.negate);
  for (uint32_t r = 0; r < rows; ++r)
    std::copy_n(&matrix.bits[size_t{row + r} * matrix.columns + column], columns, &part.bits[size_t{r} * columns]);
  return part;
}

} // namespace

/// Traps unless `actor` may read the operand.
static void check_operand_read(Warp &warp, Cta &cta, const SharedOperand &operand, const Actor &actor, uint32_t lane) {
  const uint32_t bytes = operand.unit_data_bytes();
  visit_units(operand, [&](uint32_t address) { check_unit_read(warp, cta, address, bytes, actor, lane); });
}

void Tcgen05Mma::check(Warp &warp, const Actor &shared_actor, const Actor &tensor_actor, uint32_t lane) const {
  for (uint32_t index = 0; index < ctas.size(); ++index) {
    Cta &cta = *ctas[index];
    if (!a_in_tensor_memory)
      check_operand_read(warp, cta, a, shared_actor, lane);
    check_operand_read(warp, cta, b, shared_actor, lane);
    for (uint32_t group = 0; a_in_tensor_memory && group < lane_groups(); ++group)
      for (uint32_t row = 0; row < a.rows; row += 16)
        check_region(warp, cta, {a_lane(row, group), 16, a_address.column, TensorMemory::operand_columns}, false,
                     tensor_actor, lane);
    if (shifts_a)
      check_region(warp, cta, {0, TensorMemory::lanes, a_address.column, TensorMemory::operand_columns}, true,
                   tensor_actor, lane);
    if (descriptor.scaling.blocks) {
      const uint32_t a_columns = scale_columns(a.rows), b_columns = scale_columns(runs.front().count);
      const uint32_t used = (1u << descriptor.scaling.blocks) - 1;
      const TensorRegion a_region{0, TensorMemory::lanes, a_scales.column, a_columns, used << descriptor.scaling.a_id};
      const TensorRegion b_region{0, TensorMemory::lanes, b_scales.column, b_columns, used << descriptor.scaling.b_id};
      check_region(warp, cta, a_region, false, tensor_actor, lane);
      check_region(warp, cta, b_region, false, tensor_actor, lane);
    }
    if (descriptor.sparse)
      check_region(warp, cta, metadata_region(), false, tensor_actor, lane);
  }
  for (const auto &[cta, region] : regions_of(*this)) {
    if (accumulate)
      check_region(warp, *ctas[cta], region, false, tensor_actor, lane);
    check_region(warp, *ctas[cta], region, true, tensor_actor, lane);
  }
}

/// The lane of tensor memory with row `row` of a CTA's part of A, of the copy for this group of lanes.
uint32_t Tcgen05Mma::a_lane(uint32_t row, uint32_t group) const {
  return weight_stationary ? group * a.rows + row : operand_lane(row, a.rows, a_address.lane);
}

void Tcgen05Mma::load_a(ElementMatrix &matrix, uint32_t group) const {
  for (uint32_t index = 0; index < ctas.size(); ++index) {
    if (!a_in_tensor_memory) {
      load_operand(a, ctas[index]->shared.data(), matrix, index * a.rows, false);
      continue;
    }
    for (uint32_t row = 0; row < a.rows; ++row) {
      const uint32_t *cells = ctas[index]->tensor_memory->lane(a_lane(row, group)) + a_address.column;
      for (uint32_t k = 0; k < a.depth; ++k)
        matrix.set(index * a.rows + row, k, element_in_cells(cells, k, a.format, a.packed));
    }
  }
}

/// B, of which a mask of .ws shifts and clears columns.
ElementMatrix Tcgen05Mma::load_b() const {
  ElementMatrix matrix(b.format, b.depth, cta_group() * b.rows, b.negate);
  for (uint32_t index = 0; index < ctas.size(); ++index)
    load_operand(b, ctas[index]->shared.data(), matrix, index * b.rows, true);
  if (!weight_stationary)
    return matrix;
  ElementMatrix columns = part_of(matrix, 0, b.depth, column_mask.shift - b.begin, descriptor.columns);
  for (uint32_t n = 0; n < column_mask.zero.size(); ++n)
    for (uint32_t k = 0; column_mask.zero[n] && k < b.depth; ++k)
      columns.set(k, n, 0);
  return columns;
}

/// The factors in the lanes of one warp: number i is in lane i % 32 of column i / 32.
ScaleFactors Tcgen05Mma::scales_of(const TensorAddress &address, uint32_t id, uint32_t cta, uint32_t partition,
                                   uint32_t first, uint32_t count) const {
  const uint32_t width = TensorMemory::lanes_per_warp;
  ScaleFactors scales{descriptor.scaling.format, descriptor.scaling.blocks, {}};
  for (uint32_t i = first; i < first + count; ++i) {
    const uint32_t word = ctas[cta]->tensor_memory->lane(partition * width + i % width)[address.column + i / width];
    for (uint32_t block = 0; block < scales.blocks; ++block)
      scales.codes.push_back(static_cast<uint8_t>(word >> 8 * (id + block)));
  }
  return scales;
}

/// The lanes of each warp hold a copy of the scale factors for the part of the result in these lanes.
void Tcgen05Mma::multiply_block_scaled(const ElementMatrix &left, const ElementMatrix &right, uint32_t *sums) const {
  const uint32_t width = TensorMemory::lanes_per_warp, pitch = descriptor.columns;
  for (const AccumulatorRun &run : runs) {
    if (run.lane % width)
      continue;
    const uint32_t partition = run.lane / width, own_row = run.row % a.rows;
    const ElementMatrix x = part_of(left, run.row, width, 0, left.columns);
    const ElementMatrix y = part_of(right, 0, right.rows, run.first, run.count);
    uint32_t *d = &sums[size_t{run.row} * pitch + run.first];
    block_scaled_multiply_add(x, y, scales_of(a_scales, descriptor.scaling.a_id, run.cta, partition, own_row, width),
                              scales_of(b_scales, descriptor.scaling.b_id, run.cta, partition, 0, run.count),
                              accumulate ? d : nullptr, d, pitch);
  }
}

/// PTX ISA 9.7.16.10.8.2: kinds f16 and tf32 read one column of a pair, the others two.
TensorRegion Tcgen05Mma::metadata_region() const {
  const bool halves = container_bytes(a.format) > 1;
  return {0, TensorMemory::lanes, metadata.column + descriptor.selector, halves ? 1u : 2u};
}

/// A cell has 32 bits of the row of its lane, or 16 bits of each of the rows r and r + 8: in lane r of sixteen those of
/// the lower half of K, in lane r + 8 those of the upper half.
SparseSelection Tcgen05Mma::read_metadata(const Origin &origin, uint32_t group) const {
  SparseSelection selection(a.format, a.rows, a.depth);
  const TensorRegion region = metadata_region();
  for (uint32_t lane = 0; lane < a.rows; ++lane) {
    const uint32_t *cells = ctas[0]->tensor_memory->lane(group * a.rows + lane) + region.column;
    if (region.column_count == 2) {
      selection.set(lane, 0, 8, cells[0]);
      selection.set(lane, 8, 8, cells[1]);
      continue;
    }
    const uint32_t row = lane / 16 * 16 + lane % 8, first = lane / 8 % 2 * 4;
    selection.set(row, first, 4, cells[0] & 0xffff);
    selection.set(row + 8, first, 4, cells[0] >> 16);
  }
  if (!selection.violation().empty())
    ctas[0]->machine.trap(origin, trap_kind::illegal, selection.violation());
  return selection;
}

void Tcgen05Mma::multiply_add(const ElementMatrix &left, const ElementMatrix &right, const uint32_t *addend,
                              uint32_t *sums) const {
  if (descriptor.kind == TensorKind::I8)
    integer_multiply_add(left, right, addend, sums, descriptor.columns, descriptor.saturate);
  else
    fused_multiply_add(left, right, addend, sums, descriptor.columns, rule);
}

/// Whether scale-input-d makes an element of D that is not zero less than every normal number.
bool Tcgen05Mma::is_subnormal_addend(uint32_t cell) const {
  const bool half = descriptor.d == NumberFormat::F16;
  const uint32_t magnitude = cell & (half ? 0x7fff : 0x7fffffff), exponent = magnitude >> (half ? 10 : 23);
  return rule.scale_exponent && magnitude && exponent <= static_cast<uint32_t>(rule.scale_exponent);
}

/// Traps if a sum depends on how a subnormal addend is rounded, which the manual does not state: if it differs for zero
/// and for the least normal number.
void Tcgen05Mma::check_subnormal_addends(const Origin &origin, const ElementMatrix &right,
                                         const std::vector<uint32_t> &addends) const {
  const bool half = descriptor.d == NumberFormat::F16;
  const uint32_t least = static_cast<uint32_t>(rule.scale_exponent + 1) << (half ? 10 : 23);
  std::vector<uint32_t> low = addends, high = addends;
  for (size_t i = 0; i < addends.size(); ++i)
    if (is_subnormal_addend(addends[i])) {
      low[i] = 0;
      high[i] = (addends[i] & (half ? 0x8000 : 0x80000000)) | least;
    }
  multiply(origin, right, low);
  multiply(origin, right, high);
  for (const AccumulatorRun &run : runs)
    for (uint32_t n = 0; n < run.count && !is_disabled(run.cta, run.lane); ++n)
      if (const size_t i = size_t{run.row} * descriptor.columns + run.first + n; low[i] != high[i])
        ctas[0]->machine.unconfirmed(origin, "scale-input-d that makes an element of D subnormal");
}

/// Adds the columns of the product that are in one group of lanes.
void Tcgen05Mma::multiply_group(const Origin &origin, const ElementMatrix &left, const ElementMatrix &right,
                                uint32_t group, uint32_t *sums) const {
  if (!descriptor.sparse)
    return multiply_add(left, right, accumulate ? sums : nullptr, sums);
  visit_sparse_rows(left, right, read_metadata(origin, group),
                    [&](uint32_t row, const ElementMatrix &x, const ElementMatrix &y) {
                      uint32_t *d = &sums[size_t{row} * descriptor.columns];
                      multiply_add(x, y, accumulate ? d : nullptr, d);
                    });
}

/// sums = the product, and the sums if it accumulates.
void Tcgen05Mma::multiply(const Origin &origin, const ElementMatrix &right, std::vector<uint32_t> &sums) const {
  ElementMatrix left(a.format, descriptor.rows, a.depth, a.negate);
  const uint32_t groups = lane_groups(), width = descriptor.columns / groups;
  for (uint32_t group = 0; group < groups; ++group) {
    load_a(left, group);
    if (descriptor.scaling.blocks)
      multiply_block_scaled(left, right, sums.data());
    else if (groups == 1)
      multiply_group(origin, left, right, group, sums.data());
    else
      multiply_group(origin, left, part_of(right, 0, right.rows, group * width, width), group, &sums[group * width]);
  }
}

/// PTX ISA 9.7.16.10.9: a use needs a fill with the same matrix, after which no multiply has discarded it.
void Tcgen05Mma::update_collector(const Origin &origin) const {
  Collector &kept = ctas[0]->tensor_memory->collectors[collector];
  if (collector_usage == CollectorUsage::Discard) {
    kept.is_filled = false;
    return;
  }
  Collector operand{kept_source, {}, collector_usage != CollectorUsage::LastUse};
  if (!weight_stationary) {
    ElementMatrix left(a.format, descriptor.rows, a.depth, a.negate);
    load_a(left, 0);
    operand.elements = std::move(left.bits);
  }
  const std::string name = collector ? "b" + std::to_string(collector - 1) : "a";
  if (collector_usage != CollectorUsage::Fill && !kept.is_filled)
    ctas[0]->machine.trap(origin, trap_kind::illegal,
                          "expected a fill of collector " + name + " before its use, without a discard between them");
  if (collector_usage != CollectorUsage::Fill && (kept.source != kept_source || kept.elements != operand.elements))
    ctas[0]->machine.trap(origin, trap_kind::illegal,
                          "expected the matrix that filled collector " + name + ", got another one");
  kept = std::move(operand);
}

void Tcgen05Mma::perform(const Origin &origin) const {
  update_collector(origin);
  const ElementMatrix right = load_b();
  std::vector<uint32_t> sums(size_t{descriptor.rows} * descriptor.columns);
  const auto cells_of = [&](const AccumulatorRun &run) {
    return ctas[run.cta]->tensor_memory->lane(run.lane) + d_address.column + run.column;
  };
  bool has_subnormal_addends = false;
  for (const AccumulatorRun &run : runs)
    for (uint32_t n = 0; accumulate && n < run.count; ++n) {
      has_subnormal_addends |= !is_disabled(run.cta, run.lane) && is_subnormal_addend(cells_of(run)[n]);
      sums[size_t{run.row} * descriptor.columns + run.first + n] = cells_of(run)[n];
    }
  if (has_subnormal_addends)
    check_subnormal_addends(origin, right, sums);
  multiply(origin, right, sums);
  const uint32_t undefined = descriptor.d == NumberFormat::F16 ? undefined_half : 0;
  for (const AccumulatorRun &run : runs) {
    if (is_disabled(run.cta, run.lane))
      continue;
    uint32_t *cells = cells_of(run);
    for (uint32_t n = 0; n < run.count; ++n)
      cells[n] = sums[size_t{run.row} * descriptor.columns + run.first + n] | undefined;
  }
  for (Cta *cta : ctas)
    if (shifts_a)
      cta->tensor_memory->shift_down(0, a_address.column);
}

} // namespace ptxsim
