#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace pipewright::analysis {

// Returns true for a prefix that names a rank or its worker and ends in a number: "[3]",
// "[rank3]:", "3:", "worker-3:", "node-1:1234:1250 [3]".
bool is_rank_tag(std::string_view prefix);

// Joins the pieces of lines that launchers cut. Some launchers write the tag of a rank before each
// piece of output that the rank flushes. The first columns of a row of nccl-tests, for example, are
// one piece, the times out of place the next one. Pieces of several ranks can share a line of the
// log; a line of a rank ends where its piece ends a line of the log.
class RankLines {
 public:
  // Takes a line of the log without its first tag, which is `tag`. Returns the line of the rank
  // whose piece ends the line of the log; valid until the next call.
  std::string_view join(std::string_view tag, std::string_view line);

 private:
  std::map<std::string, std::string, std::less<>> begun_;  // by tag: pieces of a line without end
  std::string joined_;
};

}  // namespace pipewright::analysis
