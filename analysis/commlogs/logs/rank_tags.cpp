#include "analysis/commlogs/logs/rank_tags.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace pipewright::analysis {
namespace {

constexpr std::size_t max_tags = 1U << 16U;   // ranks whose lines are joined
constexpr std::size_t max_begun = 1U << 12U;  // characters of a line without end
constexpr std::string_view tag_digits = "0123456789";
constexpr std::string_view tag_blanks = " \t";

// Parts of a tag: "[rank" + "3" + "]:". Tags of the ranks of a run differ only in the number.
struct TagShape {
  std::string_view head;
  std::string_view number;
  std::string_view tail;
};

std::optional<TagShape> shape_of(std::string_view tag) {
  const std::string_view tail = tag.ends_with("]:") ? "]:"
                                : tag.ends_with(']') || tag.ends_with(':')
                                    ? tag.substr(tag.size() - 1)
                                    : "";
  if (tail.empty()) return std::nullopt;
  const std::string_view text = tag.substr(0, tag.size() - tail.size());
  const std::size_t last_other = text.find_last_not_of(tag_digits);
  const std::size_t begin = last_other == std::string_view::npos ? 0 : last_other + 1;
  if (begin == text.size()) return std::nullopt;
  // "[2026-05-01 10:00:07]" is a time. Ranks that begin with a number are "[7]" or mpirun's
  // "[1,7]".
  const bool begins_with_digit = text.starts_with('[') && text.find_first_of(tag_digits) == 1;
  if (begins_with_digit && text.find_first_not_of("0123456789,", 1) != std::string_view::npos)
    return std::nullopt;
  return TagShape{text.substr(0, begin), text.substr(begin), tail};
}

struct PlacedTag {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Returns whether the tag's tail stands at `at`. A colon belongs to a tag only if a blank or the
// end of the line follows.
bool has_tail(std::string_view line, std::size_t at, std::string_view tail) {
  if (!line.substr(at).starts_with(tail)) return false;
  const std::size_t end = at + tail.size();
  return tail != ":" || end == line.size() || tag_blanks.find(line[end]) != std::string_view::npos;
}

// Begin of a tag that is a number and a colon, where `begin` to `end` are digits. The last digits
// of the piece before may touch those of the tag, as in "-10:" or "00:" for the tag "0:". The
// digits are taken for a whole tag if a blank is before them and they are a number as it is
// printed.
std::size_t begin_of_number(std::string_view line, std::size_t begin, std::size_t end,
                            std::string_view number) {
  const std::string_view digits = line.substr(begin, end - begin);
  const bool is_alone = begin == 0 || tag_blanks.find(line[begin - 1]) != std::string_view::npos;
  const bool is_padded = digits.size() > number.size() && digits.starts_with('0');
  return (is_alone && !is_padded) || !digits.ends_with(number) ? begin : end - number.size();
}

// Finds the next tag of the same shape at or after `from`.
std::optional<PlacedTag> next_tag(std::string_view line, std::size_t from, const TagShape& shape) {
  while (from < line.size()) {
    std::size_t begin =
        shape.head.empty() ? line.find_first_of(tag_digits, from) : line.find(shape.head, from);
    if (begin == std::string_view::npos) return std::nullopt;
    const std::size_t digits = begin + shape.head.size();
    const std::size_t end = std::min(line.find_first_not_of(tag_digits, digits), line.size());
    if (end > digits && has_tail(line, end, shape.tail)) {
      if (shape.head.empty()) begin = begin_of_number(line, begin, end, shape.number);
      return PlacedTag{begin, end + shape.tail.size()};
    }
    from = std::max(end, begin + 1);
  }
  return std::nullopt;
}

// Length of the part of a line in which tags can stand. The number in brackets before "NCCL" is
// that of a device, and brackets after it are part of NCCL's message.
std::size_t tagged_length(std::string_view line) {
  const std::size_t debug = line.find("] NCCL ");
  if (debug == std::string_view::npos) return line.size();
  const std::size_t open = line.rfind('[', debug);
  return open == std::string_view::npos ? debug : open;
}

}  // namespace

bool is_rank_tag(std::string_view prefix) { return shape_of(prefix).has_value(); }

std::string_view RankLines::join(std::string_view tag, std::string_view line) {
  const std::optional<TagShape> shape = shape_of(tag);
  if (!shape) return line;
  std::string owner(tag);
  std::size_t begin = 0;
  const std::size_t length = tagged_length(line);
  const auto append = [](std::string& text, std::string_view piece) {
    if (!text.empty()) text += ' ';
    text += piece.substr(0, max_begun - std::min(max_begun, text.size()));
  };
  for (auto next = next_tag(line.substr(0, length), 0, *shape); next;
       next = next_tag(line.substr(0, length), begin, *shape)) {
    if (begun_.size() < max_tags || begun_.contains(owner))
      append(begun_[owner], line.substr(begin, next->begin - begin));
    owner = line.substr(next->begin, next->end - next->begin);
    begin = next->end;
  }
  const auto begun = begun_.find(owner);
  if (begun == begun_.end() || begun->second.empty()) return line.substr(begin);
  joined_ = std::exchange(begun->second, {});
  append(joined_, line.substr(begin));
  return joined_;
}

}  // namespace pipewright::analysis
