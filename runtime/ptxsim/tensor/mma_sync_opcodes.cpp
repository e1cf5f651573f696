// mma.sync of 16-bit, tf32 and 8-bit integer types (PTX ISA 9.7.14.5).
//
// settings of an instruction: the enumerators of Setting, in order; `type` is that of D, `from_type` that of A.
#include "decoder.h"
#include "machine.h"
#include "opcode.h"
#include "tensor/operand_matrix.h"
#include "tensor/register_matrix.h"

#include <cstdlib>

namespace ptxsim {
namespace {

enum Setting : uint8_t { Depth, FormatOfA, FormatOfB, FormatOfD, Saturate };

constexpr uint32_t fragment_rows = 16, fragment_columns = 8;

Outcome execute(Warp &warp, const Instruction &in) {
  const auto d = static_cast<NumberFormat>(in.settings[FormatOfD]);
  for (size_t i : {1, 2, 3})
    for (const Operand &operand : in.operands[i].elements)
      warp.require(operand);
  const uint32_t depth = in.settings[Depth];
  ElementMatrix a(static_cast<NumberFormat>(in.settings[FormatOfA]), fragment_rows, depth);
  ElementMatrix b(static_cast<NumberFormat>(in.settings[FormatOfB]), depth, fragment_columns);
  load_a_fragment(warp, in.operands[1].elements, a);
  load_b_fragment(warp, in.operands[2].elements, b);
  std::vector<uint32_t> sums = load_accumulator(warp, in.operands[3].elements, d, fragment_columns);
  SumRule rule;
  rule.result = d;
  if (d == NumberFormat::S32)
    integer_multiply_add(a, b, sums.data(), sums.data(), fragment_columns, in.settings[Saturate]);
  else
    fused_multiply_add(a, b, sums.data(), sums.data(), fragment_columns, rule);
  store_accumulator(warp, in.operands[0].elements, d, fragment_columns, sums);
  for (const Operand &operand : in.operands[0].elements)
    warp.wrote(operand);
  warp.machine.counters["tensor_core_multiply_adds"] += uint64_t{fragment_rows} * fragment_columns * depth;
  return Outcome::Next;
}

struct TypeRow {
  Type a, b, d;
  uint32_t depths[2];
  NumberFormat a_format, b_format, d_format;
};

constexpr TypeRow type_rows[] = {
    {Type::F16, Type::F16, Type::F32, {8, 16}, NumberFormat::F16, NumberFormat::F16, NumberFormat::F32},
    {Type::F16, Type::F16, Type::F16, {8, 16}, NumberFormat::F16, NumberFormat::F16, NumberFormat::F16},
    {Type::BF16, Type::BF16, Type::F32, {8, 16}, NumberFormat::BF16, NumberFormat::BF16, NumberFormat::F32},
    {Type::TF32, Type::TF32, Type::F32, {4, 8}, NumberFormat::TF32, NumberFormat::TF32, NumberFormat::F32},
    {Type::S8, Type::S8, Type::S32, {16, 32}, NumberFormat::S8, NumberFormat::S8, NumberFormat::S32},
    {Type::U8, Type::U8, Type::S32, {16, 32}, NumberFormat::U8, NumberFormat::U8, NumberFormat::S32},
    {Type::S8, Type::U8, Type::S32, {16, 32}, NumberFormat::S8, NumberFormat::U8, NumberFormat::S32},
    {Type::U8, Type::S8, Type::S32, {16, 32}, NumberFormat::U8, NumberFormat::S8, NumberFormat::S32},
};

const TypeRow *find_types(Type a, Type b, Type d, Type c) {
  for (const TypeRow &row : type_rows)
    if (row.a == a && row.b == b && row.d == d && row.d == c)
      return &row;
  return nullptr;
}

Execute decode(Decoder &decoder) {
  Instruction &in = decoder.instruction;
  decoder.expect_sync_aligned();
  const auto shape = decoder.take_prefixed("m16n8k");
  if (!shape || !decoder.take("row") || !decoder.take("col"))
    decoder.unsupported("mma.sync of this shape");
  in.settings[Saturate] = decoder.take("satfinite");
  const uint32_t depth = std::atoi(shape->c_str());
  in.type = decoder.take_type();
  in.from_type = decoder.take_type();
  const Type b = decoder.take_type(), c = decoder.take_type();
  const TypeRow *types = find_types(in.from_type, b, in.type, c);
  if (!types || (depth != types->depths[0] && depth != types->depths[1]))
    decoder.unsupported("mma.sync of these types");
  in.settings[Depth] = static_cast<int32_t>(depth);
  in.settings[FormatOfA] = static_cast<int32_t>(types->a_format);
  in.settings[FormatOfB] = static_cast<int32_t>(types->b_format);
  in.settings[FormatOfD] = static_cast<int32_t>(types->d_format);
  const uint32_t bytes = container_bytes(types->a_format);
  const bool half = in.type == Type::F16;
  const Type result = half ? Type::B32 : in.type;
  decoder.expect_operands(4, 4);
  decoder.vector(0, result, half ? 2 : 4, false);
  decoder.vector(1, Type::B32, fragment_rows * depth * bytes / 128, true);
  decoder.vector(2, Type::B32, fragment_columns * depth * bytes / 128, true);
  decoder.vector(3, result, half ? 2 : 4, true);
  return execute;
}

} // namespace

const OpcodeTable &mma_sync_opcodes() {
  static const OpcodeTable table = {{"mma", OpcodeGroup::Tensor, decode}};
  return table;
}

} // namespace ptxsim
