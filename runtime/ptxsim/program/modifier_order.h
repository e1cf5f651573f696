// The order of the modifiers of an instruction, as ptxas 13.0 reads it. Most modifiers may be in any order.
#pragma once

#include <string>
#include <string_view>

namespace ptxsim {

/// The mnemonic with the words that the table of instructions expects first moved there, where ptxas reads them
/// anywhere: vote.ballot.sync becomes vote.sync.ballot.
std::string canonical_order(std::string_view text);

/// The modifiers that ptxas refuses in this order, as in ".shared::cta before .global"; empty if there are none.
std::string order_violation(std::string_view canonical);

} // namespace ptxsim
