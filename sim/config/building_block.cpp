#include "sim/config/building_block.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/base/numbers.hpp"
#include "sim/config/keys.hpp"
#include "sim/config/text/yaml.hpp"

namespace pipewright::config {
namespace {

using schedules::PassKind;

constexpr std::int64_t max_cells = 1'000'000;  // largest magnitude of a cell or a step
constexpr std::uint32_t max_interval = 4096;
constexpr std::uint32_t max_devices = 16384;

std::int64_t read_whole(const Field& field, std::int64_t lowest, std::int64_t highest) {
  const std::string allowed = fmt::format("a whole number from {} to {}", lowest, highest);
  const std::string& text = read_text(field, allowed);
  const std::optional<std::int64_t> number = base::parse_number<std::int64_t>(text);
  if (!number || *number < lowest || *number > highest) throw wrong(field, allowed);
  return *number;
}

std::uint32_t read_unsigned(const Field& field, std::uint32_t lowest, std::uint32_t highest) {
  return static_cast<std::uint32_t>(read_whole(field, lowest, highest));
}

std::int64_t read_cell(const Field& field) { return read_whole(field, -max_cells, max_cells); }

// Returns the kind of pass that a letter (F, B, I, W or R) stands for.
std::optional<PassKind> kind_of(std::string_view name) {
  for (int i = 0; i < schedules::pass_kinds; ++i) {
    const auto kind = static_cast<PassKind>(i);
    if (name == std::string{letter(kind)} && !is_of_vocabulary(kind)) return kind;
  }
  return std::nullopt;
}

constexpr std::string_view placement_allowed =
    "looped, v, or the device of every stage, such as [0, 1, 1, 0]";

void read_placement(const Field& field, BuildingBlock& block) {
  block.placement_origin = field.value.origin;
  if (field.value.kind != Value::Kind::list) {
    constexpr std::array<std::string_view, 2> shapes{"looped", "v"};
    if (field.value.kind != Value::Kind::text) throw wrong(field, placement_allowed);
    block.placement = static_cast<BuildingBlock::Placement>(read_choice(field, shapes));
    return;
  }
  block.placement = BuildingBlock::Placement::listed;
  for (const Field& item : items(field, placement_allowed))
    block.device_of_stage.push_back(read_unsigned(item, 0, max_devices - 1));
}

constexpr std::array leg_table{
    Key<BlockLeg>{{.name = "at", .help = "cell of the first pass"},
                  [](const Field& field, BlockLeg& leg) { leg.at = read_cell(field); }},
    Key<BlockLeg>{
        {.name = "gap",
         .help = "cells after the end of the pass that it needs; R: cells before its I or B"},
        [](const Field& field, BlockLeg& leg) { leg.gap = read_whole(field, 0, max_cells); }},
    Key<BlockLeg>{
        {.name = "step", .help = "cells from the pass on one device to the pass on the next"},
        [](const Field& field, BlockLeg& leg) { leg.step = read_cell(field); }},
};

constexpr std::string_view leg_allowed =
    "a list of cells, one per device, or a map with keys of at, gap and step, such as {gap: 1, "
    "step: 2}";

BlockLeg read_leg(const Field& field, BlockLeg leg) {
  leg.origin = field.value.origin;
  if (field.value.kind == Value::Kind::list) {
    for (const Field& item : items(field, leg_allowed)) leg.cells.push_back(read_cell(item));
    return leg;
  }
  if (field.value.kind != Value::Kind::map) throw wrong(field, leg_allowed);
  read_keys<BlockLeg>(field, leg_table, leg);
  if (leg.at && leg.gap)
    throw Error(field.value.origin, fmt::format("{} has both at and gap", field.name))
        .suggest("leave out one of them");
  const bool stays = leg.kind == PassKind::weight_grad || leg.kind == PassKind::recompute;
  if (stays && (leg.at || leg.step))
    throw Error(field.value.origin,
                fmt::format("{}: {} cannot set at or step, as it follows its I or B", field.name,
                            letter(leg.kind)))
        .allow("a list of cells, one per device, or gap");
  return leg;
}

// Parses the name of a leg, such as "I1": the kind of pass and the chunk.
BlockLeg read_leg_name(const Entry& entry) {
  const std::string_view name = entry.key;
  const auto chunk =
      base::parse_number<std::uint32_t>(name.substr(std::min<std::size_t>(1, name.size())));
  const auto kind = kind_of(name.substr(0, 1));
  if (!kind || !chunk)
    throw Error(entry.origin, fmt::format("{} names no pass", in_quotes(name)))
        .allow("F, I, W, B or R and the chunk, such as F0 or I1");
  return {.kind = *kind, .chunk = *chunk, .cells = {}, .origin = entry.origin};
}

void read_legs(const Field& field, BuildingBlock& block) {
  constexpr std::string_view allowed = "a map from passes to cells, such as F0: {at: 0, step: 1}";
  block.legs_origin = field.value.origin;
  if (field.value.kind != Value::Kind::map || field.value.entries.empty())
    throw wrong(field, allowed);
  std::set<std::pair<PassKind, std::uint32_t>> names;
  for (const Entry& entry : field.value.entries) {
    BlockLeg leg = read_leg_name(entry);
    if (!names.insert({leg.kind, leg.chunk}).second)
      throw Error(entry.origin, fmt::format("{} is given twice", in_quotes(entry.key)));
    const Field pass{entry.value, fmt::format("{}.{}", field.name, shown(entry.key))};
    const bool has_microbatches = entry.value.kind == Value::Kind::list &&
                                  !entry.value.items.empty() &&
                                  entry.value.items.front().kind != Value::Kind::text;
    if (!has_microbatches) {
      block.legs.push_back(read_leg(pass, leg));
      continue;
    }
    for (const Field& item : items(pass, leg_allowed)) {
      block.legs.push_back(read_leg(item, leg));
      ++leg.microbatch;
    }
  }
}

void read_lengths(const Field& field, BuildingBlock& block) {
  constexpr std::string_view allowed =
      "a map from kinds of pass to cells, such as {F: 1, I: 1, W: 1, B: 2, R: 1}";
  if (field.value.kind != Value::Kind::map) throw wrong(field, allowed);
  for (const Entry& entry : field.value.entries) {
    const auto kind = kind_of(entry.key);
    if (!kind)
      throw Error(entry.origin, fmt::format("{} is no kind of pass", in_quotes(entry.key)))
          .allow(allowed);
    block.lengths[static_cast<std::size_t>(*kind)] =
        read_unsigned({entry.value, field.name + "." + entry.key}, 1, max_interval);
  }
}

struct BlockDraft {
  BuildingBlock block;
  std::optional<Located<std::uint32_t>> chunks;
};

constexpr std::array block_table{
    Key<BlockDraft>{
        {.name = "placement",
         .help = "placement of stages on devices: looped, v, or a list of devices",
         .required = true},
        [](const Field& field, BlockDraft& draft) { read_placement(field, draft.block); }},
    Key<BlockDraft>{{.name = "chunks", .help = "number of stages on each device"},
                    [](const Field& field, BlockDraft& draft) {
                      draft.chunks = {read_unsigned(field, 1, max_interval), field.value.origin};
                    }},
    Key<BlockDraft>{{.name = "interval",
                     .help = "number of cells from one block to the next, such as 6",
                     .required = true},
                    [](const Field& field, BlockDraft& draft) {
                      draft.block.interval = read_unsigned(field, 1, max_interval);
                    }},
    Key<BlockDraft>{{.name = "microbatches", .help = "number of microbatches of a block"},
                    [](const Field& field, BlockDraft& draft) {
                      draft.block.microbatches = read_unsigned(field, 1, max_interval);
                    }},
    Key<BlockDraft>{
        {.name = "lengths", .help = "length of each kind of pass in cells"},
        [](const Field& field, BlockDraft& draft) { read_lengths(field, draft.block); }},
    Key<BlockDraft>{
        {.name = "cells", .help = "positions of the passes of a block", .required = true},
        [](const Field& field, BlockDraft& draft) { read_legs(field, draft.block); }},
    Key<BlockDraft>{
        {.name = "memory", .help = "memory limit of reordering, in microbatches of a whole device"},
        [](const Field& field, BlockDraft& draft) {
          draft.block.memory = {read_positive_number(field, "a number of microbatches"),
                                field.value.origin};
        }},
    Key<BlockDraft>{
        {.name = "reorder", .help = "fill gaps in warm-up and cool-down with passes"},
        [](const Field& field, BlockDraft& draft) { draft.block.reorder = read_flag(field); }},
};

// Returns the number of chunks (stages) per device: 2 for the V placement; for a list, how often it
// names each device. Throws an Error if the list names devices unequally often.
std::uint32_t chunks_of(const BlockDraft& draft) {
  const BuildingBlock& block = draft.block;
  if (block.placement == BuildingBlock::Placement::looped)
    return draft.chunks ? draft.chunks->value : 1;
  std::uint32_t chunks = 2;
  if (block.placement == BuildingBlock::Placement::listed) {
    std::vector<std::uint32_t> stages(1 + std::ranges::max(block.device_of_stage), 0);
    for (const std::uint32_t device : block.device_of_stage) ++stages[device];
    chunks = stages.front();
    for (std::size_t device = 0; device < stages.size(); ++device)
      if (stages[device] != chunks || chunks == 0)
        throw Error(block.placement_origin,
                    fmt::format("placement gives {} stages to device 0 and {} to device {}", chunks,
                                stages[device], device))
            .suggest("give every device up to the highest one the same number of stages");
  }
  if (draft.chunks && draft.chunks->value != chunks)
    throw Error(draft.chunks->origin,
                fmt::format("chunks is {}, and this placement has {} stages on a device",
                            draft.chunks->value, chunks));
  return chunks;
}

// Checks that every leg belongs to an existing chunk and has an entry for every microbatch of the
// block, and that every chunk has an F and either a B or an I.
void check_legs(const BuildingBlock& block) {
  std::map<std::pair<PassKind, std::uint32_t>, std::uint32_t> microbatches;  // of each leg
  for (const BlockLeg& leg : block.legs) {
    if (leg.chunk >= block.chunks)
      throw Error(leg.origin,
                  fmt::format("{} names chunk {}, which does not exist", name_of(leg), leg.chunk))
          .allow(fmt::format("chunks 0 to {}", block.chunks - 1));
    ++microbatches[{leg.kind, leg.chunk}];
  }
  for (const BlockLeg& leg : block.legs)
    if (const std::uint32_t count = microbatches[{leg.kind, leg.chunk}];
        count != block.microbatches)
      throw Error(leg.origin, fmt::format("{} has {} microbatches", name_of(leg), count))
          .allow(fmt::format("a list with one entry for each of the {} of a block",
                             block.microbatches));
  for (std::uint32_t chunk = 0; chunk < block.chunks; ++chunk) {
    const auto has = [&](PassKind kind) { return microbatches.contains({kind, chunk}); };
    const auto refuse = [&](std::string_view fault) {
      throw Error(block.legs_origin, fmt::format("cells: {} of chunk {}", fault, chunk))
          .allow(fmt::format("F{0}, and B{0} or else I{0}; without W{0} weight gradients fill gaps",
                             chunk));
    };
    if (!has(PassKind::forward)) refuse("there is no F");
    const bool has_backward = has(PassKind::backward);
    const bool has_input_grad = has(PassKind::input_grad);
    if (!has_backward && !has_input_grad) refuse("there is neither B nor I");
    if (has_backward && (has_input_grad || has(PassKind::weight_grad)))
      refuse("there are both a B and an I or W");
  }
}

}  // namespace

std::string name_of(const BlockLeg& leg) {
  return fmt::format("{}{}", letter(leg.kind), leg.chunk);
}

BuildingBlock read_building_block(const Value& root) {
  if (root.kind != Value::Kind::map)
    throw wrong({root, "the building block"}, "a map with at least placement, interval and cells");
  const bool is_block = find(root, "placement") != nullptr || find(root, "interval") != nullptr ||
                        find(root, "cells") != nullptr;
  if (!is_block && !root.entries.empty())
    throw Error({.source = root.origin.source}, "the file is no building block")
        .allow(
            fmt::format("{}, a map with at least {}", block_document.noun, block_document.needs));
  BlockDraft draft;
  read_keys<BlockDraft>({root, ""}, block_table, draft);
  BuildingBlock& block = draft.block;
  block.name = root.origin.source;
  block.chunks = chunks_of(draft);
  check_legs(block);
  return block;
}

BuildingBlock read_building_block_file(const std::string& path) {
  BuildingBlock block = read_building_block(read_yaml_file(path, block_document));
  block.name = std::filesystem::path(path).filename().string();
  return block;
}

}  // namespace pipewright::config
