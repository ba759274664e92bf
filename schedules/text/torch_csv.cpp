#include "schedules/text/torch_csv.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace pipewright::schedules {
namespace {

void append_row(std::string& text, const std::vector<TorchAction>& row) {
  const auto append = [&](std::string_view before, const TorchAction& action) {
    fmt::format_to(std::back_inserter(text), "{}{}", before, to_string(action));
  };
  bool paired = false;  // with the action before
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string_view comma = i == 0 ? "" : ",";
    if (paired) {
      append(";", row[i]);
      text += ")OVERLAP_F_B";
      paired = false;
    } else {
      if (row[i].fused) text += i == 0 ? "(" : ",(";
      append(row[i].fused ? "" : comma, row[i]);
      paired = row[i].fused;
    }
  }
  text += "\r\n";
}

// The pass of a pair that may stand first, and the one that may stand second.
bool can_overlap(const Pass& first, const Pass& second) {
  return first.kind == PassKind::forward && sends_gradient(second.kind) && !second.fused;
}

void check_can_be_said(const Schedule& schedule) {
  const auto refuse = [&](std::string_view what) {
    throw Error(fmt::format("{}: PyTorch's CSV {}", schedule.name, what));
  };
  if (schedule.weight_versions > 1)
    refuse("cannot say which weight version a pass uses; its schedules have one");
  if (schedule.routes.count() > 1) refuse("cannot put a stage on two ranks");
  if (schedule.iterations > 1)
    refuse(fmt::format("holds one iteration, not {}", schedule.iterations));
  if (schedule.slices > 1) refuse("cannot cut a microbatch into slices");
  for (const Program& program : schedule.programs)
    for (const Loop& loop : program.loops)
      for (std::size_t i = 0; i < loop.body.size(); ++i) {
        if (loop.body[i].kind == PassKind::recompute) refuse("has no recomputation");
        if (!loop.body[i].fused) continue;
        if (i + 1 == loop.body.size() || !can_overlap(loop.body[i], loop.body[i + 1]))
          refuse(
              fmt::format("overlaps a forward with the backward that follows it, not {} with "
                          "what follows",
                          describe(loop.body[i])));
        ++i;
      }
}

}  // namespace

std::string to_torch_csv(const TorchRows& rows) {
  std::string text;
  for (const std::vector<TorchAction>& row : rows) append_row(text, row);
  return text;
}

TorchRows torch_passes(const Schedule& schedule) {
  check_can_be_said(schedule);
  TorchRows rows;
  for (const Program& program : schedule.programs) {
    rows.emplace_back().reserve(program.size());
    for (PassCursor at(program); !at.done(); at.next()) rows.back().push_back(to_action(at.pass()));
  }
  return rows;
}

std::string to_torch_csv(const Schedule& schedule) { return to_torch_csv(torch_passes(schedule)); }

}  // namespace pipewright::schedules
