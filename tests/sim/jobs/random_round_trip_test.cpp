#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/numbers.hpp"
#include "sim/config/settings.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/evaluation/launch_plan.hpp"
#include "sim/evaluation/refusals.hpp"
#include "sim/evaluation/scenario_run.hpp"
#include "sim/jobs/job.hpp"
#include "sim/jobs/request/differences.hpp"
#include "support/program.hpp"
#include "support/random.hpp"

// Random scenarios are written as launches of each framework and read back. PIPEWRIGHT_ROUND_TRIPS
// sets the number of scenarios of each framework, such as 500; the suite tries fewer.
// PIPEWRIGHT_ROUND_TRIPS_OF names a single framework, and PIPEWRIGHT_ROUND_TRIPS_WHY prints what is
// impossible, refused or listed.
using namespace pipewright;

namespace {

constexpr std::uint32_t default_trips = 25;

std::uint32_t trips() {
  const char* const text = std::getenv("PIPEWRIGHT_ROUND_TRIPS");
  return text == nullptr ? default_trips
                         : base::parse_number<std::uint32_t>(text).value_or(default_trips);
}

void explain(std::string_view what, std::string_view why) {
  if (std::getenv("PIPEWRIGHT_ROUND_TRIPS_WHY") != nullptr) fmt::print("{}: {}\n", what, why);
}

// Draws a scenario as a tree: a cluster, a model, and keys of all sections that a job may have.
class Drawn {
 public:
  Drawn(tests::Random& random, const jobs::Framework& framework, std::string stack)
      : random_(random), framework_(framework) {
    set("stack", std::move(stack));
    draw_model();
    draw_sizes();
    draw_schedule();
    draw_training();
    draw_experts();
    draw_communication();
    set("engine", "timing");
  }

  config::Value tree() const { return tree_; }

 private:
  bool chance(std::uint32_t one_in) { return random_.whole(1, one_in) == 1; }
  std::string pick(std::vector<std::string> values) {
    return values.at(random_.whole(0, static_cast<std::uint32_t>(values.size() - 1)));
  }
  void set(const std::string& key, const std::string& text) {
    config::Value value = config::read_yaml_text("key: " + text + "\n", "drawn.yaml");
    config::set_value(tree_, key, *config::find(value, "key"));
  }
  void sometimes(std::uint32_t one_in, const std::string& key, std::vector<std::string> values) {
    if (chance(one_in)) set(key, pick(std::move(values)));
  }
  bool is_torchtitan() const { return framework_.name == "torchtitan"; }

  void draw_model();
  void draw_shape();
  void draw_sizes();
  void draw_schedule();
  void draw_training();
  void draw_experts();
  void draw_communication();

