// The 32-bit instruction descriptor of tcgen05.mma (PTX ISA, "Instruction descriptor").
#pragma once

#include "tensor/number_format.h"

#include <cstdint>
#include <string>

namespace ptxsim {

enum class TensorKind : uint8_t { F16, TF32, F8F6F4, I8, MXF8F6F4, MXF4, MXF4NVF4 };

/// The formats of scale factors (PTX ISA, "Block scaling for tcgen05.mma").
enum class ScaleFormat : uint8_t { UE4M3, UE8M0 };

/// The scale factors of a block-scaled instruction. `blocks` along K is 1, 2 or 4 (.scale_vec::1X, ::2X, ::4X); the id
/// is the byte of each word of tensor memory that has the factor of the first block.
struct BlockScaling {
  uint32_t blocks = 0; ///< zero: the kind has no scale factors
  ScaleFormat format = ScaleFormat::UE8M0;
  uint32_t a_id = 0, b_id = 0;
};

/// `rows` and `columns` count over both CTAs of a pair.
struct InstructionDescriptor {
  TensorKind kind = TensorKind::F16;
  NumberFormat a = NumberFormat::F16, b = NumberFormat::F16;
  NumberFormat d = NumberFormat::F32;
  bool sparse = false, saturate = false;
  uint32_t selector = 0; ///< of sparse instructions: the column of metadata, of a pair of columns
  bool negate_a = false, negate_b = false;
  bool transpose_a = false, transpose_b = false; ///< MN-major
  uint32_t rows = 0, columns = 0;                ///< M and N
  uint32_t maximum_shift = 0;                    ///< of .ws: the columns by which a mask may shift B
  BlockScaling scaling;

  /// The elements of a row of A: 32 bytes.
  uint32_t depth() const;
  /// The elements of a column of B: K. A sparse A keeps half of them.
  uint32_t b_depth() const { return sparse ? 2 * depth() : depth(); }
  /// Whether the operands have two elements per byte, without padding.
  bool is_packed() const { return kind == TensorKind::MXF4 || kind == TensorKind::MXF4NVF4; }
};

struct DecodedInstruction {
  InstructionDescriptor descriptor;
  std::string violation; ///< "expected ..., got ...", or empty
};

/// Checks types, shapes and reserved bits for one CTA (`cta_group` 1) or a pair (2), or for tcgen05.mma.ws.
DecodedInstruction decode_instruction_descriptor(uint32_t bits, TensorKind kind, uint32_t cta_group,
                                                 bool weight_stationary = false);

/// The same for the kinds with block scaling, of which an instruction has `blocks` blocks along K.
DecodedInstruction decode_block_scaled_descriptor(uint32_t bits, TensorKind kind, uint32_t blocks, uint32_t cta_group);

} // namespace ptxsim
