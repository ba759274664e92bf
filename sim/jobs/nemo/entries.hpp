#pragma once

#include <string>
#include <vector>

#include "sim/jobs/nemo/nemo.hpp"
#include "sim/jobs/python/interpreter.hpp"

namespace pipewright::jobs::nemo {

// Adds the attributes of an object as entries below a path, in the order of their last assignments.
// A class of the package that describes a model counts with its defaults.
void add_entries(const python::Object& object, const std::string& path, std::vector<Named>& named);

}  // namespace pipewright::jobs::nemo
