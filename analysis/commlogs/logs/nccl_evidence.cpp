#include "analysis/commlogs/logs/nccl_evidence.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/commlogs/logs/nccl_table.hpp"

namespace pipewright::analysis {
namespace {

constexpr double slack = 1e-4;  // of a factor, for rates that were averaged

// Of a row; 0: unknown.
double parts_of(const LoggedRow& row) {
  const double part =
      static_cast<double>(row.count) * static_cast<double>(nccl_type_bytes(row.type));
  return part > 0 ? static_cast<double>(row.bytes) / part : 0;
}

double factor(const NcclTest& test, double ranks) {
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
       {"pairwise", pairwise, false, Reduces::either, false, false},  // comm bench's
       {"reduce", reduce, false, Reduces::yes, true},
       {"gather", gather, true, Reduces::no, true},
       {"scatter", scatter, true, Reduces::no, true},
       {"hypercube", std::nullopt, true, Reduces::no, false},
       {"alltoallv", std::nullopt, true, Reduces::no, false, false}}};
  return tests;
}

const NcclTest* find_nccl_test(std::string_view name) {
  const auto found = std::ranges::find(nccl_tests(), name, &NcclTest::name);
  return found == nccl_tests().end() ? nullptr : &*found;
}

bool NcclEvidence::one_rank() const { return factor_known && greatest_factor < 0.1; }

bool NcclEvidence::allows(const NcclTest& test) const {
  if (parts && test.parts != (*parts > 1)) return false;
  using Reduces = NcclTest::Reduces;
  if (reductions_known && test.reduces != Reduces::either &&
      reduces != (test.reduces == Reduces::yes))
    return false;
  if (roots_known && rooted != test.rooted) return false;
  // It has the columns of a reduction since all tests have them, "root" among them.
  if (test.reduces == Reduces::either && reductions_known && reduces && !root_column) return false;
  if (!factor_known) return true;
  constexpr double most_ranks = 1e9;
  return least_factor <= factor(test, most_ranks) && greatest_factor >= factor(test, 2);
}

bool NcclEvidence::suggests(const NcclTest& test) const {
  return !checks_known || checks_in_place == test.checks_in_place;
}

bool NcclEvidence::allows(const NcclTest& test, std::uint32_t ranks) const {
  if (ranks < 2 || (parts && test.parts && *parts != ranks)) return false;
  const double wanted = factor(test, ranks);
  return !factor_known || (least_factor <= wanted && wanted <= greatest_factor);
}

std::optional<std::uint32_t> NcclEvidence::ranks_of(const NcclTest& test) const {
  if (parts && test.parts) return parts;
  if (!factor_known || factor(test, 2) == factor(test, 3)) return std::nullopt;
  // factor = f2 x 2 (n-1)/n, with that of 2 ranks.
  const double most = 2 * factor(test, 2);
  const auto ranks = [&](double value) { return most / (most - value); };
  if (greatest_factor >= most) return std::nullopt;
  const double from = std::max(2.0, std::ceil(ranks(std::max(least_factor, 0.0))));
  const double to = std::floor(ranks(greatest_factor));
  if (from == to) return static_cast<std::uint32_t>(from);
  const double eights = std::floor(to / 8) * 8;
  if (from > to || eights < from || eights - 8 >= from) return std::nullopt;
  return static_cast<std::uint32_t>(eights);
}

NcclEvidence evidence_of(const LoggedTable& table) {
  NcclEvidence evidence;
  evidence.reductions_known = table.has.redop || table.has.count;
  evidence.roots_known = table.has.count;
  evidence.root_column = table.has.root;
  bool checked = false, unchecked_in_place = false;
  bool same = table.has.count;
  for (const LoggedRow& row : table.rows) {
    evidence.reduces = evidence.reduces || row.reduces;
    evidence.rooted = evidence.rooted || row.root.has_value();
    const double parts = parts_of(row);
    const bool whole = parts >= 1 && parts < 1e9 && parts == std::floor(parts);
    same = same && whole && (!evidence.parts || *evidence.parts == parts);
    if (same) evidence.parts = static_cast<std::uint32_t>(parts);
    for (std::size_t i = 0; i < row.timed; ++i) {
      const auto& [seconds, algbw, busbw, in_place, check] = row.times.at(i);
      checked = checked || (!in_place && check == LoggedTime::Checked::yes);
      unchecked_in_place = unchecked_in_place || (in_place && check == LoggedTime::Checked::no);
      evidence.checks_in_place =
          evidence.checks_in_place || (in_place && check == LoggedTime::Checked::yes);
      if (!(algbw.value - algbw.half > 0) || !std::isfinite(busbw.value)) continue;
      evidence.factor_known = true;
      evidence.least_factor =
          std::max(evidence.least_factor,
                   (busbw.value - busbw.half) / (algbw.value + algbw.half) * (1 - slack));
      evidence.greatest_factor =
          std::min(evidence.greatest_factor,
                   (busbw.value + busbw.half) / (algbw.value - algbw.half) * (1 + slack));
    }
  }
  if (!same) evidence.parts.reset();
  evidence.checks_known = evidence.checks_in_place || (checked && unchecked_in_place);
  // Until 2020 both rates of parts were of what moves.
  const bool same_rate = evidence.parts.value_or(1) > 1 && evidence.greatest_factor >= 1;
  if (same_rate || evidence.least_factor > evidence.greatest_factor) evidence.factor_known = false;
  return evidence;
}

}  // namespace pipewright::analysis
