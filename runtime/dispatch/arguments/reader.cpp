#include "arguments/reader.h"

#include "arguments/array_reader.h"
#include "arguments/dlpack.h"
#include "arguments/key_tag.h"
#include "arguments/structure_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

namespace dispatch {

namespace {

struct FormName {
  const char *name;
  Form form;
};

constexpr FormName form_names[] = {
    {"unknown", Form::Unknown},        {"identity", Form::Identity},      {"scalar", Form::Scalar},
    {"tensor", Form::Tensor},          {"capsule", Form::Capsule},        {"torch", Form::Torch},
    {"interface", Form::Interface},    {"record", Form::Record},          {"integer member", Form::IntegerMember},
    {"real member", Form::RealMember}, {"integer", Form::DerivedInteger}, {"real", Form::DerivedReal},
};
constexpr const char *library_names[] = {"", "torch", "cupy"};

/// Readers by the address of the type: a hash table with linear probing, at most half full.
class ReaderTable {
public:
  const Reader *find(PyTypeObject *type) const {
    for (size_t at = index_of(type); slots[at]; at = (at + 1) & (slots.size() - 1))
      if (slots[at]->type == type)
        return slots[at];
    return nullptr;
  }
  const Reader *add(const Reader &reader) {
    readers.push_back(std::make_unique<Reader>(reader));
    if (2 * readers.size() > slots.size())
      grow();
    insert(readers.back().get());
    return readers.back().get();
  }

private:
  size_t index_of(PyTypeObject *type) const { return (uintptr_t(type) >> 4) & (slots.size() - 1); }
  void insert(const Reader *reader) {
    size_t at = index_of(reader->type);
    while (slots[at])
      at = (at + 1) & (slots.size() - 1);
    slots[at] = reader;
  }
  void grow() {
    slots.assign(2 * slots.size(), nullptr);
    for (const std::unique_ptr<Reader> &reader : readers)
      insert(reader.get());
  }

