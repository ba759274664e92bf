#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/search/objective.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::search {

// A shard of a sweep: one of `count` parts, each of which is searched independently of the others.
struct Shard {
  std::uint32_t number = 1;  // from 1
  std::uint32_t count = 1;
};

// Content of a sweep file: a scenario whose values may be lists, ranges or `auto`, and the settings
// of its section `search`.
struct Sweep {
  config::Value scenario;  // without the section `search`
  std::vector<config::Located<std::string>> constraints;
  analysis::Objective objective;
  std::vector<std::uint32_t> gpus;      // allowed numbers of GPUs; empty: all of the cluster
  std::optional<std::uint64_t> memory;  // memory of a device in bytes; empty: as in the cluster
  bool has_rules = true;                // candidates that their stack refuses are excluded
  Shard shard;
  std::string title;
  std::string text;  // YAML that reads back as the same sweep
};

// Throws config::Error.
Sweep read_sweep(const config::Value& root);
std::vector<config::KeyRow> sweep_keys();  // keys of the section `search`, for --help

// Returns the alternatives for the key `cluster`; a single empty text stands for the ideal network.
std::vector<std::string> cluster_values(const Sweep& sweep);

// Facts about a cluster that constraints and `auto` need.
struct ClusterFacts {
  std::string name;
  std::uint32_t gpus = 0;
  std::uint32_t gpus_per_node = 0;
  std::string gpu;           // type of the first GPU
  std::uint64_t memory = 0;  // bytes of the first GPU's memory; 0 if unknown
};

}  // namespace pipewright::search
