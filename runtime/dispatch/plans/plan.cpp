#include "plans/plan.h"

#include "arguments/stream_and_grid.h"

namespace dispatch {

namespace {

bool satisfies(int64_t value, int64_t fixed, int64_t divisor) {
  return fixed >= 0 ? value == fixed : value % divisor == 0;
}

bool array_satisfies(const PlannedArgument &argument, const uint64_t *words) {
  const size_t rank = argument.shape.size();
  if (words[0] % argument.alignment)
    return false;
  bool empty = false;
  for (size_t axis = 0; axis < rank; ++axis)
    empty |= !words[1 + axis];
  for (size_t axis = 0; axis < rank; ++axis) {
    const bool arbitrary = empty || words[1 + axis] <= 1;
    if (!satisfies(int64_t(words[1 + axis]), argument.shape[axis], argument.shape_divisors[axis]))
      return false;
    if (!arbitrary &&
        !satisfies(int64_t(words[1 + rank + axis]), argument.strides[axis], argument.stride_divisors[axis]))
      return false;
  }
  return true;
}

bool same_type(const PlannedArgument &argument, const Given &given) {
  if (given.kind == Given::Kind::Integer)
    return argument.kind == Given::Kind::Number && argument.element != Element::I1 && !is_float(argument.element);
  return argument.element == given.element && argument.kind == given.kind && argument.shape.size() == given.rank;
}

bool satisfies(const PlannedArgument &argument, const Given &given, const Call &call) {
  if (argument.kind == Given::Kind::Array)
    return array_satisfies(argument, call.words + argument.word);
  for (uint32_t row = 0; row < given.rows; ++row)
    if (!array_satisfies(argument, call.table.data() + given.first + row * given.row_words()))
      return false;
  return true;
}

/// Strides of axes of extent 1 and of empty arrays, which are arbitrary, become the compiled ones.
void replace_strides(const PlannedArgument &argument, uint64_t *words) {
  const size_t rank = argument.shape.size();
  bool empty = false;
  for (size_t axis = 0; axis < rank; ++axis)
    empty |= !words[1 + axis];
  for (size_t axis = 0; axis < rank; ++axis)
    if (empty || words[1 + axis] <= 1)
      words[1 + rank + axis] =
          uint64_t(argument.strides[axis] >= 0 ? argument.strides[axis] : argument.stride_divisors[axis]);
}

bool in_range(Element element, uint64_t word) {
  const unsigned bits = 8 * row_of(element).size_bytes;
  const int64_t value = int64_t(word);
  if (element >= Element::U8 && element <= Element::U64)
    return bits == 64 ? value >= 0 : word < uint64_t(1) << bits;
  return bits == 64 || (value >= -(int64_t(1) << (bits - 1)) && value < int64_t(1) << (bits - 1));
}

} // namespace

bool Plan::accepts(const Call &call) const {
  if (call.word_count != word_count || call.ordinal != ordinal || call.given_count != arguments.size())
    return false;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!same_type(arguments[i], call.given[i]) || !satisfies(arguments[i], call.given[i], call))
      return false;
  return true;
}

Outcome Plan::prepare(Call &call) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const PlannedArgument &argument = arguments[i];
    uint64_t *words = call.words + argument.word;
    if (call.replaced_strides) {
      if (argument.kind == Given::Kind::Array)
        replace_strides(argument, words);
      for (uint32_t row = 0; row < call.given[i].rows; ++row)
        replace_strides(argument, call.table.data() + call.given[i].first + row * call.given[i].row_words());
    }
    if (call.given[i].kind == Given::Kind::Integer && !in_range(argument.element, *words))
      return Outcome::Range;
  }
  return Outcome::Native;
}

const Given &Plan::list_at(int word, const Call &call) const {
  size_t i = 0;
  while (arguments[i].word != unsigned(word))
    ++i;
  return call.given[i];
}

bool Plan::is_clustered(const uint32_t *grid) const {
  const bool is_divisible = grid[0] % cluster[0] == 0 && grid[1] % cluster[1] == 0 && grid[2] % cluster[2] == 0;
  return is_divisible && cluster[0] * cluster[1] * cluster[2] > 1;
}

