#include "analysis/trace/tables.hpp"

#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipewright::trace {

std::size_t width(ColumnType type) {
  switch (type) {
    case ColumnType::u32:
      return 4;
    case ColumnType::u64:
    case ColumnType::f64:
      return 8;
    case ColumnType::text:
      return 0;
    default:
      return 1;
  }
}

std::span<const char* const> enum_names(ColumnType type) {
  static constexpr std::array<const char*, pass_kinds> passes{"F", "I", "W", "B", "R", "S", "T"};
  static constexpr std::array<const char*, 2> transfers{"activation", "gradient"};
  static constexpr std::array<const char*, memory_categories> memory{
      "weights", "gradients", "optimizer", "activations", "logits",
      "working", "gathered",  "buffers",   "allowance"};
  static constexpr std::array<const char*, collective_kinds> collectives{
      "reduce_gradients", "gather_weights", "tie_embeddings"};
  static constexpr std::array<const char*, wait_events> events{"reduce_gradients", "gather_weights",
                                                               "norm", "end"};
  static constexpr std::array<const char*, traffic_classes> traffic{
      "activation",     "gradient",       "reduce_gradients",
      "gather_weights", "tie_embeddings", "in_passes"};
  switch (type) {
    case ColumnType::pass_kind:
      return passes;
    case ColumnType::transfer_kind:
      return transfers;
    case ColumnType::memory_category:
      return memory;
    case ColumnType::collective_kind:
      return collectives;
    case ColumnType::wait_event:
      return events;
    case ColumnType::traffic_class:
      return traffic;
    default:
      return {};
  }
}

std::size_t disk_row_bytes(std::span<const Column> columns) {
  std::size_t bytes = 0;
  for (const Column& column : columns) bytes += width(column.type);
  return bytes;
}

std::string joined_keys(const Evidence& evidence) {
  return fmt::format("{}", fmt::join(evidence.keys, " "));
}

std::vector<std::string> split_keys(const std::string& keys) {
  std::vector<std::string> list;
  std::istringstream words(keys);
  for (std::string key; words >> key;) list.push_back(std::move(key));
  return list;
}

}  // namespace pipewright::trace
