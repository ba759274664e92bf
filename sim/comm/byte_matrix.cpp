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

using config::Error;
using config::Origin;

constexpr std::size_t max_ranks = 2048;
constexpr std::uintmax_t max_file_bytes = std::uintmax_t{64} << 20U;

std::string count_text(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Builder of a byte matrix that checks each row and cell.
class MatrixRows {
 public:
  void begin(const Origin& location) {
    end_row();
    location_ = location;
    if (++rows_ > max_ranks) throw Error(location_, fmt::format("more than {} rows", max_ranks));
    row_cells_ = 0;
    row_bytes_ = 0;
  }

  void add(std::string_view text, const Origin& location) {
    ++row_cells_;
    const auto reject = [&](std::string_view allowed) {
      throw Error(location, fmt::format("cell {} is {}", row_cells_, config::describe_text(text)))
          .allow(allowed);
    };
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || end != text.data() + text.size() || !std::isfinite(value) ||
        (error != std::errc() && error != std::errc::result_out_of_range))
      reject("a number of bytes");
    if (value < 0) reject("0 bytes or more");
    if (error != std::errc() || value > static_cast<double>(max_bytes)) reject("up to 1024 TiB");
    if (value != std::floor(value)) reject("whole bytes");
    if (row_cells_ > max_ranks)
      throw Error(location, fmt::format("the row has more than {} cells", max_ranks));
    bytes_.push_back(static_cast<std::uint64_t>(value));
    row_bytes_ += bytes_.back();
    if (row_bytes_ > max_bytes) throw Error(location, "this row exceeds the limit of 1024 TiB");
  }

  ByteMatrix finish(const std::string& name) {
    if (rows_ == 0)
      throw Error({.source = name, .line = 1},
                  "no rows; each rank needs a row, with a cell for every rank");
    end_row();
    if (rows_ != columns_)
      throw Error(location_,
                  fmt::format("{} of {}; each rank needs a row, with a cell for every rank",
                              count_text(rows_, "row"), count_text(columns_, "cell")));
    if (rows_ < 2) throw Error(location_, "1 rank; at least 2 are needed");
    for (std::size_t i = 0; i < bytes_.size(); ++i)
      if (bytes_[i] > 0 && i / columns_ != i % columns_)
        return {name, static_cast<std::uint32_t>(rows_), std::move(bytes_)};
    throw Error(location_, "all cells are 0; at least one rank must send bytes to another rank");
  }

 private:
  void end_row() {
    if (rows_ == 1) columns_ = row_cells_;
    if (rows_ > 0 && row_cells_ != columns_)
      throw Error(location_, fmt::format("{} in this row, but {} in the first",
                                         count_text(row_cells_, "cell"), columns_));
  }

  std::vector<std::uint64_t> bytes_;
  Origin location_;  // of the current row
  std::size_t rows_ = 0;
  std::size_t columns_ = 0;
  std::size_t row_cells_ = 0;
  std::uint64_t row_bytes_ = 0;
};

std::string_view trim_cell(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

void read_csv(const std::string& file, const std::string& name, MatrixRows& rows) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  std::ifstream stream(file, std::ios::binary);
  if (error || !stream) throw Error({.source = name}, "cannot be read");
  if (size > max_file_bytes) throw Error({.source = name}, "is larger than 64 MiB");
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::string_view remaining = line;
    if (number == 1 && remaining.starts_with("\xef\xbb\xbf")) remaining.remove_prefix(3);
    remaining = trim_cell(remaining);
    if (remaining.empty() || remaining.front() == '#') continue;
    const Origin location{.source = name, .line = number};
    rows.begin(location);
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = remaining.find(',');
      rows.add(trim_cell(remaining.substr(0, comma)), location);
      if (comma != std::string_view::npos) remaining.remove_prefix(comma + 1);
    }
  }
}

// Reads JSON with the YAML reader, because it records the location of each value for error
// messages.
void read_json(const std::string& file, MatrixRows& rows) {
  constexpr config::Document document{"a matrix of bytes", "a list of lists of numbers",
                                      "[[0, 4], [4, 0]]"};
  const auto check = [](const config::Value& value, config::Value::Kind kind, const char* allowed) {
    if (value.kind != kind)
      throw Error(value.origin, fmt::format("found {}", config::describe(value))).allow(allowed);
  };
  const config::Value matrix = config::read_yaml_file(file, document);
  check(matrix, config::Value::Kind::list, "a list of rows, a row for each rank");
  for (const config::Value& row : matrix.items) {
    check(row, config::Value::Kind::list, "a row, which is a list of numbers");
    rows.begin(row.origin);
    for (const config::Value& cell : row.items) {
      check(cell, config::Value::Kind::text, "a number of bytes");
      rows.add(cell.text, cell.origin);
    }
  }
}

}  // namespace

std::uint64_t ByteMatrix::max_row_bytes() const {
  std::uint64_t largest = 0;
  for (auto row = bytes.begin(); row != bytes.end(); row += ranks)
    largest = std::max(largest, std::accumulate(row, row + ranks, std::uint64_t{0}));
  return largest;
}

std::vector<double> ByteMatrix::parts() const {
  const auto total = static_cast<double>(max_row_bytes());
  std::vector<double> row_fractions;
  row_fractions.reserve(bytes.size());
  for (const std::uint64_t cell : bytes) row_fractions.push_back(static_cast<double>(cell) / total);
  return row_fractions;
}

ByteMatrix read_byte_matrix(const std::string& file) {
  const std::string name = analysis::printable(file);
  MatrixRows rows;
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
  double total = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      const auto bytes = static_cast<double>(matrix.bytes[i * n + j]);
      sent[i] += bytes;
      received[j] += bytes;
      total += bytes;
    }
  const auto sender = std::ranges::max_element(sent);
  const auto receiver = std::ranges::max_element(received);
  const bool sends = *sender >= *receiver;
  const double busiest = sends ? *sender : *receiver;
  return {.rank = static_cast<std::uint32_t>(sends ? sender - sent.begin()
                                                   : receiver - received.begin()),
          .sends = sends,
          .share = busiest / static_cast<double>(matrix.max_row_bytes()),
          .over_mean = busiest / (total / static_cast<double>(n))};
}

}  // namespace pipewright::comm
