#pragma once

#include <string>
#include <vector>

#include "analysis/report/search/robustness.hpp"
#include "sim/config/text/value.hpp"
#include "sim/evaluation/hardware.hpp"

namespace pipewright::evaluation {

// Seconds of an iteration of a scenario with one schedule, under randomly drawn conditions (such as
// a slow GPU). Loads the scenario's cluster, so it must be called in a process of its own. Throws
// the errors of `pipewright run`.
double seconds_under(const config::Value& scenario, const analysis::Draw& draw);

// Name of a class of links, with the lowest bandwidth among them in bytes/s.
struct LinkClass {
  std::string name;
  double bandwidth = 0;
};

// Classes of the links on the routes from a job's first GPU to its other GPUs, sorted by name.
std::vector<LinkClass> link_classes(const Hardware& hardware);

}  // namespace pipewright::evaluation
