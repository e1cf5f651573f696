// tilec.runtime.dispatch._dispatch: launches of compiled kernels for Python.
#include "array_reader.h"
#include "kernel_dispatch.h"
#include "launch.h"
#include "launch_documentation.h"
#include "plan_object.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
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

/// The fields `names` of an object as integers, in the order of a map's enumerators.
MapRecipe recipe_of(nb::dict fields) {
  MapRecipe recipe;
  auto number = [&](const char *name) { return nb::cast<int64_t>(fields[name]); };
  recipe.function = MapRecipe::Function(number("function"));
  recipe.mode = int(number("mode"));
  recipe.element = int(number("element"));
  recipe.interleave = int(number("interleave"));
  recipe.swizzle = int(number("swizzle"));
  recipe.promotion = int(number("promotion"));
  recipe.fill = int(number("fill"));
  recipe.granule_bytes = uint64_t(number("granule_bytes"));
  recipe.group = uint64_t(number("group"));
  recipe.unconfirmed = nb::cast<bool>(fields["unconfirmed"]);
  recipe.base = program_of(nb::cast<Steps>(fields["base"]));
  recipe.extents = programs_of(nb::cast<std::vector<Steps>>(fields["extents"]));
  recipe.strides = programs_of(nb::cast<std::vector<Steps>>(fields["strides"]));
  recipe.box = nb::cast<std::vector<uint32_t>>(fields["box"]);
  recipe.element_strides = nb::cast<std::vector<uint32_t>>(fields["element_strides"]);
  recipe.lower = nb::cast<std::vector<int>>(fields["lower"]);
  recipe.upper = nb::cast<std::vector<int>>(fields["upper"]);
  recipe.channels = uint32_t(number("channels"));
  recipe.pixels = uint32_t(number("pixels"));
  return recipe;
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
  if (!fits || !driver())
    throw nb::value_error("a kernel that is not planned");
  driver()->context = plan->context;
}

void connect(nb::object launch, nb::object describe_kernel, nb::object plan, nb::object current_stream,
             nb::object describe_type, nb::object copy_arguments) {
  PythonPath &path = python_path();
  replace(path.launch, launch.release().ptr());
  replace(path.describe_kernel, describe_kernel.release().ptr());
  replace(path.plan, plan.release().ptr());
  replace(path.current_stream, current_stream.release().ptr());
  replace(path.copy_arguments, copy_arguments.release().ptr());
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
  module.def("launch_counts", [] { return nb::steal<nb::dict>(counts()); });
  module.def("reset_launch_counts", reset_counts);
}
