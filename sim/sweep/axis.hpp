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
  config::Value shown;                   // as people write it
  std::optional<config::Value> spelled;  // the same without files to read, for evaluating it
  std::vector<std::pair<std::size_t, double>> names;  // slots of Names, and what they hold
  std::uint64_t gpus = 1;  // the product of the parallel sizes that this value sets
};

struct SweepAxis {
  analysis::SearchAxis info;
  std::vector<std::size_t> path;
  std::vector<AxisValue> values;
};

// What a sweep leaves open, and its scenario with the places where values go.
struct SweepAxes {
  config::Value scenario;              // what is the same for all, as people write it
  std::vector<SweepAxis> open;         // in the order of digits, the schedules last
  std::vector<SweepAxis> fixed;        // of one value, which stands in the scenario
  std::vector<std::uint64_t> gpus;     // that candidates may use; empty: as many as they come to
  std::vector<config::Model> models;   // by value of their axis, if there are any
  std::vector<config::Gpu> gpu_types;  // likewise
};

SweepAxes make_axes(const Sweep& sweep, const std::vector<ClusterFacts>& facts);

// The axis of a key, or null.
const SweepAxis* find_axis(const std::vector<SweepAxis>& axes, std::string_view key);

// Whether a key is a size whose product over tp, cp, pp and dp is the number of GPUs.
bool is_size(std::string_view key);
std::uint64_t size_product(const std::vector<Scalar>& scalars);

}  // namespace pipewright::search
