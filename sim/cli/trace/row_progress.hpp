#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "analysis/trace/sink.hpp"
#include "sim/cli/progress.hpp"

namespace pipewright::cli {

// Counts the rows of a trace that is read, shows how far it is, and notices interrupts.
class RowProgress final : public trace::Sink {
 public:
  RowProgress(std::string label, std::uint64_t total);

  void begin(const trace::RunInfo&, const std::vector<trace::DeviceRow>&,
             const std::vector<trace::StageRow>&) override {}
  void pass(const trace::PassRow&) override { count(); }
  void transfer(const trace::TransferRow&) override { count(); }
  void memory(const trace::MemoryRow&) override { count(); }
  void collective(const trace::CollectiveRow&) override { count(); }
  void step(const trace::StepRow&) override { count(); }
  bool wants_links() const override { return true; }
  void link_use(const trace::LinkUseRow&) override { count(); }
  void finish() override {}

 private:
  void count() {
    if ((++done_ & 0xfff) == 0) look();
  }
  void look();

  ProgressBar bar_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

// Replays a trace file to a sink with a bar on the terminal.
void replay_with_progress(const std::string& label, const std::filesystem::path& file,
                          trace::Sink& sink);

}  // namespace pipewright::cli
