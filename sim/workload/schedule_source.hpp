#pragma once

#include <string>

#include "schedules/families/catalog.hpp"
#include "schedules/text/torch_csv.hpp"

namespace pipewright::workload {

// The schedule of a name: of a PyTorch schedule file (.csv), of a building block (.yaml, .yml), or
// else of the catalog; complete, by check_complete. A file of PyTorch says by itself how many
// devices, chunks and microbatches there are; parameters must agree, and 0 devices or microbatches
// say nothing. Throws schedules::Error or config::Error.
schedules::Schedule load_schedule(const std::string& name, const schedules::Parameters& parameters);

// Whether the schedule of that name is planned with the times in its parameters.
bool plans_for_times(const std::string& name);

// A file of which nothing can be said, as it cannot be read.
struct CannotRead : schedules::Error {
  using schedules::Error::Error;
};

// Throws schedules::Error, of it CannotRead.
schedules::TorchFile read_torch_file(const std::string& file, bool legacy = false);

// Whether a file of PyTorch that has been read places SEND and RECV, which load_schedule drops.
bool places_transfers(const std::string& file);

}  // namespace pipewright::workload
