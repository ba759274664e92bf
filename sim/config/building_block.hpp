#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/blocks/building_block.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// The passes of one microbatch with the same kind and chunk, one on each device ("leg"). Forward
// passes go down the stages and gradients go up. A leg is given either by the cell on each device,
// or by its first cell and a step from stage to stage, which fits any number of devices.
struct BlockLeg {
  schedules::PassKind kind = schedules::PassKind::forward;
  std::uint32_t chunk = 0;
  std::uint32_t microbatch = 0;     // within the block
  std::vector<std::int64_t> cells;  // by device; empty if `at`, `gap` and `step` apply
  std::optional<std::int64_t> at;   // cell of the first pass
  std::optional<std::int64_t>
      gap;  // cells after the pass it needs; for R: before the pass it feeds
  std::optional<std::int64_t> step;  // cells from start to start; default: length of a pass
  Origin origin;
};

// A schedule that repeats a building block, as its file describes it. schedules/blocks/ explains
// building blocks.
struct BuildingBlock {
  enum class Placement : std::uint8_t { looped, v, listed };

  std::string name;  // name of the file
  Placement placement = Placement::looped;
  std::vector<std::uint32_t> device_of_stage;  // used by Placement::listed
  std::uint32_t chunks = 1;
  std::uint32_t interval = 0;      // cells from one block to the next
  std::uint32_t microbatches = 1;  // microbatches of a block
  schedules::CellLengths lengths = schedules::unit_lengths;
  std::vector<BlockLeg> legs;
  std::optional<Located<double>> memory;  // limit of reordering, in whole-device microbatches
  bool reorder = true;
  Origin placement_origin;
  Origin legs_origin;
};

std::string name_of(const BlockLeg& leg);  // "I1"

BuildingBlock read_building_block(const Value& root);
BuildingBlock read_building_block_file(const std::string& path);

}  // namespace pipewright::config
