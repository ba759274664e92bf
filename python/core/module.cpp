#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "python/core/block.hpp"
#include "python/core/tree.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/scenario.hpp"
#include "sim/config/text/error_json.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/tree_json.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/text/yaml.hpp"

// The part of Python's package that runs in Python's own process: scenarios as trees, and the table
// of their keys. Simulations run in the program that the package contains.
namespace pipewright::python {
namespace {

namespace py = pybind11;
using config::Value;

// An immutable tree of keys and values, which several Python objects can share.
struct Tree {
  Value value;
};

void remove_key(Value& map, std::string_view path) {
  const std::size_t dot = std::min(path.find('.'), path.size());
  const std::string_view key = path.substr(0, dot);
  if (dot == path.size())
    std::erase_if(map.entries, [&](const config::Entry& entry) { return entry.key == key; });
  else if (Value* const inner = config::find(map, key))
    remove_key(*inner, path.substr(dot + 1));
}

Tree with(const Tree& tree, const std::string& path, const py::handle& object) {
  Tree changed = tree;
  if (object.is_none()) {
    remove_key(changed.value, path);
    return changed;
  }
  config::set_key(changed.value, path, tree_of(object, {}, path));
  return changed;
}

// Reads a tree as a scenario and makes all checks that need no cluster.
py::dict checked(const Tree& tree) {
  const config::Scenario scenario = [&] {
    const py::gil_scoped_release released;
    return config::read_scenario(tree.value);
  }();
  py::list schedules;
  for (const config::ScheduleSpec& spec : scenario.schedules) schedules.append(spec.name);
  py::list outputs;
  for (const auto& output : scenario.outputs) outputs.append(output.value.string());
  py::object trace = py::none();
  if (scenario.trace) trace = py::str(scenario.trace->value.string());
  return py::dict(py::arg("outputs") = outputs, py::arg("trace") = trace,
                  py::arg("yaml") = scenario.text, py::arg("title") = scenario.title,
                  py::arg("schedules") = schedules);
}

std::string type_name(config::ValueType type) {
  static constexpr std::array<const char*, 12> names{"text",   "flag", "choice",  "count",
                                                     "number", "time", "size",    "rate",
                                                     "path",   "map",  "library", "schedule"};
  return names.at(static_cast<std::size_t>(type));
}

py::list list_of(std::span<const std::string_view> names) {
  py::list list;
  for (const std::string_view name : names) list.append(std::string(name));
  return list;
}

py::list keys() {
  py::list rows;
  for (const config::KeyRow& row : config::scenario_keys()) {
    const py::list choices = list_of(row.value.choices);
    const py::list list_choices = list_of(row.value.list_choices);
    rows.append(py::dict(
        py::arg("name") = row.name, py::arg("alias") = std::string(row.info.alias),
        py::arg("help") = std::string(row.info.help), py::arg("unit") = std::string(row.info.unit),
        py::arg("default") = std::string(row.info.default_value),
        py::arg("required") = row.info.required, py::arg("type") = type_name(row.value.type),
        py::arg("is_list") = row.value.list, py::arg("choices") = choices,
        py::arg("list_choices") = list_choices, py::arg("is_map") = row.value.keys != nullptr));
  }
  return rows;
}

}  // namespace
}  // namespace pipewright::python

PYBIND11_MODULE(_core, module) {
  using namespace pipewright;
  using namespace pipewright::python;
  static const py::exception<config::Error> config_error(module, "ConfigError", PyExc_ValueError);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const config::Error& error) {
      const std::string parts = config::error_to_json(error).dump(
          -1, ' ', false, nlohmann::json::error_handler_t::replace);
      PyErr_SetObject(config_error.ptr(), py::make_tuple(parts).ptr());
    }
  });

  py::class_<Tree>(module, "Tree")
      .def_static("from_object",
                  [](const py::object& object) {
                    Tree tree{tree_of(object, {}, "")};
                    config::set_origin_keys(tree.value, "");
                    return tree;
                  })
      .def_static("from_text",
                  [](const std::string& text, const std::string& name) {
                    return Tree{config::read_yaml_text(text, name)};
                  })
      .def_static("from_file",
                  [](const std::string& path) { return Tree{config::read_yaml_file(path)}; })
      .def_static("from_json",
                  [](const std::string& text) {
                    return Tree{config::tree_from_json(nlohmann::json::parse(text))};
                  })
      .def("with_key", with)
      .def("object", [](const Tree& tree) { return object_of(tree.value); })
      .def("yaml", [](const Tree& tree) { return config::to_yaml(tree.value); })
      .def("json", [](const Tree& tree) { return config::tree_to_json(tree.value).dump(); })
      .def("checked", checked);
  py::class_<Block>(module, "Block", py::buffer_protocol())
      .def(py::init<int>())
      .def_buffer([](const Block& block) {
        return py::buffer_info(static_cast<const std::uint8_t*>(block.start()),
                               static_cast<py::ssize_t>(block.size()), true);
      });
  module.def("keys", keys);
  module.def("version", [] { return PIPEWRIGHT_VERSION; });
  module.def("set_own_library", [](const std::string& folder) { config::set_own_library(folder); });
}
