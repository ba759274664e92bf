#include "sim/cli/schedule/memory_limit.hpp"

#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "sim/config/text/units.hpp"
#include "sim/config/text/value.hpp"

namespace pipewright::cli {

using Unit = workload::MemoryLimit::Unit;

WrittenLimit WrittenLimit::with(double value) const {
  WrittenLimit other = *this;
  other.limit.value = value * factor;
  return other;
}

WrittenLimit read_limit(const std::string& text, const std::string& option) {
  constexpr const char* noun = "a memory limit, in microbatches (8.5) or bytes (40 GiB),";
  std::size_t unit = text.size();
  while (unit > 0 && std::isalpha(static_cast<unsigned char>(text[unit - 1])) != 0) --unit;
  if (unit == text.size())
    return {.limit = {Unit::microbatches, config::parse_positive_number(text, option, noun)}};
  const auto bytes = static_cast<double>(config::parse_size(text, option, noun));
  const std::string word = text.substr(unit);
  return {.limit = {Unit::bytes, bytes},
          .unit = word,
          .factor = static_cast<double>(config::parse_size("1 " + word, option, noun))};
}

std::string to_string(const WrittenLimit& limit) {
  const bool one = !limit.in_bytes() && limit.limit.value == 1;
  return fmt::format("{:.10g} {}", limit.value(), one ? "microbatch" : limit.unit);
}

WrittenLimit least_written(const config::Scenario& scenario, const WrittenLimit& unit) {
  const double least = workload::least_limit(scenario, unit.limit.unit) / unit.factor;
  constexpr double places = 1000;
  const double rounded = std::ceil(least * places * (1 - 1e-12)) / places;
  return unit.with(unit.factor == 1 ? std::ceil(least) : rounded);
}

void check_limit(const config::Scenario& scenario, const WrittenLimit& limit) {
  if (limit.limit.value >= workload::least_limit(scenario, limit.limit.unit)) return;
  throw config::Error(fmt::format(
      "a memory limit of {} is below the least with which any schedule can run, {}: {}",
      to_string(limit), to_string(least_written(scenario, limit)),
      limit.in_bytes()
          ? "what the fullest device holds all the time, and the activations of one microbatch"
          : "the activations of one microbatch on every device"));
}

}  // namespace pipewright::cli
