#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/config/scenario.hpp"

namespace pipewright::jobs {

// A key of a scenario that a framework does not express, or expresses otherwise, in a sentence.
struct Difference {
  std::string key;   // dotted; empty if no single key is meant
  std::string text;  // "training.reserved is 3 GiB, and would be left out"
};

// Differences between a scenario and the one that a framework would run, as far as they change the
// prediction. Keys that are not part of a job (cluster, engine, outputs) are not compared.
std::vector<Difference> differences(const config::Scenario& planned,
                                    const config::Scenario& actual);

// All sentences, each fact once: a difference in a key that one of the reasons explains is left
// out.
std::vector<std::string> sentences_of(std::span<const Difference> reasons,
                                      std::span<const Difference> differences);

// Tree of a scenario in which model and schedule are maps, and keys have their own names.
config::Value spelled_out(const config::Scenario& scenario);

}  // namespace pipewright::jobs
