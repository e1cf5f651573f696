// Tags of key words, which precede what they describe.
#pragma once

#include "arguments/call.h"

namespace dispatch {

// An int and a float of one value, and True and 1, select different specializations.
enum Tag : uint64_t {
  TagNone = 1,
  TagBool,
  TagInt32,
  TagInt64,
  TagFloat,
  TagText,
  TagIdentity,
  TagTuple,
  TagRecord,
  TagScalar
};

inline Outcome add_tagged(Call &call, Tag tag, uint64_t value) {
  const Outcome outcome = call.add_key(tag);
  return outcome == Outcome::Native ? call.add_key(value) : outcome;
}

} // namespace dispatch
