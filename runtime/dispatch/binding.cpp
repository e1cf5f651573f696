// tilec.runtime.dispatch._dispatch: launches of compiled kernels for Python.
#include "arguments/array_reader.h"
#include "driver.h"
#include "launch.h"
#include "launch_documentation.h"
#include "plans/kernel_dispatch.h"
#include "plans/plan_object.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

namespace nb = nanobind;
using namespace dispatch;

namespace {

using Steps = std::vector<std::tuple<std::string, int64_t>>;
using Argument = std::tuple<std::string, std::string, uint64_t, std::vector<int64_t>, std::vector<int64_t>,
                            std::vector<int64_t>, std::vector<int64_t>>;

constexpr const char *operators[] = {"constant", "parameter", "add", "sub", "mul", "floordiv", "ceildiv", "min", "max"};

Program program_of(const Steps &steps) {
  std::vector<Program::Step> result;
  for (const auto &[name, value] : steps) {
    size_t op = 0;
    while (op < std::size(operators) && name != operators[op])
      ++op;
    if (op == std::size(operators))
      throw nb::value_error("unknown operator");
    result.push_back({Program::Operator(op), value});
  }
  return Program(std::move(result));
}

std::vector<Program> programs_of(const std::vector<Steps> &all) {
  std::vector<Program> result;
  for (const Steps &steps : all)
    result.push_back(program_of(steps));
  return result;
}

/// The fields of a map that do not depend on a launch.
MapRecipe constant_fields_of(nb::dict fields) {
  MapRecipe recipe;
  auto number = [&](const char *name) { return nb::cast<int64_t>(fields[name]); };
  recipe.function = MapRecipe::Function(number("function"));
  recipe.mode = int(number("mode"));
  recipe.element = int(number("element"));
  recipe.interleave = int(number("interleave"));
  recipe.swizzle = int(number("swizzle"));
  recipe.promotion = int(number("promotion"));
  recipe.fill = int(number("fill"));
  recipe.box = nb::cast<std::vector<uint32_t>>(fields["box"]);
  recipe.element_strides = nb::cast<std::vector<uint32_t>>(fields["element_strides"]);
  recipe.lower = nb::cast<std::vector<int>>(fields["lower"]);
  recipe.upper = nb::cast<std::vector<int>>(fields["upper"]);
  recipe.channels = uint32_t(number("channels"));
  recipe.pixels = uint32_t(number("pixels"));
  return recipe;
}

MapRecipe recipe_of(nb::dict fields) {
  MapRecipe recipe = constant_fields_of(fields);
  recipe.granule_bytes = nb::cast<uint64_t>(fields["granule_bytes"]);
  recipe.group = nb::cast<uint64_t>(fields["group"]);
  recipe.unconfirmed = nb::cast<bool>(fields["unconfirmed"]);
  recipe.list = nb::cast<int>(fields["list"]);
  recipe.extent_of_padding = nb::cast<uint64_t>(fields["extent_of_padding"]);
  recipe.base = program_of(nb::cast<Steps>(fields["base"]));
  recipe.extents = programs_of(nb::cast<std::vector<Steps>>(fields["extents"]));
  recipe.strides = programs_of(nb::cast<std::vector<Steps>>(fields["strides"]));
  return recipe;
}

nb::tuple encode_tensor_map(nb::dict fields, uint64_t base, const std::vector<uint64_t> &extents,
                            const std::vector<uint64_t> &strides, bool blackwell) {
  if (extents.empty() || extents.size() > max_map_rank || strides.size() + 1 != extents.size())
    throw nb::value_error("a tensor map has one to five extents and one stride less");
  MapRecipe recipe = constant_fields_of(fields);
  recipe.extents.resize(extents.size());
  MapRecipe::Values values{base, {}, {}};
  std::copy(extents.begin(), extents.end(), values.extents);
  std::copy(strides.begin(), strides.end(), values.strides);
  EncodedMap map{};
  const int status = recipe.encode(values, encoding_driver(), map);
  if (blackwell)
    map.clear_faulty_bit();
  return nb::make_tuple(status, nb::bytes(reinterpret_cast<const char *>(&map), sizeof map));
}

// The names of Given::Kind.
constexpr const char *kinds[] = {"array", "integer", "number", "list"};

PlannedArgument argument_of(const Argument &given, unsigned &word) {
  PlannedArgument argument;
  const auto &[kind, element, alignment, shape, strides, shape_divisors, stride_divisors] = given;
  const int row = element_named(element);
  const size_t form = std::find(std::begin(kinds), std::end(kinds), kind) - std::begin(kinds);
  if (row < 0 || shape.size() > max_rank || form == std::size(kinds))
    throw nb::value_error("an argument that is not planned");
  argument.kind = Given::Kind(form);
  argument.element = Element(row);
  argument.alignment = alignment;
  argument.shape = shape, argument.strides = strides;
  argument.shape_divisors = shape_divisors, argument.stride_divisors = stride_divisors;
  argument.word = word;
  word += argument.word_count();
  return argument;
}

void create_plan(Plan *plan, uint64_t function, uint64_t context, int ordinal, std::array<uint32_t, 3> block,
                 std::array<uint32_t, 3> cluster, bool grid_counts_clusters, bool cluster_if_divisible,
                 uint32_t shared_bytes, const std::vector<Argument> &arguments, const std::vector<int> &parameters,
                 const std::vector<nb::dict> &recipes, bool blackwell) {
  new (plan) Plan;
  plan->function = reinterpret_cast<void *>(function);
  plan->context = reinterpret_cast<void *>(context);
  plan->ordinal = ordinal, plan->block = block, plan->cluster = cluster, plan->shared_bytes = shared_bytes;
  plan->grid_counts_clusters = grid_counts_clusters, plan->cluster_if_divisible = cluster_if_divisible;
  for (const Argument &argument : arguments)
    plan->arguments.push_back(argument_of(argument, plan->word_count));
  for (const nb::dict &recipe : recipes)
    plan->maps.emplace_back(recipe_of(recipe), blackwell);
  plan->parameters = parameters;
  const bool fits = plan->word_count <= max_words && parameters.size() <= max_parameters && recipes.size() <= max_maps;
  if (!fits || !connected_driver)
    throw nb::value_error("a kernel that is not planned");
  connected_driver->context = plan->context;
}

void connect(nb::object launch, nb::object describe_kernel, nb::object plan, nb::object current_stream,
             nb::object describe_type, nb::object copy_arguments, nb::object connect_driver) {
  PythonPath &path = python_path();
  replace(path.launch, launch.release().ptr());
  replace(path.describe_kernel, describe_kernel.release().ptr());
  replace(path.plan, plan.release().ptr());
  replace(path.current_stream, current_stream.release().ptr());
  replace(path.copy_arguments, copy_arguments.release().ptr());
  replace(path.connect_driver, connect_driver.release().ptr());
  set_describe(describe_type.ptr());
}

PyMethodDef functions[] = {{"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void *>(launch_kernel)),
                            METH_FASTCALL | METH_KEYWORDS, launch_documentation},
                           {nullptr, nullptr, 0, nullptr}};

} // namespace

