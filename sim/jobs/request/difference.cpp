#include "sim/jobs/request/difference.hpp"

#include <algorithm>
#include <iterator>

#include "sim/config/command_sections.hpp"

namespace pipewright::jobs {
namespace {

// True if a reason given for `key` also explains a difference in the key `different`: the same key,
// or one below it.
bool explains(const std::string& key, const std::string& different) {
  return !key.empty() && (different == key || different.starts_with(key + "."));
}

}  // namespace

std::vector<Difference> stated_differences(std::vector<Difference> reasons,
                                           std::span<const Difference> differences) {
  const auto is_explained = [&](const Difference& difference) {
    // Keys of failures, for example, describe no setting of a job.
    return config::command_section_of(difference.key) != nullptr ||
           std::ranges::any_of(reasons, [&](const Difference& reason) {
             return explains(reason.key, difference.key);
           });
  };
  std::vector<Difference> unexplained;
  std::ranges::remove_copy_if(differences, std::back_inserter(unexplained), is_explained);
  reasons.insert(reasons.end(), unexplained.begin(), unexplained.end());
  return reasons;
}

std::vector<std::string> sentences_of(std::span<const Difference> differences) {
  std::vector<std::string> sentences;
  for (const Difference& difference : differences) sentences.push_back(difference.text);
  return sentences;
}

}  // namespace pipewright::jobs
