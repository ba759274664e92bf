// Predicts published measurements and prints every error. Fails if a bar is missed.
//
// Rows of papers' tables stand in the files beside this one. Those that come from a repository's
// data are read where they lie: in $PIPEWRIGHT_REFERENCE, or else ../shared/reference beside the
// project.

#include "validation/accuracy.hpp"

#include <exception>

#include <fmt/format.h>

#include "support/reference.hpp"

using namespace pipewright;

int main() {
  const std::filesystem::path reference = tests::reference_folder();
  std::vector<accuracy::Table> tables{
      accuracy::zero_bubble_throughput(),     accuracy::zero_bubble_memory(),
      accuracy::megatron_iterations(),        accuracy::recompute_iterations(),
      accuracy::vtrain_iterations(reference), accuracy::vocabulary_iterations(reference),
      accuracy::recompute_layers(),           accuracy::zero_bubble_passes(),
  };
  try {
    accuracy::predict(tables);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  int missed = 0;
  for (const accuracy::Table& table : tables) missed += accuracy::print(table) ? 0 : 1;
  fmt::print("* the GPU's parameters were fitted to this row, among others: platforms/README.md\n");
  if (missed > 0) fmt::print("{} of {} tables MISSED\n", missed, tables.size());
  return missed == 0 ? 0 : 1;
}
