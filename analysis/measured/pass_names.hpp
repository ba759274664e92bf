#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// What the name of an annotation says of the pass that it marks.
struct NamedPass {
  trace::PassKind kind = trace::PassKind::forward;
  std::optional<std::uint32_t> stage;       // else the device is the stage
  std::optional<std::uint32_t> microbatch;  // else passes are counted in order
  std::optional<std::uint32_t> device;      // else the file says it

  bool operator==(const NamedPass&) const = default;
};

// A pattern of a user's that is none.
struct PatternError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Reads names by regular expressions (ECMAScript) with named groups, (?<kind>..) and, if the names
// have them, stage, microbatch and device. The whole name has to match.
class PassNames {
 public:
  PassNames();                                     // what the known frameworks write
  explicit PassNames(const std::string& pattern);  // instead; throws PatternError

  // Of a fused forward and backward two, else one; none if the name is no pass's.
  std::vector<NamedPass> read(const std::string& name) const;

 private:
  struct Pattern {
    std::regex expression;
    int kind = 0, stage = 0, microbatch = 0, device = 0;  // groups; 0: there is none
  };
  static Pattern compile(const std::string& text);
  std::optional<NamedPass> read_one(const std::string& name) const;

  std::vector<Pattern> patterns_;
};

}  // namespace pipewright::analysis
