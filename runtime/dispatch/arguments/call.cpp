#include "arguments/call.h"

namespace dispatch {

namespace {

// The properties of an axis in the header of an array; bits 0 to 7 are the element, 8 to 15 the rank.
constexpr unsigned aligned_bit = 16, first_axis_bit = 17, bits_per_axis = 4;
constexpr uint64_t array_tag = uint64_t(1) << 63, list_tag = uint64_t(1) << 62;
static_assert(first_axis_bit + bits_per_axis * max_rank <= 62, "the header of an array has 64 bits");

/// `divisor` is a power of two. A stride of 0 counts only if the axis has several elements, and has no divisor then: a
/// list in which it has others too has no tensor maps.
uint64_t properties(uint64_t extent, uint64_t stride, uint64_t divisor) {
  if (stride == 1)
    return 1 | uint64_t((extent & (divisor - 1)) == 0) << 1;
  if (stride == 0 && extent > 1)
    return 1 << 3;
  return uint64_t((stride & (divisor - 1)) == 0) << 2;
}

/// The axis of an annotated dimension, -1 for one that the array does not have.
int axis_of(int dimension, int rank) {
  const int axis = dimension < 0 ? dimension + rank : dimension;
  return axis < rank ? axis : -1;
}

Outcome add_dimensions(Call &call, const int8_t *dimensions, int count, const uint64_t *values, int rank) {
  for (int i = 0; i < count; ++i) {
    const int axis = axis_of(dimensions[i], rank);
    if (axis < 0)
      return Outcome::ArrayForm;
    if (Outcome outcome = call.add_key(values[axis]); outcome != Outcome::Native)
      return outcome;
  }
  return Outcome::Native;
}

/// Adds the extents and strides that are compile-time constants; `values` are all extents, then all strides.
Outcome add_known(Call &call, const StaticDimensions &known, const uint64_t *values, int rank) {
  if (!known.shape_count && !known.stride_count)
    return Outcome::Native;
  const Outcome outcome = add_dimensions(call, known.shape, known.shape_count, values, rank);
  return outcome == Outcome::Native ? add_dimensions(call, known.strides, known.stride_count, values + rank, rank)
                                    : outcome;
}

/// Whether two arrays with the axes of `known` agree in them.
bool same_known(const StaticDimensions &known, const uint64_t *one, const uint64_t *two, int rank) {
  auto equal = [&](const int8_t *dimensions, int count, int first) {
    for (int i = 0; i < count; ++i)
      if (one[first + axis_of(dimensions[i], rank)] != two[first + axis_of(dimensions[i], rank)])
        return false;
    return true;
  };
  return equal(known.shape, known.shape_count, 0) && equal(known.strides, known.stride_count, rank);
}

} // namespace

void row_major(const int64_t *shape, int rank, int64_t least, int64_t *strides) {
  int64_t stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    strides[axis] = stride;
    if (__builtin_mul_overflow(stride, shape[axis] ? shape[axis] : least, &stride))
      stride = -1;
  }
}

Call::~Call() {
  for (unsigned i = 0; i < held_count; ++i)
    Py_DECREF(held[i]);
}

Outcome Call::add_number(Given::Kind kind, Element element, uint64_t word) {
  if (word_count == max_words || given_count == max_given)
    return Outcome::Size;
  words[word_count++] = word;
  given[given_count++] = {kind, element, 0};
  return Outcome::Native;
}

Outcome Call::add_key(uint64_t word) {
  if (key_count == max_key)
    return Outcome::Size;
  key[key_count++] = word;
  return Outcome::Native;
}

Outcome Call::hold(PyObject *object) {
  if (held_count == max_held) {
    Py_DECREF(object);
    return Outcome::Size;
  }
  held[held_count++] = object;
  return Outcome::Native;
}

Outcome Call::add_identity(PyObject *object) {
  if (identity_count == max_identities)
    return Outcome::Size;
  identities[identity_count++] = object;
  return add_key(uint64_t(uintptr_t(object)));
}

Outcome Call::use_device(const ArrayForm &array) {
  if (array.device < 0)
    return Outcome::Driver;
  if (ordinal < 0)
    ordinal = array.device;
  return ordinal == array.device ? Outcome::Native : Outcome::SeveralDevices;
}

