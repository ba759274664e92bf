#include "schedules/text/torch_csv.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "schedules/checks.hpp"
#include "schedules/text/torch_check.hpp"

namespace pipewright::schedules {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

std::string_view stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// A line of a CSV file, which is split into cells from left to right.
class Line {
 public:
  Line(std::string_view text, const std::string& file, std::uint32_t row)
      : rest_(text), file_(file), position_{.row = row} {}

  void visit(const std::function<void(TorchPosition, std::string_view)>& visit) {
    for (bool more = true; more; ++position_.column) {
      const std::string_view cell = !rest_.empty() && rest_.front() == '"' ? take_quoted() : take();
      more = !rest_.empty();
      if (more) rest_.remove_prefix(1);  // The comma.
      visit(position_, stripped(cell));
    }
  }

 private:
  std::string_view take() {
    const std::string_view cell = rest_.substr(0, rest_.find(','));
    rest_.remove_prefix(cell.size());
    return cell;
  }
  // No action contains a quote, so doubled quotes need no decoding.
  std::string_view take_quoted() {
    const std::size_t close = rest_.find('"', 1);
    if (close == std::string_view::npos)
      throw located(file_, position_, fmt::format("{}: the quote is not closed", quoted(rest_)));
    const std::string_view cell = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    if (!rest_.empty() && rest_.front() != ',')
      throw located(file_, position_,
                    fmt::format("{} follows the closing quote; expected a comma", quoted(rest_)));
    return cell;
  }

  std::string_view rest_;
  const std::string& file_;
  TorchPosition position_;
};

// Visits every cell of a CSV text, without surrounding blanks, as Python's csv module reads it
// (excel dialect: commas, quotes at the start of a cell, LF or CRLF). An empty line is one empty
// cell. Throws LocatedError if the text is not valid CSV.
void visit_cells(std::string_view text, const std::string& file,
                 const std::function<void(TorchPosition, std::string_view)>& visit) {
  if (text.substr(0, byte_order_mark.size()) == byte_order_mark)
    throw located(file, {},
                  "the file starts with a byte-order mark, which PyTorch does not read; save it "
                  "as plain ASCII");
  for (std::uint32_t row = 0; !text.empty(); ++row) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    Line(line, file, row).visit(visit);
  }
}

}  // namespace
namespace {

constexpr std::uint32_t max_ranks = 16384;  // The limit of devices in the catalog.

// Parsed cells of a file, before the checks of their order.
struct Sheet {
  PlacedRows rows;
  std::optional<TorchPosition> empty;          // First empty cell.
  std::optional<TorchPosition> communication;  // First cell that makes the file compute_comms.
};

Sheet read_sheet(std::string_view text, const std::string& file, bool legacy) {
  Sheet sheet;
  visit_cells(text, file, [&](TorchPosition position, std::string_view cell) {
    if (position.row >= max_ranks)
      throw located(file, position, fmt::format("at most {} ranks are supported", max_ranks));
    if (position.row == sheet.rows.size()) sheet.rows.emplace_back();
    if (cell.empty()) {
      if (!sheet.empty) sheet.empty = position;
      return;
    }
    try {
      for (const TorchAction& action : parse_torch_cell(cell, legacy)) {
        // PyTorch writes REDUCE_GRAD into files of passes, too.
        const bool is_compute = is_pass(action.op) || action.op == TorchOp::reduce_grad;
        if (!is_compute && !sheet.communication) sheet.communication = position;
        sheet.rows.back().push_back({action, position.column});
      }
    } catch (const Error& error) {
      throw located(file, position, error.what());
    }
  });
  return sheet;
}

Program program_of(const std::vector<PlacedAction>& row) {
  std::vector<Pass> passes;
  for (const PlacedAction& placed : row)
    if (is_pass(placed.action.op)) passes.push_back(to_pass(placed.action));
  Program program;
  program.repeat(1, 0, std::move(passes));
  return program;
}

}  // namespace

