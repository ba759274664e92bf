#include "tests/analysis/page/panel_unpacking.hpp"

#include <stdexcept>

#include "tests/analysis/page/varint_reader.hpp"

namespace pipewright::analysis::test {
namespace {

// Rows of each of `count` things.
template <class Row>
std::vector<std::vector<Row>> rows_of(VarintReader& reader, std::size_t count) {
  std::vector<std::vector<Row>> things(count);
  for (auto& rows : things) rows.resize(reader.count());
  return things;
}

template <class Row, class Read>
void each(std::vector<std::vector<Row>>& things, Read&& read) {
  for (auto& rows : things)
    for (Row& row : rows) read(row);
}

// Differences to the row before of the same thing.
template <class Row>
void chain(VarintReader& reader, std::vector<std::vector<Row>>& things, std::int64_t Row::*time) {
  for (auto& rows : things) {
    std::int64_t before = 0;
    for (Row& row : rows) before = row.*time = before + reader.number();
  }
}

void check_end(const VarintReader& reader) {
  if (!reader.at_end()) throw std::runtime_error("more bytes than rows");
}

}  // namespace

std::vector<std::vector<MemoryChange>> unpack_memory(std::string_view columns,
                                                     std::size_t devices) {
  VarintReader reader(columns);
  auto changes = rows_of<MemoryChange>(reader, devices);
  chain(reader, changes, &MemoryChange::time);
  each(changes, [&](MemoryChange& change) { change.category = reader.count(); });
  each(changes, [&](MemoryChange& change) { change.difference = reader.number(); });
  check_end(reader);
  return changes;
}

std::vector<std::vector<LinkUse>> unpack_links(std::string_view columns, std::size_t links) {
  VarintReader reader(columns);
  auto uses = rows_of<LinkUse>(reader, links);
  chain(reader, uses, &LinkUse::start);
  each(uses,
       [&](LinkUse& use) { use.end = use.start + static_cast<std::int64_t>(reader.count()); });
  for (const auto member : {&LinkUse::traffic, &LinkUse::bytes, &LinkUse::flows, &LinkUse::waited})
    each(uses, [&](LinkUse& use) { use.*member = reader.count(); });
  check_end(reader);
  return uses;
}

}  // namespace pipewright::analysis::test
