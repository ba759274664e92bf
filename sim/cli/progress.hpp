#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "analysis/trace/sink.hpp"

namespace pipewright::cli {

// Progress bar on standard error, if that is a terminal and the work takes more than half a second.
// If standard error is a log, can print plain lines at growing intervals instead, for work of
// hours.
class ProgressBar {
 public:
  enum class InLogs : bool { no, yes };
  ProgressBar(std::string label, bool visible, InLogs in_logs = InLogs::no);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

  bool is_due();  // whether it is time to draw
  // Shows on a terminal what is done before there is anything to count.
  void announce(const std::string& work);
  // Draws the bar for the finished share of the work, followed by `details`.
  void draw(double share, const std::string& details);
  double seconds() const;  // since the start
  bool is_in_log() const { return !is_terminal_; }

 private:
  std::string label_;
  bool is_terminal_;
  bool visible_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  double next_;  // seconds
};

// Counts the rows of a trace, or only its passes, to draw a progress bar. Throws Interrupted after
// an interrupt.
class RowProgress final : public trace::Sink {
 public:
  enum class Rows : bool { passes, all };
  // `advice` says in logs how the work could take less time.
  RowProgress(std::string label, Rows rows, std::uint64_t total, bool visible,
              std::string advice = "");
  void announce(const std::string& work) { bar_.announce(work); }

  void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
             const std::vector<trace::StageRow>&) override {}
  void pass(const trace::PassRow&) override { count(); }
  void transfer(const trace::TransferRow&) override { count_further_row(); }
  void memory(const trace::MemoryRow&) override { count_further_row(); }
  void collective(const trace::CollectiveRow&) override { count_further_row(); }
  void step(const trace::StepRow&) override { count_further_row(); }
  bool needs_links() const override { return rows_ == Rows::all; }
  void link_use(const trace::LinkUseRow&) override { count_further_row(); }
  void finish() override {}

 private:
  void count() {
    // Large runs report a row in some milliseconds, as they simulate further replicas meanwhile.
    constexpr std::uint64_t rows_between_checks = 64;
    if (++done_ % rows_between_checks == 0) check_and_draw();
  }
  void count_further_row() {
    if (rows_ == Rows::all) count();
  }
  void check_and_draw();

  ProgressBar bar_;
  Rows rows_;
  std::uint64_t total_;
  std::string advice_;
  std::uint64_t done_ = 0;
};

// Reads a trace file and sends its rows to a sink, with a progress bar.
void replay_with_progress(const std::string& label, const std::filesystem::path& file,
                          trace::Sink& sink);

}  // namespace pipewright::cli
