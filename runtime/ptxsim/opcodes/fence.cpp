// Fences (PTX ISA 9.7.13.5): of memory, of proxies, of mbarrier initialisation.
#include "decoder.h"
#include "machine.h"
#include "opcode.h"

namespace ptxsim {

namespace {

Outcome fence(Warp &warp, const Instruction &) {
  warp.clock.fence();
  return Outcome::Next;
}

/// Initialisations that this warp knows of may be used by the async proxy and other CTAs from here on.
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

Outcome nothing(Warp &, const Instruction &) { return Outcome::Next; }

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
  return space == Space::Global ? &nothing : &fence_proxy_async;
}

Execute decode_mbarrier_init(Decoder &d) {
  if (!d.take("release") || !d.take("cluster"))
    d.malformed("expected fence.mbarrier_init.release.cluster");
  d.expect_operands(0, 0);
  return &fence_mbarrier_init;
}

Execute decode_alias(Decoder &d) {
  d.expect_operands(0, 0);
  return &nothing;
}

} // namespace

const OpcodeTable &fence_opcodes() {
  static const OpcodeTable table = {
      {"fence", "fence", decode_fence},
      {"membar", "fence", decode_membar},
      {"fence.proxy.async", "fence", decode_proxy_async},
      {"fence.proxy.alias", "fence", decode_alias},
      {"fence.mbarrier_init", "fence", decode_mbarrier_init},
  };
  return table;
}

} // namespace ptxsim
