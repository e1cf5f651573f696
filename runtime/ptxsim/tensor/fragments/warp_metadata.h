// The metadata of a sparse A in the registers of a warp (PTX ISA 9.7.15.5.2).
#pragma once

#include "program/decoder.h"
#include "tensor/sparse_selection.h"

namespace ptxsim {

class Warp;

/// Decodes the metadata, operand `first`, and the selector after it. Returns the selector, which chooses the two
/// threads of each four that hold the metadata; of 8-bit elements all four hold it.
int32_t decode_warp_metadata(Decoder &decoder, size_t first, NumberFormat format);

/// The metadata of 16 rows of A with `kept` elements each. Each quad of threads has that of the rows r and r + 8. Of
/// 8-bit elements threads 0 and 2 have the two halves of row r, threads 1 and 3 those of row r + 8. Of others two
/// threads, which the selector names, have the halves of both rows: row r in the lower half of the register, row r + 8
/// in the upper. Traps for illegal metadata.
SparseSelection read_warp_metadata(Warp &warp, const Operand &operand, NumberFormat format, uint32_t kept,
                                   uint32_t selector);

} // namespace ptxsim
