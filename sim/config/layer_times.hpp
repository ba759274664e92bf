#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/model.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Measured times of a part of a model (a layer, the embedding, ..) for each kind of pass, in
// seconds and including its collectives. For a kind with an empty list, the time is computed from
// the model.
struct PartTimes {
  std::vector<double> forward;
  std::vector<double> backward;  // exclusive with the next two
  std::vector<double> input_grad;
  std::vector<double> weight_grad;
};

struct LayerTimes {
  PartTimes layers;   // one time for all layers, or one per layer
  PartTimes experts;  // layers with experts, instead of `layers`
  PartTimes embedding;
  PartTimes head;  // last norm, output matrix and loss

  bool has_forward() const;
  bool has_backward() const;  // B, I or W of any part
};

LayerTimes read_layer_times(const Field& field);
// Throws an Error if times are given for a part that the model does not have, or for another number
// of layers.
void check_layer_times(const LayerTimes& times, const Field& field, const Model& model);

std::vector<KeyRow> layer_times_keys();

}  // namespace pipewright::config
