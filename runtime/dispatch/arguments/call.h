// What one launch read from its arguments: entry arguments, key, device. It lies on the stack.
#pragma once

#include "arguments/element.h"
#include "outcome.h"

#include "python_api.h"

#include <cstdint>
#include <vector>

namespace dispatch {

constexpr unsigned max_words = 512, max_key = 512, max_given = 128, max_held = 128, max_identities = 64, max_rank = 8;
// Signatures distinguish addresses, strides and extents by the multiples of this (DEFAULT_ALIGNMENT).
constexpr unsigned alignment_bytes = 16;

/// The dimensions of an array parameter whose extents and strides are compile-time constants; -1 is the last one.
struct StaticDimensions {
  int8_t shape[max_rank], strides[max_rank];
  uint8_t shape_count = 0, stride_count = 0;
  bool wide = false; // extents and strides are tile<i64>, else tile<i32>

  /// The least extent that the parameter does not take.
  uint64_t extent_limit() const { return uint64_t(1) << (wide ? 63 : 31); }
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
  // Integer: an int, whose type depends on the signature. List: of arrays.
  enum class Kind : uint8_t { Array, Integer, Number, List };
  Kind kind;
  Element element;
  uint8_t rank;
  // Of a List: the number of its rows, and the index of the first one in `table`. Without initial values here, because
  // a call would set those of all its arguments.
  uint32_t rows, first;

  unsigned row_words() const { return 1 + 2u * rank; }
};

struct Call {
  /// The entry arguments as the kernel takes them, little endian: a narrower parameter is the low bytes of its word.
  uint64_t words[max_words];
  /// What selects the specialization.
  uint64_t key[max_key];
  Given given[max_given];
  /// References that are released after the launch.
  PyObject *held[max_held];
  /// The objects whose addresses are in the key; the arguments or `held` keep them alive.
  PyObject *identities[max_identities];
  /// A row for each array of a list: its address, extents and strides.
  std::vector<uint64_t> table;
  unsigned word_count = 0, key_count = 1, given_count = 0, held_count = 0, identity_count = 0;
  unsigned list_key = 0;         // the index in `key` of the properties of the last list
  bool replaced_strides = false; // an extent is 0 or 1
  bool changeable = false;       // other threads can change what an argument contains
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
  /// Adds a list of arrays in device memory without its rows, which `add_row` adds.
  Outcome begin_list(size_t rows);
  Outcome add_row(const ArrayForm &array, const StaticDimensions &known);
  Outcome add_number(Given::Kind kind, Element element, uint64_t word);
  Outcome add_key(uint64_t word);
  Outcome add_identity(PyObject *object);
  /// Takes over the reference.
  Outcome hold(PyObject *object);

private:
  /// Writes the words of an array, and its properties to `header`.
  Outcome read_words(const ArrayForm &array, const StaticDimensions &known, uint64_t *word, uint64_t &header);
  Outcome use_device(const ArrayForm &array);
};

/// The strides of a row-major array, in elements; extents of 0 count as `least`.
void row_major(const int64_t *shape, int rank, int64_t least, int64_t *strides);

} // namespace dispatch
