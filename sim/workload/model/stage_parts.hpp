#pragma once

#include "sim/workload/model/partition.hpp"

namespace pipewright::workload {

// What a virtual stage is made of.
struct StageParts {
  LayerRange layers;
  bool embedding = false;
  bool head = false;            // the last norm, the output matrix and the loss
  bool embedding_copy = false;  // of a head tied to an embedding that is on another device
  bool receives = false;        // a boundary tensor from another device, forward
  bool sends = false;           // one to another device
};

}  // namespace pipewright::workload
