#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/checks/describe.hpp"
#include "sim/cluster/checks/faults.hpp"

// What `platform show` and `platform check` print with --json.
namespace pipewright::cli {

// The way from one GPU to another, if it was asked for.
struct ShownRoute {
  std::string from;
  std::string to;
  cluster::Route route;
};
// A number of the model of messages that the file says.
struct ShownParameter {
  std::string name;
  double value = 0;
  cluster::ParameterUnit unit{};
};

std::string show_json(const cluster::Cluster& cluster, const cluster::Description& description,
                      const std::vector<ShownParameter>& messages,
                      const std::optional<ShownRoute>& route);
std::string check_json(const cluster::Cluster& cluster, const cluster::FaultReport& report);

}  // namespace pipewright::cli
