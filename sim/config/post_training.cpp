#include "sim/config/post_training.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace pipewright::config {
namespace {

using Rollout = PostTraining::Rollout;
using Point = PostTraining::Point;

constexpr std::array point_table{
    Key<Point>{{.name = "batch",
                .help = "number of sequences that are decoded together",
                .required = true},
               count<&Point::batch, "64">},
    Key<Point>{
        {.name = "tokens_per_s", .help = "measured tokens/s of the whole batch", .required = true},
        number<&Point::tokens_per_s, "a rate of tokens">},
};

std::vector<Point> read_points(const Field& field) {
  std::vector<Point> points;
  for (const Field& item : items(field, "a list of points such as {batch: 64, tokens_per_s: 4000}"))
    points.push_back(read_map<point_table>(item));
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points[i].batch <= points[i - 1].batch) throw wrong(field, "points with ascending batches");
  return points;
}

constexpr std::array rollout_table{
    Key<Rollout>{{.name = "gpus",
                  .help = "GPUs that only generate; default: the GPUs of the training, which take "
                          "turns at training and generation"},
                 count<&Rollout::gpus, "32">},
    Key<Rollout>{
        {.name = "tp", .help = "GPUs per engine, by tensor parallelism", .default_value = "1"},
        count<&Rollout::tp, "4">},
    Key<Rollout>{
        {.name = "max_sequences",
         .help = "largest number of sequences on an engine at a time, max_num_seqs of vLLM",
         .default_value = "256"},
        count<&Rollout::max_sequences, "256">},
    Key<Rollout>{{.name = "memory",
                  .help = "fraction of a GPU's memory for weights, keys and values, "
                          "gpu_memory_utilization of vLLM",
                  .default_value = "90 %"},
                 part<&Rollout::memory, "a part of the memory">},
    Key<Rollout>{{.name = "step_overhead",
                  .help = "time per decode step for scheduling, sampling and launches, beside "
                          "kernels and collectives",
                  .default_value = "2 ms"},
                 time<&Rollout::step_overhead, "a time">},
    Key<Rollout>{{.name = "table",
                  .help = "measured points of an engine, {batch, tokens_per_s}, which replace the "
                          "model of decoding"},
                 into<&Rollout::table, read_points>(
                     {ValueType::map, true, {}, [] { return rows_of(point_table); }})},
};

constexpr std::array post_training_table{
    Key<PostTraining>{{.name = "prompts", .help = "number of prompts in a step", .required = true},
                      count<&PostTraining::prompts, "64">},
    Key<PostTraining>{
        {.name = "responses", .help = "number of responses to each prompt", .default_value = "1"},
        count<&PostTraining::responses, "16">},
    Key<PostTraining>{{.name = "prompt_tokens",
                       .help = "mean length of a prompt",
                       .unit = "tokens",
                       .default_value = "512"},
                      count<&PostTraining::prompt_tokens, "512">},
    Key<PostTraining>{
        {.name = "lengths",
         .help = "lengths of responses: a list, a histogram or a distribution",
         .required = true},
        section<&PostTraining::lengths, read_unpacked_lengths, unpacked_lengths_keys>},
    Key<PostTraining>{{.name = "rollout", .help = "GPUs and engines that generate responses"},
                      map_of<&PostTraining::rollout, rollout_table>},
    Key<PostTraining>{
        {.name = "mode",
         .help = "on-policy: generation waits for the new weights; one-off: responses "
                 "come from weights of the previous step, and two batches may generate at "
                 "once; async: from weights up to lag steps old, and lag + 1 batches may",
         .default_value = "on-policy"},
        choice<&PostTraining::mode, post_training_modes>},
    Key<PostTraining>{{.name = "lag",
                       .help = "mode async: number of steps by which weights may be old",
                       .unit = "steps"},
                      count<&PostTraining::lag, "4">},
    Key<PostTraining>{{.name = "updates",
                       .help = "number of optimizer steps in a step of the loop",
                       .default_value = "1"},
                      count<&PostTraining::updates, "4">},
    Key<PostTraining>{{.name = "logprob",
                       .help = "the trainer computes log-probabilities of the responses before it "
                               "updates the weights",
                       .default_value = "true"},
                      flag<&PostTraining::logprob>},
    Key<PostTraining>{
        {.name = "reference",
         .help = "a reference model in the same layout computes log-probabilities, too",
         .default_value = "false"},
        flag<&PostTraining::reference>},
    Key<PostTraining>{{.name = "sync",
                       .help = "time until the engines have new weights; default: weights move "
                               "between the two layouts over the links of the cluster"},
                      time<&PostTraining::sync, "a time">},
    Key<PostTraining>{{.name = "overhead",
                       .help = "time per step for rewards, data and the like",
                       .default_value = "0"},
                      time<&PostTraining::overhead, "a time">},
    Key<PostTraining>{{.name = "steps",
                       .help = "number of simulated steps",
                       .default_value = "10, and one for each step of lag"},
                      count<&PostTraining::steps, "12">},
};

}  // namespace

PostTraining read_post_training(const Field& field) {
  PostTraining post = read_map<post_training_table>(field);
  const auto at = [&](const char* key) {
    return Field{*find(field.value, key), field.name + "." + key};
  };
  if (post.mode == PostTraining::Mode::async && !post.lag)
    throw Error(field.value.origin, field.name + ".mode is async, which needs a lag")
        .suggest("give the number of steps by which weights may be old, such as lag: 4");
  if (post.mode != PostTraining::Mode::async && post.lag)
    throw wrong(at("lag"), "left out unless mode is async");
  if (post.mode != PostTraining::Mode::on_policy && !post.rollout.gpus)
    throw wrong(at("mode"),
                "on-policy if generation and training take turns on the "
                "same GPUs, without rollout.gpus");
  if (post.simulated_steps() < post.versions() + 3)
    throw wrong(at("steps"), fmt::format("at least {} with this mode", post.versions() + 3));
  if (post.rollout.gpus && post.rollout.gpus->value % post.rollout.tp.value != 0)
    throw Error(post.rollout.gpus->origin,
                fmt::format("{}.rollout.gpus is {}, with engines of {} GPUs", field.name,
                            post.rollout.gpus->value, post.rollout.tp.value))
        .allow("a multiple of rollout.tp");
  return post;
}

std::vector<KeyRow> post_training_keys() { return rows_of(post_training_table); }

}  // namespace pipewright::config
