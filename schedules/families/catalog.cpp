#include "schedules/families/catalog.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/families.hpp"

namespace pipewright::schedules {
namespace {

Routes one_stage(const Parameters& parameters) { return Routes::looped(parameters.devices, 1); }
Routes in_a_loop(const Parameters& parameters) {
  return Routes::looped(parameters.devices, parameters.chunks.value_or(usual_chunks));
}
Routes in_a_v(const Parameters& parameters) { return Routes::v_shape(parameters.devices); }
Routes both_ways(const Parameters& parameters) { return Routes::both_ways(parameters.devices); }
Routes v_both_ways_of(const Parameters& parameters) { return v_both_ways(parameters.devices); }

constexpr std::array entries{
    Entry{.name = "gpipe",
          .help = "all forwards, then all backwards",
          .source = "Huang et al. 2019, arXiv 1811.06965",
          .placement = one_stage,
          .whole_backward = true,
          .make = gpipe},
    Entry{.name = "1f1b",
          .help = "one forward, one backward: PipeDream-Flush",
          .source = "Narayanan et al. 2021, arXiv 2104.04473",
          .accepts = {&Parameters::fused, &Parameters::barriers},
          .placement = one_stage,
          .whole_backward = true,
          .make = one_f_one_b},
    Entry{.name = "eager-1f1b",
          .help = "1F1B with twice the warm-up, so that computation hides forward transfers",
          .source = "Zhuang et al. 2022, arXiv 2211.05322",
          .placement = one_stage,
          .whole_backward = true,
          .make = eager_one_f_one_b},
    Entry{.name = "interlaced",
          .help = "1F1B with half a pipeline more in flight, for an output layer on all devices",
          .source = "Lin et al. 2024, nnScaler, OSDI 2024",
          .accepts = {&Parameters::barriers},
          .placement = one_stage,
          .whole_backward = true,
          .make = interlaced},
    Entry{.name = "interleaved-1f1b",
          .help = "1F1B over several chunks per device",
          .source = "Narayanan et al. 2021, arXiv 2104.04473",
          .accepts = {&Parameters::chunks, &Parameters::group_size, &Parameters::fused},
          .placement = in_a_loop,
          .whole_backward = true,
          .make = interleaved_one_f_one_b},
    Entry{.name = "interleaved-low-memory",
          .help = "interleaved 1F1B with half the warm-up: less memory, transfers are not hidden",
          .source = "Qi et al. 2024, arXiv 2405.15362",
          .accepts = {&Parameters::chunks, &Parameters::group_size},
          .placement = in_a_loop,
          .whole_backward = true,
          .make = interleaved_low_memory},
    Entry{
        .name = "grouped-interleaved",
        .help =
            "interleaved 1F1B in small groups with split B: less memory, chunks can be recomputed",
        .source = "Wan et al. 2025, arXiv 2503.01328",
        .accepts = {&Parameters::chunks, &Parameters::group_size, &Parameters::recompute},
        .placement = in_a_loop,
        .block = grouped_interleaved_block,
        .make = grouped_interleaved},
    Entry{.name = "looped-bfs",
          .help = "breadth first: all microbatches through one chunk, then through the next one",
          .source = "Lamy-Poirier 2023, arXiv 2211.05953",
          .accepts = {&Parameters::chunks},
          .placement = in_a_loop,
          .whole_backward = true,
          .make = looped_bfs},
    Entry{.name = "seq1f1b",
          .help = "1F1B over slices of each sequence",
          .source = "Sun et al. 2024, arXiv 2406.03488",
          .accepts = {&Parameters::slices},
          .placement = one_stage,
          .whole_backward = true,
          .make = seq_one_f_one_b},
    Entry{.name = "interleaved-seq1f1b",
          .help = "interleaved 1F1B over slices of each sequence",
          .source = "Sun et al. 2024, arXiv 2406.03488",
          .accepts = {&Parameters::chunks, &Parameters::group_size, &Parameters::slices},
          .placement = in_a_loop,
          .whole_backward = true,
          .make = interleaved_seq_one_f_one_b},
    Entry{.name = "1f1b-2bw",
          .help = "1F1B without flush, two weight versions: PipeDream-2BW",
          .source = "Narayanan et al. 2021, arXiv 2006.09503",
          .placement = one_stage,
          .whole_backward = true,
          .make = one_f_one_b_2bw},
    Entry{.name = "eager-2bw",
          .help = "eager 1F1B without flush, two weight versions",
          .source = "arXiv 2211.05322 and arXiv 2006.09503",
          .placement = one_stage,
          .whole_backward = true,
          .make = eager_2bw},
    Entry{.name = "zb-h1",
          .help = "1F1B with separate W passes that fill the bubble, at 1F1B's memory",
          .source = "Qi et al. 2024, arXiv 2401.10241",
          .placement = one_stage,
          .make = zb_h1},
    Entry{.name = "zb-h2",
          .help = "no bubble between a device's first and last pass, at twice 1F1B's memory",
          .source = "Qi et al. 2024, arXiv 2401.10241",
          .placement = one_stage,
          .make = zb_h2},
    Entry{.name = "zb-1p",
          .help = "zero bubble, planned greedily for the actual stage times, at 1F1B's memory",
          .source = "Qi et al. 2024, arXiv 2401.10241",
          .placement = one_stage,
          .plans = true,
          .make = zb_1p},
    Entry{.name = "zb-2p",
          .help = "zero bubble, planned greedily for the actual stage times, twice 1F1B's memory",
          .source = "Qi et al. 2024, arXiv 2401.10241",
          .placement = one_stage,
          .plans = true,
          .make = zb_2p},
    Entry{.name = "interleaved-zb",
          .help = "interleaved 1F1B with separate W passes that fill the bubble",
          .source = "PyTorch, ScheduleInterleavedZeroBubble",
          .accepts = {&Parameters::chunks, &Parameters::group_size},
          .placement = in_a_loop,
          .make = interleaved_zero_bubble},
    Entry{.name = "zb-v",
          .help = "no bubble between first and last pass, at 1F1B's memory, two chunks in a V",
          .source = "Qi et al. 2024, arXiv 2401.10241",
          .placement = in_a_v,
          .plans = true,
          .make = zb_v},
    Entry{.name = "v-zb",
          .help = "like zb-v, but made from a building block that is repeated",
          .source = "Qi et al. 2024, arXiv 2405.15362",
          .placement = in_a_v,
          .plans = true,
          .block = v_zb,
          .make = v_zb_for_times},
    Entry{.name = "v-half",
          .help = "two chunks in a V at half of 1F1B's memory",
          .source = "Qi et al. 2024, arXiv 2405.15362",
          .accepts = {&Parameters::barriers},
          .placement = in_a_v,
          .plans = true,
          .block = v_half,
          .make = v_half_for_times},
    Entry{.name = "v-min",
          .help = "two chunks in a V at a third of 1F1B's memory",
          .source = "Qi et al. 2024, arXiv 2405.15362",
          .placement = in_a_v,
          .plans = true,
          .block = v_min,
          .make = v_min_for_times},
    Entry{.name = "1f1b-v",
          .help = "two chunks in a V at two thirds of 1F1B's memory, B not split",
          .source = "Qi et al. 2024, arXiv 2405.15362",
          .placement = in_a_v,
          .whole_backward = true,
          .block = one_f_one_b_v,
          .make = from_block<one_f_one_b_v>},
    Entry{.name = "two-thirds-1f1b",
          .help = "1F1B with separate W passes, at two thirds of 1F1B's memory",
          .source = "Qi et al. 2024, arXiv 2405.15362",
          .placement = one_stage,
          .block = two_thirds_1f1b,
          .make = from_block<two_thirds_1f1b>},
    Entry{.name = "chimera",
          .help =
              "1F1B pipelines in both directions that fill each other's bubbles; two weight copies",
          .source = "Li and Hoefler 2021, arXiv 2107.06925",
          .placement = both_ways,
          .whole_backward = true,
          .block = chimera_block,
          .make = chimera},
    Entry{.name = "bitpipe",
          .help = "Chimera with two chunks per device and direction, in a V; two weight copies",
          .source = "Wu et al. 2024, arXiv 2410.19367",
          .placement = v_both_ways_of,
          .whole_backward = true,
          .make = bitpipe},
    Entry{.name = "dualpipe",
          .help = "pipelines in both directions, F fused with the other's B; two weight copies",
          .source = "DeepSeek-AI 2024, arXiv 2412.19437",
          .accepts = {&Parameters::fused},
          .placement = both_ways,
          .make = dualpipe},
    Entry{.name = "dualpipe-v",
          .help = "DualPipe on half the devices: fused pairs, two chunks in a V",
          .source = "DeepSeek-AI 2025, github.com/deepseek-ai/DualPipe",
          .accepts = {&Parameters::fused},
          .placement = in_a_v,
          .make = dualpipe_v},
    Entry{.name = "stp",
          .help = "braided pairs hide tensor-parallel collectives, two chunks in a V",
          .source = "Qi et al. 2025, arXiv 2510.27257",
          .accepts = {&Parameters::fused},
          .placement = in_a_v,
          .make = stp},
    Entry{.name = "helixpipe",
          .help =
              "attention of several microbatches on all devices at once; needs times of its stages",
          .source = "Zhang et al. 2025, arXiv 2507.00394",
          .accepts = {&Parameters::layers_per_device, &Parameters::fold},
          .placement = helix,
          .whole_backward = true,
          .make = helixpipe},
};
static_assert(std::ranges::all_of(entries,
                                  [](const Entry& entry) {
                                    return entry.placement != nullptr && entry.make != nullptr;
                                  }),
              "every row of the catalogue has .placement and .make");

// Names the families that take an optional parameter: "interleaved-1f1b, looped-bfs do".
std::string families_that_take(Choice choice) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries)
    if (entry.takes(choice)) names.push_back(entry.name);
  return fmt::format("{} {}", fmt::join(names, ", "), names.size() == 1 ? "does" : "do");
}

