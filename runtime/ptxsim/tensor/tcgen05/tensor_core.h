// Functions that the tcgen05 instructions share: the queue of an issuing thread, checked accesses, the CTA pair.
#pragma once

#include "execution/machine.h"
#include "program/decoder.h"
#include "tensor/matrix_descriptor.h"
#include "tensor/tcgen05/tensor_memory.h"

#include <functional>

namespace ptxsim {

/// Operations that one thread issues with one cta_group are performed in order (PTX ISA, tcgen05 "Pipelined").
AsyncQueue &tensor_core_queue(Warp &warp, uint32_t cta_group, uint32_t lane);

/// Submits an in-order operation that calls `perform` and then finishes `position`.
void submit_in_order(Warp &warp, uint32_t lane, AsyncQueue &queue, Epoch position, std::function<void()> perform);

/// The CTAs that an operation works on: the warp's own, or the pair that it belongs to, the even rank first.
std::vector<Cta *> tensor_core_ctas(Warp &warp, uint32_t cta_group, uint32_t lane);

/// Takes .cta_group::1 or ::2.
uint32_t take_cta_group(Decoder &decoder);

/// Decodes a shared-memory descriptor of tcgen05; traps "descriptor" or "unconfirmed".
MatrixLayout read_tcgen05_descriptor(Warp &warp, uint64_t descriptor, uint32_t lane);

/// Traps unless [offset, offset + 16) is shared memory of the CTA, of which `actor` may read the first `bytes`.
void check_unit_read(Warp &warp, Cta &cta, uint32_t offset, uint32_t bytes, const Actor &actor, uint32_t lane);

/// Cells of tensor memory: `lane_count` lanes by `column_count` columns. An operation that reads them uses `bytes` of
/// each cell, which must be defined.
struct TensorRegion {
  uint32_t lane = 0, lane_count = 0, column = 0, column_count = 0;
  uint32_t bytes = 0xF;
};

/// Traps unless the cells are allocated and the actor may read (or write) them.
void check_region(Warp &warp, Cta &cta, const TensorRegion &region, bool write, const Actor &actor, uint32_t lane);

} // namespace ptxsim
