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

// Seconds as given: their number (1, devices, or devices x chunks) is checked where the chunks
// are known.
using PassTimes = Located<std::vector<double>>;

// One question: this pipeline on that cluster. Everything is checked that can be without the
// catalog of schedules and the cluster's hosts.
struct Scenario {
  std::optional<Located<std::filesystem::path>> cluster;  // absent: the ideal network
  std::string cluster_name = {};  // in messages and results; empty: the library's name or the path
  Placement placement;
  Located<std::uint32_t> devices;
  Located<std::uint32_t> microbatches;                 // of one iteration and replica
  std::optional<Located<std::uint32_t>> global_batch;  // samples; then microbatches follow from it
  Located<std::uint32_t> iterations{1, {}};
  std::vector<ScheduleSpec> schedules;  // at least one

  // A model says what passes cost; times given beside it stand above what it says.
  std::optional<Located<Model>> model;
  std::optional<Gpu> gpu;  // else what the cluster's hosts are
  Parallel parallel;
  Partition partition;
  Training training;
  Communication communication;
  Variation variation;
  std::optional<Goodput> goodput;  // what nothing but `pipewright goodput` looks at

  std::optional<Located<LayerTimes>> layer_times;
  PassTimes forward_times;                  // empty: by the model
  std::optional<PassTimes> backward_times;  // either this or the next two, or none with a model
  std::optional<PassTimes> input_grad_times;
  std::optional<PassTimes> weight_grad_times;
  std::optional<double> overlap;         // of a fused pair: part of the sum of its two times
  std::optional<PassTimes> fused_times;  // or its own
  double pass_overhead = 0;              // seconds: of each pass whose time is given

  double p2p_time = 0;                           // seconds a hop on the ideal network
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

  // What was asked, overrides included, under canonical keys in the order of the table and with
  // the cluster's path resolved; without `output` and `trace`, which do not change the answer.
  Value tree;
  std::string text;   // the tree as YAML
  std::string title;  // the file's stem, or else the schedules' names
};

// A scenario with nothing in it, for runs that come from the command line alone.
Value empty_scenario();

// As set_value, for a value and for its YAML, but they know the scenario: "devices" replaces what
// stands under "num_stages", and "schedule.chunks" may follow a plain schedule name.
void set_key(Value& root, std::string_view path, Value value);
void override_key(Value& root, std::string_view path, std::string_view text, const Origin& origin);

Scenario read_scenario(const Value& root);

// What keys of a scenario ask of each other, once each was read (scenario_checks.cpp); settles what
// follows from them: `microbatches` from global_batch and `p2p` from overlap_p2p. `root` says where
// they stand. Throws Error.
void check_scenario(Scenario& scenario, const Value& root);

std::string_view to_string(Engine engine);

// All keys, those within maps by their dotted names.
std::vector<KeyRow> scenario_keys();

}  // namespace pipewright::config
