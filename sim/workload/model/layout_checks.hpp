#pragma once

#include <cstdint>
#include <functional>

#include "sim/config/model.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/training.hpp"

namespace pipewright::workload {

// Whether each number of a layout divides what of the model it cuts.
bool layout_fits(const config::Model& model, const config::Training& training,
                 const config::Parallel& parallel);

// What else a layout has to suit before an error offers it: a cluster, a batch.
using LayoutFits = std::function<bool(const config::Parallel&)>;

// Throws config::Error, at the first number that does not: with both numbers and the nearest that
// would do by all rules, and `also` if there are such.
void check_layout(const config::Model& model, const config::Training& training,
                  const config::Parallel& parallel, const LayoutFits& also = {});

// A layout with another size of one axis.
config::Parallel with_size(config::Parallel parallel, config::Axis axis, std::uint32_t size);

}  // namespace pipewright::workload
