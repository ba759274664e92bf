#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "analysis/commlogs/logs/nccl_table.hpp"
#include "analysis/commlogs/operation.hpp"

namespace pipewright::analysis {

// A program of nccl-tests and the layout of its tables.
struct NcclTest {
  std::string_view name;               // "all_reduce" for "all_reduce_perf".
  std::optional<Operation> operation;  // Without a value if no prediction exists.
  bool parts = false;                  // "count" refers to one rank's part of "size".
  enum class Reduces : std::uint8_t { no, yes, either } reduces = Reduces::no;
  bool rooted = false;
  bool checks_in_place = true;  // Results of the operation in place can be verified.
};
std::span<const NcclTest> nccl_tests();
const NcclTest* find_nccl_test(std::string_view name);

// Conclusions about the operation and the ranks of a table that follow from its numbers alone.
struct NcclEvidence {
  // Ratio of "size" to the bytes of "count" elements: 1 if "count" is that of the whole buffer,
  // otherwise the number of ranks. Without a value if the table does not have these columns, or if
  // rows disagree.
  std::optional<std::uint32_t> parts;
  bool reductions_known = false;
  bool reduces = false;
  bool roots_known = false;
  bool rooted = false;
  bool root_column = false;
  bool checks_known = false;
  bool checks_in_place = false;
  // Bounds of the ratio of busbw to algbw, from the printed rates of all rows.
  double min_factor = 0;
  double max_factor = std::numeric_limits<double>::infinity();
  bool factor_known = false;

  bool has_one_rank() const;  // A single rank has a busbw of 0.
  bool allows(const NcclTest& test) const;
  bool suggests(
      // Returns true if the table verifies results of in-place operations exactly where this test
      // does. This is a weak hint, since tools print checks differently.
      const NcclTest& test) const;
  bool allows(const NcclTest& test, std::uint32_t ranks) const;
  // Returns the number of ranks if the rates allow only one, or only one multiple of 8.
  std::optional<std::uint32_t> ranks_of(const NcclTest& test) const;
};
NcclEvidence evidence_of(const LoggedTable& table);

}  // namespace pipewright::analysis
