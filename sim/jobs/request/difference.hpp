#pragma once

#include <span>
#include <string>
#include <vector>

namespace pipewright::jobs {

// Key of a scenario that a framework cannot express, or expresses with another value, and a
// sentence about it.
struct Difference {
  std::string key;   // dotted; empty if no single key is meant
  std::string text;  // "training.reserved is 3 GiB, and would be left out"
};

// Differences to state: all reasons, and the differences in keys of jobs that no reason explains.
std::vector<Difference> stated_differences(std::vector<Difference> reasons,
                                           std::span<const Difference> differences);

// Sentences for the user.
std::vector<std::string> sentences_of(std::span<const Difference> differences);

}  // namespace pipewright::jobs
