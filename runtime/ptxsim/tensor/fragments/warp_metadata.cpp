#include "tensor/fragments/warp_metadata.h"

#include "execution/machine.h"
#include "tensor/number_format.h"

namespace ptxsim {
namespace {

constexpr uint32_t fragment_rows = 16;

bool is_narrow(NumberFormat format) { return element_bits(format) == 8; }

} // namespace

int32_t decode_warp_metadata(Decoder &decoder, size_t first, NumberFormat format) {
  decoder.source(first, Type::B32);
  const int64_t selector = decoder.immediate(first + 1);
  if (selector < 0 || selector > (is_narrow(format) ? 0 : 1))
    decoder.malformed("expected a sparsity selector of 0, or of 1 with 16-bit and tf32 elements");
  return static_cast<int32_t>(selector);
}

SparseSelection read_warp_metadata(Warp &warp, const Operand &operand, NumberFormat format, uint32_t kept,
                                   uint32_t selector) {
  SparseSelection selection(format, fragment_rows, kept);
  const uint32_t *words = warp.lanes<uint32_t>(operand);
  for (uint32_t row = 0; row < fragment_rows / 2; ++row) {
    const uint32_t *quad = words + 4 * row;
    if (is_narrow(format)) {
      for (uint32_t thread = 0; thread < 4; ++thread)
        selection.set(row + thread % 2 * 8, thread / 2 * 8, 8, quad[thread]);
      continue;
    }
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t word = quad[2 * selector + half];
      selection.set(row, 4 * half, 4, word & 0xffff);
      selection.set(row + 8, 4 * half, 4, word >> 16);
    }
  }
  if (!selection.violation().empty())
    warp.trap(trap_kind::illegal, selection.violation());
  return selection;
}

} // namespace ptxsim
