#include <exception>
#include <new>
#include <stdexcept>

#include "analysis/measured/compare/condition.hpp"
#include "analysis/trace/error.hpp"
#include "schedules/deadlock.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/requests/requests.hpp"
#include "sim/cluster/platform/error.hpp"
#include "sim/config/text/error_json.hpp"

namespace pipewright::cli {

Json describe_error(const std::exception& error) {
  const auto kind_of = [&] {
    if (dynamic_cast<const config::Error*>(&error) != nullptr) return "ScenarioError";
    if (dynamic_cast<const cluster::Error*>(&error) != nullptr) return "ClusterError";
    if (dynamic_cast<const UnknownOption*>(&error) != nullptr) return "UnknownOption";
    if (dynamic_cast<const schedules::Deadlock*>(&error) != nullptr) return "Deadlock";
    if (dynamic_cast<const schedules::Error*>(&error) != nullptr) return "ScheduleError";
    if (dynamic_cast<const analysis::ConditionError*>(&error) != nullptr) return "ConditionError";
    if (dynamic_cast<const trace::TraceError*>(&error) != nullptr) return "TraceError";
    if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "MemoryError";
    if (dynamic_cast<const std::runtime_error*>(&error) != nullptr) return "Error";
    return "InternalError";
  };
  Json described{{"kind", kind_of()}, {"found", error.what()}};
  if (const auto* const fault = dynamic_cast<const config::StructuredError*>(&error))
    described.update(config::error_to_json(*fault));
  if (const auto* const fault = dynamic_cast<const UnknownOption*>(&error))
    described["options"] = fault->options;
  // The location of a fault in a cluster is its file, also where the line is unknown.
  if (described["kind"] == "ClusterError" && described.contains("source")) {
    described["file"] = described["source"];
    described.erase("source");
  }
  return described;
}

}  // namespace pipewright::cli