  std::vector<std::unique_ptr<Reader>> readers;
  std::vector<const Reader *> slots = std::vector<const Reader *>(64);
};

// Never destroyed: types may be launched with until the interpreter ends.
ReaderTable &table = *new ReaderTable;
PyObject *describe = nullptr;

/// The table of version 1 that a type exports; null if it has none.
const ExchangeTable *exchange_of(PyTypeObject *type) {
  PyObject *capsule = PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__dlpack_c_exchange_api__");
  if (!capsule) {
    PyErr_Clear();
    return nullptr;
  }
  auto *header = static_cast<ExchangeHeader *>(PyCapsule_IsValid(capsule, "dlpack_exchange_api")
                                                   ? PyCapsule_GetPointer(capsule, "dlpack_exchange_api")
                                                   : nullptr);
  Py_DECREF(capsule); // The exporting library keeps the table as long as the type.
  while (header && header->major > exchange_major_version)
    header = header->previous;
  auto *found = reinterpret_cast<const ExchangeTable *>(header);
  return found && header->major == exchange_major_version && found->borrow ? found : nullptr;
}

template <class Row, size_t count> int position(const Row (&names)[count], const char *name) {
  for (size_t i = 0; i < count; ++i)
    if (!strcmp(names[i], name))
      return int(i);
  return 0;
}

/// The fields of a record; false without an exception if only the Python path supports one.
bool parse_fields(PyObject *described, std::vector<Field> &fields) {
  bool known = true;
  for (Py_ssize_t i = 0; i < tuple_size(described); ++i) {
    PyObject *name, *rule;
    if (!PyArg_ParseTuple(tuple_item(described, i), "OO", &name, &rule))
      return false;
    fields.push_back({Py_NewRef(name), rule_of(rule)});
    known &= !fields.back().rule.unknown;
  }
  return known;
}

bool parse(PyObject *described, Reader &reader) {
  const char *form, *element, *library;
  PyObject *fields;
  if (!PyTuple_Check(described) ||
      !PyArg_ParseTuple(described, "sssO!", &form, &element, &library, &PyTuple_Type, &fields))
    return false;
  for (const FormName &row : form_names)
    if (!strcmp(row.name, form))
      reader.form = row.form;
  if (reader.form == Form::Scalar) {
    const int row = element_named(element);
    reader.form = row < 0 ? Form::Unknown : reader.form;
    reader.element = Element(row < 0 ? 0 : row);
  }
  if (reader.form == Form::Record && !parse_fields(fields, reader.fields))
    reader.form = Form::Unknown;
  reader.library = Library(position(library_names, library));
  return !PyErr_Occurred();
}

Form form_of(PyTypeObject *type) {
  const std::pair<PyTypeObject *, Form> forms[] = {{&PyLong_Type, Form::Integer}, {&PyBool_Type, Form::Boolean},
                                                   {&PyFloat_Type, Form::Real},   {Py_TYPE(Py_None), Form::Absent},
                                                   {&PyUnicode_Type, Form::Text}, {&PyTuple_Type, Form::Tuple},
                                                   {&PyList_Type, Form::List}};
  for (const auto &[known, form] : forms)
    if (known == type)
      return form;
  return Form::Unknown;
}

const Reader *add_reader(PyObject *value) {
  Reader reader;
  reader.type = Py_TYPE(value);
  reader.form = form_of(reader.type);
  if (reader.form == Form::Unknown && describe) {
    PyObject *described = call_with(describe, value);
    const bool parsed = described && parse(described, reader);
    Py_XDECREF(described);
    if (!parsed)
      return nullptr;
    reader.exchange = reader.form == Form::Tensor ? exchange_of(reader.type) : nullptr;
    if (reader.form == Form::Tensor && !reader.exchange)
      reader.form = Form::Capsule;
    if (const Reader *added = table.find(reader.type)) // by another thread, or by `describe`
      return added;
  }
  Py_INCREF(reinterpret_cast<PyObject *>(reader.type));
  return table.add(reader);
}

uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// The text's content in key words, after its length.
Outcome add_text(Call &call, PyObject *value) {
  Py_ssize_t size;
  const char *text = PyUnicode_AsUTF8AndSize(value, &size);
  if (!text)
    return clear_exception(Outcome::ArgumentType);
  Outcome outcome = add_tagged(call, TagText, uint64_t(size));
  for (Py_ssize_t at = 0; outcome == Outcome::Native && at < size; at += 8) {
    uint64_t word = 0;
    memcpy(&word, text + at, size_t(std::min<Py_ssize_t>(8, size - at)));
    outcome = call.add_key(word);
  }
  return outcome;
}

/// The value of an int; false if it has more than 64 bits.
bool read_integer(PyObject *value, int64_t &integer) {
  int overflow;
  integer = PyLong_AsLongLongAndOverflow(value, &overflow);
  return !overflow;
}

/// The bytes of a scalar of numpy, which exports them as a buffer.
Outcome read_scalar(const Reader &reader, PyObject *value, uint64_t &word) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(value, &buffer, PyBUF_SIMPLE))
    return clear_exception(Outcome::ArgumentType);
  word = 0;
  const size_t size = row_of(reader.element).size_bytes;
  const bool fits = size_t(buffer.len) == size;
  if (fits)
    memcpy(&word, buffer.buf, size);
  PyBuffer_Release(&buffer);
  if (reader.element >= Element::I8 && reader.element <= Element::I64) { // sign extension
    const unsigned unused = unsigned(64 - 8 * size);
    word = uint64_t(int64_t(word << unused) >> unused);
  }
  return fits ? Outcome::Native : Outcome::ArgumentType;
}

/// A number of the launch: its key, which is its type, and its word.
Outcome add_number(Call &call, uint64_t tag, Given::Kind kind, Element element, uint64_t word) {
  const Outcome outcome = call.add_key(tag);
  return outcome == Outcome::Native ? call.add_number(kind, element, word) : outcome;
}

Outcome add_integer(Call &call, PyObject *value) {
  int64_t integer;
  if (!read_integer(value, integer))
    return Outcome::Range;
  const bool narrow = integer == int32_t(integer);
  return add_number(call, narrow ? TagInt32 : TagInt64, Given::Kind::Integer, narrow ? Element::I32 : Element::I64,
                    uint64_t(integer));
}

