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

// Kind, stage, microbatch and device of a pass, as far as the name of its annotation contains them.
struct NamedPass {
  trace::PassKind kind = trace::PassKind::forward;
  std::optional<std::uint32_t> stage;       // Without a value, the device is the stage.
  std::optional<std::uint32_t> microbatch;  // Without a value, passes are counted in order.
  std::optional<std::uint32_t> device;      // Without a value, the file determines the device.

  bool operator==(const NamedPass&) const = default;
};

// Thrown if a pattern that the user gave is not valid.
struct PatternError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Reads names with regular expressions (ECMAScript) that have named groups: (?<kind>..) and, if
// names contain them, stage, microbatch and device. The whole name has to match.
class PassNames {
 public:
  PassNames();                                     // Uses the patterns of known frameworks.
  explicit PassNames(const std::string& pattern);  // Uses this pattern alone; throws PatternError.

  // Returns one pass, two for a fused forward and backward pass, or none if the name is not that of
  // a pass.
  std::vector<NamedPass> read(const std::string& name) const;

 private:
  struct Pattern {
    std::regex expression;
    // Index of each named group in the regular expression; 0 if the expression lacks the group.
    int kind = 0, stage = 0, microbatch = 0, device = 0;
  };
  static Pattern compile(const std::string& text);
  std::optional<NamedPass> read_single(const std::string& name) const;

  std::vector<Pattern> patterns_;
};

}  // namespace pipewright::analysis
