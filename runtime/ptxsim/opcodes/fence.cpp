// Memory fences, proxy fences and the fence of mbarrier initialisation (PTX ISA 9.7.13.5).
#include "execution/machine.h"
#include "program/decoder.h"
#include "program/opcode.h"

namespace ptxsim {

namespace {

Outcome fence(Warp &warp, const Instruction &) {
  warp.clock.fence();
  return Outcome::Next;
}

/// Makes the mbarrier initialisations that this warp knows of visible to the async proxy and to other CTAs.
void publish_initialisations(Warp &warp) {
  for (const auto &cta : warp.cluster.ctas)
    for (auto &[offset, mbarrier] : cta->mbarriers)
      if (mbarrier.init_epoch <= warp.clock.known.happened[mbarrier.init_agent])
        mbarrier.init_fenced = true;
}

Outcome fence_proxy_async(Warp &warp, const Instruction &) {
  publish_initialisations(warp);
  warp.clock.fence_proxy_async(warp.mask);
  return Outcome::Next;
}

Outcome fence_mbarrier_init(Warp &warp, const Instruction &) {
  publish_initialisations(warp);
  warp.clock.fence();
  return Outcome::Next;
}

Execute decode_fence(Decoder &d) {
  d.take_one_of({"sc", "acq_rel", "acquire", "release"});
  d.take("sync_restrict::shared::cta");
  d.take("sync_restrict::shared::cluster");
  d.take_one_of({"cta", "cluster", "gpu", "sys"});
  d.expect_operands(0, 0);
  return &fence;
}

Execute decode_membar(Decoder &d) {
  d.take_one_of({"cta", "gl", "sys"});
  d.expect_operands(0, 0);
  return &fence;
}

Execute decode_proxy_async(Decoder &d) {
  Space space = d.take_space();
  d.expect_operands(0, 0);
  // Only shared memory is tracked.
  return space == Space::Global ? &no_operation : &fence_proxy_async;
}

Execute decode_mbarrier_init(Decoder &d) {
  d.expect_modifiers({"release", "cluster"});
  d.expect_operands(0, 0);
  return &fence_mbarrier_init;
}

} // namespace

const OpcodeTable &fence_opcodes() {
  static const OpcodeTable table = {
      {"fence", OpcodeGroup::Fence, decode_fence},
      {"membar", OpcodeGroup::Fence, decode_membar},
      {"fence.proxy.async", OpcodeGroup::Fence, decode_proxy_async},
      {"fence.proxy.alias", OpcodeGroup::Fence, decode_without_operands<no_operation>},
      {"fence.mbarrier_init", OpcodeGroup::Fence, decode_mbarrier_init},
  };
  return table;
}

} // namespace ptxsim
