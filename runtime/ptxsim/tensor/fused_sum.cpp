#include "tensor/fused_sum.h"

#include "numbers/small_float.h"
#include "tensor/vector_clones.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ptxsim {
namespace {

/// Columns that are summed together, so that their sums stay in registers.
constexpr uint32_t block_columns = 16;

/// Products whose sum of 27-bit magnitudes fits 32 bits: 16 * (2047/1024)^2 * 2^25 < 2^31.
constexpr uint32_t group_products = 16;

/// Fraction bits of a product of two significands, and of the working precision before the last shift.
constexpr int product_bits = 2 * operand_fraction_bits, working_bits = 25;

constexpr uint32_t canonical_nan = 0x7fffffff, canonical_nan_16 = 0x7fff;

/// A row's addends, decomposed: value = significand * 2^(exponent - 23).
struct Addends {
  alignas(64) int32_t significand[block_columns];
  alignas(64) int32_t exponent[block_columns];
};

/// One value per column of a block; Clang and GCC define the integer operators for this type.
typedef int32_t Lanes __attribute__((vector_size(block_columns * sizeof(int32_t))));
typedef uint32_t UnsignedLanes __attribute__((vector_size(block_columns * sizeof(uint32_t))));

/// The result is a reference parameter: returning a vector would change the calling convention between the clones.
inline __attribute__((always_inline)) void load(Lanes &lanes, const int32_t *from) {
  std::memcpy(&lanes, from, sizeof lanes);
}

/// max(exponent of the addend, exponents of the products).
PTXSIM_VECTOR_CLONES
void largest_exponents(const int32_t *a_exponent, const int32_t *b_exponent, uint32_t pitch, uint32_t depth,
                       int32_t *largest) {
  Lanes best, exponent;
  load(best, largest);
  for (uint32_t k = 0; k < depth; ++k) {
    load(exponent, b_exponent + size_t{k} * pitch);
    exponent += a_exponent[k];
    best = best < exponent ? exponent : best;
  }
  std::memcpy(largest, &best, sizeof best);
}

/// Adds up to group_products products, each truncated toward zero at 2^(largest - working_bits + drop).
PTXSIM_VECTOR_CLONES
void sum_products(const int32_t *a_significand, const int32_t *a_exponent, const int32_t *b_significand,
                  const int32_t *b_exponent, uint32_t pitch, uint32_t depth, const int32_t *largest, int32_t drop,
                  double *total) {
  Lanes reference, product, distance, sum = {};
  load(reference, largest);
  for (uint32_t k = 0; k < depth; ++k) {
    load(product, b_significand + size_t{k} * pitch);
    load(distance, b_exponent + size_t{k} * pitch);
    product *= a_significand[k];
    distance = reference + (drop - a_exponent[k]) - distance;
    const Lanes shift = distance > 31 ? Lanes{} + 31 : distance;
    const Lanes sign = product >> 31;
    const auto magnitude = reinterpret_cast<UnsignedLanes>((product ^ sign) - sign) << (working_bits - product_bits);
    sum += (reinterpret_cast<Lanes>(magnitude >> reinterpret_cast<UnsignedLanes>(shift)) ^ sign) - sign;
  }
  for (uint32_t n = 0; n < block_columns; ++n)
    total[n] += sum[n];
}

/// Addends that are infinite or NaN become zero; returns true if there are any.
PTXSIM_VECTOR_CLONES
bool decompose_addends(const uint32_t *bits, bool half, int32_t scale_exponent, Addends &addends) {
  const uint32_t width = half ? 10 : 23, top = half ? 31 : 255, sign_at = half ? 15 : 31;
  const uint32_t hidden_bit = 1u << width, up = 23 - width;
  const int32_t bias = (half ? 15 : 127) + scale_exponent;
  uint32_t specials = 0;
  for (uint32_t n = 0; n < block_columns; ++n) {
    const uint32_t code = bits[n] >> width & top, fraction = bits[n] & (hidden_bit - 1);
    const uint32_t hidden = code ? hidden_bit : 0;
    const int32_t magnitude = code == top ? 0 : static_cast<int32_t>((fraction | hidden) << up);
    addends.significand[n] = bits[n] >> sign_at & 1 ? -magnitude : magnitude;
    addends.exponent[n] = magnitude ? static_cast<int32_t>(code ? code : 1) - bias : zero_exponent;
    specials |= code == top;
  }
  return specials != 0;
}

/// total = the addends, truncated toward zero at 2^(largest - working_bits + drop).
PTXSIM_VECTOR_CLONES
void align_addends(const Addends &addends, const int32_t *largest, int32_t drop, double *total) {
  for (uint32_t n = 0; n < block_columns; ++n) {
    const int32_t distance = largest[n] - addends.exponent[n] + drop, sign = addends.significand[n] >> 31;
    const int32_t magnitude = ((addends.significand[n] ^ sign) - sign) << (working_bits - 23);
    const int32_t kept = magnitude >> (distance > 31 ? 31 : distance);
    total[n] = (kept ^ sign) - sign;
  }
}

uint32_t round_result(double value, const SumRule &rule) {
  if (rule.result == NumberFormat::F16)
    return value == 0 ? 0 : to_f16(value);
  return truncate_to_f32(value, rule.result_fraction_bits);
}

/// Rounds a block of results to f32 with 23 fraction bits; returns false if one of them is not a normal f32 or zero.
PTXSIM_VECTOR_CLONES
bool round_block_to_f32(const double *total, const int32_t *largest, int32_t fraction_bits, uint32_t *result) {
  alignas(64) double value[block_columns];
  uint64_t outside = 0;
  for (uint32_t n = 0; n < block_columns; ++n) {
    const int64_t scale_exponent = largest[n] - fraction_bits + 1023;
    const int64_t bits = (scale_exponent < 1 ? 1 : scale_exponent) << 52;
    double scale;
    std::memcpy(&scale, &bits, sizeof scale);
    value[n] = total[n] * scale;
    const double magnitude = value[n] < 0 ? -value[n] : value[n];
    outside |= (magnitude < 0x1p-126) & (magnitude != 0);
    outside |= magnitude >= 0x1p128;
    outside |= scale_exponent < 1 && total[n] != 0;
  }
  if (outside)
    return false;
  for (uint32_t n = 0; n < block_columns; ++n) {
    uint64_t bits;
    std::memcpy(&bits, &value[n], sizeof bits);
    bits &= ~((uint64_t{1} << 29) - 1);
    double kept;
    std::memcpy(&kept, &bits, sizeof kept);
    const float narrow = static_cast<float>(kept) + 0.0f;
    std::memcpy(&result[n], &narrow, sizeof narrow);
  }
  return true;
}

/// A decomposed operand, with a block of padding at its end for the last columns.
struct Factors {
  explicit Factors(const ElementMatrix &matrix)
      : pitch(matrix.columns), significand(matrix.bits.size() + block_columns),
        exponent(matrix.bits.size() + block_columns, zero_exponent),
        special(decompose(matrix.format, matrix.negate, matrix.bits.data(), matrix.bits.size(), significand.data(),
                          exponent.data())) {
    for (size_t i = 0; i < matrix.exponents.size(); ++i)
      exponent[i] += matrix.exponents[i];
  }

