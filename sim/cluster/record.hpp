#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipewright::cluster {

class PlatformFile;

// Accuracy of a platform file: errors of its predictions against measurements of one operation,
// over ranges of ranks, nodes and sizes. The file stores a record on one line, as property
// `record.N` of the outermost zone:
//
//   all-reduce; 2 to 8 ranks; 1 node; 512 B to 8 GiB; 44 rows; median 4.1 %; p90 9.8 %; held out;
//   SOURCE
//
// `held out` means that the rows were not used to fit the file's numbers; `fitted`, that they were.
// Predictions inside these ranges are interpolations; predictions outside have never been compared.
struct Record {
  std::string operation;  // "all-reduce"
  std::uint32_t min_ranks = 0;
  std::uint32_t max_ranks = 0;
  std::uint32_t min_nodes = 0;  // nodes that the ranks are spread over
  std::uint32_t max_nodes = 0;
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  std::size_t rows = 0;
  double median = 0;  // median of the absolute relative errors: 0.1 for 10 %
  double p90 = 0;
  bool held_out = true;
  std::string source;  // source of the measurements

  bool operator==(const Record&) const = default;
};

// Formats a record as the value of a property `record.N`. Percentages have one decimal.
std::string to_string(const Record& record);

// Parses the value of a property `record.N`. Throws Error, without file and line, that names the
// wrong part and the expected text.
Record parse_record(std::string_view text);

// Reads the records of a platform file, in the file's order. Throws Error "FILE:LINE: message".
std::vector<Record> read_records(const PlatformFile& file);

bool covers(const Record& record, std::string_view operation, std::uint32_t ranks,
            std::uint32_t nodes, std::uint64_t bytes);
// Returns whether any record covers the operation with these numbers of ranks, nodes and bytes.
bool covers(std::span<const Record> records, std::string_view operation, std::uint32_t ranks,
            std::uint32_t nodes, std::uint64_t bytes);

}  // namespace pipewright::cluster
