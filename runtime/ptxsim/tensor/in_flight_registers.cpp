#include "tensor/register_flight.h"

#include <algorithm>

namespace ptxsim {

void begin_register_flight(Warp &warp, AsyncQueue &queue, Epoch position, const Operand &operand, bool will_be_written,
                           const char *until) {
  warp.begin_flight(operand, will_be_written, until);
  queue.flights.push_back({position, &operand, will_be_written});
}

void end_register_flights(Warp &warp, AsyncQueue &queue, Epoch through) {
  const auto landed = [&](const RegisterFlight &flight) { return flight.position <= through; };
  for (const RegisterFlight &flight : queue.flights)
    if (landed(flight))
      warp.end_flight(*flight.operand, flight.will_be_written);
  queue.flights.erase(std::remove_if(queue.flights.begin(), queue.flights.end(), landed), queue.flights.end());
}

} // namespace ptxsim
