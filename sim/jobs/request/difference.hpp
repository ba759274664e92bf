#pragma once

#include <span>
#include <string>
#include <vector>

namespace pipewright::jobs {

// A key of a scenario that a framework does not express, or expresses otherwise, in a sentence.
struct Difference {
  std::string key;   // dotted; empty if no single key is meant
  std::string text;  // "training.reserved is 3 GiB, and would be left out"
};

// All sentences, each fact once: a difference in a key that one of the reasons explains is left
// out.
std::vector<std::string> sentences_of(std::span<const Difference> reasons,
                                      std::span<const Difference> differences);

}  // namespace pipewright::jobs
