#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::test {

// Events as PyTorch's profiler writes them.
class ChromeText {
 public:
  ChromeText& add(const std::string& name, double start_us, double length_us,
                  const std::string& category = "gpu_user_annotation", int process = 0,
                  int thread = 7);
  // A call that launches, and the kernel that it starts on stream 7; they share a number.
  ChromeText& launch(double call_us, int thread, double start_us, double length_us,
                     const std::string& kernel = "void cutlass::Kernel2<gemm>(Params)");
  // A whole file; of a rank if it is not below 0.
  std::string text(int rank = -1, const std::string& backend = "nccl") const;

 private:
  int launches_ = 0;
  std::string events_;
};

// What PyTorch would write of one device of a simulated run: "PP:2F0" on a GPU stream, and a
// profiler step around each iteration. Clocks start `offset_us` late.
std::string chrome_text(const trace::Trace& trace, std::uint32_t device, double offset_us = 0);

// Writes one file for each device and names them.
std::vector<std::filesystem::path> write_chrome(const trace::Trace& trace,
                                                const std::filesystem::path& folder);

std::filesystem::path measured_sample(const std::string& name);  // of tests/data/measured

}  // namespace pipewright::test
