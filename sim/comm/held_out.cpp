#include "sim/comm/held_out.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

namespace pipewright::comm {
namespace {

using analysis::Measurement;

// Where each row's size stands among those of its curve, and how many these are.
struct Place {
  std::size_t place = 0;
  std::size_t of = 0;
};
std::vector<Place> places_of(std::span<const Measurement> rows) {
  const auto curve = [](const Measurement& row) {
    return std::tuple(row.operation, row.ranks, row.nodes);
  };
  std::map<std::tuple<analysis::Operation, std::uint32_t, std::uint32_t>, std::set<std::uint64_t>>
      sizes;
  for (const Measurement& row : rows) sizes[curve(row)].insert(row.bytes);
  std::vector<Place> places;
  for (const Measurement& row : rows) {
    const auto& of_curve = sizes.at(curve(row));
    const auto place = std::distance(of_curve.begin(), of_curve.find(row.bytes));
    places.push_back({static_cast<std::size_t>(place), of_curve.size()});
  }
  return places;
}

template <class Is>
std::vector<bool> flags(std::span<const Measurement> rows, const Is& is) {
  std::vector<bool> found;
  for (const Measurement& row : rows) found.push_back(is(row));
  return found;
}

HeldOutWay upper_half(std::span<const Measurement> rows) {
  HeldOutWay way{.name = "the upper half of sizes", .parts = {}, .lacks = {}};
  std::vector<bool> out;
  for (const Place& at : places_of(rows)) out.push_back(2 * at.place >= at.of && at.of > 1);
  if (std::ranges::find(out, true) == out.end())
    way.lacks = "each curve has one size";
  else
    way.parts.push_back(std::move(out));
  return way;
}

HeldOutWay lower_half(std::span<const Measurement> rows) {
  HeldOutWay way{.name = "the lower half of sizes", .parts = {}, .lacks = {}};
  std::vector<bool> out;
  for (const Place& at : places_of(rows)) out.push_back(2 * at.place < at.of && at.of > 1);
  if (std::ranges::find(out, true) != out.end()) way.parts.push_back(std::move(out));
  return way;
}

HeldOutWay most_ranks(std::span<const Measurement> rows) {
  std::set<std::uint32_t> ranks;
  for (const Measurement& row : rows) ranks.insert(row.ranks);
  HeldOutWay way{.name = "the largest number of ranks", .parts = {}, .lacks = {}};
  if (ranks.size() < 2)
    way.lacks = fmt::format("all rows are of {} ranks", ranks.empty() ? 0 : *ranks.begin());
  else
    way.parts.push_back(
        flags(rows, [&](const Measurement& row) { return row.ranks == *ranks.rbegin(); }));
  return way;
}

HeldOutWay each_operation(std::span<const Measurement> rows) {
  std::set<analysis::Operation> operations;
  for (const Measurement& row : rows) operations.insert(row.operation);
  HeldOutWay way{.name = "a whole operation", .parts = {}, .lacks = {}};
  if (operations.size() < 2) {
    way.lacks = "all rows are of one operation";
    return way;
  }
  for (const analysis::Operation one : operations)
    way.parts.push_back(flags(rows, [&](const Measurement& row) { return row.operation == one; }));
  return way;
}

}  // namespace

std::vector<bool> held_out_rows(std::span<const Measurement> rows, HoldOut which) {
  std::vector<bool> held_out(rows.size(), false);
  if (which == HoldOut::none) return held_out;
  const std::vector<Place> places = places_of(rows);
  for (std::size_t i = 0; i < rows.size(); ++i)
    held_out[i] = (places[i].place % 2 == 1) == (which == HoldOut::odd);
  return held_out;
}

std::vector<HeldOutWay> held_out_ways(std::span<const Measurement> rows) {
  HeldOutWay every_other{.name = "every other size", .parts = {}, .lacks = {}};
  std::vector<bool> odd = held_out_rows(rows, HoldOut::odd);
  if (std::ranges::find(odd, true) == odd.end())
    every_other.lacks = "each curve has one size";
  else
    every_other.parts.push_back(std::move(odd));
  return {std::move(every_other), upper_half(rows), most_ranks(rows), each_operation(rows)};
}

std::vector<HeldOutWay> ways_beyond(std::span<const Measurement> rows) {
  std::vector<HeldOutWay> ways;
  for (const HeldOutWay& way :
       {upper_half(rows), lower_half(rows), most_ranks(rows), each_operation(rows)})
    if (!way.parts.empty()) ways.push_back(way);
  return ways;
}

}  // namespace pipewright::comm
