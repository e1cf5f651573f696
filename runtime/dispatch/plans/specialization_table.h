// The plans of a kernel by key: a hash table with linear probing, at most half full.
#pragma once

#include "plans/plan.h"

#include <memory>
#include <vector>

namespace dispatch {

/// A key and its plan, with the objects whose addresses the key has.
struct Specialization {
  std::vector<uint64_t> key;
  uint64_t hash;
  PyObject *plan_object; // a strong reference to the owner of the plan
  Plan *plan;
  std::vector<PyObject *> identities; // strong references

  Specialization() = default;
  Specialization(const Specialization &) = delete;
  ~Specialization();
};

class SpecializationTable {
public:
  Plan *find(const uint64_t *key, unsigned count, uint64_t hash) const;
  /// Does nothing if the key is present or the table is full.
  void add(std::unique_ptr<Specialization> added);
  size_t size() const { return all.size(); }

private:
  void insert(const Specialization *added);

  // Keys with the values of static dimensions are not bounded by the program.
  static constexpr size_t most = size_t(1) << 16;
  std::vector<std::unique_ptr<Specialization>> all;
  std::vector<const Specialization *> slots = std::vector<const Specialization *>(8);
};

uint64_t hash_of(const uint64_t *key, unsigned count);

} // namespace dispatch