  uint32_t pitch;
  std::vector<int32_t> significand, exponent;
  bool special;
};

/// One row times a block of columns.
class BlockSum {
public:
  BlockSum(const Factors &a, const Factors &b, const SumRule &rule) : a(a), b(b), rule(rule) {}

  /// Returns true if an addend is infinite or NaN.
  bool run(uint32_t row, uint32_t column, const uint32_t *c, uint32_t *d) {
    const uint32_t width = std::min(block_columns, b.pitch - column);
    alignas(64) uint32_t words[block_columns] = {};
    std::copy(c, c + width, words);
    const bool special = decompose_addends(words, rule.result == NumberFormat::F16, rule.scale_exponent, addends);
    sum(row, column);
    const bool plain = rule.result == NumberFormat::F32 && rule.result_fraction_bits == 23;
    if (!plain || !round_block_to_f32(total, largest, rule.fraction_bits, words))
      for (uint32_t n = 0; n < width; ++n)
        words[n] = round_result(std::ldexp(total[n], largest[n] - rule.fraction_bits), rule);
    std::copy(words, words + width, d);
    return special;
  }

private:
  void sum(uint32_t row, uint32_t column) {
    const uint32_t depth = a.pitch;
    const int32_t drop = working_bits - rule.fraction_bits;
    std::copy(addends.exponent, addends.exponent + block_columns, largest);
    largest_exponents(&a.exponent[size_t{row} * depth], &b.exponent[column], b.pitch, depth, largest);
    align_addends(addends, largest, drop, total);
    for (uint32_t k = 0; k < depth; k += group_products) {
      const size_t at_a = size_t{row} * depth + k, at_b = size_t{k} * b.pitch + column;
      sum_products(&a.significand[at_a], &a.exponent[at_a], &b.significand[at_b], &b.exponent[at_b], b.pitch,
                   std::min(group_products, depth - k), largest, drop, total);
    }
  }

