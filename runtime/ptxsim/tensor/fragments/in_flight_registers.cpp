#include "tensor/fragments/in_flight_registers.h"

#include <algorithm>

namespace ptxsim {

void mark_register_in_flight(Warp &warp, AsyncQueue &queue, Epoch position, const Operand &operand,
                             bool will_be_written, const char *until, bool is_complete) {
  warp.mark_in_flight(operand, will_be_written, until, is_complete);
  queue.in_flight.push_back({position, &operand});
}

void clear_registers_in_flight(Warp &warp, AsyncQueue &queue, Epoch through) {
  const auto completed = [&](const InFlightRegister &entry) { return entry.position <= through; };
  for (const InFlightRegister &entry : queue.in_flight)
    if (completed(entry))
      warp.clear_in_flight(*entry.operand);
  queue.in_flight.erase(std::remove_if(queue.in_flight.begin(), queue.in_flight.end(), completed),
                        queue.in_flight.end());
}

} // namespace ptxsim
