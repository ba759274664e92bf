#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/jobs/request/request.hpp"

namespace pipewright::jobs {

// A scenario as it grows out of settings. Asking for a setting marks it as read.
class Draft {
 public:
  explicit Draft(Request request);

  const Request& request() const { return request_; }
  config::Value& tree() { return job_.tree; }

  const Setting* find(std::string_view name);
  // Whether a flag stands there and is not said to be false.
  bool on(std::string_view name);
  std::optional<std::uint64_t> count(std::string_view name);
  std::string text(std::string_view name, std::string_view otherwise = "");

  void set(std::string_view key, const std::string& text, const Setting& from);
  void set(std::string_view key, config::Value value, const std::string& comment);
  // A value that no single setting is the source of.
  void set(std::string_view key, const std::string& text, const std::string& comment,
           const config::Origin& origin = {});
  const config::Value* at(std::string_view key) const;
  std::uint64_t count_at(std::string_view key, std::uint64_t otherwise) const;

  // The same of the library's model that the job is of; 0 where it does not say.
  std::uint64_t library_count(std::string_view key) const;

  void assume(std::string sentence);
  void lacks(std::string key);
  void without_effect(const Setting& setting);
  void not_understood(const Setting& setting, const std::string& why = "");

  // Nobody asked for these settings: each goes to what has no effect, or to what is not understood.
  void sort_rest(const std::function<bool(const std::string&)>& has_no_effect);
  // The job, its keys in the order of a scenario's reference.
  Job take();

 private:
  std::string comment_of(const Setting& setting) const;

  Request request_;
  config::Value model_;  // of the library, where the request names one
  Job job_;
  std::set<const Setting*> read_;
};

// "train.sh:12: --tensor-model-parallel-size 8: what the framework would say".
config::Error refusal(const Setting& setting, std::string_view what);
// Of what nothing is written about, and of the number of GPUs.
config::Error refusal(const Request& request, std::string_view what);
config::Error gpus_refusal(const Request& request, std::string_view what);

// The value at a dotted key, or null.
const config::Value* value_at(const config::Value& tree, std::string_view key);

// Throws config::Error if a setting has an empty value, as in "--ffn-hidden-size="; `allowed` names
// the values that it may have.
void check_has_value(const Setting& setting, std::string_view allowed);

// A whole number as scripts write it, "4096" or "4_096". Throws Error.
std::uint64_t whole_number(const Setting& setting);
// Whether a text says no: false, 0, no, none.
bool says_no(std::string_view text);

}  // namespace pipewright::jobs
