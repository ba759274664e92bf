#include "sim/cli/trace/row_progress.hpp"

#include <utility>

#include <fmt/format.h>

#include "analysis/trace/reader.hpp"
#include "analysis/trace/sink.hpp"
#include "sim/cli/interrupt.hpp"

namespace pipewright::cli {

RowProgress::RowProgress(std::string label, std::uint64_t total)
    : bar_(std::move(label), true), total_(total) {}

void RowProgress::look() {
  throw_if_interrupted();
  if (!bar_.is_due()) return;
  const double share = static_cast<double>(done_) / static_cast<double>(total_);
  bar_.draw(share, fmt::format("{} of {} rows  {:.0f} s left", done_, total_,
                               bar_.seconds() * (1 - share) / share));
}

void replay_with_progress(const std::string& label, const std::filesystem::path& file,
                          trace::Sink& sink) {
  RowProgress progress(label, trace::count_rows(file));
  trace::Tee both({&sink, &progress});
  trace::replay(file, both);
}

}  // namespace pipewright::cli
