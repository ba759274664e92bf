#include "sim/jobs/request/difference.hpp"

#include <algorithm>

namespace pipewright::jobs {
namespace {

// True if a reason given for `key` also explains a difference in the key `different`: the same key,
// or one below it.
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
