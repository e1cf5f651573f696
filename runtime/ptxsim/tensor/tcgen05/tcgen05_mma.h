// A decoded tcgen05.mma: operands, shape, accumulator.
#pragma once

#include "tensor/operand_matrix.h"
#include "tensor/sparse_selection.h"
#include "tensor/tcgen05/accumulator_layout.h"
#include "tensor/tcgen05/block_scaled_sum.h"
#include "tensor/tcgen05/instruction_descriptor.h"
#include "tensor/tcgen05/tensor_core.h"
#include "tensor/tcgen05/zero_column_mask.h"

#include <array>

namespace ptxsim {

/// In the order of the words of PTX.
enum class CollectorUsage : uint8_t { Discard, Fill, Use, LastUse };

struct Tcgen05Mma {
  InstructionDescriptor descriptor;
  std::vector<Cta *> ctas;
  SharedOperand a, b; ///< the part that each CTA holds; both CTAs of a pair have the same layout
  bool a_in_tensor_memory = false;
  TensorAddress a_address{0}, d_address{0};
  TensorAddress a_scales{0}, b_scales{0}; ///< of the kinds with block scaling
  TensorAddress metadata{0};              ///< of a sparse A
  bool accumulate = false;
  bool weight_stationary = false; ///< .ws: lanes beyond the rows of A have further columns of the product
  bool shifts_a = false;          ///< .ashift: A moves by one lane after the multiply
  ZeroColumnMask column_mask;     ///< of .ws
  CollectorUsage collector_usage = CollectorUsage::Discard;
  uint32_t collector = 0;   ///< the number of the collector in tensor memory
  uint64_t kept_source = 0; ///< the matrix descriptor or the address of the operand that a collector keeps
  SumRule rule;
  std::vector<AccumulatorRun> runs;
  std::array<std::array<uint32_t, 4>, 2> disabled{}; ///< output lanes, by CTA

  uint32_t cta_group() const { return static_cast<uint32_t>(ctas.size()); }
  /// The groups of lanes of tensor memory that have columns of their own, and copies of A and of its metadata.
  uint32_t lane_groups() const { return weight_stationary ? TensorMemory::lanes / descriptor.rows : 1; }
  bool is_disabled(uint32_t cta, uint32_t lane) const { return disabled[cta][lane / 32] >> lane % 32 & 1; }

  /// Traps unless the operation may read its operands and write its accumulator.
  void check(Warp &warp, const Actor &shared_actor, const Actor &tensor_actor, uint32_t lane) const;

  /// Reads the operands and updates the accumulator; `origin` is that of a trap for illegal metadata or an operand that
  /// a collector does not have.
  void perform(const Origin &origin) const;

private:
  uint32_t a_lane(uint32_t row, uint32_t group) const;
  void load_a(ElementMatrix &matrix, uint32_t group) const;
  ElementMatrix load_b() const;
  TensorRegion metadata_region() const;
  SparseSelection read_metadata(const Origin &origin, uint32_t group) const;
  void update_collector(const Origin &origin) const;
  bool is_subnormal_addend(uint32_t cell) const;
  void check_subnormal_addends(const Origin &origin, const ElementMatrix &right,
                               const std::vector<uint32_t> &addends) const;
  void multiply(const Origin &origin, const ElementMatrix &right, std::vector<uint32_t> &sums) const;
  void multiply_group(const Origin &origin, const ElementMatrix &left, const ElementMatrix &right, uint32_t group,
                      uint32_t *sums) const;
  void multiply_add(const ElementMatrix &left, const ElementMatrix &right, const uint32_t *addend,
                    uint32_t *sums) const;
  void multiply_block_scaled(const ElementMatrix &left, const ElementMatrix &right, uint32_t *sums) const;
  ScaleFactors scales_of(const TensorAddress &address, uint32_t id, uint32_t cta, uint32_t partition, uint32_t first,
                         uint32_t count) const;
};

} // namespace ptxsim