  tests::Random& random_;
  const jobs::Framework& framework_;
  config::Value tree_;
  bool has_experts_ = false;
  std::uint32_t tp_ = 1, cp_ = 1, pp_ = 1, dp_ = 1, ep_ = 1, layers_ = 0;
};

void Drawn::draw_model() {
  if (is_torchtitan()) {
    const std::string name = pick({"llama-3-8b", "llama-3-70b", "deepseek-v3", "moonlight-16b",
                                   "qwen3-30b-a3b", "llama-3-8b", "qwen3-8b"});
    has_experts_ = name != "llama-3-8b" && name != "llama-3-70b" && name != "qwen3-8b";
    return set("model", name);
  }
  if (chance(2)) return draw_shape();
  const std::string name =
      pick({"llama-3-8b", "mixtral-8x7b", "moonlight-16b", "deepseek-v3", "qwen3-next-80b-a3b",
            "nemotron-3-nano-30b-a3b", "nemotron-h-56b", "gpt-oss-20b", "gemma-3-27b",
            "glm-4.5-air", "llama-4-scout", "qwen2.5-7b", "qwen3-8b", "mamba-2-2.7b",
            "nemotron-3-super-120b-a12b", "gpt3-175b", "olmo-2-32b", "phi-4"});
  const std::set<std::string> dense{"llama-3-8b", "nemotron-h-56b", "gemma-3-27b",
                                    "qwen2.5-7b", "qwen3-8b",       "mamba-2-2.7b",
                                    "gpt3-175b",  "olmo-2-32b",     "phi-4"};
  has_experts_ = !dense.contains(name);
  set("model", name);
}

void Drawn::draw_shape() {
  const std::uint32_t heads = 8U << random_.whole(0, 2);
  layers_ = random_.whole(4, 40);
  set("model.name", "drawn");
  set("model.layers", fmt::format("{}", layers_));
  set("model.hidden", fmt::format("{}", heads * 128));
  set("model.heads", fmt::format("{}", heads));
  set("model.vocabulary", pick({"32000", "50257", "128256", "151936", "1000"}));
  set("model.sequence", pick({"1024", "2048", "4096", "8192"}));
  set("model.ffn", pick({"4096", "5504", "14336"}));
  sometimes(2, "model.kv_heads", {"8", "4", "2"});
  sometimes(4, "model.head_dim", {"64", "128", "256"});
  sometimes(2, "model.mlp", {"swiglu", "gelu"});
  sometimes(2, "model.norm", {"rmsnorm", "layernorm"});
  sometimes(6, "model.post_norms", {"true"});
  sometimes(2, "model.biases", {"true", "false", "qkv"});
  sometimes(4, "model.qk_layernorm", {"true"});
  sometimes(6, "model.output_gate", {"true"});
  sometimes(3, "model.dropout", {"0.1", "0", "0.05"});
  sometimes(3, "model.tied_embeddings", {"true"});
  sometimes(3, "model.positions", {"learned", "rotary"});
  if (chance(5)) {
    set("model.sliding_window", pick({"128", "1024"}));
    sometimes(2, "model.full_attention_every", {"2", "4"});
  }
  sometimes(8, "model.attention_sinks", {"true"});
  if (chance(5)) {
    set("model.latent.query_rank", pick({"0", "512"}));
    set("model.latent.kv_rank", pick({"256", "512"}));
    set("model.latent.nope_head_dim", "128");
    set("model.latent.rope_head_dim", "64");
    set("model.latent.value_head_dim", pick({"128", "64"}));
  }
  sometimes(5, "model.mtp_layers", {"1", "2"});
  sometimes(8, "model.mtp_use_repeated_layer", {"true"});
  has_experts_ = chance(2);
  if (!has_experts_) return;
  set("model.experts.count", pick({"8", "16", "64"}));
  set("model.experts.top_k", pick({"1", "2", "4", "8"}));
  set("model.experts.ffn", pick({"512", "1408", "2048"}));
  if (chance(2)) {
    set("model.experts.shared", pick({"1", "2"}));
    sometimes(2, "model.experts.shared_ffn", {"1024", "2816"});
  }
  if (chance(4)) {
    set("model.experts.groups", "4");
    set("model.experts.top_groups", "2");
  }
  sometimes(8, "model.experts.latent", {"256"});
  sometimes(6, "model.experts.capacity_factor", {"1", "1.25", "2"});
  sometimes(3, "model.experts.first_dense", {"1", "3"});
  sometimes(4, "model.experts.every", {"2"});
}

void Drawn::draw_sizes() {
  struct Site {
    const char* cluster;
    std::uint32_t gpus;
  };
  const std::vector<Site> sites{{"dgx-h100", 32},  {"gb200-nvl72", 144}, {"dgx-b200", 32},
                                {"gh200-ndr", 64}, {"dgx-a100", 32},     {"mi300x-roce", 32}};
  const Site site = sites[random_.whole(0, 5)];
  set("cluster", site.cluster);
  tp_ = 1U << random_.whole(0, 3);
  cp_ = chance(3) ? 2U << random_.whole(0, 1) : 1;
  pp_ = chance(2) ? random_.whole(2, 4) : 1;
  while (tp_ * cp_ * pp_ > site.gpus) pp_ > 1 ? --pp_ : tp_ /= 2;
  dp_ = random_.whole(1, site.gpus / (tp_ * cp_ * pp_));
  if (has_experts_)
    for (const std::uint32_t ep : {64U, 32U, 16U, 8U, 4U, 2U})
      if (chance(2) && (dp_ * cp_ * tp_) % ep == 0) {
        ep_ = ep;
        break;
      }
  set("parallel.tp", fmt::format("{}", tp_));
  set("parallel.cp", fmt::format("{}", cp_));
  set("parallel.pp", fmt::format("{}", pp_));
  set("parallel.ep", fmt::format("{}", ep_));
  if (has_experts_) sometimes(3, "parallel.etp", {"1", fmt::format("{}", tp_)});
  if (tp_ > 1 && (is_torchtitan() || chance(2) || ep_ > 1)) set("parallel.sp", "true");
  if (is_torchtitan() && !chance(4)) {
    const std::uint32_t replicate = dp_ % 2 == 0 && chance(3) ? 2 : 1;
    set("parallel.shard", fmt::format("{}", dp_ / replicate));
    set("parallel.replicate", fmt::format("{}", replicate));
    sometimes(3, "parallel.reshard_after_forward", {"true", "false"});
  } else {
    set("parallel.dp", fmt::format("{}", dp_));
    set("parallel.zero", is_torchtitan() ? pick({"0", "3"}) : pick({"0", "1", "1", "1", "2", "3"}));
    if (dp_ % 2 == 0) sometimes(6, "parallel.replicate", {"2"});
  }
  if (cp_ > 1) {
    sometimes(2, "parallel.cp_comm_type", {"p2p", "all_gather", "a2a"});
    if (cp_ == 4 && chance(4)) {
      set("parallel.cp_comm_type", "a2a+p2p");
      set("parallel.hierarchical_context_parallel_sizes", "[2, 2]");
    }
    sometimes(5, "parallel.cp_load_balance", {"none", "head_tail"});
  }
  sometimes(8, "parallel.order", {"tp-cp-ep-pp-dp", "tp-cp-ep-dp-pp"});
  if (site.gpus == 144) sometimes(3, "placement.domain", {"64", "32", "36"});
  if (site.gpus == 32) sometimes(10, "placement.domain", {"4", "2"});
}

void Drawn::draw_schedule() {
  const std::uint32_t count = random_.whole(1, 3) * (chance(2) ? pp_ : 1) + (chance(3) ? pp_ : 0);
  const std::string micro = pick({"1", "1", "2"});
  set("training.microbatch_size", micro);
  set("global_batch", fmt::format("{}", count * dp_ * (micro == "2" ? 2 : 1)));
  if (pp_ == 1) return;
  const std::string name = is_torchtitan()
                               ? pick({"1f1b", "gpipe", "interleaved-1f1b", "interleaved-zb",
                                       "looped-bfs", "zb-v", "dualpipe-v", "zb-h1"})
                               : pick({"1f1b", "1f1b", "interleaved-1f1b", "interleaved-1f1b",
                                       "interleaved-1f1b", "zb-h1"});
  set("schedule.name", name);
  if (name.starts_with("interleaved") || name == "looped-bfs")
    set("schedule.chunks", pick({"2", "2", "3", "4"}));
  if (name == "interleaved-1f1b" && !is_torchtitan())
    sometimes(4, "schedule.group_size", {fmt::format("{}", pp_), fmt::format("{}", pp_ + 1)});
  if (name == "1f1b" && !is_torchtitan() && !chance(4)) set("p2p", "blocking");
  if (name == "interleaved-1f1b" && !is_torchtitan() && chance(3))
    set("p2p", "steady");
  else if (name != "1f1b")
    sometimes(5, "communication.overlap_p2p", {"false"});
  sometimes(2, "partition", {"even", "ends_less", "by_cost", "by_cost", "by_weights"});
  if (layers_ > 0 && name == "1f1b" && chance(4)) {
    std::vector<std::uint32_t> list(pp_, layers_ / pp_);
    list.front() += layers_ % pp_;
    if (list.back() > 1) {
      --list.back();
      ++list.front();
    }
    set("partition", fmt::format("[{}]", fmt::join(list, ", ")));
  } else if (name == "1f1b" && chance(8)) {
    set("partition", "{first: 2}");
  } else if (name == "1f1b" && chance(10)) {
    set("partition", pick({"{account_for_embedding: true}", "{account_for_loss: true}"}));
  }
}

void Drawn::draw_training() {
  sometimes(6, "training.sequence", {"1024", "4096"});
  if (is_torchtitan())
    sometimes(2, "training.recompute",
              {"none", "full", "{granularity: op}", "{granularity: full, every: 2}",
               "{granularity: full, early_stop: true}"});
  else
    sometimes(2, "training.recompute",
              {"none", "selective", "full", "{modules: [core_attn, mlp]}",
               "{modules: [moe_act, layernorm]}", "{modules: [moe]}", "{modules: [mla_up_proj]}",
               "{modules: [shared_experts]}", "{granularity: full, method: block, num_layers: 2}",
               "{granularity: full, method: uniform, num_layers: 2}"});
  if (is_torchtitan())
    sometimes(3, "training.precision", {"bf16", "fp8", "fp8-row", "mxfp8"});
  else
    sometimes(2, "training.precision",
              {"bf16", "fp16", "fp8", "fp8-block", "mxfp8", "nvfp4",
               "{default: mxfp8, attention: mxfp8, num_layers_at_end_in_bf16: 1}"});
  sometimes(4, "training.fp8_param_gather", {"true", "false"});
  if (!is_torchtitan())
    sometimes(3, "training.cuda_graphs",
              {"none", "layer", "iteration", "[attn]", "[attn, mlp]",
               "[moe_router, moe_preprocess]", "[attn, moe_router]", "[mamba, attn]", "[moe]"});
  sometimes(8, "training.flash_attention", {"true", "false"});
  sometimes(4, "training.fused_loss", {"true", "false"});
  sometimes(8, "training.loss_chunks", {"4"});
  sometimes(5, "training.fused_accumulation", {"true", "false"});
  sometimes(10, "training.deallocate_outputs", {"false"});
  sometimes(4, "training.vocabulary_multiple", {"1", "64", "128", "256"});
  if (is_torchtitan()) {
    sometimes(4, "training.bytes", {"{weights: 2, gradients: 2, optimizer: 4}"});
  } else {
    sometimes(5, "training.optimizer.exp_avg", {"bf16", "fp32", "fp8", "fp16"});
    sometimes(5, "training.optimizer.exp_avg_sq", {"bf16", "fp32", "fp8"});
    sometimes(6, "training.optimizer.main_params", {"fp16", "fp32", "remainders"});
    sometimes(5, "training.optimizer.main_grads", {"bf16", "fp32"});
  }
  sometimes(12, "training.activation_func_fp8_input_store", {"true"});
  if (chance(10)) set("training.offload", pick({"{num_layers: 2}", "{num_layers: 1, share: 0.5}"}));
  sometimes(12, "training.tensor_format", {"sbhd", "bshd"});
  sometimes(12, "training.causal", {"false"});
  sometimes(12, "training.reserved", {"3 GiB"});
}

void Drawn::draw_experts() {
  if (!has_experts_) return;
  sometimes(2, "training.experts.dispatcher", {"alltoall", "allgather", "deepep", "hybridep"});
  sometimes(8, "training.experts.dispatch_precision", {"fp8", "bf16"});
  sometimes(6, "training.experts.sms", {"16", "24"});
  if (pp_ > 1) sometimes(6, "training.experts.overlap", {"true"});
  sometimes(8, "training.experts.delay_wgrad", {"true"});
  sometimes(5, "training.experts.shared_overlap", {"true"});
  sometimes(6, "training.experts.op_fuser", {"true"});
  sometimes(2, "training.experts.routing", {"forced", "natural", "{imbalance: 1.3}"});
  sometimes(12, "training.experts.round_robin", {"true"});
  sometimes(12, "training.experts.power_law", {"0.6"});
  sometimes(10, "training.experts.drop_above", {"1.25"});
}

void Drawn::draw_communication() {
  sometimes(3, "communication.overlap_grad_reduce", {"true", "false"});
  sometimes(3, "communication.overlap_param_gather", {"true", "false"});
  if (tp_ > 1) sometimes(4, "communication.tp_comm_overlap", {"true", "false"});
  sometimes(12, "communication.scatter_gather", {"false"});
  sometimes(5, "communication.gradient_bytes", {"2", "4"});
  sometimes(6, "communication.bucket", {"20 MB", "4000004", "80 MB"});
  sometimes(15, "communication.zero_gradients", {"all_reduce"});
  sometimes(15, "communication.sms", {"24"});
  sometimes(15, "communication.global_norm", {"false"});
}

// Time of an iteration, and memory of each device by category.
struct Prediction {
  double seconds = 0;
  std::vector<std::uint64_t> memory;
  bool operator==(const Prediction&) const = default;
};

Prediction predict(evaluation::ScenarioRun& run) {
  const analysis::Summary summary = run.run(0, {});
  Prediction prediction{.seconds = summary.makespan_s, .memory = {}};
  for (const analysis::DeviceSummary& device : summary.devices)
    prediction.memory.insert(prediction.memory.end(), device.at_peak.begin(), device.at_peak.end());
  return prediction;
}

// Keys in which two scenarios differ, with both values; empty if they are the same.
std::string different_keys(const config::Value& first, const config::Value& other) {
  const config::Value a = config::read_scenario(first).tree;
  const config::Value b = config::read_scenario(other).tree;
  std::string text;
  for (const config::SettingChange& change : config::setting_changes(a, b))
    text += fmt::format("{}{}: {} / {}", text.empty() ? "" : ", ", change.key,
                        change.was.value_or("none"), change.is.value_or("none"));
  return text;
}

// A launch that was written for a scenario, and the scenario that reading the launch gives.
struct Trip {
  Prediction planned;
  config::Value spelled;  // the scenario, with the defaults of its stack
  jobs::Launch launch;
  bool is_legal = false;               // the scenario's stack refuses nothing
  bool is_given_model = false;         // reading was told the model, which the launch only names
  std::optional<config::Value> again;  // none: the launch is refused, or lacks keys
  std::string failure;                 // why it could not be read or predicted
  std::optional<Prediction> read_again;
  std::shared_ptr<tests::CommandFolder> folder;  // files of the launch
};

bool lists(const jobs::Launch& launch, const std::string& key) {
  return std::ranges::find(launch.differs, key, &jobs::Difference::key) != launch.differs.end();
}

// Returns nothing if the scenario itself is impossible.
std::optional<Trip> make_trip(const config::Value& tree, const jobs::Framework& framework) {
  Trip trip;
  try {
    evaluation::ScenarioRun run(config::read_scenario(tree));
    trip.planned = predict(run);
    const schedules::Schedule& schedule = run.plans().front().schedule;
    const config::Scenario& scenario = run.scenario();
    trip.spelled = jobs::spelled_out(scenario);
    trip.is_legal =
        evaluation::refusals(scenario, scenario.schedules.front(), schedule.routes).empty();
    trip.launch = jobs::export_job(scenario, framework, evaluation::launch_plan(run, 0));
  } catch (const std::exception& impossible) {
    explain("impossible", impossible.what());
    return std::nullopt;
  }
  trip.folder = std::make_shared<tests::CommandFolder>();
  const tests::CommandFolder& place = *trip.folder;
  std::vector<std::string> files;
  for (const auto& [name, text] : {std::pair{"job" + trip.launch.extension, trip.launch.text},
                                   std::pair{trip.launch.beside_name, trip.launch.beside}}) {
    if (text.empty()) continue;
    place.write(name, text);
    files.push_back((place.folder() / name).string());
  }
  if (framework.name == "torchtitan") files.resize(1);
  try {
    jobs::JobWords words;
    words.gpus = static_cast<std::uint64_t>(config::read_scenario(tree).parallel.gpus());
    jobs::Job job = jobs::import_job(files, words);
    // The launch lists a model whose shape its framework does not know.
    trip.is_given_model = lists(trip.launch, "model") && std::erase(job.missing, "model") > 0;
    if (trip.is_given_model)
      config::set_value(job.tree, "model", *config::find(trip.spelled, "model"));
    if (!job.missing.empty()) {
      trip.failure = fmt::format("missing {}", fmt::join(job.missing, ", "));
      return trip;
    }
    for (const char* const key : {"cluster", "engine"})
      config::set_value(job.tree, key, *config::find(tree, key));
    trip.again = job.tree;
    evaluation::ScenarioRun run(config::read_scenario(job.tree));
    trip.read_again = predict(run);
  } catch (const std::exception& refusal) {
    trip.failure = refusal.what();
  }
  return trip;
}

bool is_identical(const Trip& trip) { return trip.read_again && *trip.read_again == trip.planned; }

// Keys of a scenario that say the same in several ways, so that a value of one of them says what
// all of them are.
const std::vector<std::vector<std::string>> keys_of_one_meaning{
    {"parallel.dp", "parallel.shard", "parallel.replicate", "parallel.zero"},
    {"p2p", "communication.overlap_p2p"},
    {"global_batch", "microbatches"},
    {"model.sequence", "training.sequence"},
    {"model.experts.shared_ffn", "model.experts.shared"},
    {"training.recompute", "training.recompute.early_stop"},
    {"stack", "stack.attention", "stack.fused", "stack.rules", "stack.max_unsharded_stages",
     "stack.unshard_lookahead", "stack.gather_ahead", "stack.sums_copies_once"}};

// The key, with all others of its meaning.
std::vector<std::string> with_its_meaning(const std::string& key) {
  for (const std::vector<std::string>& keys : keys_of_one_meaning)
    if (std::ranges::find(keys, key) != keys.end()) return keys;
  return {key};
}

void erase(config::Value& root, std::string_view path) {
  const std::size_t dot = path.find('.');
  const std::string_view name = path.substr(0, dot);
  if (dot == std::string_view::npos)
    std::erase_if(root.entries, [&](const config::Entry& entry) { return entry.key == name; });
  else if (config::Value* const section = config::find(root, name))
    erase(*section, path.substr(dot + 1));
}

// Bytes of a parameter follow from several keys, and a key of their own sets them.
std::optional<double> bytes_of(const config::Value& tree, const std::string& key) {
  using Bytes = double (*)(const config::Training&);
  const std::map<std::string, Bytes> bytes{{"training.bytes.weights", config::weight_bytes},
                                           {"training.bytes.gathered", config::gathered_bytes},
                                           {"training.bytes.gradients", config::gradient_bytes},
                                           {"training.bytes.optimizer", config::optimizer_bytes}};
  const auto it = bytes.find(key);
  if (it == bytes.end()) return std::nullopt;
  return it->second(config::read_scenario(tree).training);
}

// The scenario that was read back, where the keys are those of the scenario that was launched.
config::Value restored(const Trip& trip, const std::set<std::string>& keys) {
  config::Value tree = *trip.again;
  if (std::ranges::any_of(keys, [](const std::string& key) { return key.starts_with("stack"); }))
    config::set_value(tree, "stack", *config::find(trip.spelled, "stack"));
  tree = jobs::spelled_out(config::read_scenario(tree));
  // Models with one name are compared key by key.
  if (const config::Value* const name = config::value_at(trip.spelled, "model.name"))
    config::set_value(tree, "model.name", *name);
  for (const std::string& key : keys) {
    if (const std::optional<double> bytes = bytes_of(trip.spelled, key)) {
      config::set_value(tree, key, config::make_text(fmt::format("{}", *bytes), {}));
      continue;
    }
    for (const std::string& name : with_its_meaning(key))
      if (const config::Value* const value = config::value_at(trip.spelled, name))
        config::set_value(tree, name, *value);
      else
        erase(tree, name);
  }
  return tree;
}

// What is wrong in the keys that a launch lists; empty if these alone make the prediction another.
std::string wrong_in_list(const Trip& trip) {
  std::set<std::string> keys;
  for (const jobs::Difference& difference : trip.launch.differs)
    if (!difference.key.empty()) keys.insert(difference.key);
  if (trip.is_given_model) keys.erase("model");
  if (!trip.again) return "";
  try {
    const config::Value whole = restored(trip, keys);
    evaluation::ScenarioRun run(config::read_scenario(whole));
    const Prediction prediction = predict(run);
    if (prediction != trip.planned)
      return fmt::format("listed: {}; not listed: {} ({} s with the listed keys)\n",
                         fmt::join(keys, ", "), different_keys(whole, trip.spelled),
                         prediction.seconds);
    for (const std::string& key : keys) {
      std::set<std::string> others = keys;
      for (const std::string& name : with_its_meaning(key)) others.erase(name);
      try {
        if (different_keys(restored(trip, others), whole).empty())
          return fmt::format("listed, but equal: {}\n", key);
      } catch (const config::Error&) {
        // Without this key, the others contradict each other, so that it differs.
      }
    }
  } catch (const std::exception& error) {
    return fmt::format("listed: {}; {}\n", fmt::join(keys, ", "), error.what());
  }
  return "";
}

struct Counts {
  std::uint32_t identical = 0, identical_though_listed = 0, listed = 0, unread = 0, refused = 0,
                impossible = 0;
  std::vector<std::string> silent;
  std::vector<std::string> refused_winners;
  std::vector<std::string> wrong_lists;
};

std::string describe(const Trip& trip, const config::Value& tree) {
  std::string text = config::to_yaml(tree) + "\n" + trip.launch.text + "\n" + trip.failure;
  if (!trip.read_again) return text;
  text += fmt::format("{} s, and {} s\n", trip.planned.seconds, trip.read_again->seconds);
  for (std::size_t i = 0; i < trip.planned.memory.size(); ++i)
    if (i < trip.read_again->memory.size() && trip.planned.memory[i] != trip.read_again->memory[i])
      text += fmt::format("memory[{}] {} and {}\n", i, trip.planned.memory[i],
                          trip.read_again->memory[i]);
  return text + config::to_yaml(*trip.again);
}

void count(const Trip& trip, const config::Value& tree, const jobs::Framework& framework,
           Counts& counts) {
  // A launch on a stack of other software follows other rules than the scenario.
  const std::string stack = config::read_scenario(tree).training.stack.name;
  const bool is_own_stack = std::ranges::find(framework.stacks, stack) != framework.stacks.end();
  const auto keep = [&](std::vector<std::string>& failures, const char* what,
                        const std::string& why) {
    failures.push_back(why + "\n" + describe(trip, tree));
    explain(what, failures.back());
  };
  if (!trip.launch.refused.empty()) {
    ++counts.refused;
    explain("refused", trip.launch.refused);
    if (trip.is_legal && is_own_stack)
      keep(counts.refused_winners, "refused winner", trip.launch.refused);
    return;
  }
  if (trip.launch.differs.empty()) {
    if (is_identical(trip))
      ++counts.identical;
    else
      keep(counts.silent, "silent", "");
    return;
  }
  for (const jobs::Difference& difference : trip.launch.differs)
    explain(is_identical(trip) ? "listed, but identical" : "listed",
            difference.key + ": " + difference.text);
  if (is_identical(trip))
    ++counts.identical_though_listed;
  else
    ++(trip.read_again ? counts.listed : counts.unread);
  if (!trip.read_again) explain("unread", trip.failure);
  if (const std::string wrong = wrong_in_list(trip); !wrong.empty())
    keep(counts.wrong_lists, "wrong list", wrong);
}

}  // namespace

