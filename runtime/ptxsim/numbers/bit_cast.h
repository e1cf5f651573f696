// The bits of a value of up to 8 bytes, in the low bytes of an integer, and back.
#pragma once

#include <cstdint>
#include <cstring>

namespace ptxsim {

template <class T> T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T> uint64_t to_bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}

} // namespace ptxsim
