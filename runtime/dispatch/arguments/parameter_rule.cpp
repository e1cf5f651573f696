#include "arguments/parameter_rule.h"

namespace dispatch {

namespace {

const ParameterRule unannotated{};

bool read_dimensions(PyObject *given, int8_t *dimensions, uint8_t &count) {
  if (!PyTuple_Check(given) || tuple_size(given) > Py_ssize_t(max_rank))
    return false;
  for (Py_ssize_t i = 0; i < tuple_size(given); ++i) {
    const long value = PyLong_AsLong(tuple_item(given, i));
    if (value < -128 || value > 127 || PyErr_Occurred())
      return false;
    dimensions[count++] = int8_t(value);
  }
  return true;
}

bool read_rules(PyObject *given, std::vector<ParameterRule> &rules) {
  if (!PyTuple_Check(given))
    return false;
  for (Py_ssize_t i = 0; i < tuple_size(given); ++i) {
    rules.push_back(rule_of(tuple_item(given, i)));
    if (rules.back().unknown)
      return false;
  }
  return true;
}

bool read(PyObject *described, ParameterRule &rule) {
  int constant = 0, wide = 0;
  PyObject *shape, *strides, *items, *each, *elements;
  if (!PyTuple_Check(described) ||
      !PyArg_ParseTuple(described, "ppOOOOO", &constant, &wide, &shape, &strides, &items, &each, &elements))
    return false;
  rule.constant = constant;
  rule.known.wide = wide;
  return read_dimensions(shape, rule.known.shape, rule.known.shape_count) &&
         read_dimensions(strides, rule.known.strides, rule.known.stride_count) && read_rules(items, rule.items) &&
         read_rules(each, rule.each) && read_rules(elements, rule.elements);
}

} // namespace

const ParameterRule &ParameterRule::item(size_t index) const {
  // The Python path refuses a tuple with another number of items than its annotation.
  if (!items.empty())
    return index < items.size() ? items[index] : unannotated;
  return each.empty() ? unannotated : each.front();
}

const StaticDimensions &ParameterRule::of_list() const {
  return elements.empty() ? unannotated.known : elements.front().known;
}

ParameterRule rule_of(PyObject *described) {
  ParameterRule rule;
  rule.unknown = !read(described, rule);
  PyErr_Clear();
  return rule;
}

} // namespace dispatch
