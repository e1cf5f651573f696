// mma.sync m16n8 of floats of 8 to 64 bits and of 8-bit integers (PTX ISA 9.7.14.5), and with a sparse A (9.7.14.6).
//
// settings of an instruction: the enumerators of Setting, in order; `type` is that of D, `from_type` that of A. Sparse
// is zero, or 1 plus the selector: metadata and selector are operands 4 and 5.
#include "execution/machine.h"
#include "numbers/small_float.h"
#include "program/decoder.h"
#include "program/opcode.h"
#include "tensor/fragments/fragment.h"
#include "tensor/fragments/register_matrix.h"
#include "tensor/fragments/warp_metadata.h"
#include "tensor/operand_matrix.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace ptxsim {
namespace {

enum Setting : uint8_t { Depth, FormatOfA, FormatOfB, FormatOfD, Saturate, Sparse };

constexpr uint32_t fragment_rows = 16, fragment_columns = 8;

/// The elements of a row of A in registers: half of those along K if A is sparse.
uint32_t stored_depth(const Instruction &in) { return uint32_t(in.settings[Depth]) / (in.settings[Sparse] ? 2 : 1); }

void require_sources(Warp &warp, const Instruction &in) {
  for (size_t i : {1, 2, 3})
    for (const Operand &operand : in.operands[i].elements)
      warp.require(operand);
}

Outcome wrote_result(Warp &warp, const Instruction &in) {
  for (const Operand &operand : in.operands[0].elements)
    warp.wrote(operand);
  warp.machine.counters["tensor_core_multiply_adds"] += uint64_t{fragment_rows} * fragment_columns * stored_depth(in);
  return Outcome::Next;
}

/// The elements along K whose number modulo 4 is in the lower half, or in the upper half.
ElementMatrix half_of(const ElementMatrix &matrix, bool depth_is_rows, uint32_t upper) {
  ElementMatrix half(matrix.format, depth_is_rows ? matrix.rows / 2 : matrix.rows,
                     depth_is_rows ? matrix.columns : matrix.columns / 2);
  for (uint32_t row = 0; row < half.rows; ++row)
    for (uint32_t column = 0; column < half.columns; ++column) {
      const uint32_t depth = depth_is_rows ? row : column, from = depth / 2 * 4 + 2 * upper + depth % 2;
      const size_t at = depth_is_rows ? size_t{from} * matrix.columns + column : size_t{row} * matrix.columns + from;
      half.set(row, column, matrix.bits[at]);
    }
  return half;
}

uint32_t sum_of(NumberFormat format, uint32_t left, uint32_t right) {
  const double sum = to_double(format, left) + to_double(format, right);
  if (format == NumberFormat::F16)
    return std::isnan(sum) ? 0x7fff : to_f16(sum);
  const float narrow = static_cast<float>(sum);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  return std::isnan(sum) ? 0x7fffffff : bits;
}

/// ptxas 13.0 converts the lower two and the upper two 8-bit floats of each register to f16, multiplies twice, and adds
/// C to the product (F2FP, HMMA and FADD or HADD2 in the code of sm_90a and sm_100a).
void multiply_add_8_bit_floats(const ElementMatrix &a, const ElementMatrix &b, uint32_t *sums, const SumRule &rule) {
  std::vector<uint32_t> product(size_t{a.rows} * fragment_columns);
  for (uint32_t upper : {0, 1})
    fused_multiply_add(half_of(a, false, upper), half_of(b, true, upper), product.data(), product.data(),
                       fragment_columns, rule);
  for (size_t at = 0; at < product.size(); ++at)
    sums[at] = sum_of(rule.result, sums[at], product[at]);
}

void multiply_add(const Instruction &in, const ElementMatrix &a, const ElementMatrix &b, uint32_t *sums) {
  SumRule rule;
  rule.result = static_cast<NumberFormat>(in.settings[FormatOfD]);
  if (rule.result == NumberFormat::S32)
    integer_multiply_add(a, b, sums, sums, fragment_columns, in.settings[Saturate]);
  else if (container_bytes(a.format) == 1)
    multiply_add_8_bit_floats(a, b, sums, rule);
  else
    fused_multiply_add(a, b, sums, sums, fragment_columns, rule);
}

Outcome execute(Warp &warp, const Instruction &in) {
  const auto d = static_cast<NumberFormat>(in.settings[FormatOfD]);
  require_sources(warp, in);
  ElementMatrix a(static_cast<NumberFormat>(in.settings[FormatOfA]), fragment_rows, stored_depth(in));
  ElementMatrix b(static_cast<NumberFormat>(in.settings[FormatOfB]), in.settings[Depth], fragment_columns);
  load_a_fragment(warp, in.operands[1].elements, a);
  load_b_fragment(warp, in.operands[2].elements, b);
  std::vector<uint32_t> sums = load_accumulator(warp, in.operands[3].elements, d, fragment_columns);
  if (in.settings[Sparse]) {
    warp.require(in.operands[4]);
    const SparseSelection kept =
        read_warp_metadata(warp, in.operands[4], a.format, a.columns, uint32_t(in.settings[Sparse]) - 1);
    visit_sparse_rows(a, b, kept, [&](uint32_t row, const ElementMatrix &x, const ElementMatrix &y) {
      multiply_add(in, x, y, &sums[size_t{row} * fragment_columns]);
    });
  } else {
    multiply_add(in, a, b, sums.data());
  }
  store_accumulator(warp, in.operands[0].elements, d, fragment_columns, sums);
  return wrote_result(warp, in);
}

/// Each register holds one element; the precision is that of fma.rn.f64 (PTX ISA 9.7.14.5.14), in ascending order of K.
Outcome execute_f64(Warp &warp, const Instruction &in) {
  require_sources(warp, in);
  const uint32_t depth = in.settings[Depth];
  std::vector<double> a(fragment_rows * size_t{depth}), b(depth * size_t{fragment_columns});
  const auto &left = in.operands[1].elements, &right = in.operands[2].elements;
  for (uint32_t lane = 0; lane < lane_count; ++lane) {
    for (uint32_t index = 0; index < left.size(); ++index) {
      const Element element = a_element(lane, index, 0, 1);
      a[element.row * depth + element.column] = warp.lanes<double>(left[index])[lane];
    }
    for (uint32_t index = 0; index < right.size(); ++index) {
      const Element element = b_element(lane, index, 0, 1);
      b[element.row * fragment_columns + element.column] = warp.lanes<double>(right[index])[lane];
    }
  }
  for (uint32_t index = 0; index < in.operands[0].elements.size(); ++index)
    for (uint32_t lane = 0; lane < lane_count; ++lane) {
      const Element element = word_element(lane, index);
      double sum = warp.lanes<double>(in.operands[3].elements[index])[lane];
      for (uint32_t k = 0; k < depth; ++k)
        sum = std::fma(a[element.row * depth + k], b[k * fragment_columns + element.column], sum);
      const double canonical_nan = std::numeric_limits<double>::quiet_NaN();
      warp.lanes<double>(in.operands[0].elements[index])[lane] = std::isnan(sum) ? canonical_nan : sum;
    }
  return wrote_result(warp, in);
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
    {Type::E4M3, Type::E4M3, Type::F32, {16, 32}, NumberFormat::E4M3, NumberFormat::E4M3, NumberFormat::F32},
    {Type::E4M3, Type::E5M2, Type::F32, {16, 32}, NumberFormat::E4M3, NumberFormat::E5M2, NumberFormat::F32},
    {Type::E5M2, Type::E4M3, Type::F32, {16, 32}, NumberFormat::E5M2, NumberFormat::E4M3, NumberFormat::F32},
    {Type::E5M2, Type::E5M2, Type::F32, {16, 32}, NumberFormat::E5M2, NumberFormat::E5M2, NumberFormat::F32},
    {Type::E4M3, Type::E4M3, Type::F16, {16, 32}, NumberFormat::E4M3, NumberFormat::E4M3, NumberFormat::F16},
    {Type::E4M3, Type::E5M2, Type::F16, {16, 32}, NumberFormat::E4M3, NumberFormat::E5M2, NumberFormat::F16},
    {Type::E5M2, Type::E4M3, Type::F16, {16, 32}, NumberFormat::E5M2, NumberFormat::E4M3, NumberFormat::F16},
    {Type::E5M2, Type::E5M2, Type::F16, {16, 32}, NumberFormat::E5M2, NumberFormat::E5M2, NumberFormat::F16},
};

const TypeRow *find_types(Type a, Type b, Type d, Type c) {
  for (const TypeRow &row : type_rows)
    if (row.a == a && row.b == b && row.d == d && row.d == c)
      return &row;
  return nullptr;
}

Execute decode_f64(Decoder &decoder, uint32_t depth) {
  if (depth != 4 && depth != 8 && depth != 16)
    decoder.unsupported("mma.sync of f64 of this shape");
  decoder.instruction.settings[Depth] = static_cast<int32_t>(depth);
  decoder.take("rn");
  decoder.expect_operands(4, 4);
  decoder.vector(0, Type::F64, 4, false);
  decoder.vector(1, Type::F64, depth / 2, true);
  decoder.vector(2, Type::F64, depth / 4, true);
  decoder.vector(3, Type::F64, 4, true);
  return execute_f64;
}

Execute decode_mma(Decoder &decoder) {
  Instruction &in = decoder.instruction;
  if (decoder.has("sp"))
    decoder.unsupported("mma.sp without ::ordered_metadata");
  const bool sparse = decoder.take("sp::ordered_metadata");
  if (sparse)
    decoder.expect_version(85);
  in.settings[Sparse] = sparse;
  decoder.expect_sync_aligned();
  const auto shape = decoder.take_prefixed("m16n8k");
  if (!shape || !decoder.take("row") || !decoder.take("col"))
    decoder.unsupported("mma.sync of this shape");
  in.settings[Saturate] = decoder.take("satfinite");
  const uint32_t depth = std::atoi(shape->c_str());
  in.type = decoder.take_type();
  in.from_type = decoder.take_type();
  const Type b = decoder.take_type(), c = decoder.take_type();
  if (in.type == Type::F64 && in.from_type == Type::F64 && b == Type::F64 && c == Type::F64 && !sparse)
    return decode_f64(decoder, depth);
  const TypeRow *types = find_types(in.from_type, b, in.type, c);
  if (!types || (!sparse && depth != types->depths[0] && depth != types->depths[1]))
    decoder.unsupported("mma.sync of these types");
  const bool half = in.type == Type::F16;
  // ptxas 13.0 rejects sums of 8-bit floats in f16.
  if (sparse && (depth != 2 * types->depths[1] || (half && container_bytes(types->a_format) == 1)))
    decoder.unsupported("sparse mma.sync of this shape or these types");
  in.settings[Depth] = static_cast<int32_t>(depth);
  in.settings[FormatOfA] = static_cast<int32_t>(types->a_format);
  in.settings[FormatOfB] = static_cast<int32_t>(types->b_format);
  in.settings[FormatOfD] = static_cast<int32_t>(types->d_format);
  const uint32_t bytes = container_bytes(types->a_format);
  const Type result = half ? Type::B32 : in.type;
  const size_t operands = sparse ? 6 : 4;
  decoder.expect_operands(operands, operands);
  decoder.vector(0, result, half ? 2 : 4, false);
  decoder.vector(1, Type::B32, fragment_rows * stored_depth(in) * bytes / 128, true);
  decoder.vector(2, Type::B32, fragment_columns * depth * bytes / 128, true);
  decoder.vector(3, result, half ? 2 : 4, true);
  if (sparse)
    in.settings[Sparse] = 1 + decode_warp_metadata(decoder, 4, types->a_format);
  return execute;
}

} // namespace

const OpcodeTable &mma_sync_opcodes() {
  static const OpcodeTable table = {{"mma", OpcodeGroup::Tensor, decode_mma}};
  return table;
}

} // namespace ptxsim
