#include "sim/jobs/request/difference.hpp"

#include <algorithm>

namespace pipewright::jobs {
namespace {

// A reason for `key` explains a difference in the key itself, or in a key below it.
bool explains(const std::string& key, const std::string& different) {
  return !key.empty() && (different == key || different.starts_with(key + "."));
}

}  // namespace

std::vector<std::string> sentences_of(std::span<const Difference> reasons,
                                      std::span<const Difference> differences) {
  std::vector<std::string> sentences;
  for (const Difference& reason : reasons) sentences.push_back(reason.text);
  for (const Difference& difference : differences)
    if (std::ranges::none_of(reasons, [&](const Difference& reason) {
          return explains(reason.key, difference.key);
        }))
      sentences.push_back(difference.text);
  return sentences;
}

}  // namespace pipewright::jobs
