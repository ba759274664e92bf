#pragma once

#include <string>

#include "schedules/catalog.hpp"
#include "schedules/text/torch_csv.hpp"

namespace pipewright::workload {

// The schedule of a name: of a PyTorch schedule file (.csv), of a building block (.yaml, .yml), or
// else of the catalog; complete, by check_complete. A file of PyTorch says by itself how many
// devices, chunks and microbatches there are; parameters must agree, and 0 devices or microbatches
// say nothing. Throws schedules::Error or config::Error.
schedules::Schedule load_schedule(const std::string& name, const schedules::Parameters& parameters);

// Throws schedules::Error, also where the file cannot be read.
schedules::TorchFile read_torch_file(const std::string& file, bool legacy = false);

}  // namespace pipewright::workload
