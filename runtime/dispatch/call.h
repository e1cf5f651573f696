// What one launch read from its arguments: entry arguments, key, device. It lies on the stack.
#pragma once

#include "element.h"
#include "outcome.h"

#include "python_api.h"

#include <cstdint>

namespace dispatch {

constexpr unsigned max_words = 512, max_key = 512, max_given = 128, max_held = 64, max_rank = 8;
// Extents and strides are tile<i32>; larger ones leave the native path.
constexpr uint64_t extent_limit = uint64_t(1) << 31;
// Signatures distinguish addresses, strides and extents by the multiples of this (DEFAULT_ALIGNMENT).
constexpr unsigned alignment_bytes = 16;

/// The dimensions of an array parameter whose extents and strides are compile-time constants; -1 is the last one.
struct StaticDimensions {
  int8_t shape[max_rank], strides[max_rank];
  uint8_t shape_count = 0, stride_count = 0;
};

/// Libraries whose current stream is the default of a launch.
enum class Library : uint8_t { None, Torch, Cupy };

struct ArrayForm {
  Element element;
  int rank;
  int device; // the ordinal, -1: unknown to the driver
  uint64_t address;
  int64_t shape[max_rank], strides[max_rank]; // in elements
};

/// An argument that has entry arguments.
struct Given {
  enum class Kind : uint8_t { Array, Integer, Number }; // Integer: an int, whose type depends on the signature
  Kind kind;
  Element element;
  uint8_t rank;
};

struct Call {
  /// The entry arguments as the kernel takes them, little endian: a narrower parameter is the low bytes of its word.
  uint64_t words[max_words];
  /// What selects the specialization.
  uint64_t key[max_key];
  Given given[max_given];
  /// References that are released after the launch.
  PyObject *held[max_held];
  unsigned word_count = 0, key_count = 1, given_count = 0, held_count = 0;
  bool replaced_strides = false; // an extent is 0 or 1
  bool on_device = false;        // an argument is an array in device memory
  int ordinal = -1;
  Library library = Library::None; // of an array
  bool mixed_libraries = false;
  const struct ExchangeTable *exchange = nullptr; // of that library

  Call() {} // NOLINT: the arrays stay uninitialised
  ~Call();
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  Outcome add_array(const ArrayForm &array, const StaticDimensions &known);
  Outcome add_number(Given::Kind kind, Element element, uint64_t word);
  Outcome add_key(uint64_t word);
  /// Takes over the reference.
  Outcome hold(PyObject *object);
};

/// The strides of a row-major array, in elements; extents of 0 count as `least`.
void row_major(const int64_t *shape, int rank, int64_t least, int64_t *strides);

} // namespace dispatch
