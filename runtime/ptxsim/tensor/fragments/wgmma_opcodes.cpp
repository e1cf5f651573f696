// wgmma.mma_async, wgmma.fence and its groups (PTX ISA 9.7.15).
//
// The four warps of a warpgroup execute each of these instructions together. The simulator runs one warp at a time, so
// a wgmma.mma_async is issued when the last of the four executes it. The operation reads A and B once; the writes of A
// and B must be ordered before the instruction in all four warps.
//
// settings of an instruction: the enumerators of Setting, in order; `type` is that of D, `from_type` that of A. Sparse
// is zero, or 1 plus the selector: metadata and selector are operands 3 and 4.
#include "execution/machine.h"
#include "program/opcode.h"
#include "tensor/fragments/in_flight_registers.h"
#include "tensor/fragments/register_matrix.h"
#include "tensor/fragments/warp_metadata.h"
#include "tensor/fragments/warpgroup.h"
#include "tensor/matrix_descriptor.h"
#include "tensor/operand_matrix.h"
#include "tensor/tcgen05/tensor_core.h"

#include <array>
#include <memory>

namespace ptxsim {
namespace {

enum Setting : uint8_t { Columns, TypeOfB, NegateA, NegateB, TransposeA, TransposeB, Saturate, Sparse };

constexpr uint32_t fragment_rows = 16; // of a warp
constexpr uint32_t group_rows = fragment_rows * warpgroup_warps;
constexpr char wait_name[] = "wgmma.wait_group";

// On Hopper, sums of fp8 products keep 13 fraction bits, and so do their f32 results (measured; PTX does not specify
// it).
constexpr int narrow_fraction_bits = 13;

std::optional<NumberFormat> operand_format(Type type) {
  switch (type) {
  case Type::F16:
    return NumberFormat::F16;
  case Type::BF16:
    return NumberFormat::BF16;
  case Type::TF32:
    return NumberFormat::TF32;
  case Type::E4M3:
    return NumberFormat::E4M3;
  case Type::E5M2:
    return NumberFormat::E5M2;
  case Type::S8:
    return NumberFormat::S8;
  case Type::U8:
    return NumberFormat::U8;
  default:
    return std::nullopt;
  }
}

NumberFormat result_format(Type type) {
  return type == Type::F16 ? NumberFormat::F16 : type == Type::S32 ? NumberFormat::S32 : NumberFormat::F32;
}

} // namespace

/// One wgmma.mma_async of a warpgroup.
struct WarpgroupMma {
  const Instruction *instruction = nullptr;
  std::array<Warp *, warpgroup_warps> warps{};
  std::array<Epoch, warpgroup_warps> positions{}; // in the queues of the warps
  uint64_t a_descriptor = 0, b_descriptor = 0;
  SharedOperand a, b; // all rows of the warpgroup
  bool a_in_registers = false, accumulate = false, saturate = false;
  std::vector<SparseSelection> kept; // of a sparse A, by warp
  NumberFormat d = NumberFormat::F32;

