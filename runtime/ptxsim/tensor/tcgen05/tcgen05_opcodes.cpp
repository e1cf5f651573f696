// tcgen05.mma, tcgen05.commit and tcgen05.fence (PTX ISA 9.7.16.10 to 9.7.16.12).
//
// settings of an instruction: the enumerators of Setting, in order.
#include "memory/mbarrier_operations.h"
#include "program/opcode.h"
#include "tensor/tcgen05/tcgen05_mma.h"
#include "tma/transfer.h"

namespace ptxsim {
namespace {

/// ScaleOperand is of scale-input-d; the scale factors of `Blocks` blocks along K are operands 4 and 5.
/// The metadata of a sparse A is operand 3, before the instruction descriptor. MaskOperand is of the disabled output
/// lanes or, with .ws, of the zero-column mask. Form has the flags below, and then the usage and the number of a
/// collector.
enum Setting : uint8_t { CtaGroup, Kind, MaskOperand, AccumulateOperand, ScaleOperand, Multicast, Blocks, Form };
enum FormFlag : int32_t { Sparse = 1, WeightStationary = 2, ShiftsA = 4 };
constexpr int32_t usage_bit = 3, usages = 4, collector_bit = 5;

bool has(const Instruction &in, FormFlag flag) { return in.settings[Form] & flag; }

InstructionDescriptor read_instruction_descriptor(Warp &warp, const Instruction &in, uint32_t lane) {
  const Operand &operand = in.operands[has(in, Sparse) ? 4 : 3];
  warp.require(operand);
  const uint32_t bits = warp.lanes<uint32_t>(operand)[lane];
  const auto kind = static_cast<TensorKind>(in.settings[Kind]);
  const uint32_t blocks = in.settings[Blocks], cta_group = in.settings[CtaGroup];
  const DecodedInstruction decoded =
      blocks ? decode_block_scaled_descriptor(bits, kind, blocks, cta_group)
             : decode_instruction_descriptor(bits, kind, cta_group, has(in, WeightStationary));
  if (!decoded.violation.empty())
    warp.trap_lane(lane, trap_kind::descriptor, decoded.violation);
  if (decoded.descriptor.sparse != has(in, Sparse))
    warp.trap_lane(lane, trap_kind::descriptor,
                   has(in, Sparse) ? "expected the sparsity bit of tcgen05.mma.sp to be one"
                                   : "expected the sparsity bit of tcgen05.mma without .sp to be zero");
  return decoded.descriptor;
}

SharedOperand shared_operand(Warp &warp, const Operand &operand, NumberFormat format, uint32_t rows, uint32_t depth,
                             bool transposed, bool negate, bool packed, uint32_t lane) {
  warp.require(operand);
  const MatrixLayout layout = read_tcgen05_descriptor(warp, warp.lanes<uint64_t>(operand)[lane], lane);
  const bool wide_atom = layout.swizzle == Swizzle::B128Atom32, is_32_bit = container_bytes(format) == 4;
  if (transposed && is_32_bit != wide_atom)
    warp.trap_lane(lane, trap_kind::descriptor,
                   is_32_bit ? "expected swizzle 128B with 32-byte atoms for an MN-major matrix of 32-bit elements"
                             : "expected no 32-byte atoms for an MN-major matrix of narrower elements");
  if (!transposed && wide_atom)
    warp.unconfirmed("a K-major matrix with 32-byte atoms");
  if (const std::string rows_read = layout.rows_off_pattern(rows); !transposed && !rows_read.empty())
    warp.unconfirmed(rows_read);
  return {layout, format, rows, depth, !transposed, negate, 0, packed};
}

void read_a(Warp &warp, const Instruction &in, Tcgen05Mma &mma, uint32_t lane) {
  const InstructionDescriptor &d = mma.descriptor;
  const uint32_t rows = d.rows / mma.cta_group();
  const Operand &operand = in.operands[1];
  mma.a_in_tensor_memory = operand.kind == Operand::Kind::Address;
  if (!mma.a_in_tensor_memory) {
    mma.a = shared_operand(warp, operand, d.a, rows, d.depth(), d.transpose_a, d.negate_a, d.is_packed(), lane);
    return;
  }
  if (d.transpose_a)
    warp.trap_lane(lane, trap_kind::descriptor, "expected K-major A in tensor memory, got the transpose bit set");
  mma.a = {{}, d.a, rows, d.depth(), true, d.negate_a, 0, d.is_packed()};
  mma.a_address = TensorAddress(static_cast<uint32_t>(warp.defined_address(operand, lane)));
}

/// PTX ISA: layouts of 64 rows begin at lane 0 or 16, the same for A and D; all others at lane 0.
void check_lanes(Warp &warp, const Tcgen05Mma &mma, uint32_t lane) {
  const uint32_t second = mma.a.rows == 64 && mma.cta_group() == 1 && !mma.weight_stationary ? 16 : 0;
  const uint32_t at = mma.d_address.lane;
  if (at != 0 && at != second)
    warp.trap_lane(lane, trap_kind::tensor_memory,
                   "expected the accumulator at lane 0" + std::string(second ? " or 16" : "") + ", got lane " +
                       std::to_string(at));
  if (mma.a_in_tensor_memory && mma.a_address.lane != at)
    warp.trap_lane(lane, trap_kind::tensor_memory,
                   "expected A at the lane of the accumulator, " + std::to_string(at) + ", got lane " +
                       std::to_string(mma.a_address.lane));
  if (mma.a_in_tensor_memory && mma.a.rows == 64 && mma.cta_group() == 2)
    warp.unconfirmed("A in tensor memory with M 128 of a CTA pair");
  if (mma.a_in_tensor_memory && mma.lane_groups() > 1)
    warp.unconfirmed("A in tensor memory with M " + std::to_string(mma.a.rows) + " of tcgen05.mma.ws");
  if (mma.shifts_a && mma.descriptor.sparse)
    warp.unconfirmed("the metadata of a sparse A that .ashift moves, which stays in its lanes");
  if (mma.shifts_a && mma.descriptor.rows != 128 && mma.descriptor.rows != 256)
    warp.trap_lane(lane, trap_kind::descriptor,
                   "expected M 128 or 256 with .ashift, got " + std::to_string(mma.descriptor.rows));
}

/// The zero-column mask of .ws, and the columns of B that it selects.
void read_column_mask(Warp &warp, const Instruction &in, Tcgen05Mma &mma, uint32_t lane) {
  if (in.settings[MaskOperand] == 0)
    return;
  const Operand &operand = in.operands[in.settings[MaskOperand]];
  warp.require(operand);
  DecodedColumnMask decoded =
      decode_zero_column_mask(warp.lanes<uint64_t>(operand)[lane], mma.descriptor.columns, mma.lane_groups());
  if (!decoded.violation.empty())
    warp.trap_lane(lane, trap_kind::descriptor, decoded.violation);
  if (!decoded.unconfirmed.empty())
    warp.unconfirmed(decoded.unconfirmed);
  const uint32_t most = std::min(mma.descriptor.maximum_shift, mma.descriptor.rows == 32 ? 16u : 32u);
  if (decoded.mask.shift > most)
    warp.trap_lane(lane, trap_kind::descriptor,
                   "expected a shift of B of at most " + std::to_string(most) +
                       " columns (bits 30 and 31 of the instruction descriptor, and 16 with M 32), got " +
                       std::to_string(decoded.mask.shift));
  mma.column_mask = std::move(decoded.mask);
  // An MN-major B is read in units of several columns.
  const uint32_t step = mma.b.depth_major ? 1 : mma.b.unit_elements(), shift = mma.column_mask.shift;
  mma.b.begin = shift / step * step;
  mma.b.rows = (shift + mma.descriptor.columns + step - 1) / step * step - mma.b.begin;
}

void read_disabled_lanes(Warp &warp, const Instruction &in, Tcgen05Mma &mma, uint32_t lane) {
  if (in.settings[MaskOperand] == 0)
    return;
  const std::vector<Operand> &mask_registers = in.operands[in.settings[MaskOperand]].elements;
  for (uint32_t i = 0; i < mask_registers.size(); ++i) {
    warp.require(mask_registers[i]);
    mma.disabled[i / 4][i % 4] = warp.lanes<uint32_t>(mask_registers[i])[lane];
  }
}

/// Scale factors begin at lane 0. CUTLASS leaves their ids in bits 31:30 of the address, which the hardware ignores.
TensorAddress read_scale_address(Warp &warp, const Operand &operand, uint32_t lane) {
  const TensorAddress at(static_cast<uint32_t>(warp.defined_address(operand, lane)) & 0x3fffffff);
  if (at.lane)
    warp.trap_lane(lane, trap_kind::tensor_memory,
                   "expected scale factors at lane 0, got lane " + std::to_string(at.lane));
  return at;
}

/// CUTLASS and JAX have metadata of 128 rows; that of 64 rows is not public.
void read_metadata_address(Warp &warp, const Instruction &in, Tcgen05Mma &mma, uint32_t lane) {
  if (mma.weight_stationary && mma.a.rows != 128)
    warp.unconfirmed("the metadata of tcgen05.mma.ws.sp with M " + std::to_string(mma.a.rows));
  else if (mma.a.rows != 128)
    warp.trap_lane(lane, trap_kind::unsupported, "tcgen05.mma.sp with M " + std::to_string(mma.a.rows));
  mma.metadata = TensorAddress(static_cast<uint32_t>(warp.defined_address(in.operands[3], lane)));
  if (mma.metadata.lane || mma.metadata.column % 2)
    warp.trap_lane(lane, trap_kind::tensor_memory,
                   "expected metadata at lane 0 and an even column, got lane " + std::to_string(mma.metadata.lane) +
                       ", column " + std::to_string(mma.metadata.column));
}

Tcgen05Mma read_mma(Warp &warp, const Instruction &in, uint32_t lane) {
  Tcgen05Mma mma;
  mma.ctas = tensor_core_ctas(warp, in.settings[CtaGroup], lane);
  mma.descriptor = read_instruction_descriptor(warp, in, lane);
  const InstructionDescriptor &d = mma.descriptor;
  mma.weight_stationary = has(in, WeightStationary);
  mma.shifts_a = has(in, ShiftsA);
  mma.d_address = TensorAddress(static_cast<uint32_t>(warp.defined_address(in.operands[0], lane)));
  read_a(warp, in, mma, lane);
  mma.b = shared_operand(warp, in.operands[2], d.b, d.columns / mma.cta_group(), d.b_depth(), d.transpose_b, d.negate_b,
                         d.is_packed(), lane);
  mma.collector_usage = static_cast<CollectorUsage>(in.settings[Form] >> usage_bit & (usages - 1));
  mma.collector = static_cast<uint32_t>(in.settings[Form] >> collector_bit);
  const Operand &kept = in.operands[mma.weight_stationary ? 2 : 1];
  mma.kept_source =
      kept.kind == Operand::Kind::Address ? warp.defined_address(kept, lane) : warp.lanes<uint64_t>(kept)[lane];
  check_lanes(warp, mma, lane);
  if (d.sparse)
    read_metadata_address(warp, in, mma, lane);
  if (mma.weight_stationary)
    read_column_mask(warp, in, mma, lane);
  else
    read_disabled_lanes(warp, in, mma, lane);
  if (d.scaling.blocks) {
    mma.a_scales = read_scale_address(warp, in.operands[4], lane);
    mma.b_scales = read_scale_address(warp, in.operands[5], lane);
  }
  mma.accumulate = warp.predicate(in.operands[in.settings[AccumulateOperand]]) >> lane & 1;
  mma.rule.result = d.d;
  if (in.settings[ScaleOperand])
    mma.rule.scale_exponent = static_cast<int>(in.operands[in.settings[ScaleOperand]].value);
  mma.runs = mma.weight_stationary ? weight_stationary_runs(d.rows, d.columns)
                                   : accumulator_runs(d.rows, d.columns, mma.cta_group(), mma.d_address.lane);
  return mma;
}

Outcome execute_mma(Warp &warp, const Instruction &in) {
  warp.require(in.operands[in.settings[AccumulateOperand]]);
  for_each_lane(warp.mask, [&](uint32_t lane) {
    auto mma = std::make_shared<const Tcgen05Mma>(read_mma(warp, in, lane));
    AsyncQueue &queue = tensor_core_queue(warp, in.settings[CtaGroup], lane);
    const Epoch position = queue.issue(warp.clock.known);
    mma->check(warp, warp.queue_actor(queue, position), warp.tensor_actor(queue, position), lane);
    for (Cta *cta : mma->ctas)
      if (mma->shifts_a)
        cta->tensor_memory->record_operand_shift(mma->a_address.column, queue.agent, position);
    submit_in_order(warp, lane, queue, position, [mma, origin = warp.origin(lane)] { mma->perform(origin); });
    const InstructionDescriptor &d = mma->descriptor;
    warp.machine.counters["tensor_core_multiply_adds"] += uint64_t{d.rows} * d.columns * d.depth();
  });
  return Outcome::Next;
}

/// The number of scale factors along K of a row: 1 for mxf8f6f4, 2 for mxf4 and mxf4nvf4 with blocks of 32, else 4.
int32_t take_blocks(Decoder &decoder, TensorKind kind) {
  if (kind < TensorKind::MXF8F6F4)
    return 0;
  decoder.expect_modifiers({"block_scale"});
  const int size = decoder.take_one_of({"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block32", "block16"});
  switch (kind) {
  case TensorKind::MXF8F6F4:
    if (size >= 0 && size != 0 && size != 3)
      decoder.malformed("expected .scale_vec::1X or .block32 with kind mxf8f6f4");
    return 1;
  case TensorKind::MXF4:
    if (size >= 0 && size != 1 && size != 3)
      decoder.malformed("expected .scale_vec::2X or .block32 with kind mxf4");
    return 2;
  default:
    if (size < 1)
      decoder.malformed("expected .scale_vec::2X, .scale_vec::4X, .block32 or .block16 with kind mxf4nvf4");
    return size == 1 || size == 3 ? 2 : 4;
  }
}

/// Operands must not change before completion, whatever the usage of their collector.
void take_collector_usage(Decoder &decoder) {
  Instruction &in = decoder.instruction;
  // Without a usage, .ws discards collector b0, and other forms collector a.
  const int32_t first = has(in, WeightStationary) ? 1 : 0;
  in.settings[Form] |= first << collector_bit;
  const auto usage = decoder.take_prefixed("collector::");
  if (!usage)
    return;
  const size_t separator = usage->find("::");
  const std::string buffer = usage->substr(0, separator);
  const std::string action = separator == std::string::npos ? "" : usage->substr(separator + 2);
  const bool is_buffer_of_b = buffer == "b0" || buffer == "b1" || buffer == "b2" || buffer == "b3";
  if (has(in, WeightStationary) ? !is_buffer_of_b : buffer != "a")
    decoder.malformed(has(in, WeightStationary) ? "expected a collector of b0 to b3 with .ws, got ." + *usage
                                                : "expected collector a without .ws, got ." + *usage);
  const bool keeps = action == "fill" || action == "use";
  if (!keeps && action != "lastuse" && action != "discard")
    decoder.malformed("expected fill, use, lastuse or discard of a collector, got ." + *usage);
  if (has(in, ShiftsA) && keeps)
    decoder.malformed("expected collector usage lastuse or discard with .ashift, got ." + action);
  const CollectorUsage taken = action == "fill"      ? CollectorUsage::Fill
                               : action == "use"     ? CollectorUsage::Use
                               : action == "lastuse" ? CollectorUsage::LastUse
                                                     : CollectorUsage::Discard;
  in.settings[Form] |= static_cast<int32_t>(taken) << usage_bit;
  if (is_buffer_of_b)
    in.settings[Form] += (buffer[1] - '0') << collector_bit;
}

/// Takes .sp, .ws and .ashift, after the kind.
void take_form(Decoder &decoder) {
  Instruction &in = decoder.instruction;
  in.settings[Form] = (decoder.take("sp") ? Sparse : 0) | (decoder.take("ws") ? WeightStationary : 0) |
                      (decoder.take("ashift") ? ShiftsA : 0);
  if (has(in, WeightStationary) && (in.settings[CtaGroup] != 1 || in.settings[Blocks] || has(in, ShiftsA)))
    decoder.malformed("expected .ws without .cta_group::2, block scaling and .ashift");
  if (has(in, ShiftsA) && in.settings[Blocks])
    decoder.malformed("expected .ashift without block scaling");
  if (has(in, Sparse) && (in.settings[Blocks] || in.settings[CtaGroup] != 1))
    decoder.unsupported("tcgen05.mma.sp with block scaling or .cta_group::2");
}

/// The operands between the accumulator flag and the end: scale-input-d, or the zero-column mask of .ws.
size_t decode_last_operand(Decoder &decoder, size_t next) {
  Instruction &in = decoder.instruction;
  in.settings[ScaleOperand] = 0;
  if (in.settings[Blocks] || decoder.count() <= next)
    return next;
  if (has(in, WeightStationary)) {
    in.settings[MaskOperand] = static_cast<int32_t>(next);
    decoder.source(next, Type::B64);
    return next + 1;
  }
  const auto kind = static_cast<TensorKind>(in.settings[Kind]);
  if (kind == TensorKind::I8) // ptxas accepts it, and the manual has no such form
    decoder.unsupported("scale-input-d with kind i8");
  if (kind != TensorKind::F16 && kind != TensorKind::TF32)
    decoder.malformed("expected scale-input-d with kinds f16 and tf32 only");
  in.settings[ScaleOperand] = static_cast<int32_t>(next);
  if (const int64_t scale = decoder.immediate(next); scale < 0 || scale > 15)
    decoder.malformed("expected a scale-input-d of 0 to 15");
  return next + 1;
}

Execute decode_mma(Decoder &decoder) {
  Instruction &in = decoder.instruction;
  in.settings[CtaGroup] = static_cast<int32_t>(take_cta_group(decoder));
  in.settings[Kind] = decoder.take_one_of(
      {"kind::f16", "kind::tf32", "kind::f8f6f4", "kind::i8", "kind::mxf8f6f4", "kind::mxf4", "kind::mxf4nvf4"});
  if (in.settings[Kind] < 0)
    decoder.unsupported("a kind of tcgen05.mma other than f16, tf32, f8f6f4, i8, mxf8f6f4, mxf4 and mxf4nvf4");
  in.settings[Blocks] = take_blocks(decoder, static_cast<TensorKind>(in.settings[Kind]));
  take_form(decoder);
  take_collector_usage(decoder);
  decoder.address(0);
  if (in.operands.size() > 1 && in.operands[1].kind == Operand::Kind::Address)
    decoder.address(1);
  else if (has(in, ShiftsA))
    decoder.malformed("expected A in tensor memory with .ashift, as [%r1]");
  else
    decoder.source(1, Type::B64);
  decoder.source(2, Type::B64);
  size_t next = 3;
  if (has(in, Sparse))
    decoder.address(next++);
  decoder.source(next++, Type::B32);
  if (in.settings[Blocks])
    while (next < 6)
      decoder.address(next++);
  in.settings[MaskOperand] = 0;
  if (!in.settings[Blocks] && !has(in, WeightStationary) && decoder.is_vector(next)) {
    in.settings[MaskOperand] = static_cast<int32_t>(next);
    decoder.vector(next++, Type::B32, in.settings[CtaGroup] == 1 ? 4 : 8, true);
  }
  in.settings[AccumulateOperand] = static_cast<int32_t>(next);
  decoder.predicate(next++);
  next = decode_last_operand(decoder, next);
  decoder.expect_operands(next, next);
  return execute_mma;
}

/// Arrives on the mbarriers when earlier operations of the thread are complete. Implies fence::before_thread_sync.
Outcome execute_commit(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const MbarrierLocation mbarrier = locate_mbarrier(warp, in.operands[0], lane);
    std::vector<Cta *> ctas{mbarrier.cta};
    if (in.settings[Multicast])
      ctas = multicast_ctas(warp, in.operands[1], lane);
    for (Cta *cta : ctas)
      mbarrier_for_async(warp, *cta, mbarrier.offset, lane);
    AsyncQueue &queue = tensor_core_queue(warp, in.settings[CtaGroup], lane);
    const Epoch position = queue.issue(warp.clock.known);
    Knowledge knowledge = queue.knowledge;
    knowledge.tensor.join(warp.clock.tensor_ordered);
    knowledge.happened.raise(queue.agent, position);
    knowledge.tensor.raise(queue.agent, position);
    const Origin origin = warp.origin(lane);
    submit_in_order(warp, lane, queue, position, [=] {
      for (Cta *cta : ctas)
        signal_mbarrier(origin, *cta, mbarrier.offset, 1, knowledge);
    });
  });
  return Outcome::Next;
}