void check_passes(std::string_view name, double passes) {
  constexpr double max_passes = 268435456.0;  // More would take minutes and gigabytes.
  if (passes > max_passes)
    throw Error(fmt::format("{}: {:.0f} passes are more than the {:.0f} that are supported", name,
                            passes, max_passes));
}

void check_sizes(const Entry& entry, const Parameters& parameters) {
  const auto at_least_one = [&](std::uint32_t value, std::string_view unit) {
    if (value == 0) throw Error(fmt::format("{}: at least 1 {} is needed", entry.name, unit));
  };
  at_least_one(parameters.devices, "device");
  at_least_one(parameters.microbatches, "microbatch");
  at_least_one(parameters.iterations, "iteration");
  for (const ChoiceInfo& info : choices)
    if (!info.unit.empty()) at_least_one((parameters.*info.choice).value_or(1), info.unit);
  for (const ChoiceInfo& info : choices)
    if (is_chosen(info, parameters) && !entry.takes(info.choice))
      throw Error(fmt::format("{}: takes no {}; {}", entry.name, info.noun,
                              families_that_take(info.choice)));
  check_limits(entry.name, parameters);
}

// Returns a name without punctuation and in lower case, so that PyTorch's "Interleaved1F1B" matches
// "interleaved-1f1b".
std::string normalized_name(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return letters;
}

}  // namespace

