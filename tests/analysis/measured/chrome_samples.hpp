#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::test {

// Builds the text of a profile in the JSON format of PyTorch's profiler, event by event.
class ChromeText {
 public:
  ChromeText& add(const std::string& name, double start_us, double length_us,
                  const std::string& category = "gpu_user_annotation", int process = 0,
                  int thread = 7);
  // Adds the CPU call that launches a kernel, and the kernel on stream 7. Both events have the same
  // correlation number.
  ChromeText& launch(double call_us, int thread, double start_us, double length_us,
                     const std::string& kernel = "void cutlass::Kernel2<gemm>(Params)");
  // Returns the text of the profile with all events added so far. It states the rank unless `rank`
  // is negative.
  std::string text(int rank = -1, const std::string& backend = "nccl") const;

 private:
  int launches_ = 0;
  std::string events_;
};

// Returns the profile of one device of a simulated run, as PyTorch would write it: "PP:2F0" on a
// GPU stream, and a profiler step around each iteration. Times are shifted by `offset_us`.
std::string chrome_text(const trace::Trace& trace, std::uint32_t device, double offset_us = 0);

// Writes one file per device and returns their paths.
std::vector<std::filesystem::path> write_chrome(const trace::Trace& trace,
                                                const std::filesystem::path& folder);

// Returns the path of a file in tests/data/measured.
std::filesystem::path measured_sample(const std::string& name);

}  // namespace pipewright::test
