#include "sim/config/collective_algorithm.hpp"

#include <catch2/catch.hpp>

using namespace pipewright;
using config::Algorithm;

TEST_CASE("every algorithm of collectives is read by its name", "[config]") {
  for (std::size_t i = 0; i < config::algorithm_names.size(); ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    CHECK(config::parse_algorithm(config::to_string(algorithm)) == algorithm);
  }
  CHECK_FALSE(config::parse_algorithm("rings").has_value());
  CHECK_FALSE(config::parse_algorithm("").has_value());
}

TEST_CASE("the list of algorithms reads as a sentence", "[config]") {
  CHECK(config::algorithm_list() == "automatic, ring, tree, hierarchical, direct, nvls or sharp");
}

TEST_CASE("algorithms in switches say where these are", "[config]") {
  CHECK(config::switches_of(Algorithm::nvls) == "inside");
  CHECK(config::switches_of(Algorithm::sharp) == "between");
  CHECK_FALSE(config::switches_of(Algorithm::ring).has_value());
}