  const Factors &a, &b;
  const SumRule &rule;
  Addends addends;
  alignas(64) int32_t largest[block_columns];
  alignas(64) double total[block_columns];
};

bool is_special_addend(uint32_t bits, NumberFormat format) {
  return format == NumberFormat::F16 ? (bits & 0x7c00) == 0x7c00 : (bits & 0x7f800000) == 0x7f800000;
}

double operand(const ElementMatrix &matrix, size_t at) {
  const double value = to_double(matrix.format, matrix.bits[at]);
  return matrix.negate ? -value : value;
}

/// The IEEE 754 value of a result that depends on infinities or NaN; returns false if it does not.
bool special_value(const ElementMatrix &a, const ElementMatrix &b, uint32_t row, uint32_t column, uint32_t addend,
                   NumberFormat format, double &value) {
  bool special = is_special_addend(addend, format);
  value = special ? to_double(format, addend) : 0;
  for (uint32_t k = 0; k < a.columns; ++k) {
    const double x = operand(a, row * a.columns + k), y = operand(b, k * b.columns + column);
    if (std::isfinite(x) && std::isfinite(y))
      continue;
    special = true;
    value += x * y;
  }
  return special;
}

uint32_t special_bits(double value, NumberFormat format) {
  const bool half = format == NumberFormat::F16;
  if (std::isnan(value))
    return half ? canonical_nan_16 : canonical_nan;
  const uint32_t infinity = half ? 0x7c00 : 0x7f800000;
  return infinity | (std::signbit(value) ? (half ? 0x8000u : 0x80000000u) : 0);
}

int32_t integer(const ElementMatrix &matrix, size_t at) {
  return matrix.format == NumberFormat::S8 ? static_cast<int8_t>(matrix.bits[at]) : static_cast<int>(matrix.bits[at]);
}

} // namespace

uint32_t truncate_to_f32(double value, int fraction_bits) {
  const double magnitude = std::fabs(value);
  const uint32_t sign = std::signbit(value) ? 0x80000000u : 0;
  if (magnitude == 0)
    return 0; // an exact sum of zero is +0
  if (magnitude >= 0x1p128)
    return sign | 0x7f800000u;
  const int exponent = std::max(std::ilogb(magnitude), -126);
  const double kept = std::ldexp(std::trunc(std::ldexp(magnitude, fraction_bits - exponent)), exponent - fraction_bits);
  const auto narrow = static_cast<float>(kept);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  return sign | bits;
}

void fused_multiply_add(const ElementMatrix &a, const ElementMatrix &b, const uint32_t *c, uint32_t *d, size_t pitch,
                        const SumRule &rule) {
  const Factors left(a), right(b);
  BlockSum block(left, right, rule);
  std::vector<uint32_t> addends(b.columns, 0);
  for (uint32_t row = 0; row < a.rows; ++row) {
    const uint32_t *c_row = c ? c + row * pitch : nullptr;
    uint32_t *d_row = d + row * pitch;
    if (c_row) // d may be c
      std::copy(c_row, c_row + b.columns, addends.begin());
    bool special = left.special || right.special;
    for (uint32_t column = 0; column < b.columns; column += block_columns)
      special |= block.run(row, column, addends.data() + column, d_row + column);
    double value;
    for (uint32_t column = 0; special && column < b.columns; ++column)
      if (special_value(a, b, row, column, addends[column], rule.result, value))
        d_row[column] = special_bits(value, rule.result);
  }
}

void integer_multiply_add(const ElementMatrix &a, const ElementMatrix &b, const uint32_t *c, uint32_t *d, size_t pitch,
                          bool saturate) {
  for (uint32_t row = 0; row < a.rows; ++row)
    for (uint32_t column = 0; column < b.columns; ++column) {
      int64_t sum = c ? static_cast<int32_t>(c[row * pitch + column]) : 0;
      for (uint32_t k = 0; k < a.columns; ++k)
        sum += integer(a, size_t{row} * a.columns + k) * integer(b, size_t{k} * b.columns + column);
      if (saturate)
        sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      d[row * pitch + column] = static_cast<uint32_t>(sum);
    }
}

} // namespace ptxsim
