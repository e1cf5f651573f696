#include "call.h"

namespace dispatch {

namespace {

// The properties of an axis in the header of an array; bits 0 to 7 are the element, 8 to 15 the rank.
constexpr unsigned aligned_bit = 16, first_axis_bit = 17, bits_per_axis = 3;
constexpr uint64_t array_tag = uint64_t(1) << 63;
static_assert(first_axis_bit + bits_per_axis * max_rank < 63, "the header of an array has 64 bits");

/// `divisor` is a power of two.
uint64_t properties(uint64_t extent, uint64_t stride, uint64_t divisor) {
  if (stride == 1)
    return 1 | uint64_t((extent & (divisor - 1)) == 0) << 1;
  return uint64_t((stride & (divisor - 1)) == 0) << 2;
}

Outcome add_known(Call &call, const int8_t *dimensions, int count, const int64_t *values, int rank) {
  for (int i = 0; i < count; ++i) {
    const int axis = dimensions[i] < 0 ? dimensions[i] + rank : dimensions[i];
    if (axis < 0 || axis >= rank)
      return Outcome::ArrayForm;
    if (Outcome outcome = call.add_key(uint64_t(values[axis])); outcome != Outcome::Native)
      return outcome;
  }
  return Outcome::Native;
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

// The key distinguishes at least what arguments_of_call of tilec.specialization.call_signature distinguishes.
Outcome Call::add_array(const ArrayForm &array, const StaticDimensions &known) {
  if (word_count + 1 + 2 * array.rank > max_words || key_count == max_key || given_count == max_given)
    return Outcome::Size;
  // Every signature requires at least the alignment of the element.
  if (array.address & (row_of(array.element).size_bytes - 1u))
    return Outcome::ArrayForm;
  const uint64_t divisor = alignment_bytes >> row_of(array.element).size_log2;
  uint64_t header = array_tag | uint64_t(array.element) | uint64_t(array.rank) << 8 |
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
  uint64_t *word = words + word_count;
  *word++ = array.address;
  for (int axis = 0; axis < array.rank; ++axis) {
    const uint64_t extent = uint64_t(array.shape[axis]), stride = uint64_t(strides[axis]);
    if ((extent | stride) >= extent_limit)
      return Outcome::Range;
    header |= properties(extent, stride, divisor) << (first_axis_bit + bits_per_axis * axis);
    word[axis] = extent;
    word[array.rank + axis] = stride;
  }
  word_count += 1 + 2 * array.rank;
  key[key_count++] = header;
  given[given_count++] = {Given::Kind::Array, array.element, uint8_t(array.rank)};
  if (array.address) {
    if (array.device < 0)
      return Outcome::Driver;
    if (ordinal < 0)
      ordinal = array.device;
    else if (ordinal != array.device)
      return Outcome::SeveralDevices;
  } else if (!empty) {
    return Outcome::ArrayForm;
  }
  on_device = true;
  if (!known.shape_count && !known.stride_count)
    return Outcome::Native;
  const Outcome outcome = add_known(*this, known.shape, known.shape_count, array.shape, array.rank);
  return outcome == Outcome::Native ? add_known(*this, known.strides, known.stride_count, strides, array.rank)
                                    : outcome;
}

} // namespace dispatch
