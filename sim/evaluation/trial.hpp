#pragma once

#include <string>
#include <vector>

#include "analysis/report/search/robustness.hpp"
#include "sim/config/text/value.hpp"
#include "sim/evaluation/hardware.hpp"

namespace pipewright::evaluation {

// Seconds of an iteration of a scenario of one schedule under conditions of a day. Loads its
// cluster, and is therefore called in a process of its own. Throws what `pipewright run` would.
double seconds_under(const config::Value& scenario, const analysis::Draw& draw);

// A class of links, and the bandwidth of the slowest of them in bytes/s.
struct LinkClass {
  std::string name;
  double bandwidth = 0;
};

// Of the links on the ways from a job's first GPU to its others, by name.
std::vector<LinkClass> link_classes(const Hardware& hardware);

}  // namespace pipewright::evaluation
