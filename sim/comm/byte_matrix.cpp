#include "sim/comm/byte_matrix.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "analysis/report/text_table.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::comm {
namespace {

constexpr std::size_t most_ranks = 2048;
constexpr std::uintmax_t most_file_bytes = std::uintmax_t{64} << 20U;

[[noreturn]] void fail(const std::string& place, const std::string& what) {
  throw config::Error(fmt::format("{}: {}", place, what));
}

std::string counted(std::size_t count, const char* of) {
  return fmt::format("{} {}{}", count, of, count == 1 ? "" : "s");
}

// Puts rows together, and looks at each as it comes. Places are "FILE:LINE", maybe with a column.
class Rows {
 public:
  void begin(std::string place) {
    end_row();
    place_ = std::move(place);
    if (++rows_ > most_ranks) fail(place_, fmt::format("more than {} rows", most_ranks));
    in_row_ = 0;
    row_bytes_ = 0;
  }

  void add(std::string_view text, const std::string& place) {
    ++in_row_;
    const auto refuse = [&](std::string_view allowed) {
      fail(place, fmt::format("cell {} is {}; {}", in_row_, config::describe_text(text), allowed));
    };
    double value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || end != text.data() + text.size() || !std::isfinite(value) ||
        (fault != std::errc() && fault != std::errc::result_out_of_range))
      refuse("allowed: a number of bytes");
    if (value < 0) refuse("no rank has less than 0 bytes for another");
    if (fault != std::errc() || value > static_cast<double>(most_bytes))
      refuse("allowed: up to 1024 TiB");
    if (value != std::floor(value)) refuse("allowed: whole bytes");
    if (in_row_ > most_ranks) fail(place, fmt::format("more than {} cells", most_ranks));
    bytes_.push_back(static_cast<std::uint64_t>(value));
    row_bytes_ += bytes_.back();
    if (row_bytes_ > most_bytes) fail(place, "this row has more than 1024 TiB up to here");
  }

  ByteMatrix finish(const std::string& name) {
    if (rows_ == 0)
      fail(fmt::format("{}:1", name),
           "no rows: a row is needed for each rank, with a cell for each");
    end_row();
    if (rows_ != columns_)
      fail(place_, fmt::format("{} of {}; each rank needs a row and a cell in each row",
                               counted(rows_, "row"), counted(columns_, "cell")));
    if (rows_ < 2) fail(place_, "1 rank: it takes two to talk");
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if (bytes_[i] > 0 && i / columns_ != i % columns_)
        return {name, static_cast<std::uint32_t>(rows_), std::move(bytes_)};
    fail(place_, "up to this last row no rank has anything for another");
  }

 private:
  void end_row() {
    if (rows_ == 1) columns_ = in_row_;
    if (rows_ > 0 && in_row_ != columns_)
      fail(place_,
           fmt::format("{} in this row, {} in the first", counted(in_row_, "cell"), columns_));
  }

  std::vector<std::uint64_t> bytes_;
  std::string place_;  // of the row
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t in_row_ = 0;
  std::uint64_t row_bytes_ = 0;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

void read_csv(const std::string& file, const std::string& name, Rows& rows) {
  std::error_code fault;
  const std::uintmax_t size = std::filesystem::file_size(file, fault);
  std::ifstream stream(file, std::ios::binary);
  if (fault || !stream) fail(name, "cannot be read");
  if (size > most_file_bytes) fail(name, "is larger than 64 MiB");
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::string_view rest = line;
    if (number == 1 && rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
    rest = trimmed(rest);
    if (rest.empty() || rest.front() == '#') continue;
    const std::string place = fmt::format("{}:{}", name, number);
    rows.begin(place);
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = rest.find(',');
      rows.add(trimmed(rest.substr(0, comma)), place);
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
  }
}

// JSON is YAML, whose reader knows where things are.
void read_json(const std::string& file, Rows& rows) {
  constexpr config::Document document{"a matrix of bytes", "a list of lists of numbers",
                                      "[[0, 4], [4, 0]]"};
  const auto check = [](const config::Value& value, config::Value::Kind kind, const char* allowed) {
    if (value.kind != kind)
      throw config::Error(config::locate(value.origin, fmt::format("allowed: {}", allowed)));
  };
  const config::Value all = config::read_yaml_file(file, document);
  check(all, config::Value::Kind::list, "a list of rows, a row for each rank");
  for (const config::Value& row : all.items) {
    check(row, config::Value::Kind::list, "a row, which is a list of numbers");
    rows.begin(config::to_string(row.origin));
    for (const config::Value& cell : row.items) {
      check(cell, config::Value::Kind::text, "a number of bytes");
      rows.add(cell.text, config::to_string(cell.origin));
    }
  }
}

}  // namespace

std::uint64_t ByteMatrix::most_in_row() const {
  std::uint64_t most = 0;
  for (auto row = bytes.begin(); row != bytes.end(); row += ranks)
    most = std::max(most, std::accumulate(row, row + ranks, std::uint64_t{0}));
  return most;
}

std::vector<double> ByteMatrix::parts() const {
  const auto most = static_cast<double>(most_in_row());
  std::vector<double> parts;
  parts.reserve(bytes.size());
  for (const std::uint64_t one : bytes) parts.push_back(static_cast<double>(one) / most);
  return parts;
}

ByteMatrix read_byte_matrix(const std::string& file) {
  const std::string name = analysis::printable(file);
  Rows rows;
  if (file.ends_with(".json"))
    read_json(file, rows);
  else
    read_csv(file, name, rows);
  return rows.finish(name);
}

analysis::BusiestRank busiest_rank(const ByteMatrix& matrix) {
  const std::size_t n = matrix.ranks;
  std::vector<double> sent(n);
  std::vector<double> received(n);
  double all = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const auto bytes = static_cast<double>(matrix.bytes[i * n + j]);
      sent[i] += bytes;
      received[j] += bytes;
      all += bytes;
    }
  const auto sender = std::ranges::max_element(sent);
  const auto receiver = std::ranges::max_element(received);
  const bool sends = *sender >= *receiver;
  const double most = sends ? *sender : *receiver;
  return {.rank = static_cast<std::uint32_t>(sends ? sender - sent.begin()
                                                   : receiver - received.begin()),
          .sends = sends,
          .share = most / static_cast<double>(matrix.most_in_row()),
          .over_mean = most / (all / static_cast<double>(n))};
}

}  // namespace pipewright::comm
