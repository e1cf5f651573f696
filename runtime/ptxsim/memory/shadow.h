// Shadow of a memory: the last writes of each byte, and the agents that have read it since.
#pragma once

#include "memory/clocks.h"

#include <memory>
#include <optional>
#include <vector>

namespace ptxsim {

/// The agent of an access, its proxy, and the accesses that it knows to have happened.
struct Actor {
  Agent agent = 0;
  Epoch epoch = 0;
  uint32_t line = 0;         // of the PTX text
  bool asynchronous = false; // async proxy: TMA, tcgen05, wgmma
  bool in_order = true;      // accesses of this agent are ordered among themselves (not those of an mbarrier)
  bool strong = false;       // atomic, volatile, relaxed, acquire or release: does not race with other strong accesses
  bool fences_reads = false; // an asynchronous write needs fence.proxy.async after earlier generic reads
  const VectorClock *happened = nullptr;
  const VectorClock *proxied = nullptr; // used if `asynchronous`
  const uint8_t *before = nullptr;      // of a generic store: the bytes from `first_byte` before it; else nullptr
  const uint8_t *after = nullptr;       // the same bytes after it
  size_t first_byte = 0;
  bool *met_undefined = nullptr; // of a load into registers: set if a unit is undefined, which is then not a conflict
};

struct Access {
  Agent agent = 0;
  Epoch epoch = 0;
  uint32_t line = 0;
  uint16_t mask = 0; // units of the block
  bool asynchronous = false;
  bool strong = false;
};

struct Conflict {
  enum class Kind { Uninitialised, ReadAfterWrite, WriteAfterWrite, WriteAfterRead };
  Kind kind;
  Access earlier;                 // empty for Uninitialised
  bool needs_proxy_fence = false; // the accesses are ordered, but without fence.proxy.async
};

/// A memory of blocks of 16 units: 16 bytes of shared memory, or 16 lanes of one tensor-memory column.
class Shadow {
public:
  explicit Shadow(size_t blocks) : blocks(blocks) {}

  std::optional<Conflict> read(size_t block, uint16_t mask, const Actor &actor);
  std::optional<Conflict> write(size_t block, uint16_t mask, const Actor &actor);

  /// The same over bytes [offset, offset + size) of a linear memory.
  std::optional<Conflict> read_bytes(size_t offset, size_t size, const Actor &actor);
  std::optional<Conflict> write_bytes(size_t offset, size_t size, const Actor &actor);

  /// The write of bytes [offset, offset + size), which was recorded, leaves their content undefined.
  void leave_undefined(size_t offset, size_t size);

  /// Removes all accesses, so that the content is undefined.
  void forget(size_t first_block, size_t count);
  bool initialised(size_t block, uint16_t mask) const;
  /// The undefined bytes of [offset, offset + size), at most 32, the lowest first.
  uint32_t undefined_bytes(size_t offset, size_t size) const;
  /// True if one of the bytes is undefined because its last write left it so.
  bool left_undefined(size_t offset, size_t size) const;

private:
  struct Block;
  void add_concurrent_write(Block &block, uint16_t mask, const Actor &actor);

  struct Overflow {
    std::vector<Access> writes, reads;
  };
  struct Block {
    Access write;
    Access read;
    uint16_t undefined = 0; // units whose last write left them undefined
    std::unique_ptr<Overflow> more;
  };
  std::vector<Block> blocks;
};

} // namespace ptxsim
