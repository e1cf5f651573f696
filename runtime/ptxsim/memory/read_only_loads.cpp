#include "memory/read_only_loads.h"

#include <algorithm>

namespace ptxsim {

std::optional<uint32_t> ReadOnlyLoads::record(uint64_t address, uint64_t size, uint32_t line, Accesses Page::*own,
                                              Accesses Page::*other) {
  std::optional<uint32_t> conflict;
  while (size) {
    Page &page = pages[address / page_bytes];
    const uint64_t first = address % page_bytes, within = first % 64;
    const uint64_t count = std::min(64 - within, size);
    const uint64_t mask = (count == 64 ? ~0ull : (1ull << count) - 1) << within;
    (page.*own).bytes[first / 64] |= mask;
    (page.*own).line = line;
    if ((page.*other).bytes[first / 64] & mask)
      conflict = (page.*other).line;
    address += count;
    size -= count;
  }
  return conflict;
}

} // namespace ptxsim