TorchFile read_torch_csv(std::string_view text, const std::string& file, bool legacy) {
  if (text.size() > max_torch_bytes)
    throw Error(fmt::format("{}: a schedule of more than {} MiB is not supported", file,
                            max_torch_bytes >> 20U));
  const Sheet sheet = read_sheet(text, file, legacy);
  if (sheet.rows.empty())
    throw Error(fmt::format("{}: the file is empty; a schedule has a row per rank", file));
  const TorchForm form = sheet.communication ? TorchForm::compute_comms : TorchForm::compute_only;
  if (sheet.communication && sheet.empty)
    throw located(
        file, *sheet.empty,
        fmt::format("is empty; only files without communication have empty cells, and row {}, "
                    "cell {} communicates",
                    sheet.communication->row + 1, sheet.communication->column + 1));

  const Routes routes = find_routes(sheet.rows, file);
  const std::uint32_t microbatches = check_passes(sheet.rows, routes, file);
  const auto ranks = static_cast<std::uint32_t>(sheet.rows.size());
  TorchFile result{.form = form,
                   .schedule = {.name = std::filesystem::path(file).stem().string(),
                                .devices = ranks,
                                .chunks = routes.stages() / ranks,
                                .microbatches = microbatches,
                                .routes = routes,
                                .programs = {}},
                   .rows = {}};
  for (const auto& row : sheet.rows) result.schedule.programs.push_back(program_of(row));
  check_complete(result.schedule);
  if (form == TorchForm::compute_only) return result;

  check_transfers(sheet.rows, routes, microbatches, file);
  for (const auto& row : sheet.rows) {
    auto& actions = result.rows.emplace_back();
    for (const PlacedAction& placed : row) actions.push_back(placed.action);
  }
  return result;
}
namespace {

void append_row(std::string& text, const std::vector<TorchAction>& row) {
  const auto append = [&](std::string_view before, const TorchAction& action) {
    fmt::format_to(std::back_inserter(text), "{}{}", before, to_string(action));
  };
  bool paired = false;  // Paired with the previous action.
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

// Returns true if PyTorch's format can express this fused pair.
bool can_overlap(const Pass& first, const Pass& second) {
  return first.kind == PassKind::forward && sends_gradient(second.kind) && !second.fused;
}

void check_is_expressible(const Schedule& schedule) {
  const auto refuse = [&](std::string_view limitation) {
    throw Error(fmt::format("{}: PyTorch's CSV {}", schedule.name, limitation));
  };
  if (schedule.weight_versions > 1) refuse("cannot express weight versions; a schedule has one");
  if (schedule.routes.count() > 1) refuse("cannot put a stage on two ranks");
  if (schedule.iterations > 1)
    refuse(fmt::format("holds one iteration, not {}", schedule.iterations));
  if (schedule.slices > 1) refuse("cannot cut a microbatch into slices");
  for (const Program& program : schedule.programs)
    for (const Loop& loop : program.loops)
      for (std::size_t i = 0; i < loop.body.size(); ++i) {
        if (loop.body[i].kind == PassKind::recompute) refuse("has no recomputation");
        if (is_of_vocabulary(loop.body[i].kind)) refuse("has no S and T of a split vocabulary");
        if (!loop.body[i].fused) continue;
        if (i + 1 == loop.body.size() || !can_overlap(loop.body[i], loop.body[i + 1]))
          refuse(
              fmt::format("can pair a forward only with the backward right after it, not {} with "
                          "the next pass",
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
  check_is_expressible(schedule);
  TorchRows rows;
  for (const Program& program : schedule.programs) {
    rows.emplace_back().reserve(program.size());
    for (PassCursor at(program); !at.done(); at.next()) rows.back().push_back(to_action(at.pass()));
  }
  return rows;
}

std::string to_torch_csv(const Schedule& schedule) { return to_torch_csv(torch_passes(schedule)); }

}  // namespace pipewright::schedules