/// A float is an f32 parameter, rounded to nearest.
Outcome add_real(Call &call, double value) {
  const float rounded = float(value);
  if (std::isinf(rounded) && !std::isinf(value))
    return Outcome::Range;
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  return add_number(call, TagFloat, Given::Kind::Number, Element::F32, bits);
}

Outcome of_unknown_type(PyObject *value) {
  count_type(Py_TYPE(value));
  return Outcome::CountedType;
}

} // namespace

bool set_describe(PyObject *function) {
  Py_INCREF(function);
  replace(describe, function);
  return true;
}

const Reader *reader_of(PyObject *value) {
  const Reader *found = table.find(Py_TYPE(value));
  return found ? found : add_reader(value);
}

Outcome clear_exception(Outcome otherwise) {
  if (!PyErr_Occurred())
    return otherwise;
  if (!PyErr_ExceptionMatches(PyExc_Exception))
    return Outcome::Raised;
  PyErr_Clear();
  return otherwise;
}

Outcome read_constant(Call &call, PyObject *value, unsigned depth) {
  const Reader *reader = reader_of(value);
  if (!reader)
    return clear_exception(Outcome::ArgumentType);
  int64_t integer;
  switch (reader->form) {
  case Form::Integer:
    return read_integer(value, integer) ? add_tagged(call, TagInt64, uint64_t(integer)) : Outcome::Range;
  case Form::Boolean:
    return add_tagged(call, TagBool, value == Py_True);
  case Form::Real: // by its bits: 0.0 and -0.0 are different constants
    return add_tagged(call, TagFloat, bits_of(float_value(value)));
  case Form::Absent:
    return call.add_key(TagNone);
  case Form::Text:
    return add_text(call, value);
  case Form::Tuple:
  case Form::Record:
    return read_constant_structure(call, *reader, value, depth);
  case Form::Identity:
  case Form::IntegerMember:
  case Form::RealMember: {
    const Outcome outcome = call.add_key(TagIdentity);
    return outcome == Outcome::Native ? call.add_identity(value) : outcome;
  }
  case Form::Scalar: {
    uint64_t word;
    const Outcome outcome = read_scalar(*reader, value, word);
    return outcome == Outcome::Native ? add_tagged(call, Tag(TagScalar + (uint64_t(reader->element) << 8)), word)
                                      : outcome;
  }
  default:
    return of_unknown_type(value);
  }
}

Outcome read_argument(Call &call, PyObject *value, const ParameterRule &rule, unsigned depth) {
  const Reader *reader = reader_of(value);
  if (!reader)
    return clear_exception(Outcome::ArgumentType);
  switch (reader->form) {
  case Form::Tensor:
  case Form::Capsule:
  case Form::Torch:
  case Form::Interface: {
    ArrayForm array;
    const Outcome outcome = read_array(call, *reader, value, array);
    return outcome == Outcome::Native ? call.add_array(array, rule.known) : outcome;
  }
  case Form::Integer:
  case Form::IntegerMember:
  case Form::DerivedInteger:
    return add_integer(call, value);
  case Form::Boolean:
    return add_number(call, TagBool, Given::Kind::Number, Element::I1, value == Py_True);
  case Form::Real:
  case Form::RealMember:
  case Form::DerivedReal:
    return add_real(call, float_value(value));
  case Form::Scalar: {
    uint64_t word;
    const Outcome outcome = read_scalar(*reader, value, word);
    return outcome == Outcome::Native ? add_number(call, TagScalar + (uint64_t(reader->element) << 8),
                                                   Given::Kind::Number, reader->element, word)
                                      : outcome;
  }
  case Form::Tuple:
  case Form::Record:
  case Form::List:
    return read_structure(call, *reader, value, rule, depth);
  case Form::Absent:
  case Form::Text:
  case Form::Identity:
    return read_constant(call, value);
  default:
    return of_unknown_type(value);
  }
}

} // namespace dispatch
