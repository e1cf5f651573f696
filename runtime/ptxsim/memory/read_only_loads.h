// Global memory that a launch writes, and that it reads by ld.global.nc, which requires read-only memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace ptxsim {

/// Bytes of global memory with the lines that access them. The order of the accesses has no effect: memory that
/// ld.global.nc reads must not be written during the launch (PTX ISA 9.7.9.9).
class ReadOnlyLoads {
public:
  /// Records a read by ld.global.nc. Returns the line of a write of some of the bytes.
  std::optional<uint32_t> read(uint64_t address, uint64_t size, uint32_t line) {
    return record(address, size, line, &Page::read, &Page::written);
  }
  /// Records a write. Returns the line of an ld.global.nc of some of the bytes.
  std::optional<uint32_t> write(uint64_t address, uint64_t size, uint32_t line) {
    return record(address, size, line, &Page::written, &Page::read);
  }

private:
  static constexpr uint64_t page_bytes = 1024;
  struct Accesses {
    std::array<uint64_t, page_bytes / 64> bytes{}; // one bit per byte
    uint32_t line = 0;                             // of the latest access
  };
  struct Page {
    Accesses read, written;
  };
  std::optional<uint32_t> record(uint64_t address, uint64_t size, uint32_t line, Accesses Page::*own,
                                 Accesses Page::*other);

  std::unordered_map<uint64_t, Page> pages;
};

} // namespace ptxsim
