#include "tensor/instruction_descriptor.h"

#include <optional>

namespace ptxsim {
namespace {

constexpr uint32_t bits_of(uint32_t word, uint32_t low, uint32_t count) { return word >> low & ((1u << count) - 1); }

/// The format that a type code of A or B stands for in this kind.
std::optional<NumberFormat> operand_format(TensorKind kind, uint32_t code) {
  using F = NumberFormat;
  constexpr std::optional<F> none;
  const std::optional<F> formats[4][8] = {
      {F::F16, F::BF16, none, none, none, none, none, none},
      {none, none, F::TF32, none, none, none, none, none},
      {F::E4M3, F::E5M2, none, F::E2M3, F::E3M2, F::E2M1, none, none},
      {F::U8, F::S8, none, none, none, none, none, none},
  };
  return formats[static_cast<uint8_t>(kind)][code];
}

std::optional<NumberFormat> result_format(TensorKind kind, NumberFormat a, uint32_t code) {
  if (kind == TensorKind::I8)
    return code == 2 ? std::optional(NumberFormat::S32) : std::nullopt;
  if (code == 1)
    return NumberFormat::F32;
  // tf32 and bf16 have no 16-bit accumulator (PTX ISA, table of tcgen05.mma kinds).
  if (code == 0 && kind != TensorKind::TF32 && a != NumberFormat::BF16)
    return NumberFormat::F16;
  return std::nullopt;
}

bool columns_allowed(TensorKind kind, uint32_t columns, uint32_t cta_group) {
  const uint32_t most = 256;
  if (columns == 0 || columns > most)
    return false;
  if (kind == TensorKind::I8 && cta_group == 1)
    return columns == 8 || columns == 24 || columns % 16 == 0;
  if (kind == TensorKind::I8)
    return columns % 32 == 0;
  return columns % (cta_group == 1 ? 8 : 16) == 0;
}

std::string shape_violation(const InstructionDescriptor &descriptor, uint32_t cta_group) {
  const uint32_t small = cta_group == 1 ? 64 : 128;
  if (descriptor.rows != small && descriptor.rows != 2 * small)
    return "expected M " + std::to_string(small) + " or " + std::to_string(2 * small) + ", got " +
           std::to_string(descriptor.rows);
  if (!columns_allowed(descriptor.kind, descriptor.columns, cta_group))
    return "expected an N that the kind and cta_group support, got " + std::to_string(descriptor.columns);
  const bool bytes = descriptor.kind == TensorKind::F8F6F4 || descriptor.kind == TensorKind::I8;
  if (bytes && descriptor.transpose_b && descriptor.columns % (cta_group == 1 ? 16 : 32))
    return "expected N to be a multiple of 16 per CTA for a transposed B of 8-bit elements, got " +
           std::to_string(descriptor.columns);
  return "";
}

bool transposable(NumberFormat format) { return element_bits(format) >= 8; }

std::string violation_of(const InstructionDescriptor &descriptor, uint32_t cta_group) {
  if (descriptor.kind == TensorKind::I8 && (descriptor.negate_a || descriptor.negate_b))
    return "expected no negation with kind i8, got the negate bit set";
  if (descriptor.kind != TensorKind::I8 && descriptor.saturate)
    return "expected no saturation without kind i8, got the saturate bit set";
  if ((descriptor.transpose_a && !transposable(descriptor.a)) ||
      (descriptor.transpose_b && !transposable(descriptor.b)))
    return "expected K-major matrices of 4-bit and 6-bit elements, got the transpose bit set";
  return shape_violation(descriptor, cta_group);
}

} // namespace

uint32_t InstructionDescriptor::depth() const {
  switch (kind) {
  case TensorKind::F16:
    return 16;
  case TensorKind::TF32:
    return 8;
  default:
    return 32;
  }
}

DecodedInstruction decode_instruction_descriptor(uint32_t bits, TensorKind kind, uint32_t cta_group) {
  DecodedInstruction decoded;
  InstructionDescriptor &descriptor = decoded.descriptor;
  descriptor.kind = kind;
  descriptor.sparse = bits_of(bits, 2, 1);
  descriptor.saturate = bits_of(bits, 3, 1);
  descriptor.negate_a = bits_of(bits, 13, 1);
  descriptor.negate_b = bits_of(bits, 14, 1);
  descriptor.transpose_a = bits_of(bits, 15, 1);
  descriptor.transpose_b = bits_of(bits, 16, 1);
  descriptor.columns = bits_of(bits, 17, 6) << 3;
  descriptor.rows = bits_of(bits, 24, 5) << 4;
  descriptor.maximum_shift = bits_of(bits, 30, 2);
  const auto a = operand_format(kind, bits_of(bits, 7, 3)), b = operand_format(kind, bits_of(bits, 10, 3));
  if (!a || !b) {
    decoded.violation = "expected type codes of A and B that the kind supports, got " +
                        std::to_string(bits_of(bits, 7, 3)) + " and " + std::to_string(bits_of(bits, 10, 3));
    return decoded;
  }
  descriptor.a = *a;
  descriptor.b = *b;
  if (kind == TensorKind::F16 && *a != *b) {
    decoded.violation = "expected A and B of one type with kind f16, got f16 and bf16";
    return decoded;
  }
  const auto d = result_format(kind, *a, bits_of(bits, 4, 2));
  if (!d) {
    decoded.violation =
        "expected a type code of D that the kind and operands support, got " + std::to_string(bits_of(bits, 4, 2));
    return decoded;
  }
  descriptor.d = *d;
  if (bits_of(bits, 6, 1) || bits_of(bits, 23, 1) || bits_of(bits, 29, 1))
    decoded.violation = "expected bits 6, 23 and 29 of the instruction descriptor to be zero";
  else if (descriptor.maximum_shift)
    decoded.violation = "expected bits 30 and 31 (maximum shift of .ws) of the instruction descriptor to be zero";
  else if (!descriptor.sparse && bits_of(bits, 0, 2))
    decoded.violation = "expected bits 0 and 1 (sparsity selector) of a dense instruction descriptor to be zero";
  else
    decoded.violation = violation_of(descriptor, cta_group);
  return decoded;
}

} // namespace ptxsim
