#include "outcome.h"

#include <map>
#include <string>

namespace dispatch {

namespace {

uint64_t totals[outcome_count];
std::map<std::string, uint64_t> types;

bool set(PyObject *dictionary, const char *name, uint64_t value) {
  PyObject *number = PyLong_FromUnsignedLongLong(value);
  const bool done = number && !PyDict_SetItemString(dictionary, name, number);
  Py_XDECREF(number);
  return done;
}

} // namespace

static_assert(outcome_count == int(Outcome::CountedType), "every counted outcome has a name");

void count(Outcome outcome) {
  if (outcome < Outcome::CountedType)
    ++totals[size_t(outcome)];
}

void count_type(PyTypeObject *type) {
  PyObject *name = PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__name__");
  PyObject *module = PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__module__");
  PyObject *text = name && module ? PyUnicode_FromFormat("argument of type %U.%U", module, name) : nullptr;
  const char *counted = text ? PyUnicode_AsUTF8AndSize(text, nullptr) : nullptr;
  if (counted)
    ++types[counted];
  else
    PyErr_Clear();
  Py_XDECREF(name);
  Py_XDECREF(module);
  Py_XDECREF(text);
}

PyObject *counts() {
  PyObject *result = PyDict_New();
  bool done = result;
  for (int i = 0; done && i < outcome_count; ++i)
    if (totals[i])
      done = set(result, outcome_names[i], totals[i]);
  for (auto found = types.begin(); done && found != types.end(); ++found)
    done = set(result, found->first.c_str(), found->second);
  if (!done)
    Py_CLEAR(result);
  return result;
}

void reset_counts() {
  for (uint64_t &total : totals)
    total = 0;
  types.clear();
}

} // namespace dispatch
