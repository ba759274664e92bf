#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/stack.hpp"
#include "sim/jobs/request/request.hpp"

namespace pipewright::jobs {

// A scenario, while it is built from settings. Looking up a setting marks it as read.
class Draft {
 public:
  explicit Draft(Request request);

  const Request& request() const { return request_; }
  config::Value& tree() { return job_.tree; }

  const Setting* find(std::string_view name);
  // True if the flag is present and its value does not mean false.
  bool on(std::string_view name);
  std::optional<std::uint64_t> count(std::string_view name);
  std::string text(std::string_view name, std::string_view otherwise = "");
  // Fraction from 0 to 1 that a setting has; 0 if its value means false, `otherwise` without the
  // setting. Throws config::Error for other values.
  double fraction(std::string_view name, double otherwise);

  void set(std::string_view key, const std::string& text, const Setting& from);
  void set(std::string_view key, config::Value value, const Setting& from);
  void set(std::string_view key, config::Value value, const std::string& comment);
  // Sets a value that does not come from a single setting.
  void set(std::string_view key, const std::string& text, const std::string& comment,
           const config::Origin& origin = {});
  // Sets a value that no file states. It is dropped if the job's stack has the same default.
  void set_default(std::string_view key, const std::string& text, const std::string& comment);
  // Removes a key, and the maps that are empty without it.
  void drop(std::string_view key);
  const config::Value* at(std::string_view key) const;
  // Value of a key that the job sets, or else the built-in model of the job; null if neither does.
  const config::Value* known(std::string_view key) const;
  std::uint64_t count_at(std::string_view key, std::uint64_t otherwise) const;

  // States whether the job's stack fuses a group of kernels, whatever the stack's file says.
  void fuse(config::Fusable group, bool is_fused, const Setting& from);
  void fuse(config::Fusable group, bool is_fused, const std::string& comment);

  // Number at a key of the built-in model that the job uses; 0 if it has none.
  std::uint64_t library_count(std::string_view key) const;
  // Returns whether the model of the job, its own or a built-in one, has a key such as "experts".
  bool model_has(std::string_view key) const;

  void assume(std::string sentence);
  void lacks(std::string key);
  // List a setting as one without effect, and the reason as a clause.
  void without_effect(const Setting& setting, std::string_view why);
  // List a setting as one that is not modelled, with what it would change.
  void not_modelled(const Setting& setting, Changes changes, std::string_view why);
  // The same for a flag that the job leaves out.
  void not_modelled_without(std::string_view name, Changes changes, std::string_view why);
  // The same for a value that is not read, and that may change time and memory.
  void not_understood(const Setting& setting, std::string_view why = "its value is not read");

  // Lists each setting that was not read, by the row that the table of the framework or the own
  // table of the job has for it. `names` are those of other settings, for suggestions.
  void sort_rest(const SettingTable& table, std::span<const std::string_view> names);
  // Returns the job, which still lacks the stack of its framework. Its keys are in the order of the
  // scenario reference.
  Job take();

 private:
  std::string comment_of(const Setting& setting) const;
  const SettingRow* row_of(std::string_view name, const SettingTable& table) const;
  void report_unknown(const Setting& setting, const SettingTable& table,
                      std::span<const std::string_view> names);

  Request request_;
  config::Value model_;  // the library's model, if the request or the key `model` names one
  Job job_;
  std::set<const Setting*> read_;
  std::set<const Setting*> reported_;  // as without effect, or as not modelled
};

// Sets the stack of a job that has none, or the one that a map of changed keys is like. Drops the
// keys to which the framework's default gave the value that the stack has by itself. Changes the
// list stack.fused if the job fuses other groups of kernels than the stack.
void name_stack(Job& job, std::string_view stack);

// Message about a job that trains adapters of another kind than LoRA, such as DoRA.
inline constexpr std::string_view adapters_are_not_modelled =
    "adapters of this kind are not modelled: only those of LoRA, two matrices beside each product, "
    "are";

// Message about a job that trains a part of its weights.
inline constexpr std::string_view frozen_is_not_modelled =
    "frozen weights are not read from jobs: training.frozen of a scenario names groups of them";

// Error about a setting: "train.sh:12: --tensor-model-parallel-size 8: MESSAGE".
config::Error refusal(const Setting& setting, std::string_view message);
// Errors about a job as a whole, and about its number of GPUs.
config::Error refusal(const Request& request, std::string_view message);
config::Error gpus_refusal(const Request& request, std::string_view message);

// Throws config::Error if a setting has an empty value, as in "--ffn-hidden-size="; `allowed` names
// the values that it may have.
void check_has_value(const Setting& setting, std::string_view allowed);

// Reads a whole number as scripts write it: "4096", "4_096". Throws config::Error.
std::uint64_t whole_number(const Setting& setting);

}  // namespace pipewright::jobs
