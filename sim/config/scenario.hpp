#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/costs.hpp"
#include "sim/config/communication.hpp"
#include "sim/config/goodput.hpp"
#include "sim/config/gpu.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/layer_times.hpp"
#include "sim/config/memory.hpp"
#include "sim/config/model.hpp"
#include "sim/config/modules.hpp"
#include "sim/config/parallel.hpp"
#include "sim/config/partition.hpp"
#include "sim/config/placement.hpp"
#include "sim/config/schedule_spec.hpp"
#include "sim/config/text/fields.hpp"
#include "sim/config/text/value.hpp"
#include "sim/config/training.hpp"
#include "sim/config/variation.hpp"

namespace pipewright::config {

using schedules::P2p;
enum class Engine : std::uint8_t { simgrid, timing };

// Given times of one kind of pass, in seconds: a single one, one per device, or one per stage.
// Their number is checked once the number of chunks is known.
using PassTimes = Located<std::vector<double>>;

// A pipeline on a cluster, as the user describes it. Reading it checks everything that can be
// checked without the catalog of schedules and the hosts of the cluster.
struct Scenario {
  std::optional<Located<std::filesystem::path>> cluster;  // no value: the ideal network
  std::string cluster_name = {};  // in messages and results; empty: the library's name or the path
  Placement placement;
  Located<std::uint32_t> devices;
  Located<std::uint32_t> microbatches;                 // per iteration and replica
  std::optional<Located<std::uint32_t>> global_batch;  // in samples; determines microbatches
  Located<std::uint32_t> iterations{1, {}};
  std::vector<ScheduleSpec> schedules;  // at least one

  // Model from which the times of passes are computed; given times take precedence.
  std::optional<Located<Model>> model;
  std::optional<Gpu> gpu;  // default: the GPUs of the cluster
  Parallel parallel;
  Partition partition;
  Training training;
  Modules modules;
  Communication communication;
  Variation variation;
  std::optional<Goodput> goodput;  // used by `pipewright goodput` only

  std::optional<Located<LayerTimes>> layer_times;
  PassTimes forward_times;                  // empty: from the model
  std::optional<PassTimes> backward_times;  // this or the next two; optional with a model
  std::optional<PassTimes> input_grad_times;
  std::optional<PassTimes> weight_grad_times;
  std::optional<PassTimes> output_times;  // S and T of a split vocabulary, if there is no model
  std::optional<PassTimes> output_grad_times;
  std::optional<double> overlap;         // time of a fused pair, relative to the sum
  std::optional<PassTimes> fused_times;  // time of a fused pair
  double pass_overhead = 0;              // seconds, added to every given time of a pass

  double p2p_time = 0;                           // latency of the ideal network, seconds
  std::optional<std::uint64_t> boundary_tensor;  // bytes
  Activation activation;
  State state;
  std::optional<double> samples_per_microbatch;
  std::optional<double> tokens_per_microbatch;
  P2p p2p = P2p::eager;
  bool symmetric = false;  // one replica stands for all
  Engine engine = Engine::simgrid;

  std::vector<Located<std::filesystem::path>> outputs;
  std::optional<Located<std::filesystem::path>> trace;

  // Map of the scenario's keys, after overrides: canonical keys in the order of the table, with a
  // resolved path of the cluster; without `output` and `trace`, which do not change the result.
  Value tree;
  std::string text;   // the tree as YAML
  std::string title;  // stem of the file, or names of the schedules
};

// Returns an empty scenario, for runs that are described on the command line only.
Value empty_scenario();

// Set a key to a value, or to a text in YAML. Unlike set_value(), they know the keys of a scenario:
// setting "devices" replaces a value under "num_stages", and "schedule.chunks" works for a schedule
// that was only a name.
void set_key(Value& root, std::string_view path, Value value);
void override_key(Value& root, std::string_view path, std::string_view text, const Origin& origin);

Scenario read_scenario(const Value& root);

// Checks that the keys of a scenario fit together, and derives `microbatches` from global_batch and
// `p2p` from overlap_p2p (scenario_checks.cpp). `root` gives the locations of the keys for errors.
// Throws Error.
void check_scenario(Scenario& scenario, const Value& root);

std::string_view to_string(Engine engine);

// Returns all keys of a scenario, with dotted names for keys of its sections.
std::vector<KeyRow> scenario_keys();

}  // namespace pipewright::config
