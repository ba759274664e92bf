#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "analysis/trace/sink.hpp"

namespace pipewright::cli {

// Counts passes as they are reported: draws a bar on standard error, if that is a terminal and the
// run takes longer than a moment, and notices interrupts.
class Progress final : public trace::Sink {
 public:
  Progress(std::string label, std::uint64_t total, bool visible);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() override;

  void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
             const std::vector<trace::StageRow>&) override {}
  void pass(const trace::PassRow&) override {
    if ((++done_ & 0xfff) == 0) look();
  }
  void transfer(const trace::TransferRow&) override {}
  void memory(const trace::MemoryRow&) override {}
  void finish() override {}

 private:
  using Clock = std::chrono::steady_clock;
  void look();

  std::string label_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  bool visible_;
  bool drawn_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_ = started_ + std::chrono::milliseconds(500);
};

}  // namespace pipewright::cli
