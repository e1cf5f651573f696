// clusterlaunchcontrol: blocks take over others that have not started (PTX ISA 9.7.13.17 and 9.7.13.18).
#include "execution/lanewise.h"
#include "memory/mbarrier_operations.h"

#include <cstring>

namespace ptxsim {

namespace {

/// The response is opaque in PTX. Here it is the first CTA of the canceled cluster, and whether there is one.
struct Response {
  uint32_t first_cta[3] = {0, 0, 0};
  uint32_t state = 0;
};
constexpr uint32_t canceled = 0xC1C0'0001, failed = 0xC1C0'0000;
constexpr uint32_t response_bytes = 16;
static_assert(sizeof(Response) == response_bytes);

enum Setting { Multicast };

Response response_of(Machine &machine) {
  Response response;
  response.state = failed;
  if (const auto cluster = machine.cancel_cluster()) {
    response.state = canceled;
    for (size_t i = 0; i < 3; ++i)
      response.first_cta[i] = (*cluster)[i] * machine.options.cluster[i];
  }
  return response;
}

void check_no_cta_has_exited(const Origin &origin, const Cluster &cluster) {
  for (const auto &cta : cluster.ctas)
    if (cta->finished())
      cluster.machine.trap(origin, trap_kind::illegal,
                           "the response is multicast, but the CTA of rank " + std::to_string(cta->rank) +
                               " of the cluster has exited");
}

void request(Warp &warp, const Instruction &in, uint32_t lane) {
  if (warp.cta.observed_failure_line)
    warp.trap_lane(lane, trap_kind::illegal,
                   "the CTA requests another block after it has observed that a request failed",
                   {"observed by line " + std::to_string(warp.cta.observed_failure_line)});
  const MemoryLocation to =
      warp.locate(in.space, warp.defined_address(in.operands[0], lane), response_bytes, response_bytes, lane, true);
  const MemoryLocation signal = warp.locate(in.space, warp.defined_address(in.operands[1], lane), 8, 8, lane, true);
  if (to.cta != &warp.cta || signal.cta != &warp.cta)
    warp.trap_lane(lane, trap_kind::illegal, "expected the response and the mbarrier in .shared::cta");
  std::vector<std::pair<Cta *, uint64_t>> receivers; // with the phase of the mbarrier
  for (const auto &cta : warp.cluster.ctas)
    if (in.settings[Multicast] || cta.get() == &warp.cta) {
      const Mbarrier &mbarrier = mbarrier_for_async(warp, *cta, signal.offset, lane);
      warp.check_shared_write(*cta, to.offset, response_bytes, warp.transaction_actor(mbarrier), lane);
      receivers.emplace_back(cta.get(), mbarrier.phase);
    }
  const Origin origin = warp.origin(lane);
  Cluster *const cluster = &warp.cluster;
  const bool multicast = in.settings[Multicast];
  cluster->async.submit({origin, nullptr, false, [=] {
                           if (multicast)
                             check_no_cta_has_exited(origin, *cluster);
                           const Response response = response_of(cluster->machine);
                           for (const auto &[cta, phase] : receivers)
                             // Each CTA receives its copy on its own.
                             cluster->async.submit(
                                 {origin, nullptr, false, [=, cta = cta, phase = phase] {
                                    std::memcpy(cta->shared.data() + to.offset, &response, response_bytes);
                                    complete_transactions(origin, *cta, signal.offset, response_bytes, phase);
                                  }});
                         }});
}

Outcome try_cancel(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) { request(warp, in, lane); });
  return Outcome::Next;
}

Response loaded_response(Warp &warp, const Operand &operand, uint32_t lane) {
  warp.require(operand);
  Response response;
  std::memcpy(&response, warp.lanes<uint8_t>(operand) + lane * response_bytes, response_bytes);
  if (response.state != canceled && response.state != failed)
    warp.trap_lane(lane, trap_kind::illegal, "expected a response of clusterlaunchcontrol.try_cancel, got other bytes");
  return response;
}

