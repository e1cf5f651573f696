#include "memory/memory.h"

#include <algorithm>
#include <cstdio>

namespace ptxsim {

void GlobalMemory::add(Range range) {
  if (range.size)
    ranges.push_back(range);
}

void GlobalMemory::remove(uint64_t address) {
  const auto begins = [&](const Range &range) { return range.address == address; };
  ranges.erase(std::find_if(ranges.begin(), ranges.end(), begins));
}

const Range *GlobalMemory::find(uint64_t address, uint64_t size) const {
  static const Range everything{0, ~0ull, true};
  auto holds = [&](const Range &range) {
    return address >= range.address && size <= range.size && address - range.address <= range.size - size;
  };
  if (latest < ranges.size() && holds(ranges[latest]))
    return &ranges[latest];
  for (size_t i = 0; i < ranges.size(); ++i)
    if (holds(ranges[i])) {
      latest = i;
      return &ranges[i];
    }
  return unchecked ? &everything : nullptr;
}

std::string GlobalMemory::describe(uint64_t address) const {
  const Range *nearest = nullptr;
  uint64_t best = ~0ull;
  for (const Range &range : ranges) {
    uint64_t distance = address < range.address                 ? range.address - address
                        : address >= range.address + range.size ? address - range.address - range.size + 1
                                                                : 0;
    if (distance < best) {
      best = distance;
      nearest = &range;
    }
  }
  if (!nearest)
    return "the launch declares no memory ranges";
  char text[160];
  if (address < nearest->address)
    std::snprintf(text, sizeof text, "%llu bytes before a range of %llu bytes", (unsigned long long)best,
                  (unsigned long long)nearest->size);
  else
    std::snprintf(text, sizeof text, "at byte %llu of a range of %llu bytes",
                  (unsigned long long)(address - nearest->address), (unsigned long long)nearest->size);
  return text;
}

} // namespace ptxsim
