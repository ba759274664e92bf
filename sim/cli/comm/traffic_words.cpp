#include "sim/cli/comm/traffic_words.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"
#include "sim/cli/comm/comm_options.hpp"
#include "sim/comm/prediction.hpp"
#include "sim/evaluation/job_traffic.hpp"
#include "sim/workload/traffic.hpp"

namespace pipewright::cli {
namespace {

using config::Algorithm;
using evaluation::Groups;
using execution::RankPlacement;
using workload::Collective;
using workload::Group;
using workload::Ranks;

Groups traffic_groups(const std::string& name, Collective collective, const Ranks& ranks) {
  if (name == "pp" && collective == Collective::send_recv) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t device = 1; device < ranks.devices(); ++device)
      pairs.insert({device - 1, device});
    return evaluation::stage_pairs(ranks, pairs);
  }
  const std::optional<Group> group = base::value_of<Group>(workload::group_names, name);
  return group ? ranks.groups(*group) : Groups{};
}

}  // namespace

comm::Traffic parse_traffic(const std::string& text, const Ranks& ranks,
                            const RankPlacement& placement) {
  const auto reject = [&](const std::string& reason) {
    throw UsageError(fmt::format("--traffic '{}': {}", text, reason))
        .suggest(
            "expected an operation, a size, groups (tp, cp, ep, etp, dp, edp, shard, replicate, "
            "pp, "
            "embedding or world) and optionally an algorithm, such as 'all-reduce 256M dp'");
  };
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  if (words.size() < 3 || words.size() > 4) reject(fmt::format("has {} words", words.size()));
  const bool has_meaning = analysis::parse_operation(words[0]).has_value() ||
                           !analysis::similar_operation(words[0]).empty();
  if (!has_meaning) reject(fmt::format("unknown operation '{}'", words[0]));
  const analysis::Operation operation =
      parse_operation_name(words[0], fmt::format("--traffic '{}'", text));
  const std::vector<std::uint64_t> sizes = parse_sizes(words[1], "--traffic");
  if (sizes.size() != 1) reject(fmt::format("'{}' is not a single size", words[1]));
  const std::string& name = words[2];
  const bool is_known =
      std::ranges::find(workload::group_names, name) != workload::group_names.end();
  if (!is_known) reject(fmt::format("unknown groups '{}'", name));
  Algorithm algorithm = Algorithm::automatic;
  if (words.size() == 4) {
    const auto parsed = config::parse_algorithm(words[3]);
    if (!parsed) reject(fmt::format("unknown algorithm '{}'", words[3]));
    algorithm = *parsed;
  }
  const Collective collective = comm::collective_of(operation);
  const Groups groups = traffic_groups(name, collective, ranks);
  if (!evaluation::have_partners(groups))
    throw UsageError(fmt::format("--traffic '{}': groups of {} have one rank each", text, name))
        .suggest(
            fmt::format("give --{} 2 or more", name == "edp" || name == "world" ? "dp" : name));
  const bool between_stages = name == "pp" && collective == Collective::send_recv;
  return comm::make_traffic(name,
                            evaluation::operation_text(collective, sizes.front(), between_stages),
                            collective, sizes.front(), groups, algorithm, placement);
}

}  // namespace pipewright::cli
