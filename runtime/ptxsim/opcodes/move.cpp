// Moves, address conversions and byte permutation (PTX ISA 9.7.9).
#include "execution/defined_bytes.h"
#include "execution/lanewise.h"
#include "execution/machine.h"
#include "program/special.h"

#include <algorithm>
#include <cstring>

namespace ptxsim {

namespace {

template <class T> Outcome move(Warp &warp, const Instruction &in) {
  const Operand &d = in.operands[0], &a = in.operands[1];
  warp.require(a);
  T *to = warp.lanes<T>(d), *from = warp.lanes<T>(a);
  if (warp.mask == ~0u)
    std::memmove(to, from, sizeof(T) * lane_count);
  else
    for_each_lane(warp.mask, [&](uint32_t lane) { to[lane] = from[lane]; });
  warp.wrote(d);
  return Outcome::Next;
}

struct Bytes16 {
  uint64_t low, high;
};

Outcome move_predicate(Warp &warp, const Instruction &in) {
  warp.require(in.operands[1]);
  warp.set_predicate(in.operands[0], warp.predicate(in.operands[1]));
  return Outcome::Next;
}

enum MoveSetting { SpecialRegister };

Outcome move_special(Warp &warp, const Instruction &in) {
  uint64_t value = special_value(Special(in.settings[SpecialRegister]), warp, 0);
  for_each_lane(warp.mask, [&](uint32_t lane) { warp.set_bits(in.operands[0], lane, value); });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

/// d = {a, b, ...}, the first in the lowest bits.
Outcome pack(Warp &warp, const Instruction &in) {
  const Operand &d = in.operands[0];
  uint8_t *to = warp.lanes<uint8_t>(d);
  // All parts are read before the destination is written, which may be one of them.
  uint8_t whole[lane_count * 16];
  size_t at = 0;
  for (const Operand &part : in.operands[1].elements) {
    warp.require(part);
    const uint8_t *from = warp.lanes<uint8_t>(part);
    for (uint32_t lane = 0; lane < lane_count; ++lane)
      std::memcpy(whole + lane * d.size + at, from + lane * part.size, part.size);
    at += part.size;
  }
  for_each_lane(warp.mask, [&](uint32_t lane) { std::memcpy(to + lane * d.size, whole + lane * d.size, d.size); });
  warp.wrote(d);
  return Outcome::Next;
}

/// {a, b, ...} = d.
Outcome unpack(Warp &warp, const Instruction &in) {
  const Operand &a = in.operands[1];
  warp.require(a);
  uint8_t whole[lane_count * 16];
  std::memcpy(whole, warp.lanes<uint8_t>(a), size_t(a.size) * lane_count);
  size_t at = 0;
  for (const Operand &part : in.operands[0].elements) {
    uint8_t *to = warp.lanes<uint8_t>(part);
    for_each_lane(warp.mask,
                  [&](uint32_t lane) { std::memcpy(to + lane * part.size, whole + lane * a.size + at, part.size); });
    warp.wrote(part);
    at += part.size;
  }
  return Outcome::Next;
}

Type part_type(Decoder &d, Type whole, size_t count) {
  const std::optional<Type> part = count ? bits_type(uint32_t(type_size(whole) / count)) : std::nullopt;
  if (!part || *part == Type::B128)
    d.malformed("'" + d.instruction.text + "' cannot have " + std::to_string(count) + " parts");
  return *part;
}

Execute decode_mov(Decoder &d) {
  Instruction &in = d.instruction;
  in.defined_bytes = &defined_bytes::copied;
  Type type = in.type = d.take_type();
  d.expect_operands(2, 2);
  if (type == Type::Pred) {
    d.predicate_destination(0);
    d.predicate(1);
    return &move_predicate;
  }
  if (d.is_vector(1) && d.is_vector(0))
    d.unsupported("vectors as destination and source");
  if (d.is_vector(1)) {
    size_t count = in.operands[1].elements.size();
    d.destination(0, type);
    d.vector(1, part_type(d, type, count), count, true);
    in.defined_bytes = &defined_bytes::packed;
    return &pack;
  }
  if (d.is_vector(0)) {
    size_t count = in.operands[0].elements.size();
    d.vector(0, part_type(d, type, count), count, false);
    d.source(1, type);
    in.defined_bytes = &defined_bytes::unpacked;
    return &unpack;
  }
  d.destination(0, type);
  auto special = in.operands[1].kind == Operand::Kind::Unresolved ? find_special(in.operands[1].text) : std::nullopt;
  if (special && special->changes()) {
    in.settings[SpecialRegister] = int32_t(special->special);
    in.reads_time = true;
    return &move_special;
  }
  d.source(1, type);
  switch (type_size(type)) {
  case 1:
    return &move<uint8_t>;
  case 2:
    return &move<uint16_t>;
  case 4:
    return &move<uint32_t>;
  case 8:
    return &move<uint64_t>;
  default:
    return &move<Bytes16>;
  }
}

uint64_t window_of(Space space) {
  if (space == Space::SharedCta || space == Space::SharedCluster)
    return shared_window;
  return space == Space::Local ? local_window : space == Space::Param ? parameter_window : 0;
}

enum CvtaSetting { ToSpace };

/// Global and constant addresses are generic addresses.
Outcome cvta(Warp &warp, const Instruction &in) {
  const Operand &d = in.operands[0], &a = in.operands[1];
  warp.require(a);
  uint64_t window = window_of(in.space);
  bool to_space = in.settings[ToSpace];
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint64_t address = warp.bits(a, lane);
    warp.set_bits(d, lane, !window ? address : to_space ? address & ~window_mask : address | window);
  });
  warp.wrote(d);
  return Outcome::Next;
}

Execute decode_cvta(Decoder &d) {
  d.instruction.settings[ToSpace] = d.take("to");
  d.instruction.space = d.take_space();
  Type type = d.take_type();
  d.expect_operands(2, 2);
  d.destination(0, type);
  d.source(1, type);
  return &cvta;
}

Outcome isspacep(Warp &warp, const Instruction &in) {
  warp.require(in.operands[1]);
  uint32_t result = 0;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    uint64_t address = warp.bits(in.operands[1], lane);
    uint64_t window = address & window_mask;
    bool inside = false;
    if (in.space == Space::SharedCluster)
      inside = window == shared_window;
    else if (in.space == Space::SharedCta)
      inside = window == shared_window && (address & ~window_mask) >> cta_rank_shift == warp.cta.rank;
    else if (in.space == Space::Local)
      inside = window == local_window;
    else if (in.space == Space::Param)
      inside = window == parameter_window;
    else
      inside = window == 0;
    result |= uint32_t(inside) << lane;
  });
  warp.set_predicate(in.operands[0], result);
  return Outcome::Next;
}

