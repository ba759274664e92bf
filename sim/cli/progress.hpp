#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "analysis/trace/sink.hpp"

namespace pipewright::cli {

// A bar on standard error, if that is a terminal and the work takes longer than a moment.
class ProgressBar {
 public:
  ProgressBar(std::string label, bool visible);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  bool is_due();  // whether it is time to draw
  // `share` of the work is done; `details` stand behind the bar.
  void draw(double share, const std::string& details);
  double seconds() const;  // since the start

 private:
  using Clock = std::chrono::steady_clock;

  std::string label_;
  bool visible_;
  bool drawn_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_ = started_ + std::chrono::milliseconds(500);
};

// Counts passes as they are reported, shows how many, and notices interrupts.
class PassProgress final : public trace::Sink {
 public:
  PassProgress(std::string label, std::uint64_t total, bool visible);

  void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
             const std::vector<trace::StageRow>&) override {}
  void pass(const trace::PassRow&) override {
    if ((++done_ & 0xfff) == 0) look();
  }
  void transfer(const trace::TransferRow&) override {}
  void memory(const trace::MemoryRow&) override {}
  void finish() override {}

 private:
  void look();

  ProgressBar bar_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

}  // namespace pipewright::cli
