#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/process/line_journal.hpp"

// The journal of a search keeps its finished candidates if the program is killed. It has a line of
// JSON for each candidate, written as soon as the outcome is final. Bounds, which take
// milliseconds, are not in it, and so candidates that are bounded away are not either.
//
//   {"pipewright_search":1,"sweep":"...","axes":[{"key":"parallel.tp","values":["1","2"]},...]}
//   {"candidate":17,...}        a row in the form of analysis/report/search/row_json.hpp
//   ...
//
// The first line identifies the search.
namespace pipewright::search {

// Identifies a search: an interrupted search is only resumed if its stored text and axes are the
// same.
struct SearchIdentity {
  std::string sweep;  // text of the sweep
  std::vector<analysis::SearchAxis> axes;
};

// A journal file that is open for writing. Only one process can have it open.
class Journal {
 public:
  // Opens the journal and reads its rows, or creates it. Throws trace::TraceError if another
  // process has it open, if it belongs to another search, or if a complete line is not a row.
  Journal(const std::filesystem::path& path, const SearchIdentity& identity);

  // Returns the rows that the journal had when it was opened, and removes them from memory.
  std::vector<analysis::CandidateRow> take_rows();
  bool is_new() const { return is_new_; }
  void check_empty() const;  // throws trace::TraceError if the journal had rows
  // Appends either all of the rows or none. Throws trace::TraceError if they cannot be written;
  // earlier rows stay valid.
  void append(const std::vector<analysis::CandidateRow>& rows);
  void remove() { lines_.remove(); }  // deletes the file

 private:
  std::vector<analysis::CandidateRow> rows_;  // declared before lines_, whose constructor fills it
  process::LineJournal lines_;
  bool is_new_ = true;
};

// Returns the rows that an earlier run of the same search left in its results and its journal: one
// per candidate, in ascending order of candidates. Empties the list of rows that `journal` has
// read. Throws trace::TraceError if the files belong to another search.
std::vector<analysis::CandidateRow> earlier_rows(const std::filesystem::path& results,
                                                 Journal& journal, const SearchIdentity& identity);

}  // namespace pipewright::search
