#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/process/line_journal.hpp"

// What a search has found so far, whatever happens to it: lines of JSON, each written at once
// when a candidate's outcome is final. Bounds are not in it, which take milliseconds, and so
// nobody that is bounded away.
//
//   {"pipewright_search":1,"sweep":"...","axes":[{"key":"parallel.tp","values":["1","2"]},...]}
//   {"candidate":17,...}        as analysis/report/search/row_json.hpp has it; one a candidate
//   ...
//
// The first line says what was searched.
namespace pipewright::search {

// Whose results these are.
struct SearchIdentity {
  std::string sweep;  // its text
  std::vector<analysis::SearchAxis> axes;
};

// A journal that is being written, by one process at a time.
class Journal {
 public:
  // Goes on with what is there, or begins. Throws trace::TraceError if another search writes it,
  // if it is another search's, or if a line but the last is no row.
  Journal(const std::filesystem::path& path, const SearchIdentity& identity);

  // What was there at the start. Empties it.
  std::vector<analysis::CandidateRow> take_rows();
  bool is_new() const { return is_new_; }
  void check_empty() const;  // throws trace::TraceError: what is there would be lost
  // All or none of them, in one write. Throws trace::TraceError; what was there stays valid.
  void append(const std::vector<analysis::CandidateRow>& rows);
  void remove() { lines_.remove(); }  // the file, once its rows are elsewhere

 private:
  std::vector<analysis::CandidateRow> rows_;  // before the lines, which fill it
  process::LineJournal lines_;
  bool is_new_ = true;
};

// What an earlier search of the same space left in its results and its journal, which this empties:
// in order of candidates, one row each. Throws trace::TraceError where they are another search's.
std::vector<analysis::CandidateRow> earlier_rows(const std::filesystem::path& results,
                                                 Journal& journal, const SearchIdentity& asked);

}  // namespace pipewright::search
