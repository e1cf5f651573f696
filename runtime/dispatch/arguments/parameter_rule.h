// What a launch knows about a parameter before it reads its argument: the parts of the annotation that select keys.
#pragma once

#include "arguments/call.h"

#include <vector>

namespace dispatch {

/// The annotation of a parameter, of an item of a tuple, or of a field of a record.
struct ParameterRule {
  bool constant = false;
  bool unknown = false; // of an annotation that only the Python path supports
  StaticDimensions known;
  std::vector<ParameterRule> items;    // of a tuple with an annotation for each item
  std::vector<ParameterRule> each;     // one rule, of a tuple with an annotation for all items
  std::vector<ParameterRule> elements; // one rule, of the arrays of a list

  /// The rule of an item of a tuple.
  const ParameterRule &item(size_t index) const;
  /// The dimensions of the arrays of a list.
  const StaticDimensions &of_list() const;
};

/// The rule that tilec.driver.argument_forms.rule_of describes; an unknown one for another object.
ParameterRule rule_of(PyObject *described);

} // namespace dispatch
