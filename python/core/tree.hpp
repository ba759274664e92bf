#pragma once

#include <string>

#include <pybind11/pybind11.h>

#include "sim/config/text/value.hpp"

namespace pipewright::python {

// Converts Python objects to a tree: mappings, lists, tuples, numbers, texts, paths and other
// objects that convert to these. A key with None is left out. Throws py::type_error for any other
// object; `place` is its dotted key.
config::Value tree_of(const pybind11::handle& object, const config::Origin& origin,
                      const std::string& place);

// Converts a tree to dicts, lists and texts.
pybind11::object object_of(const config::Value& value);

}  // namespace pipewright::python
