#pragma once

#include <random>
#include <string>
#include <vector>

#include "sim/config/gpu.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/workload/compute/pass_seconds.hpp"

namespace pipewright::test {

inline config::Model library_model(const std::string& name) {
  const config::Value value = config::make_text(name, {});
  return config::read_model({value, "model"});
}

inline config::Model model_of(const std::string& yaml) {
  const config::Value value = config::read_yaml_text(yaml, "m.yaml");
  return config::read_model({value, "model"});
}

inline config::Training training_of(const std::string& yaml) {
  const config::Value value = config::read_yaml_text(yaml, "t.yaml");
  return config::read_training({value, "training"});
}

struct Layout {
  std::uint32_t tp = 1;
  bool sequence = false;
  std::uint32_t cp = 1;
  config::ContextComm cp_comm = config::ContextComm::p2p;
  std::uint32_t cp_a2a = 0;  // for a2a+p2p: ranks that exchange heads
  config::ContextBalance cp_balance = config::ContextBalance::head_tail;
  std::uint32_t ep = 1;
  std::uint32_t etp = 0;  // 0: same as tp
  std::uint32_t dp = 1;
  std::uint32_t zero = 0;
  std::uint32_t replicate = 1;  // copies of dp's shards
};

inline config::Parallel parallel_of(const Layout& layout) {
  config::Parallel parallel;
  parallel.tp.value = layout.tp;
  parallel.cp.value = layout.cp;
  parallel.cp_comm = layout.cp_comm;
  if (layout.cp_a2a > 0) parallel.cp_sizes = {{layout.cp_a2a, {}}, {layout.cp / layout.cp_a2a, {}}};
  parallel.cp_balance = layout.cp_balance;
  parallel.ep.value = layout.ep;
  if (layout.etp > 0) parallel.etp = {layout.etp, {}};
  parallel.dp.value = layout.dp;
  parallel.sequence = layout.sequence;
  parallel.zero = layout.zero;
  parallel.replicate = {layout.replicate, {}};
  return parallel;
}

// Random number from 1 to `limit`.
inline std::uint32_t pick(std::mt19937& random, std::uint32_t limit) {
  return std::uniform_int_distribution<std::uint32_t>(1, limit)(random);
}

// A ModelSetting, together with the objects to which it refers.
struct SettingFixture {
  SettingFixture(config::Model own_model, const std::string& training_yaml, const Layout& layout)
      : model(std::move(own_model)),
        training(training_of(training_yaml)),
        setting{model, training, workload::sizes_of(model, training, parallel_of(layout))} {}
  SettingFixture(const SettingFixture&) = delete;
  SettingFixture& operator=(const SettingFixture&) = delete;

  config::Model model;
  config::Training training;
  workload::ModelSetting setting;
};

}  // namespace pipewright::test