std::span<const Entry> catalog() { return entries; }

void check_limits(std::string_view name, const Parameters& parameters) {
  const std::uint64_t stages = std::uint64_t{parameters.devices} * parameters.chunks.value_or(1);
  const auto at_most = [&](std::uint64_t value, std::uint64_t limit, std::string_view unit) {
    if (value > limit)
      throw Error(fmt::format("{}: {} {} are more than the {} that are supported", name, value,
                              unit, limit));
  };
  at_most(parameters.devices, 16384, "devices");  // Each device is an actor with a stack.
  at_most(stages, std::numeric_limits<std::uint16_t>::max(), "stages");
  check_passes(name, 2.0 * static_cast<double>(stages) * parameters.microbatches *
                         static_cast<double>(parameters.iterations) *
                         parameters.slices.value_or(1));
}

Schedule make_schedule(std::string_view name, const Parameters& parameters) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries) {
    if (entry.name == name) {
      check_sizes(entry, parameters);
      Schedule schedule = entry.make(parameters);
      check_passes(name, static_cast<double>(schedule.size()));
      return schedule;
    }
    names.push_back(entry.name);
  }
  const auto suggestion = std::ranges::find(names, normalized_name(name), normalized_name);
  throw Error(
      fmt::format("no schedule is called '{}'; {}there are {}", name,
                  suggestion == names.end() ? "" : fmt::format("did you mean '{}'? ", *suggestion),
                  fmt::join(names, ", ")));
}

}  // namespace pipewright::schedules
