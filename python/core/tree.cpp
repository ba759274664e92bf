#include "python/core/tree.hpp"

#include <utility>

#include <fmt/format.h>

namespace pipewright::python {
namespace {

namespace py = pybind11;
using config::Value;

std::string join_key(const std::string& place, std::string_view name) {
  return place.empty() ? std::string(name) : fmt::format("{}.{}", place, name);
}

Value map_of(const py::handle& mapping, const config::Origin& origin, const std::string& place) {
  Value map{.kind = Value::Kind::map, .origin = origin};
  for (const py::handle pair : mapping.attr("items")()) {
    const py::tuple entry = py::reinterpret_borrow<py::tuple>(pair);
    if (entry[1].is_none()) continue;
    std::string key = py::str(entry[0]);
    Value value = tree_of(entry[1], origin, join_key(place, key));
    map.entries.push_back({std::move(key), origin, std::move(value)});
  }
  return map;
}

}  // namespace

Value tree_of(const py::handle& object, const config::Origin& origin, const std::string& place) {
  if (py::isinstance<py::str>(object)) return config::make_text(object.cast<std::string>(), origin);
  if (py::isinstance<py::bool_>(object))
    return config::make_text(object.cast<bool>() ? "true" : "false", origin);
  if (py::isinstance<py::int_>(object) || py::isinstance<py::float_>(object))
    return config::make_text(py::str(object), origin);
  if (py::hasattr(object, "to_dict"))  // model configurations of transformers
    return tree_of(object.attr("to_dict")(), origin, place);
  if (py::hasattr(object, "items") && py::hasattr(object, "keys"))
    return map_of(object, origin, place);
  if (py::hasattr(object, "__fspath__"))
    return config::make_text(py::str(object.attr("__fspath__")()), origin);
  if (py::hasattr(object, "tolist"))  // arrays and numbers of numpy
    return tree_of(object.attr("tolist")(), origin, place);
  if (py::hasattr(object, "__iter__") && !py::isinstance<py::bytes>(object)) {
    Value list{.kind = Value::Kind::list, .origin = origin};
    for (const py::handle item : object)
      list.items.push_back(tree_of(item, origin, fmt::format("{}[{}]", place, list.items.size())));
    return list;
  }
  throw py::type_error(
      fmt::format("{} is of type {}; allowed: texts, numbers, lists, mappings, paths",
                  place.empty() ? "the scenario" : place,
                  std::string(py::str(py::type::of(object).attr("__name__")))));
}

py::object object_of(const Value& value) {
  if (value.kind == Value::Kind::text) return py::str(value.text);
  if (value.kind == Value::Kind::list) {
    py::list list;
    for (const Value& item : value.items) list.append(object_of(item));
    return list;
  }
  py::dict map;
  for (const config::Entry& entry : value.entries) map[py::str(entry.key)] = object_of(entry.value);
  return map;
}

}  // namespace pipewright::python
