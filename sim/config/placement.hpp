#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// On which GPUs of a cluster a job's ranks are, in order: on the hosts that are named, on so many
// of each NVLink domain, or, where neither is given, on as many of each as keep groups whole. Where
// types of GPU are named, on those of the first one, then on those of the next; no others are used.
struct Placement {
  std::vector<Located<std::string>> hosts;  // one per GPU, by rank, or empty
  std::optional<Located<std::uint32_t>> domain;
  std::vector<Located<std::string>> gpu_types;
};

Placement read_placement(const Field& field);
std::vector<KeyRow> placement_keys();

}  // namespace pipewright::config
