#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include <fmt/format.h>

#include "analysis/commlogs/logs/read_log.hpp"
#include "analysis/trace/error.hpp"
#include "support/paths.hpp"
#include "tests/analysis/trace/samples.hpp"

namespace pipewright::test {

inline analysis::MeasurementLog read_log(const std::filesystem::path& file,
                                         const analysis::LogHints& hints = {}) {
  return analysis::read_logs(std::span(&file, 1), hints);
}

inline analysis::MeasurementLog read_sample(const std::string& name) {
  return read_log(std::filesystem::path(PIPEWRIGHT_TEST_DATA) / "comm" / name);
}

inline analysis::MeasurementLog read_text(const std::string& text,
                                          const analysis::LogHints& hints = {},
                                          const std::string& name = "a.log") {
  const ScratchFolder folder;
  write_bytes(folder / name, text);
  return read_log(folder / name, hints);
}

// Returns the message of the error that reading a log with this text raises, without the file name,
// or an empty text if there is no error.
inline std::string log_error(const std::string& text, const analysis::LogHints& hints = {}) {
  try {
    read_text(text, hints);
  } catch (const trace::TraceError& error) {
    const std::string message = error.what();
    return message.substr(message.find("a.log:") + 6);
  }
  return "";
}

inline bool remarked(const analysis::MeasurementLog& log, int line, const std::string& text) {
  for (const analysis::LogRemark& remark : log.remarks)
    if (remark.line == line && remark.text.find(text) != std::string::npos) return true;
  return false;
}

// The line with column names that nccl-tests has printed since 2022.
inline const std::string nccl_header =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong"
    "     time   algbw   busbw #wrong\n";

// Returns a table row of nccl-tests whose out-of-place and in-place times are both `us`. `factor`
// is the bus bandwidth divided by the algorithm bandwidth.
inline std::string nccl_row(std::uint64_t bytes, double us, double factor,
                            std::uint64_t parts = 1) {
  const double algbw = static_cast<double>(bytes) / us / 1e3;
  const std::string times =
      fmt::format("  {:7.2f}  {:6.2f}  {:6.2f}      0", us, algbw, algbw * factor);
  return fmt::format("{:12}  {:12}     float     {:4}      -1{}{}\n", bytes, bytes / 4 / parts,
                     parts == 1 ? "sum" : "none", times, times);
}

// Returns the list of ranks that nccl-tests prints before a table, with `per_host` ranks per host.
inline std::string nccl_ranks(std::uint32_t ranks, std::uint32_t per_host = 8) {
  std::string text = "# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) iters: 20\n";
  for (std::uint32_t i = 0; i < ranks; ++i)
    text += fmt::format("#  Rank {:2} Group  0 Pid {:6} on   host{} device {:2} [0x07] GPU\n", i,
                        100 + i, i / per_host, i % per_host);
  return text;
}

inline const std::string all_reduce_of_8 =
    "# Collective test starting: all_reduce_perf\n" + nccl_ranks(8) + nccl_header;  // 11 lines.

}  // namespace pipewright::test
