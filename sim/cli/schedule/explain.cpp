#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/blocks/build.hpp"
#include "schedules/blocks/grid.hpp"
#include "schedules/blocks/reorder.hpp"
#include "schedules/families/catalog.hpp"
#include "schedules/text/counted.hpp"
#include "schedules/text/picture.hpp"
#include "sim/cli/options.hpp"
#include "sim/config/schedule_spec.hpp"
#include "sim/workload/building_block.hpp"

namespace pipewright::cli {
namespace {

constexpr const char* default_columns = "120";

po::options_description explain_options() {
  po::options_description options("options of 'explain'", 100);
  auto add = options.add_options();
  add("num-stages,s", one_word("N")->default_value("4"), "number of devices of the pipeline");
  add("num-batches,b", one_word("N")->default_value("8"), "number of microbatches of an iteration");
  add_choices(options);
  add("columns", one_word("N")->default_value(default_columns),
      "width of the pictures; wider ones continue below");
  return options;
}

void draw_steps(const schedules::BuildingBlock& block, std::uint32_t microbatches,
                bool with_reorder, std::size_t columns) {
  fmt::print("{}: {} x {}", block.name, schedules::counted(block.devices, "device", "devices"),
             schedules::counted_microbatches(microbatches));
  if (const std::uint32_t chunks = block.routes.stages() / block.devices; chunks > 1)
    fmt::print(", {} chunks per device", chunks);
  for (std::size_t kind = 0; kind < schedules::pass_kinds; ++kind)
    if (block.lengths[kind] != schedules::unit_lengths[kind])
      fmt::print(", {} of {} cells", letter(static_cast<schedules::PassKind>(kind)),
                 block.lengths[kind]);
  fmt::print("\n\n");
  fmt::print("1. the block: where the passes of {} stand; the next block starts {} cells later\n{}",
             block.microbatches == 1 ? std::string("one microbatch")
                                     : fmt::format("{} microbatches", block.microbatches),
             block.interval, draw_text(block, columns));
  const schedules::Grid repeated = schedules::repeat(block, microbatches);
  fmt::print("\n2. repeated: block after block, without two passes in a cell\n{}",
             draw_text(repeated, block.interval, columns));
  const schedules::Grid squeezed = schedules::squeeze(repeated);
  constexpr std::int64_t ruler = 10;
  fmt::print("\n3. squeezed: idle cells are removed, each device keeps its order\n{}",
             draw_text(squeezed, ruler, columns));
  if (!with_reorder) return;
  const schedules::Grid reordered =
      schedules::reorder(squeezed, schedules::allowed_peaks(block, repeated));
  fmt::print("\n4. reordered: later passes fill warm-up and cool-down, as far as memory allows\n{}",
             draw_text(reordered, ruler, columns));
}

schedules::BuildingBlock block_of(std::string_view name, const schedules::Parameters& parameters) {
  std::vector<std::string_view> built;
  for (const schedules::Entry& entry : schedules::catalog()) {
    if (entry.block == nullptr) continue;
    if (entry.name == name) return entry.block(parameters);
    built.push_back(entry.name);
  }
  throw UsageError(
      fmt::format("schedule explain needs a building block, but {} follows a rule", name))
      .allow(fmt::format("{}, and files of building blocks (.yaml)", fmt::join(built, ", ")));
}

int print_explain_help() {
  fmt::print(
      "usage: pipewright schedule explain NAME|FILE.yaml [OPTIONS]\n"
      "\n"
      "Draws the steps from a building block to a schedule: the block, repeated, squeezed, "
      "reordered.\n"
      "\n"
      "  pipewright schedule explain v-half -s 4 -b 8\n"
      "  pipewright schedule explain platforms/blocks/v-half.yaml -s 4 -b 8\n"
      "\n{}",
      describe(explain_options()));
  return exit_ok;
}

}  // namespace

int explain_schedule(const Arguments& arguments) {
  const po::variables_map options = parse(arguments, explain_options(), "name");
  if (options.count("help") != 0) return print_explain_help();
  const std::vector<std::string> names = values(options, "name");
  if (names.size() != 1)
    throw UsageError(
        "schedule explain takes the name of a schedule, or the file of a building block (.yaml)");
  const std::string& name = names.front();
  const std::uint32_t devices = read_count(options, "num-stages");
  const std::uint32_t microbatches = read_count(options, "num-batches");
  const std::size_t columns = read_count(options, "columns");
  switch (config::schedule_source(name)) {
    case config::ScheduleSource::torch_file:
      throw UsageError(
          fmt::format("schedule explain needs a building block, but '{}' is an order of passes; "
                      "'schedule show' draws it",
                      name));
    case config::ScheduleSource::building_block: {
      const config::BuildingBlock file = config::read_building_block_file(name);
      draw_steps(workload::to_block(file, devices), microbatches, file.reorder, columns);
      return exit_ok;
    }
    case config::ScheduleSource::search:
    case config::ScheduleSource::catalog:
      break;
  }
  schedules::Parameters parameters{.devices = devices, .microbatches = microbatches};
  read_choices(options, parameters);
  schedules::make_schedule(name, parameters);  // throws for invalid parameters
  const schedules::BuildingBlock block = block_of(name, parameters);
  draw_steps(block, microbatches, block.reordered, columns);
  return exit_ok;
}

}  // namespace pipewright::cli
