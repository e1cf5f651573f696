// Shared-memory swizzling modes: an exclusive or on the byte address (PTX ISA, "Swizzling Modes").
#pragma once

#include <cstdint>

namespace ptxsim {

enum class Swizzle : uint8_t { None, B32, B64, B128, B128Atom32, B128Atom32Flip8, B128Atom64, B96 };

/// The maximum bytes of a row under this swizzle; 0 for no swizzle.
constexpr uint32_t swizzle_span(Swizzle mode) {
  switch (mode) {
  case Swizzle::None:
    return 0;
  case Swizzle::B32:
    return 32;
  case Swizzle::B64:
    return 64;
  case Swizzle::B96:
    return 96;
  default:
    return 128;
  }
}

/// The swizzled address of the byte at `address` of the layout without swizzle. It depends on the absolute address, so
/// a buffer that does not start at a multiple of the pattern's period needs no base offset.
constexpr uint32_t swizzled(Swizzle mode, uint32_t address) {
  const uint32_t line = address >> 7;
  switch (mode) {
  case Swizzle::None:
    return address;
  case Swizzle::B32:
  case Swizzle::B96:
    return address ^ (line & 1) << 4;
  case Swizzle::B64:
    return address ^ (line & 3) << 4;
  case Swizzle::B128:
    return address ^ (line & 7) << 4;
  case Swizzle::B128Atom32:
    return address ^ (line & 3) << 5;
  case Swizzle::B128Atom32Flip8:
    return address ^ (line & 3) << 5 ^ (line & 1) << 3;
  case Swizzle::B128Atom64:
    return address ^ (line & 1) << 6;
  }
  return address;
}

/// The number of bytes that every pattern keeps contiguous.
constexpr uint32_t swizzle_run = 8;

constexpr const char *swizzle_name(Swizzle mode) {
  constexpr const char *names[] = {"none",          "32B", "64B", "128B", "128B_atom_32B", "128B_atom_32B_flip_8B",
                                   "128B_atom_64B", "96B"};
  return names[static_cast<uint8_t>(mode)];
}

} // namespace ptxsim