bool Plan::set_blocks(uint32_t *grid) const {
  for (int i = 0; i < 3; ++i) {
    if (!grid_counts_clusters && !cluster_if_divisible && grid[i] % cluster[i])
      return false;
    const uint64_t blocks = grid_counts_clusters ? uint64_t(grid[i]) * cluster[i] : grid[i];
    if (blocks > uint64_t(max_grid[i]))
      return false;
    grid[i] = uint32_t(blocks);
  }
  return true;
}

Outcome launch(const Plan &plan, const Driver &driver, const Request &request, void **parameters,
               DeviceTables *tables) {
  LaunchConfig config;
  LaunchAttribute attributes[2];
  config.attributes = attributes;
  config.attribute_count = 0;
  for (int i = 0; i < 3; ++i)
    config.grid[i] = request.grid[i], config.block[i] = plan.block[i];
  config.shared_bytes = plan.shared_bytes;
  config.stream = request.stream;
  if (plan.is_clustered(request.grid)) {
    LaunchAttribute &attribute = attributes[config.attribute_count++];
    attribute = LaunchAttribute();
    attribute.id = attribute_cluster_dimension;
    for (int i = 0; i < 3; ++i)
      attribute.value.cluster[i] = plan.cluster[i];
  }
  if (request.overlaps_previous) {
    LaunchAttribute &attribute = attributes[config.attribute_count++];
    attribute = LaunchAttribute();
    attribute.id = attribute_programmatic_serialization;
    attribute.value.flag = 1;
  }
  void *current = nullptr, *popped;
  int status;
  // The driver may wait for space in the queue, and may hold locks that callbacks into Python need.
  PyThreadState *thread = PyEval_SaveThread();
  const bool pushes = driver.current_context(&current) || current != plan.context;
  status = pushes ? driver.push_context(plan.context) : 0;
  if (!status) {
    status = tables ? tables->copy(driver, request.stream) : 0;
    if (!status)
      status = driver.launch(&config, plan.function, parameters, nullptr);
    if (tables)
      tables->release(driver, request.stream);
    if (pushes)
      driver.pop_context(&popped);
  }
  PyEval_RestoreThread(thread);
  return status ? Outcome::Driver : Outcome::Native;
}

Outcome launch(Plan &plan, const Driver &driver, Call &call, const Request &request) {
  // Everything that the launch reads lies on the stack: other threads may change the plan's caches without the GIL.
  alignas(EncodedMap) char storage[max_maps * sizeof(EncodedMap)];
  auto *maps = reinterpret_cast<EncodedMap *>(storage);
  std::vector<MapTable> listed; // by map, empty without lists
  for (size_t i = 0; i < plan.maps.size(); ++i) {
    MapCache &cache = plan.maps[i];
    Outcome outcome;
    if (cache.list() < 0) {
      outcome = cache.find(call.words, driver, maps[i]);
    } else {
      listed.resize(plan.maps.size());
      const Given &given = plan.list_at(cache.list(), call);
      outcome = listed[i].fill(cache, call.table.data() + given.first, given.rows, given.row_words(), driver);
    }
    if (outcome != Outcome::Native)
      return outcome;
  }
  void *parameters[max_parameters];
  for (size_t i = 0; i < plan.parameters.size(); ++i) {
    const int from = plan.parameters[i], map = -1 - from;
    if (from >= 0)
      parameters[i] = call.words + from;
    else if (plan.maps[size_t(map)].list() < 0)
      parameters[i] = maps + map;
    else
      parameters[i] = &listed[size_t(map)].address;
  }
  if (call.table.empty())
    return launch(plan, driver, request, parameters);
  DeviceTables tables;
  for (size_t i = 0; i < plan.arguments.size(); ++i)
    if (const Given &given = call.given[i]; plan.arguments[i].is_list())
      tables.add(call.table.data() + given.first, given.rows * given.row_words(), call.words[plan.arguments[i].word]);
  for (MapTable &table : listed)
    if (table.cache)
      tables.add(table);
  return launch(plan, driver, request, parameters, &tables);
}

} // namespace dispatch
