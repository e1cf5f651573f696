// The 32-bit instruction descriptor of tcgen05.mma (PTX ISA, "Instruction descriptor").
#pragma once

#include "tensor/number_format.h"

#include <cstdint>
#include <string>

namespace ptxsim {

enum class TensorKind : uint8_t { F16, TF32, F8F6F4, I8 };

/// The descriptor of the kinds without block scaling. `rows` and `columns` count over both CTAs of a pair.
struct InstructionDescriptor {
  TensorKind kind = TensorKind::F16;
  NumberFormat a = NumberFormat::F16, b = NumberFormat::F16;
  NumberFormat d = NumberFormat::F32;
  bool sparse = false, saturate = false;
  bool negate_a = false, negate_b = false;
  bool transpose_a = false, transpose_b = false; ///< MN-major
  uint32_t rows = 0, columns = 0;                ///< M and N
  uint32_t maximum_shift = 0;                    ///< of .ws

  /// K of a dense instruction: 32 bytes of A.
  uint32_t depth() const;
};

struct DecodedInstruction {
  InstructionDescriptor descriptor;
  std::string violation; ///< "expected ..., got ...", or empty
};

/// Checks types, shapes and reserved bits for one CTA (`cta_group` 1) or a pair (2).
DecodedInstruction decode_instruction_descriptor(uint32_t bits, TensorKind kind, uint32_t cta_group);

} // namespace ptxsim
