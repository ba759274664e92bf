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

// The part of a sweep that one search of several looks at, each by itself.
struct Shard {
  std::uint32_t number = 1;  // from 1
  std::uint32_t count = 1;
};

// A sweep file: a scenario whose values may be lists, ranges or `auto`, and a section `search`.
struct Sweep {
  config::Value scenario;  // without that section
  std::vector<config::Located<std::string>> constraints;
  analysis::Objective objective;
  std::vector<std::uint32_t> gpus;      // how many a candidate may use; empty: all there are
  std::optional<std::uint64_t> memory;  // of a device, bytes; else what it has
  Shard shard;
  std::string title;
  std::string text;  // as YAML, which reads back as the same sweep
};

Sweep read_sweep(const config::Value& root);
std::vector<config::KeyRow> sweep_keys();  // of the section, for --help

// The clusters that candidates are on; one empty text where there is none.
std::vector<std::string> cluster_values(const Sweep& sweep);

// What expressions and `auto` need to know of a cluster.
struct ClusterFacts {
  std::string name;
  std::uint32_t gpus = 0;
  std::uint32_t gpus_per_node = 0;
  std::string gpu;           // type of the first
  std::uint64_t memory = 0;  // of the first, bytes; 0: unknown
};

}  // namespace pipewright::search