Execute decode_commit(Decoder &decoder) {
  Instruction &in = decoder.instruction;
  in.settings[CtaGroup] = static_cast<int32_t>(take_cta_group(decoder));
  decoder.expect_modifiers({"mbarrier::arrive::one", "b64"});
  decoder.take("shared::cluster");
  in.settings[Multicast] = decoder.take("multicast::cluster");
  decoder.expect_operands(in.settings[Multicast] ? 2 : 1, in.settings[Multicast] ? 2 : 1);
  decoder.address(0);
  if (in.settings[Multicast])
    decoder.source(1, Type::B16);
  return execute_commit;
}

Outcome fence_before(Warp &warp, const Instruction &) {
  warp.clock.tensor_fence_before();
  return Outcome::Next;
}

Outcome fence_after(Warp &warp, const Instruction &) {
  warp.clock.tensor_fence_after();
  return Outcome::Next;
}

} // namespace

const OpcodeTable &tcgen05_opcodes() {
  static const OpcodeTable table = {
      {"tcgen05.mma", OpcodeGroup::Tensor, decode_mma, Targets::Tcgen05},
      {"tcgen05.commit", OpcodeGroup::Tensor, decode_commit, Targets::Tcgen05},
      {"tcgen05.fence::before_thread_sync", OpcodeGroup::Fence, decode_without_operands<fence_before>,
       Targets::Tcgen05},
      {"tcgen05.fence::after_thread_sync", OpcodeGroup::Fence, decode_without_operands<fence_after>, Targets::Tcgen05},
  };
  return table;
}

} // namespace ptxsim
