#include "tma/reduction.h"

#include "numbers/small_float.h"
#include "opcodes/atomic_operation.h"
#include "program/decoder.h"

#include <algorithm>
#include <cmath>

namespace ptxsim {
namespace {

template <class T> T sum(T x, T y) {
  // The precision of double is more than twice that of f16 and bf16, so that rounding twice equals rounding once.
  if constexpr (is_short_float<T>)
    return narrow<T>(double(widen(x)) + widen(y));
  else
    return static_cast<T>(x + y);
}

template <class T> bool less(T x, T y) {
  if constexpr (is_short_float<T>)
    return widen(x) < widen(y);
  else
    return x < y;
}

template <class T> bool is_nan(T x) {
  if constexpr (is_short_float<T>)
    return std::isnan(widen(x));
  else
    return false;
}

// min and max of a number and a NaN return the number (PTX ISA, min).
template <class T> T smaller(T x, T y) { return is_nan(x) ? y : is_nan(y) ? x : less(y, x) ? y : x; }
template <class T> T larger(T x, T y) { return is_nan(x) ? y : is_nan(y) ? x : less(x, y) ? y : x; }
template <class T> T increment(T x, T limit) { return x >= limit ? 0 : x + 1; }
template <class T> T decrement(T x, T limit) { return x == 0 || x > limit ? limit : x - 1; }
template <class T> T bit_and(T x, T y) { return x & y; }
template <class T> T bit_or(T x, T y) { return x | y; }
template <class T> T bit_xor(T x, T y) { return x ^ y; }

template <class T, T (*Operation)(T, T)> void combine(uint8_t *to, const uint8_t *from, uint32_t bytes) {
  for (uint32_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T))
    store_value<T>(to + at, Operation(load_value<T>(to + at), load_value<T>(from + at)));
}

struct ReductionRow {
  Reduction operation;
  Type type;
  Combine combine;
};

constexpr ReductionRow reduction_rows[] = {
    {Reduction::Add, Type::U32, combine<uint32_t, sum>},
    {Reduction::Add, Type::S32, combine<uint32_t, sum>},
    {Reduction::Add, Type::U64, combine<uint64_t, sum>},
    {Reduction::Add, Type::F32, combine<float, add_flushed>},
    {Reduction::Add, Type::F64, combine<double, sum>},
    {Reduction::Add, Type::F16, combine<F16, sum>},
    {Reduction::Add, Type::BF16, combine<BF16, sum>},
    {Reduction::Min, Type::U32, combine<uint32_t, smaller>},
    {Reduction::Min, Type::S32, combine<int32_t, smaller>},
    {Reduction::Min, Type::U64, combine<uint64_t, smaller>},
    {Reduction::Min, Type::S64, combine<int64_t, smaller>},
    {Reduction::Min, Type::F16, combine<F16, smaller>},
    {Reduction::Min, Type::BF16, combine<BF16, smaller>},
    {Reduction::Max, Type::U32, combine<uint32_t, larger>},
    {Reduction::Max, Type::S32, combine<int32_t, larger>},
    {Reduction::Max, Type::U64, combine<uint64_t, larger>},
    {Reduction::Max, Type::S64, combine<int64_t, larger>},
    {Reduction::Max, Type::F16, combine<F16, larger>},
    {Reduction::Max, Type::BF16, combine<BF16, larger>},
    {Reduction::Inc, Type::U32, combine<uint32_t, increment>},
    {Reduction::Dec, Type::U32, combine<uint32_t, decrement>},
    {Reduction::And, Type::B32, combine<uint32_t, bit_and>},
    {Reduction::And, Type::B64, combine<uint64_t, bit_and>},
    {Reduction::Or, Type::B32, combine<uint32_t, bit_or>},
    {Reduction::Or, Type::B64, combine<uint64_t, bit_or>},
    {Reduction::Xor, Type::B32, combine<uint32_t, bit_xor>},
    {Reduction::Xor, Type::B64, combine<uint64_t, bit_xor>},
};

bool is_bitwise(Reduction operation) { return operation >= Reduction::And; }

/// The untyped form of an integer type: bitwise operations accept any integer type of their width.
Type as_bits(Type type) {
  switch (type) {
  case Type::U32:
  case Type::S32:
    return Type::B32;
  case Type::U64:
  case Type::S64:
    return Type::B64;
  default:
    return type;
  }
}

/// The type in which elements of a tensor are reduced; B8 if PTX lists no reduction of them.
Type reduction_type(TensorElement element) {
  switch (element) {
  case TensorElement::U32:
    return Type::U32;
  case TensorElement::S32:
    return Type::S32;
  case TensorElement::U64:
    return Type::U64;
  case TensorElement::S64:
    return Type::S64;
  case TensorElement::F16:
    return Type::F16;
  case TensorElement::BF16:
    return Type::BF16;
  case TensorElement::F32Ftz:
    return Type::F32;
  default:
    return Type::B8;
  }
}

} // namespace

Combine find_reduction(Reduction operation, Type type) {
  const Type wanted = is_bitwise(operation) ? as_bits(type) : type;
  for (const ReductionRow &row : reduction_rows)
    if (row.operation == operation && row.type == wanted)
      return row.combine;
  return nullptr;
}

Combine find_tensor_reduction(Reduction operation, TensorElement element) {
  // Unlike cp.reduce.async.bulk, a sum of f32 keeps subnormals: elements of type f32.ftz flush them.
  if (element == TensorElement::F32 && operation == Reduction::Add)
    return combine<float, sum>;
  return find_reduction(operation, reduction_type(element));
}

Reduction take_reduction(Decoder &decoder) {
  const int index = decoder.take_one_of({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
  if (index < 0)
    decoder.malformed("expected a reduction: .add, .min, .max, .inc, .dec, .and, .or or .xor");
  return static_cast<Reduction>(index);
}

} // namespace ptxsim
