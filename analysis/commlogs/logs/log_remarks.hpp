#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/measurement.hpp"

// Checks and remarks that apply to the rows of all benchmarks.
namespace pipewright::analysis {

// Counts rows with the same remark, such as "left out (0 bytes)", and keeps the first line of each.
class RowTally {
 public:
  void add(const std::string& remark, int line);
  void append_to(std::vector<LogRemark>& remarks, const std::string& file) const;

 private:
  struct Rows {
    int first = 0;
    std::size_t count = 0;
  };
  std::map<std::string, Rows> rows_;
};

// Line number of a table that cannot be used, and the reason: the information that it lacks.
struct UnusableTable {
  int line = 0;
  std::string reason;
};

// A log file that is being read; the readers of the various benchmark formats share this record.
struct LogFile {
  std::string name;
  LogHints hints;
  MeasurementLog& log;
  int tables = 0;
  bool has_unknown = false;  // The file has a table of an operation that cannot be predicted.
  std::optional<UnusableTable> unusable_table;  // The first such table.

  void remark(int line, std::string text);
  void leave_out(const UnusableTable& table);
};

// Adds a remark if times drop while sizes grow; it names the largest drop. `rows` are all rows of
// one table, in its order.
void remark_falling_times(std::span<const Measurement> rows, std::vector<LogRemark>& remarks);

// Merges equal remarks from index `first` on, since a remark on one table of a file often applies
// to hundreds. The first remark stays and gives the number of repetitions.
void merge_equal_remarks(std::vector<LogRemark>& remarks, std::size_t first);

// Returns the operation whose name a file name such as "h100_all-reduce.log" contains; no value if
// it contains none, or several.
std::optional<Operation> operation_in_name(const std::string& file);

}  // namespace pipewright::analysis
