#include "sim/rl/setting.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "analysis/report/job.hpp"
#include "analysis/report/units_text.hpp"
#include "sim/comm/prediction.hpp"
#include "sim/config/command_sections.hpp"
#include "sim/evaluation/run_notes.hpp"
#include "sim/evaluation/scenario_run.hpp"
#include "sim/process/run.hpp"
#include "sim/rl/decode_model.hpp"
#include "sim/rl/reshard.hpp"
#include "sim/workload/batch/document_lengths.hpp"
#include "sim/workload/shape/shape.hpp"

// Defines the conversion of DecodePoint to and from JSON, in the namespace of the type.
namespace pipewright::config {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PostTraining::Point, batch, tokens_per_s)
}  // namespace pipewright::config

namespace pipewright::rl {

// Defines the conversion of DecodeCost to and from JSON.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DecodeCost, weight_bytes, expert_bytes, experts, top_k,
                                   bytes_per_token, bytes_per_sequence, flop_per_token, bandwidth,
                                   flops, overhead, prefill_per_token, table)

namespace {

using config::PostTraining;
using nlohmann::json;

// Keys that give the batch of an iteration.
constexpr std::array<std::string_view, 3> batch_keys{"microbatches", "num_batches", "global_batch"};

std::vector<std::uint32_t> response_lengths(const PostTraining& post, std::uint32_t sequence) {
  if (post.prompt_tokens >= sequence)
    throw config::Error({}, fmt::format("rl.prompt_tokens is {}, with sequences of {} tokens",
                                        post.prompt_tokens, sequence))
        .suggest("set training.sequence to the longest prompt with its response");
  const std::uint32_t longest = sequence - post.prompt_tokens;
  workload::DocumentLengths drawn(post.lengths, longest);
  std::vector<std::uint32_t> lengths(std::size_t{post.prompts.value} * post.responses);
  for (std::uint32_t& length : lengths) length = drawn.next();
  const std::uint32_t longest_drawn = *std::ranges::max_element(lengths);
  if (longest_drawn > longest)
    throw config::Error(post.prompts.origin,
                        fmt::format("rl.lengths has a response of {} tokens, which exceeds the "
                                    "training's sequence of {} with its prompt of {}",
                                    longest_drawn, sequence, post.prompt_tokens))
        .suggest(fmt::format("set training.sequence to {}, or rl.lengths.longest to {}",
                             longest_drawn + post.prompt_tokens, longest));
  return lengths;
}

// Says that drawn responses are cut at the longest length, so that their mean is another one than
// rl.lengths.mean. Empty if none is cut.
std::string cut_note(const PostTraining& post, const std::vector<std::uint32_t>& responses,
                     std::uint32_t sequence) {
  if (!post.lengths.mean) return "";
  const std::uint32_t longest = post.lengths.longest.value_or(sequence - post.prompt_tokens);
  const auto cut = static_cast<double>(std::ranges::count(responses, longest));
  if (cut == 0) return "";
  const auto count = static_cast<double>(responses.size());
  return fmt::format(
      "rl.lengths.mean is {} tokens, but {} of the responses are cut at {} tokens, {}: the mean of "
      "the drawn responses is {:.0f}",
      *post.lengths.mean, analysis::format_percent(cut / count), longest,
      post.lengths.longest ? "rl.lengths.longest" : "training.sequence without the prompt",
      std::accumulate(responses.begin(), responses.end(), 0.0) / count);
}

void erase_key(config::Value& map, std::string_view key) {
  std::erase_if(map.entries, [&](const config::Entry& entry) { return entry.key == key; });
}

// Returns the scenario of an optimizer step: an iteration over prompts and responses, which are
// packed into samples of `sequence` tokens.
config::Scenario update_scenario(const config::Scenario& scenario, const PostTraining& post,
                                 const std::vector<std::uint32_t>& responses,
                                 std::uint32_t sequence) {
  if (scenario.training.lengths)
    throw config::Error(config::origin_of(scenario.tree, "training.lengths"),
                        "training.lengths is given beside rl.lengths")
        .suggest("leave out training.lengths: the trainer packs prompts and responses");
  std::vector<std::string> documents;
  for (const std::uint32_t tokens : responses)
    documents.push_back(std::to_string(tokens + post.prompt_tokens));
  const double tokens = std::accumulate(responses.begin(), responses.end(), 0.0) +
                        static_cast<double>(responses.size()) * post.prompt_tokens;
  const double samples_at_once =
      static_cast<double>(scenario.parallel.dp.value) * scenario.training.microbatch_size;
  const double samples =
      std::ceil(tokens / sequence / post.updates / samples_at_once) * samples_at_once;
  config::Value root = scenario.tree;
  for (const std::string_view key : batch_keys) erase_key(root, key);
  erase_key(root, "rl");
  config::set_value(root, "training.lengths.documents",
                    config::make_list(documents, {.source = "rl.lengths"}));
  config::set_value(root, "global_batch",
                    config::make_text(fmt::format("{:.0f}", samples), {.source = "rl"}));
  return config::read_scenario(root);
}

// Returns the seconds of forward passes of all microbatches through the pipeline, without backward
// passes. The first microbatch visits all stages; after it, the device with most work sets the
// pace.
double forward_seconds(const config::Scenario& scenario, const workload::Plan& plan) {
  const std::vector<double>& times = plan.costs.times[schedules::PassKind::forward];
  std::vector<double> device_times(plan.schedule.devices);
  for (std::uint32_t stage = 0; stage < times.size(); ++stage)
    device_times[plan.schedule.routes.device(stage, 0)] += times[stage];
  return std::accumulate(times.begin(), times.end(), 0.0) +
         (scenario.microbatches.value - 1.0) * *std::ranges::max_element(device_times);
}

// Returns the bytes of the weights in bf16, by pipeline device.
std::vector<DeviceWeights> device_weights(const config::Scenario& scenario,
                                          const workload::Plan& plan) {
  std::vector<DeviceWeights> weights(plan.schedule.devices);
  const config::Parallel& parallel = scenario.parallel;
  for (std::uint32_t stage = 0; stage < plan.costs.traffic.size(); ++stage) {
    const workload::StageTraffic& traffic = plan.costs.traffic[stage];
    const std::uint32_t device = plan.schedule.routes.device(stage, 0);
    weights[device].dense +=
        bf16_bytes * static_cast<double>(traffic.parameters) * parallel.tp_of(device) +
        static_cast<double>(traffic.frozen_bytes);
    weights[device].experts += bf16_bytes * static_cast<double>(traffic.expert_parameters) *
                               parallel.ep.value * parallel.expert_tp();
  }
  return weights;
}

// Returns the seconds of the collectives of a decode step on an engine: two all-reduces per layer.
double step_collectives(const cluster::Cluster& cluster, const config::Model& model,
                        std::uint32_t tp, double batch) {
  if (tp == 1 || cluster.is_ideal()) return 0;
  const comm::BenchmarkRun run =
      comm::make_single_group(cluster, analysis::Operation::all_reduce, tp);
  const auto bytes = static_cast<std::uint64_t>(bf16_bytes * batch * model.hidden);
  return 2.0 * model.layers * comm::simulate(cluster, run, bytes).seconds;
}

// Movement of the weights from training to the engines.
struct Sync {
  double seconds = 0;
  double bytes = 0;
};

Sync sync_of(const config::Scenario& scenario, const PostTraining& post,
             const evaluation::Hardware& hardware, const workload::Plan& plan,
             std::uint32_t engines) {
  if (post.sync || hardware.cluster.is_ideal()) return {.seconds = post.sync.value_or(0)};
  const std::vector<DeviceWeights> weights = device_weights(scenario, plan);
  std::vector<cluster::Host*> hosts = hardware.hosts;
  std::uint32_t first_engine = 0;
  if (post.rollout.gpus) {
    first_engine = static_cast<std::uint32_t>(hosts.size());
    for (cluster::Host* gpu : hardware.cluster.gpus())
      if (hosts.size() < first_engine + post.rollout.gpus->value &&
          std::ranges::find(hardware.hosts, gpu) == hardware.hosts.end())
        hosts.push_back(gpu);
    if (hosts.size() < first_engine + post.rollout.gpus->value)
      throw config::Error(
          post.rollout.gpus->origin,
          fmt::format("rl.rollout.gpus is {}, but '{}' has {} GPUs, of which training uses {}",
                      post.rollout.gpus->value, hardware.cluster.name(),
                      hardware.cluster.gpus().size(), first_engine))
          .suggest("use a larger cluster ('pipewright platform make'), or fewer GPUs");
  }
  comm::Paths paths(hardware.cluster, hosts);
  const std::vector<WeightFlow> flows = weight_flows({.training = scenario.parallel,
                                                      .ranks = hardware.ranks,
                                                      .weights = weights,
                                                      .engines = engines,
                                                      .tp = post.rollout.tp.value,
                                                      .first_engine = first_engine});
  Sync sync{.seconds = transfer_seconds(paths, flows)};
  for (const WeightFlow& flow : flows) sync.bytes += flow.bytes;
  return sync;
}

// Simulates, in the child process, everything that needs SimGrid. Returns the results as JSON.
std::string measure(const config::Scenario& update, const PostTraining& post, double batch) {
  evaluation::ScenarioRun run(update);
  const evaluation::Hardware& hardware = run.hardware();
  const analysis::Summary summary = run.run(0, {});
  const workload::Plan& plan = run.plans().front();
  const auto training_gpus = static_cast<std::uint32_t>(hardware.ranks.size());
  const std::uint32_t rollout_gpus = post.rollout.gpus ? post.rollout.gpus->value : training_gpus;
  const std::uint32_t tp = post.rollout.tp.value;
  if (rollout_gpus % tp != 0)
    throw config::Error(post.rollout.tp.origin,
                        fmt::format("rl.rollout.tp is {}, with {} GPUs", tp, rollout_gpus))
        .allow("a divisor of the number of GPUs");
  const std::uint32_t engines = rollout_gpus / tp;
  const config::Model& model = update.model->value;
  const config::Gpu& gpu = hardware.gpus.front();
  const double sequences =
      std::min<double>(post.rollout.max_sequences, std::ceil(batch / static_cast<double>(engines)));
  const DecodeCost decode = decode_cost(model, gpu, post.rollout,
                                        step_collectives(hardware.cluster, model, tp, sequences));
  const Sync sync = sync_of(update, post, hardware, plan, engines);
  const auto& error = summary.run.evidence.expected_error;
  std::vector<std::string> notes = evaluation::notes_before(
      run, {.shows_bubble = false, .other_gpus = post.rollout.gpus ? rollout_gpus : 0});
  for (std::string& note : evaluation::notes_of_reduction(run)) notes.push_back(std::move(note));
  return json{{"subject", summary.job ? analysis::describe(*summary.job) : ""},
              {"training_gpus", training_gpus},
              {"engines", engines},
              {"update", summary.makespan_s / update.iterations.value},
              {"forward", forward_seconds(update, plan)},
              {"sync", sync.seconds},
              {"sync_bytes", sync.bytes},
              {"decode", decode},
              {"cache_tokens", cache_tokens(decode, gpu, post.rollout)},
              {"error_low", error.rows > 0 ? error.low : 0},
              {"error_high", error.rows > 0 ? error.high : 0},
              {"notes", notes}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

config::Scenario read_loop_scenario(config::Value root) {
  const bool has_batch = std::ranges::any_of(
      batch_keys, [&](std::string_view key) { return config::find(root, key) != nullptr; });
  if (!has_batch) config::set_value(root, "microbatches", config::make_text("1", {.source = "rl"}));
  return config::read_scenario(root);
}

config::PostTraining post_training_of(const config::Scenario& scenario) {
  return config::read_post_training(
      config::section_of(scenario, "rl",
                         "describe the loop, such as rl: {prompts: 64, responses: 16, lengths: "
                         "{mean: 1000, p95: 3000}}"));
}

Setting make_setting(const config::Scenario& scenario, const PostTraining& post) {
  config::check_single_run(scenario, "a loop of reinforcement learning");
  const config::Model& model = scenario.model->value;
  const std::uint32_t sequence = workload::sequence_of(model, scenario.training);
  Setting setting{.post = post, .title = scenario.title};
  setting.loop.responses = response_lengths(post, sequence);
  const config::Scenario update = update_scenario(scenario, post, setting.loop.responses, sequence);
  const auto batch = static_cast<double>(setting.loop.responses.size());
  const process::Result measured = process::run([&] { return measure(update, post, batch); });
  if (measured.failed) throw std::runtime_error(measured.text);
  const json result = json::parse(measured.text);

  setting.subject = result["subject"];
  setting.training_gpus = result["training_gpus"];
  setting.rollout_gpus = post.rollout.gpus ? post.rollout.gpus->value : 0;
  setting.engines = result["engines"];
  setting.samples = update.global_batch->value;
  setting.update = result["update"];
  setting.forward = result["forward"].get<double>() * post.updates;
  setting.sync = result["sync"];
  setting.sync_bytes = result["sync_bytes"];
  setting.error_low = result["error_low"];
  setting.error_high = result["error_high"];
  setting.notes = result["notes"];
  if (scenario.global_batch)
    setting.notes.push_back(fmt::format(
        "global_batch is not used: the responses of a step make {} samples of {} tokens "
        "per optimizer step",
        setting.samples, sequence));
  if (post.versions() > 0)
    setting.notes.push_back(fmt::format(
        "up to {} batches generate at once, as AReaL allows; a framework that generates one batch "
        "at a time has a longer step if generation is the longest phase",
        post.versions() + 1));
  if (std::string note = cut_note(post, setting.loop.responses, sequence); !note.empty())
    setting.notes.push_back(std::move(note));
  setting.tokens = std::accumulate(setting.loop.responses.begin(), setting.loop.responses.end(),
                                   batch * post.prompt_tokens);

  Loop& loop = setting.loop;
  loop.steps = post.simulated_steps();
  loop.batch = static_cast<std::uint32_t>(loop.responses.size());
  loop.group = post.responses;
  loop.prompt = post.prompt_tokens;
  // Responses of a prompt share its keys and values (prefix caching).
  loop.prefill_tokens = static_cast<double>(post.prompt_tokens) / post.responses;
  loop.engines = setting.engines;
  loop.decode = result["decode"].get<DecodeCost>();
  loop.max_sequences = post.rollout.max_sequences;
  loop.cache_tokens = post.rollout.table.empty() ? result["cache_tokens"].get<double>() : 0;
  const double forwards = (post.logprob ? 1.0 : 0.0) + (post.reference ? 1.0 : 0.0);
  loop.training = setting.update * post.updates + setting.forward * forwards;
  loop.sync = setting.sync;
  loop.overhead = post.overhead;
  loop.lag = post.versions();
  return setting;
}

}  // namespace pipewright::rl
