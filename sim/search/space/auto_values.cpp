#include "sim/search/space/auto_values.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/config/error.hpp"

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

struct Choice {
  std::string_view key;
  std::array<std::string_view, 5> values;  // empty texts at the end are none
};
constexpr std::array choices{
    Choice{"parallel.zero", {"0", "1", "2", "3"}},
    Choice{"training.recompute", {"none", "selective", "full"}},
    Choice{"p2p", {"eager", "rendezvous", "blocking"}},
    Choice{"partition", {"even", "ends_less", "by_cost"}},
    Choice{"communication.all_reduce", {"automatic", "ring", "tree", "hierarchical", "direct"}},
};

constexpr std::array<std::string_view, 12> flags{
    "parallel.sp",
    "training.flash_attention",
    "training.fused_loss",
    "training.fused_accumulation",
    "training.deallocate_outputs",
    "training.causal",
    "communication.overlap_p2p",
    "communication.overlap_grad_reduce",
    "communication.overlap_param_gather",
    "communication.tp_comm_overlap",
    "communication.scatter_gather",
    "communication.global_norm",
};

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
  for (const Choice& known : choices) keys.push_back(known.key);
  keys.insert(keys.end(), flags.begin(), flags.end());
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
  for (const Choice& choice : choices) {
    if (choice.key != key) continue;
    std::vector<std::string> values;
    for (const std::string_view value : choice.values)
      if (!value.empty()) values.emplace_back(value);
    return values;
  }
  return {"false", "true"};
}

}  // namespace pipewright::search