Outcome is_canceled(Warp &warp, const Instruction &in) {
  uint32_t lanes = 0;
  for_each_lane(warp.mask, [&](uint32_t lane) {
    if (loaded_response(warp, in.operands[1], lane).state == canceled)
      lanes |= 1u << lane;
    else
      warp.cta.observed_failure_line = in.line;
  });
  warp.set_predicate(in.operands[0], lanes);
  return Outcome::Next;
}

/// settings: the dimension of each destination.
Outcome first_cta(Warp &warp, const Instruction &in) {
  for_each_lane(warp.mask, [&](uint32_t lane) {
    const Response response = loaded_response(warp, in.operands[1], lane);
    if (response.state == failed)
      warp.trap_lane(lane, trap_kind::illegal, "the request failed, so its response has no index of a CTA");
    const auto &destinations = in.operands[0].elements;
    for (size_t i = 0; i < destinations.size(); ++i)
      if (destinations[i].kind == Operand::Kind::Register)
        warp.set_bits(destinations[i], lane, i < 3 ? response.first_cta[size_t(in.settings[0]) + i] : 0);
  });
  for (size_t i = 0; i < in.operands[0].elements.size(); ++i)
    if (const Operand &to = in.operands[0].elements[i]; to.kind == Operand::Kind::Register && i < 3)
      warp.wrote(to);
  return Outcome::Next;
}

Execute decode_try_cancel(Decoder &d) {
  d.expect_modifiers({"async", "mbarrier::complete_tx::bytes"});
  d.instruction.settings[Multicast] = d.take("multicast::cluster::all");
  d.instruction.space = d.take_space();
  d.expect_modifiers({"b128"});
  d.expect_operands(2, 2);
  d.address(0);
  d.address(1);
  return &try_cancel;
}

Execute decode_is_canceled(Decoder &d) {
  d.expect_modifiers({"pred", "b128"});
  d.expect_operands(2, 2);
  d.predicate_destination(0);
  d.source(1, Type::B128);
  return &is_canceled;
}

/// All three dimensions and an unspecified register, or one dimension.
Execute decode_first_cta(Decoder &d, int32_t dimension) {
  const bool all = d.take("v4");
  if (all == (dimension >= 0))
    d.malformed("expected .get_first_ctaid.v4, or .get_first_ctaid::x, ::y or ::z without .v4");
  d.expect_modifiers({"b32", "b128"});
  d.expect_operands(2, 2);
  d.instruction.settings[0] = std::max(dimension, 0);
  d.vector(0, Type::B32, all ? 4 : 1, false);
  d.source(1, Type::B128);
  return &first_cta;
}

} // namespace

const OpcodeTable &launch_control_opcodes() {
  static const OpcodeTable table = {
      {"clusterlaunchcontrol.try_cancel", OpcodeGroup::Mbarrier, decode_try_cancel},
      {"clusterlaunchcontrol.query_cancel.is_canceled", OpcodeGroup::Mbarrier, decode_is_canceled},
      {"clusterlaunchcontrol.query_cancel.get_first_ctaid", OpcodeGroup::Mbarrier,
       [](Decoder &d) { return decode_first_cta(d, -1); }},
      {"clusterlaunchcontrol.query_cancel.get_first_ctaid::x", OpcodeGroup::Mbarrier,
       [](Decoder &d) { return decode_first_cta(d, 0); }},
      {"clusterlaunchcontrol.query_cancel.get_first_ctaid::y", OpcodeGroup::Mbarrier,
       [](Decoder &d) { return decode_first_cta(d, 1); }},
      {"clusterlaunchcontrol.query_cancel.get_first_ctaid::z", OpcodeGroup::Mbarrier,
       [](Decoder &d) { return decode_first_cta(d, 2); }},
  };
  return table;
}

} // namespace ptxsim
