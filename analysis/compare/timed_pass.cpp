#include "analysis/compare/timed_pass.hpp"

#include <fmt/format.h>

#include "analysis/trace/tables.hpp"

namespace pipewright::analysis {

TimedPass timed(const trace::PassRow& row) {
  return {{row.iteration, row.microbatch, row.stage, row.kind}, row.device, row.start, row.end};
}

std::string pass_letter(trace::PassKind kind) {
  return trace::enum_names(trace::ColumnType::pass_kind)[static_cast<std::size_t>(kind)];
}

std::string describe(const PassKey& key) {
  return fmt::format("{} of microbatch {} on stage {}", pass_letter(key.kind), key.microbatch,
                     key.stage);
}

}  // namespace pipewright::analysis
