#pragma once

#include <string_view>

#include "sim/workload/traffic.hpp"

namespace pipewright::workload {

std::string_view name_of(Collective collective);  // "all-reduce"

}  // namespace pipewright::workload
