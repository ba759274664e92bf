// Fuzzes the reader of building-block files: any content gives either an error or a complete
// schedule.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schedules/checks.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/workload/building_block.hpp"

using namespace pipewright;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const config::BuildingBlock block =
        config::read_building_block(config::read_yaml_text(text, "fuzz.yaml"));
    for (const std::uint32_t devices : {1U, 2U, 3U, 4U}) {
      try {
        schedules::check_complete(workload::make_schedule(block, devices, 4, 1));
      } catch (const schedules::Error&) {
      } catch (const config::Error&) {
      }
    }
  } catch (const config::Error&) {
  }
  return 0;
}
