#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "analysis/commlogs/logs/nccl_table.hpp"
#include "analysis/commlogs/operation.hpp"

namespace pipewright::analysis {

// A program of nccl-tests, and what its tables look like.
struct NcclTest {
  std::string_view name;               // "all_reduce" of "all_reduce_perf"
  std::optional<Operation> operation;  // without a value: nothing here predicts it
  bool parts = false;                  // "count" is of one rank's part of "size"
  enum class Reduces : std::uint8_t { no, yes, either } reduces = Reduces::no;
  bool rooted = false;
  bool checks_in_place = true;  // whether results of doing it in place can be right
};
std::span<const NcclTest> nccl_tests();
const NcclTest* find_nccl_test(std::string_view name);

// What the numbers of a table tell of its operation and ranks, whatever else the log says.
struct NcclEvidence {
  // size / (count x bytes of an element): 1 where "count" is of the whole, else the ranks. Without
  // a value: the table does not say, or not the same everywhere.
  std::optional<std::uint32_t> parts;
  bool reductions_known = false;
  bool reduces = false;
  bool roots_known = false;
  bool rooted = false;
  bool root_column = false;
  bool checks_known = false;
  bool checks_in_place = false;
  // The factor from algbw to busbw lies between these.
  double least_factor = 0;
  double greatest_factor = std::numeric_limits<double>::infinity();
  bool factor_known = false;

  bool one_rank() const;  // whose busbw is 0
  bool allows(const NcclTest& test) const;
  bool suggests(
      const NcclTest& test) const;  // by what was checked, which not all tools print alike
  bool allows(const NcclTest& test, std::uint32_t ranks) const;
  // The only number of ranks that is possible, or the only multiple of 8 that is.
  std::optional<std::uint32_t> ranks_of(const NcclTest& test) const;
};
NcclEvidence evidence_of(const LoggedTable& table);

}  // namespace pipewright::analysis
