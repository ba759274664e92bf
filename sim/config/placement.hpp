#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// Selects the GPUs of a cluster that a job's ranks use, in order: the named hosts, or `domain` GPUs
// of each NVLink domain, or as many of each domain as keep groups whole. With `gpu_types`, only
// GPUs of these types are used, type by type.
struct Placement {
  std::vector<Located<std::string>> hosts;  // one per GPU, by rank, or empty
  std::optional<Located<std::uint32_t>> domain;
  std::vector<Located<std::string>> gpu_types;
};

Placement read_placement(const Field& field);
std::vector<KeyRow> placement_keys();

}  // namespace pipewright::config
