#include "tensor/matrix_descriptor.h"

#include "numbers/hexadecimal.h"

namespace ptxsim {
namespace {

constexpr uint32_t field(uint64_t descriptor, uint32_t low, uint32_t count) {
  return static_cast<uint32_t>(descriptor >> low & ((uint64_t{1} << count) - 1));
}

/// Addresses and offsets are stored without their low four bits.
constexpr uint32_t bytes_field(uint64_t descriptor, uint32_t low) { return field(descriptor, low, 14) << 4; }

MatrixLayout decode_offsets(uint64_t descriptor) {
  MatrixLayout layout;
  layout.start = bytes_field(descriptor, 0);
  layout.leading = bytes_field(descriptor, 16);
  layout.stride = bytes_field(descriptor, 32);
  layout.base_offset = field(descriptor, 49, 3);
  return layout;
}

/// Swizzling depends on the absolute address, so a pattern that does not start at a multiple of its period needs the
/// base offset. PTX ISA does not define its effect on the address bits exactly.
void check_base_offset(DecodedDescriptor &decoded) {
  if (decoded.layout.base_offset)
    decoded.unconfirmed = "a matrix descriptor with base offset " + std::to_string(decoded.layout.base_offset);
}

} // namespace

uint32_t MatrixLayout::address(uint32_t row, uint32_t depth, uint32_t bytes, bool depth_major) const {
  const uint32_t span = swizzle_span(swizzle);
  uint32_t offset;
  if (depth_major && span == 0) {
    const uint32_t at = depth * bytes;
    offset = row / 8 * stride + row % 8 * 16 + at / 16 * leading + at % 16;
  } else if (depth_major) {
    offset = row / 8 * stride + row % 8 * span + depth * bytes;
  } else if (span == 0) {
    const uint32_t at = row * bytes;
    offset = at / 16 * stride + depth / 8 * leading + depth % 8 * 16 + at % 16;
  } else {
    // The pattern of 32-byte atoms repeats after 4 rows, the others after 8.
    const uint32_t period = swizzle == Swizzle::B128Atom32 ? 4 : 8;
    const uint32_t at = row * bytes;
    offset = at / span * leading + depth / period * stride + depth % period * span + at % span;
  }
  return swizzled(swizzle, start + offset);
}

std::string MatrixLayout::rows_off_pattern(uint32_t rows) const {
  const uint32_t span = swizzle_span(swizzle), pattern = 8 * span;
  if (span == 0)
    return "";
  if (const uint32_t row = start % pattern / span)
    return "a matrix descriptor that starts at row " + std::to_string(row) + " of its swizzle pattern";
  if (rows > 8 && stride % pattern)
    return "a matrix descriptor whose groups of eight rows are " + std::to_string(stride) + " bytes apart";
  return "";
}

DecodedDescriptor decode_wgmma_descriptor(uint64_t descriptor) {
  DecodedDescriptor decoded{decode_offsets(descriptor), "", ""};
  constexpr Swizzle modes[] = {Swizzle::None, Swizzle::B128, Swizzle::B64, Swizzle::B32};
  decoded.layout.swizzle = modes[field(descriptor, 62, 2)];
  constexpr uint64_t used_bits = 0x3fff | 0x3fffull << 16 | 0x3fffull << 32 | 7ull << 49 | 3ull << 62;
  if (descriptor & ~used_bits)
    decoded.violation =
        "expected bits 14-15, 30-31, 46-48 and 52-61 of a wgmma descriptor to be zero, got " + hexadecimal(descriptor);
  check_base_offset(decoded);
  return decoded;
}

DecodedDescriptor decode_tcgen05_descriptor(uint64_t descriptor) {
  DecodedDescriptor decoded{decode_offsets(descriptor), "", ""};
  constexpr Swizzle modes[] = {Swizzle::None, Swizzle::B128Atom32, Swizzle::B128, Swizzle::None,
                               Swizzle::B64,  Swizzle::None,       Swizzle::B32};
  const uint32_t mode = field(descriptor, 61, 3);
  if (field(descriptor, 46, 3) != 1)
    decoded.violation = "expected bits 46-48 of a tcgen05 descriptor to be 0b001, got " + hexadecimal(descriptor);
  else if (field(descriptor, 14, 2) || field(descriptor, 30, 2) || field(descriptor, 53, 8))
    decoded.violation =
        "expected bits 14-15, 30-31 and 53-60 of a tcgen05 descriptor to be zero, got " + hexadecimal(descriptor);
  else if (field(descriptor, 52, 1))
    decoded.violation =
        "expected a relative leading-dimension offset (bit 52 is for sm_103a), got " + hexadecimal(descriptor);
  else if (mode == 3 || mode == 5 || mode == 7)
    decoded.violation = "expected swizzle mode 0, 1, 2, 4 or 6 in a tcgen05 descriptor, got " + std::to_string(mode);
  else
    decoded.layout.swizzle = modes[mode];
  check_base_offset(decoded);
  return decoded;
}

} // namespace ptxsim
