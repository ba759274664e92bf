#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace pipewright::tests {

// Random numbers for tests; the same seed gives the same numbers in every run.
class Random {
 public:
  explicit Random(std::uint32_t seed) : generator_(seed) {}

  std::uint32_t whole(std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(generator_);
  }
  double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator_);
  }
  std::vector<double> reals(std::size_t count, double low, double high) {
    std::vector<double> result(count);
    std::generate(result.begin(), result.end(), [&] { return real(low, high); });
    return result;
  }
  bool flip() { return whole(0, 1) == 1; }

 private:
  std::mt19937 generator_;
};

}  // namespace pipewright::tests