Execute decode_isspacep(Decoder &d) {
  d.instruction.space = d.take_space();
  d.expect_operands(2, 2);
  d.predicate_destination(0);
  d.source(1, Type::B64);
  return &isspacep;
}

// prmt: each byte of the result is one of the eight bytes of {b, a}, or consists of copies of its sign.
enum class Permutation { Index, Forward4, Backward4, Replicate8, EdgeLeft, EdgeRight, Replicate16 };

template <Permutation Mode> uint32_t Prmt(const uint32_t *s) {
  uint64_t both = uint64_t(s[1]) << 32 | s[0];
  uint32_t control = s[2], result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t select = 0;
    uint32_t c = control & 3;
    if constexpr (Mode == Permutation::Index)
      select = control >> 4 * i & 15;
    else if constexpr (Mode == Permutation::Forward4)
      select = c + i;
    else if constexpr (Mode == Permutation::Backward4)
      select = (c - i) & 7;
    else if constexpr (Mode == Permutation::Replicate8)
      select = c;
    else if constexpr (Mode == Permutation::EdgeLeft)
      select = std::max(c, i);
    else if constexpr (Mode == Permutation::EdgeRight)
      select = std::min(c, i);
    else
      select = (c & 1) * 2 + (i & 1);
    uint32_t byte = uint32_t(both >> 8 * (select & 7)) & 0xFF;
    if (Mode == Permutation::Index && (select & 8))
      byte = byte & 0x80 ? 0xFF : 0;
    result |= byte << 8 * i;
  }
  return result;
}

