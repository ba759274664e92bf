#pragma once

#include <string>

#include <pybind11/pybind11.h>

#include "sim/config/text/value.hpp"

namespace pipewright::python {

// A tree from what Python has: mappings, lists and tuples, numbers, texts, paths and what else has
// a text. None leaves a key out. Throws py::type_error where it holds something else, at `place`.
config::Value tree_of(const pybind11::handle& object, const config::Origin& origin,
                      const std::string& place);

// The other way: dicts, lists and texts.
pybind11::object object_of(const config::Value& value);

}  // namespace pipewright::python
