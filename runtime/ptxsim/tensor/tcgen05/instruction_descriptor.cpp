#include "tensor/tcgen05/instruction_descriptor.h"

#include <optional>

namespace ptxsim {
namespace {

constexpr uint32_t bits_of(uint32_t word, uint32_t low, uint32_t count) { return word >> low & ((1u << count) - 1); }

/// The format that a type code of A or B stands for in this kind.
std::optional<NumberFormat> operand_format(TensorKind kind, uint32_t code) {
  using F = NumberFormat;
  constexpr std::optional<F> none;
  const std::optional<F> formats[7][8] = {
      {F::F16, F::BF16, none, none, none, none, none, none},
      {none, none, F::TF32, none, none, none, none, none},
      {F::E4M3, F::E5M2, none, F::E2M3, F::E3M2, F::E2M1, none, none},
      {F::U8, F::S8, none, none, none, none, none, none},
      {F::E4M3, F::E5M2, none, F::E2M3, F::E3M2, F::E2M1, none, none},
      {none, F::E2M1, none, none, none, none, none, none},
      {none, F::E2M1, none, none, none, none, none, none},
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

bool is_block_scaled(TensorKind kind) { return kind >= TensorKind::MXF8F6F4; }

std::string shape_violation(const InstructionDescriptor &descriptor, uint32_t cta_group) {
  const uint32_t small = cta_group == 1 ? 64 : 128;
  if (is_block_scaled(descriptor.kind) && cta_group == 1 && descriptor.rows != 128)
    return "expected M 128 with block scaling, got " + std::to_string(descriptor.rows);
  if (descriptor.rows != small && descriptor.rows != 2 * small)
    return "expected M " + std::to_string(small) + " or " + std::to_string(2 * small) + ", got " +
           std::to_string(descriptor.rows);
  if (!columns_allowed(descriptor.kind, descriptor.columns, cta_group))
    return "expected an N that the kind and cta_group support, got " + std::to_string(descriptor.columns);
  const bool bytes = descriptor.kind == TensorKind::F8F6F4 || descriptor.kind == TensorKind::I8 ||
                     descriptor.kind == TensorKind::MXF8F6F4;
  if (bytes && descriptor.transpose_b && descriptor.columns % (cta_group == 1 ? 16 : 32))
    return "expected N to be a multiple of 16 per CTA for a transposed B of 8-bit elements, got " +
           std::to_string(descriptor.columns);
  return "";
}

bool transposable(NumberFormat format) { return element_bits(format) >= 8; }

/// The shapes of tcgen05.mma.ws. A transposed B of 8-bit elements needs a multiple of 16 columns, which all of them
/// are.
std::string weight_stationary_violation(const InstructionDescriptor &descriptor) {
  if (descriptor.rows != 32 && descriptor.rows != 64 && descriptor.rows != 128)
    return "expected M 32, 64 or 128 with .ws, got " + std::to_string(descriptor.rows);
  const uint32_t most = descriptor.sparse ? 128 : 256;
  if (descriptor.columns != 64 && descriptor.columns != 128 && descriptor.columns != most)
    return "expected N 64, 128" + std::string(descriptor.sparse ? "" : " or 256") + " with .ws, got " +
           std::to_string(descriptor.columns);
  return "";
}

std::string violation_of(const InstructionDescriptor &descriptor, uint32_t cta_group, bool weight_stationary = false) {
  if (descriptor.kind == TensorKind::I8 && (descriptor.negate_a || descriptor.negate_b))
    return "expected no negation with kind i8, got the negate bit set";
  if (descriptor.kind != TensorKind::I8 && descriptor.saturate)
    return "expected no saturation without kind i8, got the saturate bit set";
  if ((descriptor.transpose_a && !transposable(descriptor.a)) ||
      (descriptor.transpose_b && !transposable(descriptor.b)))
    return "expected K-major matrices of 4-bit and 6-bit elements, got the transpose bit set";
  return weight_stationary ? weight_stationary_violation(descriptor) : shape_violation(descriptor, cta_group);
}

/// The problem with the format and the ids of the scale factors, or an empty string.
std::string scaling_violation(TensorKind kind, const BlockScaling &scaling) {
  const bool small_blocks = kind == TensorKind::MXF4NVF4 && scaling.blocks == 4;
  if (scaling.format == ScaleFormat::UE4M3 && !small_blocks)
    return "expected scale factors of UE8M0 (bit 23 set) unless kind mxf4nvf4 has blocks of 16, got UE4M3";
  const uint32_t step = scaling.blocks;
  for (uint32_t id : {scaling.a_id, scaling.b_id})
    if (id % step)
      return "expected scale factor ids that are multiples of " + std::to_string(step) + ", got " + std::to_string(id);
  return "";
}

/// The fields that all kinds have at the same bits.
void decode_common_fields(uint32_t bits, InstructionDescriptor &descriptor) {
  descriptor.sparse = bits_of(bits, 2, 1);
  descriptor.selector = bits_of(bits, 0, 2);
  descriptor.negate_a = bits_of(bits, 13, 1);
  descriptor.negate_b = bits_of(bits, 14, 1);
  descriptor.transpose_a = bits_of(bits, 15, 1);
  descriptor.transpose_b = bits_of(bits, 16, 1);
  descriptor.columns = bits_of(bits, 17, 6) << 3;
}

/// Decodes the formats of A and B; returns false if the kind does not support them.
bool decode_operand_formats(uint32_t bits, DecodedInstruction &decoded) {
  InstructionDescriptor &descriptor = decoded.descriptor;
  const uint32_t a_code = bits_of(bits, 7, 3), b_code = bits_of(bits, 10, 3);
  const auto a = operand_format(descriptor.kind, a_code), b = operand_format(descriptor.kind, b_code);
  if (!a || !b) {
    decoded.violation = "expected type codes of A and B that the kind supports, got " + std::to_string(a_code) +
                        " and " + std::to_string(b_code);
    return false;
  }
  descriptor.a = *a;
  descriptor.b = *b;
  return true;
}

} // namespace

uint32_t InstructionDescriptor::depth() const {
  switch (kind) {
  case TensorKind::F16:
    return 16;
  case TensorKind::TF32:
    return 8;
  case TensorKind::MXF4:
  case TensorKind::MXF4NVF4:
    return 64;
  default:
    return 32;
  }
}

DecodedInstruction decode_instruction_descriptor(uint32_t bits, TensorKind kind, uint32_t cta_group,
                                                 bool weight_stationary) {
  DecodedInstruction decoded;
  InstructionDescriptor &descriptor = decoded.descriptor;
  descriptor.kind = kind;
  decode_common_fields(bits, descriptor);
  descriptor.saturate = bits_of(bits, 3, 1);
  descriptor.rows = bits_of(bits, 24, 5) << 4;
  constexpr uint32_t maximum_shifts[] = {0, 8, 16, 32};
  descriptor.maximum_shift = maximum_shifts[bits_of(bits, 30, 2)];
  if (!decode_operand_formats(bits, decoded))
    return decoded;
  if (kind == TensorKind::F16 && descriptor.a != descriptor.b) {
    decoded.violation = "expected A and B of one type with kind f16, got f16 and bf16";
    return decoded;
  }
  const auto d = result_format(kind, descriptor.a, bits_of(bits, 4, 2));
  if (!d) {
    decoded.violation =
        "expected a type code of D that the kind and operands support, got " + std::to_string(bits_of(bits, 4, 2));
    return decoded;
  }
  descriptor.d = *d;
  const uint32_t largest_selector = kind == TensorKind::F16 || kind == TensorKind::TF32 ? 1 : 0;
  if (bits_of(bits, 6, 1) || bits_of(bits, 23, 1) || bits_of(bits, 29, 1))
    decoded.violation = "expected bits 6, 23 and 29 of the instruction descriptor to be zero";
  else if (descriptor.maximum_shift && !weight_stationary)
    decoded.violation = "expected bits 30 and 31 (maximum shift of .ws) of the instruction descriptor to be zero";
  else if (!descriptor.sparse && descriptor.selector)
    decoded.violation = "expected bits 0 and 1 (sparsity selector) of a dense instruction descriptor to be zero";
  else if (descriptor.selector > largest_selector)
    decoded.violation = "expected a sparsity selector of 0, or of 1 with kinds f16 and tf32, got " +
                        std::to_string(descriptor.selector);
  else
    decoded.violation = violation_of(descriptor, cta_group, weight_stationary);
  return decoded;
}

DecodedInstruction decode_block_scaled_descriptor(uint32_t bits, TensorKind kind, uint32_t blocks, uint32_t cta_group) {
  DecodedInstruction decoded;
  InstructionDescriptor &descriptor = decoded.descriptor;
  descriptor.kind = kind;
  decode_common_fields(bits, descriptor);
  descriptor.rows = bits_of(bits, 27, 2) << 7;
  const ScaleFormat format = bits_of(bits, 23, 1) ? ScaleFormat::UE8M0 : ScaleFormat::UE4M3;
  descriptor.scaling = {blocks, format, bits_of(bits, 29, 2), bits_of(bits, 4, 2)};
  if (!decode_operand_formats(bits, decoded))
    return decoded;
  if (bits_of(bits, 0, 2) || bits_of(bits, 3, 1) || bits_of(bits, 6, 1) || bits_of(bits, 24, 3) || bits_of(bits, 31, 1))
    decoded.violation = "expected bits 0, 1, 3, 6, 24 to 26 and 31 of the instruction descriptor to be zero";
  else if (decoded.violation = scaling_violation(kind, descriptor.scaling); decoded.violation.empty())
    decoded.violation = violation_of(descriptor, cta_group);
  return decoded;
}

} // namespace ptxsim
