#include "memory/shadow.h"

#include <algorithm>

namespace ptxsim {

static bool happened_before(const Access &earlier, const Actor &actor) {
  if (earlier.agent == actor.agent && actor.in_order)
    return true;
  return earlier.epoch <= (*actor.happened)[earlier.agent];
}

/// Generic writes reach the async proxy only through a fence.
static bool visible_to(const Access &write, const Actor &actor) {
  return !actor.asynchronous || write.asynchronous || write.epoch <= (*actor.proxied)[write.agent];
}

static Access stamp(uint16_t mask, const Actor &actor) {
  return {actor.agent, actor.epoch, actor.line, mask, actor.asynchronous, actor.strong};
}

bool Shadow::initialised(size_t block, uint16_t mask) const {
  uint16_t written = blocks[block].write.mask;
  if (blocks[block].more)
    for (const Access &write : blocks[block].more->writes)
      written |= write.mask;
  return (written & ~blocks[block].undefined & mask) == mask;
}

static std::optional<Conflict> after_write(const Access &write, uint16_t mask, const Actor &actor,
                                           Conflict::Kind kind) {
  if (!(write.mask & mask) || (write.strong && actor.strong))
    return std::nullopt;
  if (!happened_before(write, actor))
    return Conflict{kind, write, false};
  if (!visible_to(write, actor))
    return Conflict{kind, write, true};
  return std::nullopt;
}

std::optional<Conflict> Shadow::read(size_t index, uint16_t mask, const Actor &actor) {
  Block &block = blocks[index];
  if (!initialised(index, mask)) {
    if (!actor.met_undefined)
      return Conflict{Conflict::Kind::Uninitialised, block.undefined & mask ? block.write : Access{}, false};
    *actor.met_undefined = true;
  }
  if (auto conflict = after_write(block.write, mask, actor, Conflict::Kind::ReadAfterWrite))
    return conflict;
  if (block.more)
    for (const Access &write : block.more->writes)
      if (auto conflict = after_write(write, mask, actor, Conflict::Kind::ReadAfterWrite))
        return conflict;
  Access access = stamp(mask, actor);
  auto supersedes = [&](const Access &read) {
    return read.agent == access.agent && read.asynchronous == access.asynchronous && (read.mask & ~mask) == 0 &&
           (!read.strong || access.strong || read.mask == 0);
  };
  if (!block.read.mask || supersedes(block.read)) {
    block.read = access;
    return std::nullopt;
  }
  if (!block.more)
    block.more = std::make_unique<Overflow>();
  for (Access &read : block.more->reads)
    if (supersedes(read)) {
      read = access;
      return std::nullopt;
    }
  block.more->reads.push_back(access);
  return std::nullopt;
}

static std::optional<Conflict> after_read(const Access &read, uint16_t mask, const Actor &actor) {
  if (!(read.mask & mask) || (read.strong && actor.strong))
    return std::nullopt;
  if (!happened_before(read, actor))
    return Conflict{Conflict::Kind::WriteAfterRead, read, false};
  // The async proxy may write before a generic read is performed, unless a fence orders the two.
  if (actor.fences_reads && !visible_to(read, actor))
    return Conflict{Conflict::Kind::WriteAfterRead, read, true};
  return std::nullopt;
}

/// Concurrent generic stores of the same value have the same result in any order.
static bool stores_same_value(size_t block, uint16_t mask, const Conflict &conflict, const Actor &actor) {
  if (!actor.before || conflict.kind != Conflict::Kind::WriteAfterWrite || conflict.needs_proxy_fence ||
      actor.asynchronous || conflict.earlier.asynchronous)
    return false;
  for (size_t unit = 0; unit < 16; ++unit) {
    const size_t at = block * 16 + unit - actor.first_byte;
    if ((mask & conflict.earlier.mask) >> unit & 1 && actor.before[at] != actor.after[at])
      return false;
  }
  return true;
}

static void remove_units(std::vector<Access> &accesses, uint16_t mask) {
  for (Access &access : accesses)
    access.mask &= uint16_t(~mask);
  accesses.erase(std::remove_if(accesses.begin(), accesses.end(), [](const Access &access) { return !access.mask; }),
                 accesses.end());
}

/// Records this write in addition to concurrent writes of the same value.
void Shadow::add_concurrent_write(Block &block, uint16_t mask, const Actor &actor) {
  if (!block.more)
    block.more = std::make_unique<Overflow>();
  block.read.mask &= uint16_t(~mask);
  remove_units(block.more->reads, mask);
  const auto supersede = [&](Access &write) {
    if (happened_before(write, actor))
      write.mask &= uint16_t(~mask);
  };
  supersede(block.write);
  for (Access &write : block.more->writes)
    supersede(write);
  remove_units(block.more->writes, 0);
  block.more->writes.push_back(stamp(mask, actor));
}

std::optional<Conflict> Shadow::write(size_t index, uint16_t mask, const Actor &actor) {
  Block &block = blocks[index];
  bool concurrent = false;
  const auto after_earlier_write = [&](const Access &write) {
    auto conflict = after_write(write, mask, actor, Conflict::Kind::WriteAfterWrite);
    if (conflict && stores_same_value(index, mask, *conflict, actor)) {
      concurrent = true;
      conflict.reset();
    }
    return conflict;
  };
  if (auto conflict = after_earlier_write(block.write))
    return conflict;
  if (auto conflict = after_read(block.read, mask, actor))
    return conflict;
  if (block.more) {
    for (const Access &write : block.more->writes)
      if (auto conflict = after_earlier_write(write))
        return conflict;
    for (const Access &read : block.more->reads)
      if (auto conflict = after_read(read, mask, actor))
        return conflict;
  }
  block.undefined &= uint16_t(~mask);
  if (concurrent) {
    add_concurrent_write(block, mask, actor);
    return std::nullopt;
  }
  block.read.mask &= uint16_t(~mask);
  if (block.more) {
    remove_units(block.more->writes, mask);
    remove_units(block.more->reads, mask);
  }
  Access access = stamp(mask, actor);
  auto same_access = [&](const Access &write) {
    return write.agent == access.agent && write.epoch == access.epoch && write.line == access.line &&
           write.strong == access.strong && write.asynchronous == access.asynchronous;
  };
  uint16_t left = block.write.mask & uint16_t(~mask);
  if (left && same_access(block.write)) {
    block.write.mask |= mask;
  } else if (!left) {
    block.write = access;
  } else {
    block.write.mask = left;
    if (!block.more)
      block.more = std::make_unique<Overflow>();
    for (Access &write : block.more->writes)
      if (same_access(write)) {
        write.mask |= mask;
        return std::nullopt;
      }
    block.more->writes.push_back(access);
  }
  if (block.more && block.more->writes.empty() && block.more->reads.empty())
    block.more.reset();
  return std::nullopt;
}

template <class Each> static std::optional<Conflict> over_bytes(size_t offset, size_t size, Each each) {
  while (size) {
    size_t first = offset % 16;
    size_t count = std::min<size_t>(16 - first, size);
    if (auto conflict = each(offset / 16, uint16_t(((1u << count) - 1) << first)))
      return conflict;
    offset += count;
    size -= count;
  }
  return std::nullopt;
}

std::optional<Conflict> Shadow::read_bytes(size_t offset, size_t size, const Actor &actor) {
  return over_bytes(offset, size, [&](size_t block, uint16_t mask) { return read(block, mask, actor); });
}

std::optional<Conflict> Shadow::write_bytes(size_t offset, size_t size, const Actor &actor) {
  return over_bytes(offset, size, [&](size_t block, uint16_t mask) { return write(block, mask, actor); });
}

uint32_t Shadow::undefined_bytes(size_t offset, size_t size) const {
  uint32_t result = 0;
  for (size_t i = 0; i < size; ++i) {
    const Block &block = blocks[(offset + i) / 16];
    uint16_t written = block.write.mask;
    if (block.more)
      for (const Access &write : block.more->writes)
        written |= write.mask;
    const bool defined = (written & ~block.undefined) >> (offset + i) % 16 & 1;
    result |= uint32_t(!defined) << i;
  }
  return result;
}

bool Shadow::left_undefined(size_t offset, size_t size) const {
  for (size_t at = offset; at < offset + size; ++at)
    if (blocks[at / 16].undefined >> at % 16 & 1)
      return true;
  return false;
}

void Shadow::leave_undefined(size_t offset, size_t size) {
  for (size_t at = offset; at < offset + size; ++at)
    blocks[at / 16].undefined |= uint16_t(1u << at % 16);
}

void Shadow::forget(size_t first_block, size_t count) {
  for (size_t i = first_block; i < first_block + count; ++i)
    blocks[i] = Block();
}

} // namespace ptxsim