Execute decode_prmt(Decoder &d) {
  d.take_type();
  int mode = d.take_one_of({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  same_type_operands(d, Type::B32, 3);
  if (mode < 0)
    d.instruction.defined_bytes = &defined_bytes::permuted;
  switch (mode) {
  case 0:
    return &lanewise<uint32_t, uint32_t, 3, Prmt<Permutation::Forward4>>;
  case 1:
    return &lanewise<uint32_t, uint32_t, 3, Prmt<Permutation::Backward4>>;
  case 2:
    return &lanewise<uint32_t, uint32_t, 3, Prmt<Permutation::Replicate8>>;
  case 3:
    return &lanewise<uint32_t, uint32_t, 3, Prmt<Permutation::EdgeLeft>>;
  case 4:
    return &lanewise<uint32_t, uint32_t, 3, Prmt<Permutation::EdgeRight>>;
  case 5:
    return &lanewise<uint32_t, uint32_t, 3, Prmt<Permutation::Replicate16>>;
  default:
    return &lanewise<uint32_t, uint32_t, 3, Prmt<Permutation::Index>>;
  }
}

/// The same offset in the shared memory of another CTA of the cluster.
Outcome mapa(Warp &warp, const Instruction &in) {
  const Operand &d = in.operands[0], &a = in.operands[1];
  warp.require(a);
  warp.require(in.operands[2]);
  uint32_t *rank = warp.lanes<uint32_t>(in.operands[2]);
  uint64_t window = in.space == Space::Generic ? shared_window : 0;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    if (rank[lane] >= warp.cluster.ctas.size())
      warp.trap_lane(lane, trap_kind::illegal,
                     "mapa to rank " + std::to_string(rank[lane]) + " in a cluster of " +
                         std::to_string(warp.cluster.ctas.size()));
    uint64_t offset = warp.bits(a, lane) & ((1u << cta_rank_shift) - 1);
    warp.set_bits(d, lane, window | uint64_t(rank[lane]) << cta_rank_shift | offset);
  });
  warp.wrote(d);
  return Outcome::Next;
}

Execute decode_mapa(Decoder &d) {
  d.instruction.space = d.take_space();
  Type type = d.take_type();
  d.expect_operands(3, 3);
  d.destination(0, type);
  d.source(1, type);
  d.source(2, Type::U32);
  return &mapa;
}

Outcome getctarank(Warp &warp, const Instruction &in) {
  warp.require(in.operands[1]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    warp.set_bits(in.operands[0], lane, (warp.bits(in.operands[1], lane) & ~window_mask) >> cta_rank_shift);
  });
  warp.wrote(in.operands[0]);
  return Outcome::Next;
}

Execute decode_getctarank(Decoder &d) {
  d.take_space();
  Type type = d.take_type();
  d.expect_operands(2, 2);
  d.destination(0, Type::U32);
  d.source(1, type);
  return &getctarank;
}

} // namespace

const OpcodeTable &move_opcodes() {
  static const OpcodeTable table = {
      {"mov", OpcodeGroup::Move, decode_mov},           {"cvta", OpcodeGroup::Move, decode_cvta},
      {"isspacep", OpcodeGroup::Move, decode_isspacep}, {"prmt", OpcodeGroup::Move, decode_prmt},
      {"mapa", OpcodeGroup::Move, decode_mapa},         {"getctarank", OpcodeGroup::Move, decode_getctarank},
  };
  return table;
}

} // namespace ptxsim
