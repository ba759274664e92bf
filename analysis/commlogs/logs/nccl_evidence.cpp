#include "analysis/commlogs/logs/nccl_evidence.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/commlogs/logs/nccl_table.hpp"

namespace pipewright::analysis {
namespace {

constexpr double factor_slack = 1e-4;  // Relative slack of factors, for rates that were averaged.

// Returns the ratio of "size" to the bytes of "count" elements, or 0 if it is unknown.
double size_over_count(const LoggedRow& row) {
  const double part =
      static_cast<double>(row.count) * static_cast<double>(nccl_type_bytes(row.type));
  return part > 0 ? static_cast<double>(row.bytes) / part : 0;
}

double test_bus_factor(const NcclTest& test, double ranks) {
  const double part = (ranks - 1) / ranks;
  if (test.parts) return part;
  return test.operation == Operation::all_reduce ? 2 * part : 1;
}

}  // namespace

std::span<const NcclTest> nccl_tests() {
  using enum Operation;
  using Reduces = NcclTest::Reduces;
  static constexpr std::array<NcclTest, 12> tests{
      {{"all_reduce", all_reduce, false, Reduces::yes, false},
       {"all_gather", all_gather, true, Reduces::no, false},
       {"reduce_scatter", reduce_scatter, true, Reduces::yes, false},
       {"alltoall", all_to_all, true, Reduces::no, false, false},
       {"broadcast", broadcast, false, Reduces::no, true},
       {"sendrecv", send_recv, false, Reduces::either, false, false},
       // This test is written by `comm bench`; nccl-tests has none of this name.
       {"pairwise", pairwise, false, Reduces::either, false, false},
       {"reduce", reduce, false, Reduces::yes, true},
       {"gather", gather, true, Reduces::no, true},
       {"scatter", scatter, true, Reduces::no, true},
       {"hypercube", std::nullopt, true, Reduces::no, false},
       {"alltoallv", std::nullopt, true, Reduces::no, false, false}}};
  return tests;
}

const NcclTest* find_nccl_test(std::string_view name) {
  const auto match = std::ranges::find(nccl_tests(), name, &NcclTest::name);
  return match == nccl_tests().end() ? nullptr : &*match;
}

bool NcclEvidence::has_one_rank() const { return factor_known && max_factor < 0.1; }

bool NcclEvidence::allows(const NcclTest& test) const {
  if (parts && test.parts != (*parts > 1)) return false;
  using Reduces = NcclTest::Reduces;
  if (reductions_known && test.reduces != Reduces::either &&
      reduces != (test.reduces == Reduces::yes))
    return false;
  if (roots_known && rooted != test.rooted) return false;
  // Versions of nccl-tests that print the columns of a reduction for a test without one, such as
  // sendrecv, print them for all tests, and "root" too.
  if (test.reduces == Reduces::either && reductions_known && reduces && !root_column) return false;
  if (!factor_known) return true;
  constexpr double max_ranks = 1e9;
  return min_factor <= test_bus_factor(test, max_ranks) && max_factor >= test_bus_factor(test, 2);
}

bool NcclEvidence::suggests(const NcclTest& test) const {
  return !checks_known || checks_in_place == test.checks_in_place;
}

bool NcclEvidence::allows(const NcclTest& test, std::uint32_t ranks) const {
  if (ranks < 2 || (parts && test.parts && *parts != ranks)) return false;
  const double expected = test_bus_factor(test, ranks);
  return !factor_known || (min_factor <= expected && expected <= max_factor);
}

std::optional<std::uint32_t> NcclEvidence::ranks_of(const NcclTest& test) const {
  if (parts && test.parts) return parts;
  if (!factor_known || test_bus_factor(test, 2) == test_bus_factor(test, 3)) return std::nullopt;
  // The ratio of busbw to algbw is limit x (n-1)/n for n ranks, where the limit is twice the ratio
  // for 2 ranks.
  const double limit = 2 * test_bus_factor(test, 2);
  const auto ranks_for = [&](double value) { return limit / (limit - value); };
  if (max_factor >= limit) return std::nullopt;
  const double from = std::max(2.0, std::ceil(ranks_for(std::max(min_factor, 0.0))));
  const double to = std::floor(ranks_for(max_factor));
  if (from == to) return static_cast<std::uint32_t>(from);
  const double eights = std::floor(to / 8) * 8;
  if (from > to || eights < from || eights - 8 >= from) return std::nullopt;
  return static_cast<std::uint32_t>(eights);
}

NcclEvidence evidence_of(const LoggedTable& table) {
  NcclEvidence evidence;
  evidence.reductions_known = table.columns.redop || table.columns.count;
  evidence.roots_known = table.columns.count;
  evidence.root_column = table.columns.root;
  bool checked = false, unchecked_in_place = false;
  bool has_constant_parts = table.columns.count;
  for (const LoggedRow& row : table.rows) {
    evidence.reduces = evidence.reduces || row.reduces;
    evidence.rooted = evidence.rooted || row.root.has_value();
    const double parts = size_over_count(row);
    const bool is_whole = parts >= 1 && parts < 1e9 && parts == std::floor(parts);
    has_constant_parts =
        has_constant_parts && is_whole && (!evidence.parts || *evidence.parts == parts);
    if (has_constant_parts) evidence.parts = static_cast<std::uint32_t>(parts);
    for (std::size_t i = 0; i < row.timed; ++i) {
      const auto& [seconds, algbw, busbw, in_place, check] = row.times.at(i);
      checked = checked || (!in_place && check == LoggedTime::Checked::yes);
      unchecked_in_place = unchecked_in_place || (in_place && check == LoggedTime::Checked::no);
      evidence.checks_in_place =
          evidence.checks_in_place || (in_place && check == LoggedTime::Checked::yes);
      if (!(algbw.value - algbw.half > 0) || !std::isfinite(busbw.value)) continue;
      evidence.factor_known = true;
      evidence.min_factor =
          std::max(evidence.min_factor,
                   (busbw.value - busbw.half) / (algbw.value + algbw.half) * (1 - factor_slack));
      evidence.max_factor =
          std::min(evidence.max_factor,
                   (busbw.value + busbw.half) / (algbw.value - algbw.half) * (1 + factor_slack));
    }
  }
  if (!has_constant_parts) evidence.parts.reset();
  evidence.checks_known = evidence.checks_in_place || (checked && unchecked_in_place);
  // Tests that split the buffer among ranks computed both algbw and busbw from the bytes that move
  // until 2020, so the ratio of the two does not depend on the ranks.
  const bool same_rate = evidence.parts.value_or(1) > 1 && evidence.max_factor >= 1;
  if (same_rate || evidence.min_factor > evidence.max_factor) evidence.factor_known = false;
  return evidence;
}

}  // namespace pipewright::analysis
