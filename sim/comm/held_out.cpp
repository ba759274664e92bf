#include "sim/comm/held_out.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace pipewright::comm {
namespace {

using analysis::Measurement;

// Position of a row's size among the sizes of its curve in ascending order, and their number.
struct SizeRank {
  std::size_t rank = 0;
  std::size_t count = 0;
};
std::vector<SizeRank> size_ranks(std::span<const Measurement> rows) {
  const auto curve = [](const Measurement& row) {
    return std::tuple(row.operation, row.ranks, row.nodes);
  };
  std::map<std::tuple<analysis::Operation, std::uint32_t, std::uint32_t>, std::set<std::uint64_t>>
      sizes;
  for (const Measurement& row : rows) sizes[curve(row)].insert(row.bytes);
  std::vector<SizeRank> ranks;
  for (const Measurement& row : rows) {
    const auto& curve_sizes = sizes.at(curve(row));
    const auto rank = std::distance(curve_sizes.begin(), curve_sizes.find(row.bytes));
    ranks.push_back({static_cast<std::size_t>(rank), curve_sizes.size()});
  }
  return ranks;
}

template <class Predicate>
std::vector<bool> flag_rows(std::span<const Measurement> rows, const Predicate& predicate) {
  std::vector<bool> flags;
  for (const Measurement& row : rows) flags.push_back(predicate(row));
  return flags;
}

HoldOutScheme upper_half_scheme(std::span<const Measurement> rows) {
  HoldOutScheme scheme{.name = "the upper half of sizes", .parts = {}, .unavailable = {}};
  std::vector<bool> is_held_out;
  for (const SizeRank& size_rank : size_ranks(rows))
    is_held_out.push_back(2 * size_rank.rank >= size_rank.count && size_rank.count > 1);
  if (std::ranges::find(is_held_out, true) == is_held_out.end())
    scheme.unavailable = "each curve has only one size";
  else
    scheme.parts.push_back(std::move(is_held_out));
  return scheme;
}

HoldOutScheme lower_half_scheme(std::span<const Measurement> rows) {
  HoldOutScheme scheme{.name = "the lower half of sizes", .parts = {}, .unavailable = {}};
  std::vector<bool> is_held_out;
  for (const SizeRank& size_rank : size_ranks(rows))
    is_held_out.push_back(2 * size_rank.rank < size_rank.count && size_rank.count > 1);
  if (std::ranges::find(is_held_out, true) != is_held_out.end())
    scheme.parts.push_back(std::move(is_held_out));
  return scheme;
}

HoldOutScheme most_ranks_scheme(std::span<const Measurement> rows) {
  std::set<std::uint32_t> ranks;
  for (const Measurement& row : rows) ranks.insert(row.ranks);
  HoldOutScheme scheme{.name = "the largest number of ranks", .parts = {}, .unavailable = {}};
  if (ranks.size() < 2)
    scheme.unavailable = fmt::format("all rows have {} ranks", ranks.empty() ? 0 : *ranks.begin());
  else
    scheme.parts.push_back(
        flag_rows(rows, [&](const Measurement& row) { return row.ranks == *ranks.rbegin(); }));
  return scheme;
}

HoldOutScheme whole_operation_scheme(std::span<const Measurement> rows) {
  std::set<analysis::Operation> operations;
  for (const Measurement& row : rows) operations.insert(row.operation);
  HoldOutScheme scheme{.name = "a whole operation", .parts = {}, .unavailable = {}};
  if (operations.size() < 2) {
    scheme.unavailable = "all rows have the same operation";
    return scheme;
  }
  for (const analysis::Operation operation : operations)
    scheme.parts.push_back(
        flag_rows(rows, [&](const Measurement& row) { return row.operation == operation; }));
  return scheme;
}

}  // namespace

std::vector<bool> held_out_rows(std::span<const Measurement> rows, HoldOut selection) {
  std::vector<bool> held_out(rows.size(), false);
  if (selection == HoldOut::none) return held_out;
  const std::vector<SizeRank> ranks = size_ranks(rows);
  for (std::size_t i = 0; i < rows.size(); ++i)
    held_out[i] = (ranks[i].rank % 2 == 1) == (selection == HoldOut::odd);
  return held_out;
}

std::vector<HoldOutScheme> hold_out_schemes(std::span<const Measurement> rows) {
  HoldOutScheme every_other{.name = "every other size", .parts = {}, .unavailable = {}};
  std::vector<bool> odd = held_out_rows(rows, HoldOut::odd);
  if (std::ranges::find(odd, true) == odd.end())
    every_other.unavailable = "each curve has only one size";
  else
    every_other.parts.push_back(std::move(odd));
  return {std::move(every_other), upper_half_scheme(rows), most_ranks_scheme(rows),
          whole_operation_scheme(rows)};
}

std::vector<HoldOutScheme> extrapolation_schemes(std::span<const Measurement> rows) {
  std::vector<HoldOutScheme> schemes;
  for (const HoldOutScheme& scheme : {upper_half_scheme(rows), lower_half_scheme(rows),
                                      most_ranks_scheme(rows), whole_operation_scheme(rows)})
    if (!scheme.parts.empty()) schemes.push_back(scheme);
  return schemes;
}

}  // namespace pipewright::comm
