// Windows of the generic address space, and the host memory that a program may access.
#pragma once

#include "program/type.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ptxsim {

class Cta;

/// Windows of the generic address space. Global and constant memory keep their host addresses.
inline constexpr uint64_t shared_window = 0xF000'0000'0000'0000;
inline constexpr uint64_t local_window = 0xE000'0000'0000'0000;
inline constexpr uint64_t parameter_window = 0xD000'0000'0000'0000; // of an entry
inline constexpr uint64_t window_mask = 0xF000'0000'0000'0000;

/// A shared address is the rank of its CTA in the cluster from this bit up, and an offset.
inline constexpr uint32_t cta_rank_shift = 24;

/// Shared memory begins after the bytes that the system reserves, as on sm_90 and later.
inline constexpr uint32_t shared_base = 1024;

struct Range {
  uint64_t address = 0;
  uint64_t size = 0;
  bool writable = false;
};

/// Host memory that the program may access.
class GlobalMemory {
public:
  void add(Range range);
  /// Removes the range that begins at an address.
  void remove(uint64_t address);
  /// The range that holds all of [address, address + size), or nullptr.
  const Range *find(uint64_t address, uint64_t size) const;
  void allow_all() { unchecked = true; }
  std::string describe(uint64_t address) const; // the nearest range, for messages

private:
  std::vector<Range> ranges;
  mutable size_t latest = 0;
  bool unchecked = false;
};

template <class T> T load_value(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T> void store_value(void *to, T value) { std::memcpy(to, &value, sizeof(T)); }

/// The memory that an address refers to; `bytes` is its host address.
struct MemoryLocation {
  Space space = Space::Global; // Global, SharedCta, Local or Param
  Cta *cta = nullptr;          // of shared memory
  uint64_t offset = 0;         // within its space, or the address
  uint8_t *bytes = nullptr;
};

} // namespace ptxsim
