#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedules/blocks/building_block.hpp"
#include "sim/config/text/fields.hpp"

namespace pipewright::config {

// One leg of a microbatch's way: the passes of one kind through one chunk of every device. Forwards
// go down the stages and gradients up, so that a leg is either cells, device by device, or where it
// starts and how many cells it takes from stage to stage; that fits any number of devices.
struct BlockLeg {
  schedules::PassKind kind = schedules::PassKind::forward;
  std::uint32_t chunk = 0;
  std::uint32_t microbatch = 0;      // of the block
  std::vector<std::int64_t> cells;   // device 0, device 1, ...; or empty, and then
  std::optional<std::int64_t> at;    // the cell of its first pass,
  std::optional<std::int64_t> gap;   // or cells between it and the pass that it needs (or feeds: R)
  std::optional<std::int64_t> step;  // cells from start to start; default: a pass's length
  Origin origin;
};

// A schedule made of a building block, as written. What a block is: schedules/blocks/.
struct BuildingBlock {
  enum class Placement : std::uint8_t { looped, v, listed };

  std::string name;  // the file's
  Placement placement = Placement::looped;
  std::vector<std::uint32_t> device_of_stage;  // of Placement::listed
  std::uint32_t chunks = 1;
  std::uint32_t interval = 0;      // cells from one block to the next
  std::uint32_t microbatches = 1;  // of one block
  schedules::CellLengths lengths = schedules::unit_lengths;
  std::vector<BlockLeg> legs;
  std::optional<Located<double>> memory;  // that reordering may use, in whole-device microbatches
  bool reorder = true;
  Origin placement_origin;
  Origin legs_origin;
};

std::string name_of(const BlockLeg& leg);  // "I1"

BuildingBlock read_building_block(const Value& root);
BuildingBlock read_building_block_file(const std::string& path);

}  // namespace pipewright::config
