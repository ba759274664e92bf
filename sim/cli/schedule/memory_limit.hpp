#pragma once

#include <string>

#include "sim/workload/pipeline.hpp"

namespace pipewright::cli {

// A limit in the unit in which the user thinks of it.
struct WrittenLimit {
  workload::MemoryLimit limit;
  std::string unit = "microbatches";  // or "GiB", "MB" ...
  double factor = 1;                  // bytes of that unit

  bool in_bytes() const { return limit.unit == workload::MemoryLimit::Unit::bytes; }
  double value() const { return limit.value / factor; }  // in that unit
  WrittenLimit with(double value) const;                 // another value in it
};

// "12", "8.5": microbatches; "40 GiB": bytes. Throws config::Error, which names the option.
WrittenLimit read_limit(const std::string& text, const std::string& option);

// "8.5 microbatches", "40 GiB"
std::string to_string(const WrittenLimit& limit);

// The least limit in a unit with which any schedule can run, rounded up to what people write.
WrittenLimit least_written(const config::Scenario& scenario, const WrittenLimit& unit);

// Throws config::Error, which says what the least is, if no schedule can run within it.
void check_limit(const config::Scenario& scenario, const WrittenLimit& limit);

}  // namespace pipewright::cli
