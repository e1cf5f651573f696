#include "plans/specialization_table.h"

#include <cstring>

namespace dispatch {

uint64_t hash_of(const uint64_t *key, unsigned count) {
  uint64_t hash = count;
  for (unsigned i = 0; i < count; ++i)
    hash = (hash ^ key[i]) * 0x9E37'79B9'7F4A'7C15, hash ^= hash >> 32;
  return hash;
}

Specialization::~Specialization() {
  for (PyObject *object : identities)
    Py_DECREF(object);
  Py_XDECREF(plan_object);
}

Plan *SpecializationTable::find(const uint64_t *key, unsigned count, uint64_t hash) const {
  for (size_t at = hash & (slots.size() - 1); const Specialization *found = slots[at];
       at = (at + 1) & (slots.size() - 1))
    if (found->hash == hash && found->key.size() == count && !memcmp(found->key.data(), key, count * sizeof *key))
      return found->plan;
  return nullptr;
}

void SpecializationTable::insert(const Specialization *added) {
  size_t at = added->hash & (slots.size() - 1);
  while (slots[at])
    at = (at + 1) & (slots.size() - 1);
  slots[at] = added;
}

void SpecializationTable::add(std::unique_ptr<Specialization> added) {
  if (all.size() == most || find(added->key.data(), unsigned(added->key.size()), added->hash))
    return;
  all.push_back(std::move(added));
  if (2 * all.size() > slots.size()) {
    slots.assign(2 * slots.size(), nullptr);
    for (const std::unique_ptr<Specialization> &specialization : all)
      insert(specialization.get());
  } else {
    insert(all.back().get());
  }
}

} // namespace dispatch
