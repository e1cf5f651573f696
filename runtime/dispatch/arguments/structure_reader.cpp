#include "arguments/structure_reader.h"

#include "arguments/array_reader.h"
#include "arguments/key_tag.h"

namespace dispatch {

namespace {

/// Adds the items of a tuple after their number.
template <class Read> Outcome read_tuple(Call &call, PyObject *value, unsigned depth, const Read &read) {
  const Py_ssize_t size = tuple_size(value);
  Outcome outcome = depth == max_depth ? Outcome::Size : add_tagged(call, TagTuple, uint64_t(size));
  for (Py_ssize_t i = 0; outcome == Outcome::Native && i < size; ++i)
    outcome = read(tuple_item(value, i), size_t(i));
  return outcome;
}

/// Adds the fields of a record after its class, which its reader keeps alive.
template <class Read>
Outcome read_record(Call &call, const Reader &reader, PyObject *value, unsigned depth, const Read &read) {
  call.changeable = true;
  Outcome outcome = depth == max_depth ? Outcome::Size : add_tagged(call, TagRecord, uint64_t(uintptr_t(reader.type)));
  for (size_t i = 0; outcome == Outcome::Native && i < reader.fields.size(); ++i) {
    PyObject *field = PyObject_GetAttr(value, reader.fields[i].name);
    // Other threads may assign to the field, and a property may have made its value for this call.
    outcome = field ? call.hold(field) : clear_exception(Outcome::ArgumentType);
    if (outcome == Outcome::Native)
      outcome = read(field, reader.fields[i].rule);
  }
  return outcome;
}

bool is_array(Form form) { return form >= Form::Tensor; }

/// Adds the arrays of a list, which is copied because other threads may change it.
Outcome read_list(Call &call, PyObject *value, const StaticDimensions &known) {
  call.changeable = true;
  PyObject *items = PyList_AsTuple(value);
  if (!items)
    return clear_exception(Outcome::ArgumentType);
  if (Outcome outcome = call.hold(items); outcome != Outcome::Native)
    return outcome;
  const size_t size = size_t(tuple_size(items));
  Outcome outcome = size ? call.begin_list(size) : Outcome::ArgumentType;
  for (size_t i = 0; outcome == Outcome::Native && i < size; ++i) {
    PyObject *item = tuple_item(items, Py_ssize_t(i));
    const Reader *reader = reader_of(item);
    if (!reader || !is_array(reader->form))
      return clear_exception(Outcome::ArgumentType);
    ArrayForm array;
    outcome = read_array(call, *reader, item, array);
    if (outcome == Outcome::Native)
      outcome = call.add_row(array, known);
  }
  return outcome;
}

} // namespace

Outcome read_structure(Call &call, const Reader &reader, PyObject *value, const ParameterRule &rule, unsigned depth) {
  if (reader.form == Form::List)
    return read_list(call, value, rule.of_list());
  if (reader.form == Form::Record)
    return read_record(call, reader, value, depth, [&](PyObject *field, const ParameterRule &of_field) {
      return read_value(call, field, of_field, depth + 1);
    });
  return read_tuple(call, value, depth,
                    [&](PyObject *item, size_t index) { return read_value(call, item, rule.item(index), depth + 1); });
}

Outcome read_constant_structure(Call &call, const Reader &reader, PyObject *value, unsigned depth) {
  auto read = [&](PyObject *item, auto &&) { return read_constant(call, item, depth + 1); };
  return reader.form == Form::Record ? read_record(call, reader, value, depth, read)
                                     : read_tuple(call, value, depth, read);
}

} // namespace dispatch
