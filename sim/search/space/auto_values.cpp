#include "sim/search/space/auto_values.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/text/value.hpp"

namespace pipewright::search {
namespace {

using config::Error;
using config::Origin;

struct Divides {
  std::string_view key;
  std::set<std::uint64_t> Known::*numbers;
  std::string_view needs;  // where there are none
};
constexpr std::string_view how_many_gpus =
    "how many GPUs there are: give search.gpus, or a cluster that says it";
constexpr std::array dividing{
    Divides{"parallel.tp", &Known::gpus, how_many_gpus},
    Divides{"parallel.cp", &Known::gpus, how_many_gpus},
    Divides{"parallel.dp", &Known::gpus, how_many_gpus},
    Divides{"parallel.pp", &Known::gpus, how_many_gpus},
    Divides{"devices", &Known::gpus, how_many_gpus},
    Divides{"parallel.ep", &Known::experts, "a model"},
    Divides{"training.microbatch_size", &Known::batches, "global_batch"},
};

// All that a key can be by the table of keys: of a flag, or of a choice that is open by itself.
std::span<const std::string_view> choices_of(const config::KeyRow& row) {
  return is_in_whole(row.name) ? std::span<const std::string_view>() : row.value.choices;
}

}  // namespace

std::vector<std::string> divisors(const std::set<std::uint64_t>& numbers) {
  std::set<std::uint64_t> found;
  for (const std::uint64_t number : numbers)
    for (std::uint64_t low = 1; low * low <= number; ++low)
      if (number % low == 0) found.insert({low, number / low});
  std::vector<std::string> texts;
  for (const std::uint64_t value : found) texts.push_back(std::to_string(value));
  return texts;
}

void check_auto(const std::string& key, const Origin& origin) {
  std::vector<std::string_view> keys{"schedule", "schedule.chunks"};
  for (const Divides& known : dividing) keys.push_back(known.key);
  for (const config::KeyRow& row : scenario_rows())
    if (!choices_of(row).empty()) keys.push_back(row.name);
  if (std::ranges::find(keys, key) != keys.end()) return;
  throw Error(locate(origin, fmt::format("{} is auto, and nobody knows all that it can be; write "
                                         "the values, as in [1, 2], or auto for: {}",
                                         key, fmt::join(keys, ", "))));
}

std::vector<std::string> auto_values(const std::string& key, const Known& known,
                                     const Origin& origin) {
  check_auto(key, origin);
  for (const Divides& by : dividing) {
    if (by.key != key) continue;
    if ((known.*by.numbers).empty())
      throw Error(locate(origin, fmt::format("{} is auto, which needs to know {}", key, by.needs)));
    return divisors(known.*by.numbers);
  }
  const auto& rows = scenario_rows();
  const auto choices = choices_of(*std::ranges::find(rows, key, &config::KeyRow::name));
  return {choices.begin(), choices.end()};
}

}  // namespace pipewright::search