TEST_CASE("a random scenario is read back from its launch, or the launch lists all that differs",
          "[jobs][launch]") {
  const std::string only = std::getenv("PIPEWRIGHT_ROUND_TRIPS_OF") != nullptr
                               ? std::getenv("PIPEWRIGHT_ROUND_TRIPS_OF")
                               : "";
  for (const jobs::Framework& framework : jobs::frameworks()) {
    if (framework.write == nullptr || (!only.empty() && framework.name != only)) continue;
    Counts counts;
    Counts second;
    tests::Random random(37);
    for (std::uint32_t done = 0; done < trips();) {
      const std::string stack(framework.stacks[done % framework.stacks.size()]);
      const config::Value tree = Drawn(random, framework, stack).tree();
      const std::optional<Trip> trip = make_trip(tree, framework);
      if (!trip) {
        ++counts.impossible;
        continue;
      }
      ++done;
      count(*trip, tree, framework, counts);
      // What the launch lists is gone from the scenario that is read back.
      if (trip->read_again && !is_identical(*trip))
        if (const std::optional<Trip> next = make_trip(*trip->again, framework))
          count(*next, *trip->again, framework, second);
    }
    if (trips() != default_trips)
      fmt::print(
          "{}: {} identical, {} listed, {} listed but identical, {} listed and not read, {} "
          "refused, {} silent; of those read back {} identical, {} listed, {} silent; refused "
          "winners {}; wrong lists {}; {} drawn scenarios were impossible\n",
          framework.name, counts.identical, counts.listed, counts.identical_though_listed,
          counts.unread, counts.refused, counts.silent.size(), second.identical, second.listed,
          second.silent.size(), counts.refused_winners.size() + second.refused_winners.size(),
          counts.wrong_lists.size() + second.wrong_lists.size(), counts.impossible);
    CAPTURE(framework.name);
    for (const std::vector<std::string>& failures :
         {counts.silent, second.silent, counts.refused_winners, second.refused_winners,
          counts.wrong_lists, second.wrong_lists}) {
      if (failures.empty()) continue;
      UNSCOPED_INFO(fmt::format("{} times, such as\n{}", failures.size(), failures.front()));
      CHECK(failures.empty());
    }
  }
}