  const std::vector<Operand> &result() const { return instruction->operands[0].elements; }
  void perform() const;

private:
  void perform_rows(Warp &warp, uint32_t member, const ElementMatrix &right) const;
  void multiply_add(const ElementMatrix &left, const ElementMatrix &right, uint32_t *sums) const;
};

void WarpgroupMma::perform() const {
  ElementMatrix right(b.format, b.depth, b.rows, b.negate);
  load_operand(b, warps[0]->cta.shared.data(), right, 0, true);
  for (uint32_t member = 0; member < warpgroup_warps; ++member)
    perform_rows(*warps[member], member, right);
}

/// The 16 rows of one warp.
void WarpgroupMma::perform_rows(Warp &warp, uint32_t member, const ElementMatrix &right) const {
  SharedOperand part = a;
  part.rows = fragment_rows;
  part.begin = member * fragment_rows;
  ElementMatrix left(a.format, fragment_rows, a.depth, a.negate);
  if (a_in_registers)
    load_a_fragment(warp, instruction->operands[1].elements, left);
  else
    load_operand(part, warp.cta.shared.data(), left, 0, false);
  std::vector<uint32_t> sums(size_t{fragment_rows} * b.rows);
  if (accumulate)
    sums = load_accumulator(warp, result(), d, b.rows);
  if (kept.empty())
    multiply_add(left, right, sums.data());
  else
    visit_sparse_rows(left, right, kept[member], [&](uint32_t row, const ElementMatrix &x, const ElementMatrix &y) {
      multiply_add(x, y, &sums[size_t{row} * b.rows]);
    });
  store_accumulator(warp, result(), d, b.rows, sums);
}

void WarpgroupMma::multiply_add(const ElementMatrix &left, const ElementMatrix &right, uint32_t *sums) const {
  const uint32_t *addend = accumulate ? sums : nullptr;
  SumRule rule;
  rule.result = d;
  if (element_bits(a.format) == 8)
    rule.fraction_bits = rule.result_fraction_bits = narrow_fraction_bits;
  if (d == NumberFormat::S32)
    integer_multiply_add(left, right, addend, sums, b.rows, saturate);
  else
    fused_multiply_add(left, right, addend, sums, b.rows, rule);
}

namespace {

SharedOperand shared_operand(Warp &warp, uint64_t descriptor, Type type, uint32_t rows, bool transposed, bool negate,
                             uint32_t depth_bytes = 32) {
  const DecodedDescriptor decoded = decode_wgmma_descriptor(descriptor);
  if (!decoded.violation.empty())
    warp.trap(trap_kind::descriptor, decoded.violation);
  if (!decoded.unconfirmed.empty())
    warp.unconfirmed(decoded.unconfirmed);
  if (const std::string rows_read = decoded.layout.rows_off_pattern(rows); !transposed && !rows_read.empty())
    warp.unconfirmed(rows_read);
  const NumberFormat format = *operand_format(type);
  return {decoded.layout, format, rows, depth_bytes / container_bytes(format), !transposed, negate};
}

/// Traps if a lane has not written the register.
void check_written(Warp &warp, const Operand &operand) {
  if ((warp.written_lanes(operand) & warp.mask) != warp.mask)
    warp.require(operand);
}

/// Traps if other instructions have used the register since the last wgmma.fence. Registers in flight need no fence.
void check_register(Warp &warp, const Operand &operand, bool is_read) {
  if (warp.in_flight(operand))
    return;
  if (warp.touched(operand))
    warp.trap(trap_kind::in_flight, "expected wgmma.fence after other instructions used '" + operand.text + "'");
  if (is_read)
    check_written(warp, operand);
}

void check_registers(Warp &warp, const Instruction &in, const WarpgroupMma &mma) {
  if (!warp.find_queue(QueueKind::WarpgroupMma, 0))
    warp.trap(trap_kind::in_flight, "expected wgmma.fence before the first wgmma.mma_async of a warp");
  for (const Operand &operand : mma.result())
    check_register(warp, operand, mma.accumulate);
  // The fence orders accumulators and fragments of A alone (PTX ISA 9.7.15.7.1), not metadata.
  if (in.settings[Sparse])
    check_written(warp, in.operands[3]);
  if (!mma.a_in_registers)
    return;
  for (const Operand &operand : in.operands[1].elements)
    check_register(warp, operand, true);
}

void check_shared(Warp &warp, const WarpgroupMma &mma, const Actor &actor) {
  const auto check = [&](uint32_t address) { check_unit_read(warp, warp.cta, address, unit_bytes, actor, 0); };
  if (!mma.a_in_registers)
    visit_units(mma.a, check);
  visit_units(mma.b, check);
}

Warpgroup &warpgroup_of(Warp &warp) {
  const size_t group = warp.index / warpgroup_warps;
  if (group >= warp.cta.warpgroups.size())
    warp.trap(trap_kind::illegal, "expected a warpgroup of 4 warps");
  return warp.cta.warpgroups[group];
}

/// The queue of the operations of the warpgroup, which is the agent of their reads.
AsyncQueue &group_queue(Warp &warp) {
  Warp &first = *warp.cta.warps[warp.index / warpgroup_warps * warpgroup_warps];
  return warp.cluster.queue(QueueKind::Warpgroup, first, 0);
}

/// Reads the descriptors and scale-d, which may differ between the warps, unlike the immediates of the instruction.
std::shared_ptr<WarpgroupMma> read_operands(Warp &warp, const Instruction &in) {
  auto mma = std::make_shared<WarpgroupMma>();
  mma->instruction = &in;
  mma->d = result_format(in.type);
  mma->saturate = in.settings[Saturate];
  mma->a_in_registers = in.operands[1].kind == Operand::Kind::Vector;
  if (mma->a_in_registers) {
    const NumberFormat format = *operand_format(in.from_type);
    mma->a = {{}, format, group_rows, 32 / container_bytes(format), true, in.settings[NegateA] != 0};
  } else {
    mma->a_descriptor = warp.uniform<uint64_t>(in.operands[1]);
    mma->a = shared_operand(warp, mma->a_descriptor, in.from_type, group_rows, in.settings[TransposeA],
                            in.settings[NegateA]);
  }
  mma->b_descriptor = warp.uniform<uint64_t>(in.operands[2]);
  mma->b = shared_operand(warp, mma->b_descriptor, static_cast<Type>(in.settings[TypeOfB]), in.settings[Columns],
                          in.settings[TransposeB], in.settings[NegateB], in.settings[Sparse] ? 64 : 32);
  const Operand &scale_d = in.operands[in.settings[Sparse] ? 5 : 3];
  warp.require(scale_d);
  const uint32_t accumulates = warp.predicate(scale_d);
  if (accumulates != 0 && accumulates != ~0u)
    warp.trap(trap_kind::divergence, "expected the same scale-d in all lanes");
  mma->accumulate = accumulates;
  return mma;
}

void expect_equal(Warp &warp, const char *operand, uint64_t expected, uint64_t found) {
  if (expected != found)
    warp.trap(trap_kind::divergence, std::string("expected the same ") + operand +
                                         " in all four warps of the warpgroup, got " + std::to_string(expected) +
                                         " and " + std::to_string(found));
}

void check_same_operands(Warp &warp, const WarpgroupMma &first, const WarpgroupMma &own) {
  expect_equal(warp, "descriptor of A", first.a_descriptor, own.a_descriptor);
  expect_equal(warp, "descriptor of B", first.b_descriptor, own.b_descriptor);
  expect_equal(warp, "scale-d", first.accumulate, own.accumulate);
}

/// All warps have arrived: submits the operation and checks its reads against the knowledge of all four.
void submit(Warp &warp, const WarpgroupStep &step) {
  const std::shared_ptr<WarpgroupMma> mma = step.mma;
  AsyncQueue &queue = group_queue(warp);
  const Epoch position = queue.issue(warp.clock.known);
  Actor actor = warp.queue_actor(queue, position);
  actor.happened = &step.happened;
  actor.proxied = &step.proxied;
  check_shared(warp, *mma, actor);
  submit_in_order(warp, 0, queue, position, [mma] {
    mma->perform();
    for (uint32_t member = 0; member < warpgroup_warps; ++member)
      mma->warps[member]->queue(QueueKind::WarpgroupMma).unfinished.erase(mma->positions[member]);
  });
}

Outcome execute_mma(Warp &warp, const Instruction &in) {
  Warpgroup &group = warpgroup_of(warp);
  const std::shared_ptr<WarpgroupMma> own = read_operands(warp, in);
  check_registers(warp, in, *own);
  WarpgroupStep &step = group.arrive(warp, in);
  if (!step.mma)
    step.mma = own;
  check_same_operands(warp, *step.mma, *own);
  AsyncQueue &queue = warp.queue(QueueKind::WarpgroupMma);
  const Epoch position = queue.issue(warp.clock.known);
  for (const Operand &operand : own->result())
    mark_register_in_flight(warp, queue, position, operand, true, wait_name);
  if (own->a_in_registers)
    for (const Operand &operand : in.operands[1].elements)
      mark_register_in_flight(warp, queue, position, operand, false, wait_name);
  const uint32_t member = warp.index % warpgroup_warps;
  step.mma->warps[member] = &warp;
  step.mma->positions[member] = position;
  if (in.settings[Sparse]) {
    mark_register_in_flight(warp, queue, position, in.operands[3], false, wait_name);
    step.mma->kept.resize(warpgroup_warps, SparseSelection(own->a.format, 0, own->a.depth));
    step.mma->kept[member] =
        read_warp_metadata(warp, in.operands[3], own->a.format, own->a.depth, in.settings[Sparse] - 1);
  }
  // Later writes of the warp must not be ordered before the operation.
  warp.clock.begin_epoch();
  if (step.complete())
    submit(warp, step);
  group.retire();
  warp.machine.counters["tensor_core_multiply_adds"] += uint64_t{fragment_rows} * own->b.rows * own->a.depth;
  return Outcome::Next;
}

/// Records that the warp executes a wgmma instruction other than wgmma.mma_async.
void arrive(Warp &warp, const Instruction &in) {
  Warpgroup &group = warpgroup_of(warp);
  group.arrive(warp, in);
  group.retire();
}

Outcome execute_fence(Warp &warp, const Instruction &in) {
  arrive(warp, in);
  warp.queue(QueueKind::WarpgroupMma);
  warp.clear_touched();
  return Outcome::Next;
}

Outcome execute_commit(Warp &warp, const Instruction &in) {
  arrive(warp, in);
  AsyncQueue &queue = warp.queue(QueueKind::WarpgroupMma);
  queue.groups.push_back(queue.issued);
  return Outcome::Next;
}

/// The warp arrives at the first execution. The operations complete only after all four warps have issued them.
Outcome execute_wait(Warp &warp, const Instruction &in) {
  Fragment &fragment = warp.fragment();
  if (!fragment.ticket) {
    arrive(warp, in);
    fragment.ticket = 1;
  }
  AsyncQueue &queue = warp.queue(QueueKind::WarpgroupMma);
  const Epoch through = queue.group_position(static_cast<uint32_t>(in.operands[0].value));
  if (!queue.finished(through))
    return Outcome::Wait;
  fragment.ticket = 0;
  warp.clock.known.happened.raise(group_queue(warp).agent, through);
  clear_registers_in_flight(warp, queue, through);
  return Outcome::Next;
}

void decode_aligned(Decoder &decoder) {
  decoder.expect_sync_aligned();
  decoder.program.uses_wgmma = true;
}

/// m64nNkK of the operand type; K is 32 bytes, and twice as many of a sparse A.
void decode_shape(Decoder &decoder) {
  const auto shape = decoder.take_prefixed("m64n");
  const size_t split = shape ? shape->find('k') : std::string::npos;
  if (split == std::string::npos)
    decoder.malformed("expected a shape m64nNkK");
  const int columns = std::atoi(shape->c_str()), depth = std::atoi(shape->c_str() + split + 1);
  decoder.instruction.settings[Columns] = columns;
  decoder.instruction.type = decoder.take_type();
  decoder.instruction.from_type = decoder.take_type();
  const Type b = decoder.take_type();
  decoder.instruction.settings[TypeOfB] = static_cast<int32_t>(b);
  const auto format = operand_format(decoder.instruction.from_type);
  if (!format || !operand_format(b))
    decoder.unsupported("wgmma of these types");
  if (columns % 8 || columns < 8 || columns > 256 ||
      depth * container_bytes(*format) != (decoder.instruction.settings[Sparse] ? 64 : 32))
    decoder.malformed("expected N of 8 to 256 in steps of 8 and K of 32 bytes, or of 64 with .sp");
}

/// imm-scale-a, imm-scale-b, and the transpose immediates of 16-bit types, from operand `next` on.
void decode_immediates(Decoder &decoder, bool a_in_registers, size_t next) {
  Instruction &in = decoder.instruction;
  if (in.type == Type::S32) {
    decoder.expect_operands(next, next);
    return;
  }
  const bool transposable = in.from_type == Type::F16 || in.from_type == Type::BF16;
  const size_t transposes = transposable ? (a_in_registers ? 1 : 2) : 0;
  decoder.expect_operands(next + 2 + transposes, next + 2 + transposes);
  for (size_t i : {next, next + 1})
    if (const int64_t sign = decoder.immediate(i); sign != 1 && sign != -1)
      decoder.malformed("expected imm-scale of 1 or -1");
  in.settings[NegateA] = decoder.immediate(next) < 0;
  in.settings[NegateB] = decoder.immediate(next + 1) < 0;
  if (transposes == 2)
    in.settings[TransposeA] = decoder.immediate(next + 2) != 0;
  if (transposes)
    in.settings[TransposeB] = decoder.immediate(next + 1 + transposes) != 0;
}

Execute decode_mma(Decoder &decoder) {
  Instruction &in = decoder.instruction;
  in.settings.fill(0);
  in.settings[Sparse] = decoder.take("sp");
  decode_aligned(decoder);
  in.settings[Saturate] = decoder.take("satfinite");
  decode_shape(decoder);
  const uint32_t registers = in.settings[Columns] / (in.type == Type::F16 ? 4 : 2);
  const size_t next = in.settings[Sparse] ? 5 : 3;
  decoder.expect_operands(next + 1, next + 5);
  decoder.vector(0, in.type == Type::F16 ? Type::B32 : in.type, registers, false);
  const bool a_in_registers = decoder.is_vector(1);
  if (a_in_registers)
    decoder.vector(1, Type::B32, 4, true);
  else
    decoder.source(1, Type::B64);
  decoder.source(2, Type::B64);
  if (in.settings[Sparse])
    in.settings[Sparse] = decode_warp_metadata(decoder, 3, *operand_format(in.from_type)) + 1;
  decoder.predicate(next);
  decode_immediates(decoder, a_in_registers, next + 1);
  return execute_mma;
}

template <Execute Function> Execute decode_aligned_without_operands(Decoder &decoder) {
  decode_aligned(decoder);
  return decode_without_operands<Function>(decoder);
}

Execute decode_wait(Decoder &decoder) {
  decode_aligned(decoder);
  decoder.expect_operands(1, 1);
  if (const int64_t pending = decoder.immediate(0); pending < 0 || pending > 7)
    decoder.malformed("expected a number of pending groups of 0 to 7");
  return execute_wait;
}

} // namespace

const OpcodeTable &wgmma_opcodes() {
  static const OpcodeTable table = {
      {"wgmma.mma_async", OpcodeGroup::Tensor, decode_mma, Targets::Wgmma},
      {"wgmma.fence", OpcodeGroup::Tensor, decode_aligned_without_operands<execute_fence>, Targets::Wgmma},
      {"wgmma.commit_group", OpcodeGroup::Tensor, decode_aligned_without_operands<execute_commit>, Targets::Wgmma},
      {"wgmma.wait_group", OpcodeGroup::Tensor, decode_wait, Targets::Wgmma},
  };
  return table;
}

} // namespace ptxsim
