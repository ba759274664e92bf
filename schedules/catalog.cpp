#include "schedules/catalog.hpp"

#include <array>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/families.hpp"

namespace pipewright::schedules {
namespace {

constexpr std::array entries{
    Entry{.name = "gpipe",
          .help = "all forwards, then all backwards",
          .source = "Huang et al. 2019, arXiv 1811.06965",
          .make = gpipe},
    Entry{.name = "1f1b",
          .help = "one forward, one backward: PipeDream-Flush",
          .source = "Narayanan et al. 2021, arXiv 2104.04473",
          .make = one_f_one_b},
    Entry{.name = "eager-1f1b",
          .help = "1F1B with twice the warm-up, which hides forward transfers",
          .source = "Zhuang et al. 2022, arXiv 2211.05322",
          .make = eager_one_f_one_b},
    Entry{.name = "interleaved-1f1b",
          .help = "1F1B over several chunks a device",
          .source = "Narayanan et al. 2021, arXiv 2104.04473",
          .takes_chunks = true,
          .takes_group_size = true,
          .make = interleaved_one_f_one_b},
    Entry{.name = "1f1b-2bw",
          .help = "1F1B without flush, two weight versions: PipeDream-2BW",
          .source = "Narayanan et al. 2021, arXiv 2006.09503",
          .make = one_f_one_b_2bw},
    Entry{.name = "eager-2bw",
          .help = "eager 1F1B without flush, two weight versions",
          .source = "both of the above",
          .make = eager_2bw},
};

// "interleaved-1f1b takes one"
std::string who_takes(bool Entry::*flag) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries)
    if (entry.*flag) names.push_back(entry.name);
  return fmt::format("of the catalog only {} does", fmt::join(names, ", "));
}

void check_sizes(const Entry& entry, const Parameters& parameters) {
  const auto at_least_one = [&](std::uint32_t value, std::string_view what) {
    if (value == 0) throw Error(fmt::format("{}: at least 1 {} is needed", entry.name, what));
  };
  at_least_one(parameters.devices, "device");
  at_least_one(parameters.microbatches, "microbatch");
  at_least_one(parameters.iterations, "iteration");
  at_least_one(parameters.chunks.value_or(1), "chunk");
  at_least_one(parameters.group_size.value_or(1), "microbatch a group");
  at_least_one(parameters.slices.value_or(1), "slice");
  const auto takes = [&](bool given, bool Entry::*flag, std::string_view what) {
    if (given && !(entry.*flag))
      throw Error(fmt::format("{}: takes no {}; {}", entry.name, what, who_takes(flag)));
  };
  takes(parameters.chunks.value_or(1) > 1, &Entry::takes_chunks, "number of chunks");
  takes(parameters.group_size.has_value(), &Entry::takes_group_size, "group size");
  takes(parameters.slices.value_or(1) > 1, &Entry::takes_slices, "number of slices");
  takes(parameters.recompute.value_or(0) > 0, &Entry::takes_recompute, "recomputed chunks");

  const std::uint64_t stages = std::uint64_t{parameters.devices} * parameters.chunks.value_or(1);
  const auto at_most = [&](std::uint64_t value, std::uint64_t most, std::string_view what) {
    if (value > most)
      throw Error(fmt::format("{}: {} {} are more than the {} that are supported", entry.name,
                              value, what, most));
  };
  at_most(parameters.devices, 16384, "devices");  // each is an actor with a stack of its own
  at_most(stages, std::numeric_limits<std::uint16_t>::max(), "stages");
  const double passes = 2.0 * static_cast<double>(stages) * parameters.microbatches *
                        static_cast<double>(parameters.iterations) * parameters.slices.value_or(1);
  constexpr double most_passes = 2147483648.0;
  if (passes > most_passes)
    throw Error(fmt::format("{}: {:.0f} passes are more than the {:.0f} that are supported",
                            entry.name, passes, most_passes));
}

}  // namespace

std::span<const Entry> catalog() { return entries; }

Schedule make_schedule(std::string_view name, const Parameters& parameters) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries) {
    if (entry.name == name) {
      check_sizes(entry, parameters);
      return entry.make(parameters);
    }
    names.push_back(entry.name);
  }
  throw Error(
      fmt::format("no schedule is called '{}'; there are {}", name, fmt::join(names, ", ")));
}

}  // namespace pipewright::schedules
