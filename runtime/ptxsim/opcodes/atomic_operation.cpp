#include "opcodes/atomic_operation.h"

#include "numbers/bit_cast.h"
#include "numbers/small_float.h"

#include <cmath>

namespace ptxsim {

namespace {

uint64_t add(Type type, uint64_t a, uint64_t b) {
  auto add_f16 = [&](int shift) {
    return uint64_t(to_f16(double(from_f16(uint16_t(a >> shift))) + from_f16(uint16_t(b >> shift)))) << shift;
  };
  auto add_bf16 = [&](int shift) {
    return uint64_t(to_bf16(double(from_bf16(uint16_t(a >> shift))) + from_bf16(uint16_t(b >> shift)))) << shift;
  };
  switch (type) {
  case Type::F32:
    return to_bits(from_bits<float>(a) + from_bits<float>(b));
  case Type::F64:
    return to_bits(from_bits<double>(a) + from_bits<double>(b));
  case Type::F16:
    return add_f16(0);
  case Type::F16x2:
    return add_f16(0) | add_f16(16);
  case Type::BF16:
    return add_bf16(0);
  case Type::BF16x2:
    return add_bf16(0) | add_bf16(16);
  default:
    return a + b;
  }
}

uint64_t min_or_max(Type type, bool least, uint64_t a, uint64_t b) {
  bool uses_b;
  auto pick = [&](auto first, auto second) { return least ? second < first : second > first; };
  auto packed = [&](auto widen) {
    uint64_t result = 0;
    int parts = type_size(type) == 4 ? 2 : 1;
    for (int i = 0; i < parts; ++i) {
      uint16_t x = uint16_t(a >> 16 * i), y = uint16_t(b >> 16 * i);
      bool other = std::isnan(widen(x)) || pick(widen(x), widen(y));
      result |= uint64_t(other ? y : x) << 16 * i;
    }
    return result;
  };
  switch (type) {
  case Type::S32:
    uses_b = pick(int32_t(a), int32_t(b));
    break;
  case Type::S64:
    uses_b = pick(int64_t(a), int64_t(b));
    break;
  case Type::F16:
  case Type::F16x2:
    return packed(from_f16);
  case Type::BF16:
  case Type::BF16x2:
    return packed(from_bf16);
  case Type::F32:
    uses_b = std::isnan(from_bits<float>(a)) || pick(from_bits<float>(a), from_bits<float>(b));
    break;
  default:
    uses_b = pick(a, b);
  }
  return uses_b ? b : a;
}

} // namespace

uint64_t apply_atomic(AtomicOperation operation, Type type, uint64_t old, uint64_t operand) {
  switch (operation) {
  case AtomicOperation::And:
    return old & operand;
  case AtomicOperation::Or:
    return old | operand;
  case AtomicOperation::Xor:
    return old ^ operand;
  case AtomicOperation::Add:
    return add(type, old, operand);
  case AtomicOperation::Inc:
    return uint32_t(old) >= uint32_t(operand) ? 0 : old + 1;
  case AtomicOperation::Dec:
    return old == 0 || uint32_t(old) > uint32_t(operand) ? operand : old - 1;
  case AtomicOperation::Min:
    return min_or_max(type, true, old, operand);
  case AtomicOperation::Max:
    return min_or_max(type, false, old, operand);
  default:
    return operand;
  }
}

static float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

float add_flushed(float a, float b) { return flushed(flushed(a) + flushed(b)); }

} // namespace ptxsim
