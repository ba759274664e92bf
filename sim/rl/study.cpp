#include "sim/rl/study.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "sim/base/enum_names.hpp"
#include "sim/rl/timeline.hpp"

namespace pipewright::rl {
namespace {

using Lengths = std::vector<std::uint32_t>;

double mean_of(const Lengths& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size());
}

// Returns the lengths with twice the tokens in the longest 5 % of the responses.
Lengths with_longer_tail(Lengths lengths) {
  Lengths sorted = lengths;
  std::ranges::sort(sorted);
  const std::uint32_t limit = sorted[sorted.size() - std::max<std::size_t>(1, sorted.size() / 20)];
  for (std::uint32_t& length : lengths)
    if (length >= limit) length *= 2;
  return lengths;
}

std::vector<analysis::RlVariant> variants_of(const Loop& loop) {
  std::vector<analysis::RlVariant> variants;
  const auto add = [&](const char* name, const auto& change) {
    Loop changed = loop;
    change(changed);
    variants.push_back({name, simulate(changed).seconds_per_step});
  };
  add("no tail: each response has the mean length", [](Loop& changed) {
    const auto mean = static_cast<std::uint32_t>(std::lround(mean_of(changed.responses)));
    changed.responses.assign(changed.responses.size(), std::max(1U, mean));
  });
  add("longer tail: the longest 5 % have twice the tokens",
      [](Loop& changed) { changed.responses = with_longer_tail(std::move(changed.responses)); });
  add("twice the engines", [](Loop& changed) { changed.engines *= 2; });
  add("training in half the time", [](Loop& changed) { changed.training /= 2; });
  add("new weights without delay", [](Loop& changed) { changed.sync = 0; });
  return variants;
}

}  // namespace

analysis::RlReport study(const Setting& setting) {
  Loop recorded = setting.loop;
  recorded.records_engines = true;
  const LoopOutcome outcome = simulate(recorded);
  const config::PostTraining& post = setting.post;
  std::string mode(base::name_of(config::post_training_modes, post.mode));
  if (post.lag) mode += fmt::format(", weights up to {} steps old", post.lag->value);
  const double updates = setting.update * post.updates;
  return {
      .title = setting.title,
      .subject = setting.subject,
      .mode = std::move(mode),
      .prompts = post.prompts.value,
      .responses = post.responses,
      .mean_response = mean_of(setting.loop.responses),
      .longest_response = static_cast<double>(*std::ranges::max_element(setting.loop.responses)),
      .step_tokens = setting.tokens,
      .training_gpus = setting.training_gpus,
      .rollout_gpus = setting.rollout_gpus,
      .engines = setting.engines,
      .engine_gpus = post.rollout.tp.value,
      .step_s = outcome.seconds_per_step,
      // Off policy, generation overlaps with training, so this is the time for which engines are
      // busy.
      .generation_s = setting.loop.lag == 0 ? outcome.generation
                                            : outcome.engines_busy * outcome.seconds_per_step,
      .forward_s = setting.loop.training - updates,
      .reference_s = post.reference ? setting.forward : 0,
      .training_s = updates,
      .sync_s = setting.sync,
      .sync_bytes = setting.sync_bytes,
      .overhead_s = post.overhead,
      .trainer_busy = outcome.trainer_busy,
      .engines_busy = outcome.engines_busy,
      .least_busy = outcome.least_busy,
      .most_busy = outcome.most_busy,
      .phases_overlap = setting.loop.lag > 0,
      .mean_batch = outcome.mean_batch,
      .generation_is_measured = !post.rollout.table.empty(),
      .error_low = setting.error_low,
      .error_high = setting.error_high,
      .variants = variants_of(setting.loop),
      .timeline = timeline_of(setting, outcome),
      .notes = setting.notes};
}

std::vector<analysis::RlSplit> splits(const config::Scenario& scenario,
                                      const config::PostTraining& post, std::uint32_t gpus,
                                      const std::function<void(double)>& look,
                                      std::size_t max_count) {
  const config::Parallel& parallel = scenario.parallel;
  const auto replica = static_cast<std::uint32_t>(parallel.gpus()) / parallel.dp.value;
  std::vector<std::uint32_t> replicas;
  for (std::uint32_t dp = 1; dp * replica < gpus; ++dp)
    if ((gpus - dp * replica) % post.rollout.tp.value == 0) replicas.push_back(dp);
  if (replicas.empty())
    throw config::Error(post.rollout.tp.origin,
                        fmt::format("{} GPUs cannot be divided: a replica of the training needs "
                                    "{}, an engine {}",
                                    gpus, replica, post.rollout.tp.value))
        .suggest("give more GPUs, or a smaller layout");
  std::vector<analysis::RlSplit> splits;
  const std::size_t count = std::min(max_count, replicas.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (look) look(static_cast<double>(i) / static_cast<double>(count));
    const std::size_t index = count == 1 ? 0 : i * (replicas.size() - 1) / (count - 1);
    config::Value root = scenario.tree;
    config::override_key(root, "parallel.dp", std::to_string(replicas[index]),
                         {.source = "--split"});
    const std::uint32_t engines = gpus - replicas[index] * replica;
    config::override_key(root, "rl.rollout.gpus", std::to_string(engines), {.source = "--split"});
    const config::Scenario changed = read_loop_scenario(root);
    const Setting setting = make_setting(changed, post_training_of(changed));
    const LoopOutcome outcome = simulate(setting.loop);
    splits.push_back({.training_gpus = setting.training_gpus,
                      .rollout_gpus = engines,
                      .step_s = outcome.seconds_per_step,
                      .trainer_busy = outcome.trainer_busy,
                      .engines_busy = outcome.engines_busy});
  }
  return splits;
}

}  // namespace pipewright::rl
