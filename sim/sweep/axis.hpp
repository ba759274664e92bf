#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/model.hpp"
#include "sim/sweep/open_values.hpp"
#include "sim/sweep/sweep.hpp"

namespace pipewright::search {

struct AxisValue {
  config::Value shown;  // as users write it
  std::optional<config::Value>
      expanded;  // the same with the keys of a model or GPU instead of its file
  std::vector<std::pair<std::size_t, double>> names;  // slots of Names that this value sets
  std::uint64_t gpus = 1;  // product of the parallel sizes that this value sets
};

struct SweepAxis {
  analysis::SearchAxis info;
  std::vector<std::size_t> path;
  std::vector<AxisValue> values;
};

// The axes of a sweep, and the scenario whose values the axes replace, each at its path in the
// scenario.
struct SweepAxes {
  config::Value scenario;              // keys that are the same for all candidates
  std::vector<SweepAxis> open;         // in the order of digits, the schedules last
  std::vector<SweepAxis> fixed;        // axes of one value, which the scenario has
  std::vector<std::uint64_t> gpus;     // allowed numbers of GPUs; empty: any
  std::vector<config::Model> models;   // by value of the axis of models, if it exists
  std::vector<config::Gpu> gpu_types;  // by value of the axis of GPUs, if it exists
};

SweepAxes make_axes(const Sweep& sweep, const std::vector<ClusterFacts>& facts);

// Returns the axis that varies a key, or null if there is none.
const SweepAxis* find_axis(const std::vector<SweepAxis>& axes, std::string_view key);

// Returns whether a key is one of the parallel sizes whose product is the number of GPUs.
bool is_size(std::string_view key);
std::uint64_t size_product(const std::vector<Scalar>& scalars);

}  // namespace pipewright::search