Plan *dispatch::plan_of(PyObject *object) {
  Plan *plan = nullptr;
  return nb::try_cast(nb::handle(object), plan) ? plan : nullptr;
}

NB_MODULE(_dispatch, module) {
  nb::set_leak_warnings(false); // Kernels of modules live until the interpreter ends.
  module.doc() = "Launches of compiled kernels without Python code between the caller and the driver.";
  if (!prepare_names() || PyModule_AddFunctions(module.ptr(), functions))
    nb::raise_python_error();
  module.attr("KernelDispatch") = nb::steal(create_kernel_class());
  module.attr("Launcher") = nb::steal(create_launcher_class());
  nb::class_<Plan>(module, "Plan")
      .def("__init__", create_plan, nb::kw_only(), nb::arg("function"), nb::arg("context"), nb::arg("ordinal"),
           nb::arg("block"), nb::arg("cluster"), nb::arg("grid_counts_clusters"), nb::arg("cluster_if_divisible"),
           nb::arg("shared_bytes"), nb::arg("arguments"), nb::arg("parameters"), nb::arg("maps"), nb::arg("blackwell"))
      .def_prop_ro("encoded_maps", [](const Plan &plan) {
        uint64_t total = 0;
        for (const MapCache &map : plan.maps)
          total += map.encoded();
        return total;
      });
  module.def("connect", connect);
  module.def("driver_functions", driver_functions);
  module.def("connect_driver", connect_driver, nb::arg("device_count"), nb::arg("addresses"));
  module.def("encode_tensor_map", encode_tensor_map, nb::arg("fields"), nb::kw_only(), nb::arg("base"),
             nb::arg("extents"), nb::arg("strides"), nb::arg("blackwell"));
  module.def("launch_counts", [] { return nb::steal<nb::dict>(counts()); });
  module.def("reset_launch_counts", reset_counts);
}
