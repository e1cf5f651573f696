#include "tensor/tcgen05/zero_column_mask.h"

#include "numbers/hexadecimal.h"

#include <algorithm>

namespace ptxsim {
namespace {

constexpr uint32_t field(uint64_t descriptor, uint32_t low, uint32_t count) {
  return static_cast<uint32_t>(descriptor >> low & ((uint64_t{1} << count) - 1));
}

} // namespace

DecodedColumnMask decode_zero_column_mask(uint64_t descriptor, uint32_t columns, uint32_t parts) {
  DecodedColumnMask decoded;
  if (field(descriptor, 36, 3) || field(descriptor, 62, 2)) {
    decoded.violation =
        "expected bits 36-38 and 62-63 of a zero-column mask to be zero, got " + hexadecimal(descriptor);
    return decoded;
  }
  ZeroColumnMask &mask = decoded.mask;
  mask.shift = field(descriptor, 56, 6);
  if (!field(descriptor, 39, 1))
    return decoded;
  // The manual's descriptions of the two spans are exchanged. Its examples, and CUTLASS, have zeros in the skip span.
  const uint32_t skipped = field(descriptor, 40, 8) + 1, used = field(descriptor, 48, 8) + 1, width = columns / parts;
  for (uint32_t part = 0; part < parts; ++part) {
    const bool skipped_first = field(descriptor, 32 + part, 1);
    const uint32_t first = skipped_first ? skipped : used, count = field(descriptor, 8 * part, 8);
    if (count >= first)
      decoded.unconfirmed = "a zero-column mask with start count " + std::to_string(count) + " in a first span of " +
                            std::to_string(first) + " columns";
    const uint32_t start = std::min(count, first - 1);
    for (uint32_t column = 0; column < width; ++column) {
      const uint32_t at = (start + column) % (skipped + used);
      mask.zero.push_back(skipped_first ? at < skipped : at >= used);
    }
  }
  return decoded;
}

} // namespace ptxsim
