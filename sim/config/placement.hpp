#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// On which GPUs of a cluster a job's ranks are, in order: on the hosts that are named, on so many
// of each NVLink domain, or, where neither is given, on as many of each as keep groups whole.
struct Placement {
  std::vector<Located<std::string>> hosts;  // one per GPU, by rank, or empty
  std::optional<Located<std::uint32_t>> domain;
};

Placement read_placement(const Field& field);
std::vector<KeyRow> placement_keys();

}  // namespace pipewright::config
