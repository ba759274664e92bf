#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/commlogs/measurement.hpp"

// What is checked of all logs' rows, whichever benchmark printed them.
namespace pipewright::analysis {

// What happened to rows, "left out: of 0 bytes": to how many, and to which one first.
class RowTally {
 public:
  void add(const std::string& what, int line);
  void append_to(std::vector<LogRemark>& remarks, const std::string& file) const;

 private:
  struct Rows {
    int first = 0;
    std::size_t count = 0;
  };
  std::map<std::string, Rows> rows_;
};

// A table that says too little of itself, and what is missing.
struct Unusable {
  int line = 0;
  std::string why;
};

// A file that is being read, by readers of several benchmarks.
struct LogFile {
  std::string name;
  LogHints hints;
  MeasurementLog& log;
  int tables = 0;
  bool has_unknown = false;          // a table of an operation that nothing predicts
  std::optional<Unusable> unusable;  // the first one

  void remark(int line, std::string text);
  void leave_out(const Unusable& table);
};

// A remark on times that fall while sizes grow, at the deepest fall. `rows` are those of one table,
// in its order.
void remark_falling_times(std::span<const Measurement> rows, std::vector<LogRemark>& remarks);

// What is so in one table of a file is so in a hundred: of equal remarks from `first` on only the
// first is left, which says so.
void merge_equal_remarks(std::vector<LogRemark>& remarks, std::size_t first);

// The operation that a file's name tells: "h100_all-reduce.log".
std::optional<Operation> operation_in_name(const std::string& file);

}  // namespace pipewright::analysis
