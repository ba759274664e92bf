#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::cluster {

class PlatformFile;

// How far predictions by a platform file were from measurements, of one operation, and over which
// numbers of ranks and nodes and which sizes. It stands in the file as a property `record.N` of the
// outermost zone:
//
//   all-reduce; 2 to 8 ranks; 1 node; 512 B to 8 GiB; 44 rows; median 4.1 %; p90 9.8 %; held out;
//   SOURCE
//
// in one line, with `fitted` in place of `held out` where the file's numbers were fitted to these
// very rows. What lies inside is interpolated; what lies outside nobody has looked at.
struct Record {
  std::string operation;  // "all-reduce"
  std::uint32_t least_ranks = 0;
  std::uint32_t most_ranks = 0;
  std::uint32_t least_nodes = 0;  // that the ranks are spread over
  std::uint32_t most_nodes = 0;
  std::uint64_t least_bytes = 0;
  std::uint64_t most_bytes = 0;
  std::size_t rows = 0;
  double median = 0;  // of the errors' absolute values: 0.1 for 10 %
  double p90 = 0;
  bool held_out = true;
  std::string source;  // of the measurements

  bool operator==(const Record&) const = default;
};

// The value of the property. Percents have one digit behind the point.
std::string to_string(const Record& record);

// Throws Error (without file and line) that says which part is wrong, and what would be right.
Record parse_record(std::string_view text);

// Those of a file, in their order. Throws Error: "FILE:LINE: what".
std::vector<Record> read_records(const PlatformFile& file);

bool covers(const Record& record, std::string_view operation, std::uint32_t ranks,
            std::uint32_t nodes, std::uint64_t bytes);
// Whether any does.
bool covers(std::span<const Record> records, std::string_view operation, std::uint32_t ranks,
            std::uint32_t nodes, std::uint64_t bytes);

}  // namespace pipewright::cluster