// The key distinguishes at least what arguments_of_call of tilec.specialization.call_signature distinguishes.
[[gnu::always_inline]] inline Outcome Call::read_words(const ArrayForm &array, const StaticDimensions &known,
                                                       uint64_t *word, uint64_t &header) {
  // Every signature requires at least the alignment of the element.
  if (array.address & (row_of(array.element).size_bytes - 1u))
    return Outcome::ArrayForm;
  const uint64_t divisor = alignment_bytes >> row_of(array.element).size_log2;
  header = array_tag | uint64_t(array.element) | uint64_t(array.rank) << 8 |
           uint64_t(array.address % alignment_bytes == 0) << aligned_bit;
  bool empty = false;
  for (int axis = 0; axis < array.rank; ++axis) {
    empty |= array.shape[axis] == 0;
    replaced_strides |= array.shape[axis] <= 1;
  }
  int64_t of_empty[max_rank];
  const int64_t *strides = array.strides;
  if (empty) // Strides of an array without elements are arbitrary: it has the kernel of a row-major one.
    row_major(array.shape, array.rank, int64_t(divisor), of_empty), strides = of_empty;
  *word++ = array.address;
  for (int axis = 0; axis < array.rank; ++axis) {
    const uint64_t extent = uint64_t(array.shape[axis]);
    uint64_t stride = uint64_t(strides[axis]);
    if (extent <= 1 && stride >= known.extent_limit()) // means nothing: the one that array_properties.py takes
      stride = divisor;
    if ((extent | stride) >= known.extent_limit())
      return Outcome::Range;
    header |= properties(extent, stride, divisor) << (first_axis_bit + bits_per_axis * axis);
    word[axis] = extent;
    word[array.rank + axis] = stride;
  }
  if (!array.address && !empty)
    return Outcome::ArrayForm;
  on_device = true;
  return array.address ? use_device(array) : Outcome::Native;
}

Outcome Call::add_array(const ArrayForm &array, const StaticDimensions &known) {
  if (word_count + 1 + 2 * array.rank > max_words || key_count == max_key || given_count == max_given)
    return Outcome::Size;
  uint64_t *word = words + word_count;
  if (Outcome outcome = read_words(array, known, word, key[key_count]); outcome != Outcome::Native)
    return outcome;
  word_count += 1 + 2 * array.rank;
  ++key_count;
  given[given_count++] = {Given::Kind::Array, array.element, uint8_t(array.rank)};
  return add_known(*this, known, word + 1, array.rank);
}

Outcome Call::begin_list(size_t rows) {
  // The address of the table and the number of its rows.
  if (word_count + 2 > max_words || key_count + 2 > max_key || given_count == max_given || rows > UINT32_MAX)
    return Outcome::Size;
  words[word_count++] = 0;
  words[word_count++] = rows;
  key[key_count++] = list_tag;
  key[key_count++] = ~uint64_t(0);
  given[given_count++] = {Given::Kind::List, Element::I1, 0, uint32_t(rows), uint32_t(table.size())};
  return Outcome::Native;
}

// A list has the properties that all its arrays have, as list_argument of tilec.specialization.array_properties.
Outcome Call::add_row(const ArrayForm &array, const StaticDimensions &known) {
  Given &list = given[given_count - 1];
  const size_t first = table.size();
  const bool is_first = first == list.first;
  if (!is_first && (list.element != array.element || list.rank != array.rank))
    return Outcome::ArrayForm;
  list.element = array.element, list.rank = uint8_t(array.rank);
  table.resize(first + list.row_words());
  uint64_t header;
  if (Outcome outcome = read_words(array, known, table.data() + first, header); outcome != Outcome::Native)
    return outcome;
  if (is_first) {
    list_key = key_count - 1;
    key[list_key] = header;
    return add_known(*this, known, table.data() + first + 1, array.rank);
  }
  key[list_key] &= header;
  return same_known(known, table.data() + list.first + 1, table.data() + first + 1, array.rank) ? Outcome::Native
                                                                                                : Outcome::ArrayForm;
}

} // namespace dispatch
