#pragma once

#include <cstdint>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/model.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Measured seconds of a part of a model, the collectives in it included, by pass. Where a kind of
// pass is left out (empty), the model says what it takes.
struct PartTimes {
  std::vector<double> forward;
  std::vector<double> backward;  // either this or the next two
  std::vector<double> input_grad;
  std::vector<double> weight_grad;
};

struct LayerTimes {
  PartTimes layers;   // one time for all of them, or one for each
  PartTimes experts;  // one for each layer with experts, above `layers`
  PartTimes embedding;
  PartTimes head;  // the last norm, the output matrix and the loss

  bool has_forward() const;
  bool has_backward() const;  // of any part, whole or a half of it
};

LayerTimes read_layer_times(const Field& field);
// Throws an Error at the key that the model has no such part for, or another number of layers.
void check_layer_times(const LayerTimes& times, const Field& field, const Model& model);

std::vector<KeyRow> layer_times_keys();

}  // namespace pipewright::config
