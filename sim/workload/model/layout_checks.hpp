#pragma once

#include "sim/config/model.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/training.hpp"

namespace pipewright::workload {

// Throws config::Error, at the number of the layout that does not fit, where it does not divide
// what of the model it cuts: with both numbers and the nearest that would do.
void check_layout(const config::Model& model, const config::Training& training,
                  const config::Parallel& parallel);

}  // namespace pipewright::workload
