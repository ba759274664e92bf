#include "schedules/text/torch_cells.hpp"

#include <fmt/format.h>

#include "schedules/text/torch_action.hpp"

namespace pipewright::schedules {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

std::string_view stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// One line, from which cells are taken from the left.
class Line {
 public:
  Line(std::string_view text, const std::string& file, std::uint32_t row)
      : rest_(text), file_(file), place_{.row = row} {}

  void visit(const std::function<void(TorchPlace, std::string_view)>& visit) {
    for (bool more = true; more; ++place_.column) {
      const std::string_view cell = !rest_.empty() && rest_.front() == '"' ? take_quoted() : take();
      more = !rest_.empty();
      if (more) rest_.remove_prefix(1);  // the comma
      visit(place_, stripped(cell));
    }
  }

 private:
  std::string_view take() {
    const std::string_view cell = rest_.substr(0, rest_.find(','));
    rest_.remove_prefix(cell.size());
    return cell;
  }
  // No action has a quote in it, so a doubled one need not be undone.
  std::string_view take_quoted() {
    const std::size_t close = rest_.find('"', 1);
    if (close == std::string_view::npos)
      throw located(file_, place_, fmt::format("{}: the quote is not closed", quoted(rest_)));
    const std::string_view cell = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    if (!rest_.empty() && rest_.front() != ',')
      throw located(
          file_, place_,
          fmt::format("{} stands behind the closing quote, where a comma is due", quoted(rest_)));
    return cell;
  }

  std::string_view rest_;
  const std::string& file_;
  TorchPlace place_;
};

}  // namespace

Error located(const std::string& file, TorchPlace place, std::string_view message) {
  return Error(fmt::format("{}:{}:{}: row {} (rank {}), cell {}: {}", file, place.row + 1,
                           place.column + 1, place.row + 1, place.row, place.column + 1, message));
}

void visit_cells(std::string_view text, const std::string& file,
                 const std::function<void(TorchPlace, std::string_view)>& visit) {
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

}  // namespace pipewright::schedules
