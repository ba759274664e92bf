#include "support/random_sweep.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedules/families/catalog.hpp"
#include "sim/cluster/make/make_platform.hpp"

namespace pipewright::tests {
namespace {

using Texts = std::vector<std::string>;

// A sweep under construction. Traits add keys to its sections; the section "" holds the top-level
// keys of the scenario.
struct Draft {
  Random& random;
  std::string_view required_trait;
  RandomSweep sweep;
  std::map<std::string, std::map<std::string, std::string>> sections;
  std::uint32_t layers = 0;
  std::uint32_t gpus = 0;  // GPUs of a candidate.
  bool has_experts = false;
  bool is_narrow = false;  // Few values per key, because all schedules of the catalog are searched.

  bool draws(std::string_view trait, std::uint32_t percent) {
    const bool is_drawn = random.whole(0, 99) < percent || trait == required_trait;
    if (is_drawn) sweep.traits.insert(trait);
    return is_drawn;
  }
  void set(const std::string& section, const std::string& key, const std::string& text) {
    sections[section].insert_or_assign(key, text);
  }
  bool has(const std::string& section, const std::string& key) const {
    const auto it = sections.find(section);
    return it != sections.end() && it->second.contains(key);
  }
  const std::string& pick(const Texts& texts) {
    return texts[random.whole(0, std::uint32_t(texts.size() - 1))];
  }
  // Picks between one and `max_count` of the texts, as the values of a key that the sweep tries.
  std::string pick_some(Texts texts, std::uint32_t max_count) {
    std::uint32_t left =
        std::min(random.whole(1, is_narrow ? 1 : max_count), std::uint32_t(texts.size()));
    Texts chosen;
    for (; left > 0; --left) {
      const std::uint32_t i = random.whole(0, std::uint32_t(texts.size() - 1));
      chosen.push_back(texts[i]);
      texts.erase(texts.begin() + i);
    }
    return chosen.size() == 1 ? chosen[0]
                              : fmt::format("{{any_of: [{}]}}", fmt::join(chosen, ", "));
  }
  void open(const std::string& section, const std::string& key, const Texts& texts,
            std::uint32_t max_count = 2) {
    set(section, key, pick_some(texts, max_count));
  }
};

// A property that a random sweep can have, such as a kind of parallelism. The function adds its
// keys.
struct Trait {
  std::string_view name;
  std::uint32_t percent;  // Share of sweeps that have it.
  void (*draw)(Draft&);
};

void draw_experts(Draft& d) {
  if (d.has("model", "pattern")) return;
  d.has_experts = true;
  d.set("model", "experts",
        fmt::format("{{count: {}, top_k: {}, ffn: {}, shared: {}, first_dense: {}, every: {}}}",
                    d.pick({"4", "8"}), d.pick({"1", "2"}), d.pick({"256", "512"}),
                    d.pick({"0", "0", "1"}), d.pick({"0", "0", "1"}), d.pick({"1", "1", "2"})));
}

void draw_folding(Draft& d) {
  if (!d.has_experts) draw_experts(d);
  d.open("parallel", "ep", {"1", "2", "4"}, 3);
  if (d.random.flip()) d.open("parallel", "etp", {"1", "2"});
}

void draw_dispatch(Draft& d) {
  if (!d.has_experts) draw_folding(d);
  d.open("training", "experts.dispatcher", {"alltoall", "allgather", "deepep"});
  if (d.random.flip()) d.open("training", "experts.dispatch_precision", {"bf16", "fp8"});
}

void draw_routing(Draft& d) {
  if (!d.has_experts) draw_folding(d);
  if (d.random.flip())
    d.open("training", "experts.imbalance", {"1", "1.3", "2"});
  else if (d.random.flip())
    d.open("training", "experts.power_law", {"0.6", "1.2"});
  else
    d.open("training", "experts.routing", {"forced", "natural"});
  if (d.random.flip()) d.set("training", "experts.drop_above", "1.2");
}

void draw_adapters(Draft& d) {
  d.open("training", "lora.rank", {"8", "32"});
  if (d.random.flip()) d.set("training", "lora.modules", d.pick({"[linear_qkv]", "[linear_fc1]"}));
  if (d.random.flip()) d.open("training", "lora.base", {"recipe", "nf4"});
}

void draw_frozen(Draft& d) {
  if (d.has("training", "lora.rank")) return;
  d.set("training", "frozen", d.pick({"[embedding]", "[attention]", "[mlp, norms]", "[head]"}));
}

void draw_lengths(Draft& d) {
  d.set("training", "lengths.mean", d.pick({"100", "150"}));
  d.set("training", "lengths.p95", d.pick({"250", "350"}));
  d.open("training", "lengths.packed", {"true", "false"});
  d.open("training", "lengths.balance", {"none", "length"});
}

void draw_images(Draft& d) {
  d.set("modules", "vision",
        fmt::format("{{model: {{layers: 2, hidden: 128, heads: 4}}, tokens: {}}}",
                    d.pick_some({"64", "[16, 144]", "[64, 0]"}, 2)));
}

void draw_window(Draft& d) {
  d.set("model", "sliding_window", d.pick({"64", "128"}));
  if (d.random.flip()) d.set("model", "full_attention_every", "2");
}

void draw_hybrid(Draft& d) {
  if (d.has_experts || d.has("model", "sliding_window") || d.has("model", "latent"))
    return d.set("model", "mtp_layers", "1");
  std::string pattern;
  for (std::uint32_t i = 0; i < d.layers; ++i) pattern += i % 2 == 0 ? d.pick({"M", "*"}) : "-";
  d.set("model", "pattern", "'" + pattern + "'");
  d.set("model", "mamba", "{heads: 16, head_dim: 32, groups: 4, state: 32}");
}

void draw_latent(Draft& d) {
  d.set("model", "latent",
        "{query_rank: 128, kv_rank: 64, nope_head_dim: 32, rope_head_dim: 16, value_head_dim: 32}");
}

void draw_two_models(Draft& d) { d.open("model", "hidden", {"256", "512", "1024"}, 3); }

void draw_modules(Draft& d) {
  Texts ways{"none", "full", "{granularity: selective, modules: [layernorm]}",
             "{granularity: selective, modules: [layernorm, mlp]}"};
  if (d.has_experts)
    for (const char* const modules : {"moe_act", "moe"})
      ways.push_back(fmt::format("{{granularity: selective, modules: [{}]}}", modules));
  if (d.has("model", "latent"))
    ways.emplace_back("{granularity: selective, modules: [mla_up_proj]}");
  d.open("training", "recompute", ways, 3);
}

void draw_blocks(Draft& d) {
  d.open("training", "recompute",
         {"none", "{granularity: full, method: block, num_layers: 1}", "selective", "full",
          "{granularity: full, method: uniform, num_layers: 2}", "{granularity: full, every: 2}"},
         3);
}

void draw_fsdp(Draft& d) {
  d.set("parallel", "zero", "3");
  if (d.random.flip()) d.open("parallel", "replicate", {"1", "2"});
  if (d.random.flip()) d.open("parallel", "reshard_after_forward", {"true", "false"});
}

void draw_lists(Draft& d) {
  // The numbers of layers per stage suit two devices; with other numbers of devices candidates are
  // illegal.
  const std::uint32_t first = d.random.whole(1, d.layers - 1);
  d.open("", "partition",
         {fmt::format("[{}, {}]", first, d.layers - first), "even", "by_cost",
          fmt::format("{{first: {}}}", first)},
         3);
}

void draw_stragglers(Draft& d) {
  d.open("variation", "stragglers",
         {"{device: 0, factor: 0.7}", "{device: 0, factor: 1.1}",
          "{device: 0, replica: 0, factor: 1.5}"});
}

void draw_network(Draft& d) {
  d.open("variation", "bandwidth", {"0.5", "1", "2"});
  if (d.random.flip()) d.open("variation", "latency", {"0.5", "3"});
}

void draw_communication(Draft& d) {
  const Texts flags{"overlap_p2p",
                    "overlap_grad_reduce",
                    "overlap_param_gather",
                    "tp_comm_overlap",
                    "scatter_gather",
                    "global_norm",
                    "async_tensor_model_parallel_allreduce"};
  for (std::uint32_t left = d.random.whole(1, 2); left > 0; --left)
    d.open("communication", d.pick(flags), {"true", "false"});
  if (d.random.whole(0, 3) == 0)
    d.open("communication", "zero_gradients", {"reduce_scatter", "all_reduce"});
  if (d.random.whole(0, 3) == 0)
    d.open("communication", "zero_weights", {"all_gather", "broadcast"});
  if (d.random.flip()) d.open("communication", "all_reduce", {"automatic", "ring", "tree"});
  if (d.random.whole(0, 3) == 0) d.set("communication", "detail", "full");
  if (d.random.whole(0, 3) == 0) d.set("communication", "overlap_slowdown", "1.3");
}

void draw_measured(Draft& d) {
  d.set("", "layer_times",
        fmt::format("{{forward: {0} ms, backward: {1} ms, head: {{forward: {0} ms, backward: {1} "
                    "ms}}}}",
                    d.random.whole(1, 3), d.random.whole(2, 6)));
}

void draw_constraints(Draft& d) {
  d.sweep.search.push_back("constraints: " +
                           d.pick({"[\"tp <= gpus_per_node\"]", "[\"pp != 2 or tp > 1\"]",
                                   "[\"dp >= 2 or pp == 1\", \"tp * pp <= 4\"]",
                                   "[\"microbatches <= 8\"]", "[\"layers / pp >= 2\"]"}));
}

const std::vector<Trait>& traits() {
  static const std::vector<Trait> table{
      {"two models", 12, draw_two_models},
      {"sliding windows", 15, draw_window},
      {"latent attention", 12, draw_latent},
      {"experts", 25, draw_experts},
      {"hybrid layers or multi-token prediction", 12, draw_hybrid},
      {"folding", 25, draw_folding},
      {"dispatch", 22, draw_dispatch},
      {"routing", 22, draw_routing},
      {"context parallelism", 25,
       [](Draft& d) {
         d.open("parallel", "cp", {"1", "2", "4"});
       }},
      {"sequence parallelism", 40,
       [](Draft& d) {
         d.open("parallel", "sp", {"true", "false"});
       }},
      {"zero", 50,
       [](Draft& d) {
         d.open("parallel", "zero", {"0", "1", "2", "3"}, 3);
       }},
      {"fsdp", 10, draw_fsdp},
      {"order of ranks", 15,
       [](Draft& d) {
         d.open("parallel", "order", {"tp-cp-ep-dp-pp", "pp-tp-cp-ep-dp", "dp-tp-cp-ep-pp"});
       }},
      {"vocabulary", 12,
       [](Draft& d) {
         d.open("parallel", "vocab_parallel", {"none", "vocab-1", "vocab-2"});
       }},
      {"precision", 30,
       [](Draft& d) {
         d.open("training", "precision", {"bf16", "fp16", "fp8", "fp8-block", "mxfp8"});
       }},
      {"precision by module", 12,
       [](Draft& d) {
         d.open("training", "precision",
                {"bf16", "{default: fp8, attention: bf16}",
                 "{default: fp8, num_layers_at_end_in_bf16: 1}"});
       }},
      {"recomputation", 30, draw_blocks},
      {"recomputation by module", 25, draw_modules},
      {"microbatch size", 40,
       [](Draft& d) {
         d.open("training", "microbatch_size", {"1", "2", "4"});
       }},
      {"lengths", 15, draw_lengths},
      {"images", 8, draw_images},
      {"adapters", 12, draw_adapters},
      {"frozen weights", 12, draw_frozen},
      {"offload", 8, [](Draft& d) { d.set("training", "offload", "{num_layers: 1}"); }},
      {"graphs", 12,
       [](Draft& d) {
         d.open("training", "cuda_graphs", {"none", "layer", "iteration", "[attn]"});
       }},
      {"optimizer", 12,
       [](Draft& d) {
         d.open("training", "optimizer.exp_avg", {"fp32", "bf16", "fp8"});
       }},
      {"partition", 20,
       [](Draft& d) {
         d.open("", "partition", {"even", "ends_less", "by_cost"}, 3);
       }},
      {"partition by list", 12, draw_lists},
      {"p2p", 30,
       [](Draft& d) {
         d.open("", "p2p", {"eager", "rendezvous", "blocking", "steady"});
       }},
      {"communication", 30, draw_communication},
      {"stragglers", 10, draw_stragglers},
      {"another network", 15, draw_network},
      {"power cap", 10,
       [](Draft& d) {
         d.open("variation", "power_cap", {"350 W", "400 W"});
       }},
      {"stack", 20,
       [](Draft& d) {
         d.open("", "stack",
                {"megatron-core", "megatron-local", "nemo-2", "torchtitan", "pytorch-fsdp",
                 "deepspeed", "nanotron", "internevo"});
       }},
      {"iterations", 15, [](Draft& d) { d.set("", "iterations", "2"); }},
      {"symmetric", 12,
       [](Draft& d) {
         d.open("", "symmetric", {"true", "false"});
       }},
      {"timing engine", 8, [](Draft& d) { d.set("", "engine", "timing"); }},
      {"measured layers", 16, draw_measured},
      {"constraints", 25, draw_constraints},
  };
  return table;
}

constexpr std::string_view mixed_gpus = "mixed GPUs";
constexpr std::string_view searched_orders = "searched orders";
constexpr std::string_view whole_catalog = "schedules auto";
constexpr std::string_view tp_by_device = "tp by device";

void draw_cluster(Draft& d) {
  const Texts kinds{"dgx-a100", "dgx-h100", "a100-4nic", "h100-roce", "p4d-efa", "dgx-b200"};
  const bool is_mixed = d.draws(mixed_gpus, 25);
  const std::uint32_t per_node = d.pick({"2", "4"})[0] - '0';
  std::vector<cluster::NodeKind> nodes;
  for (int i = 0; i < (is_mixed ? 2 : 1); ++i) {
    cluster::NodeKind kind = cluster::find_node_kind(d.pick(kinds));
    kind.gpus = kind.nics = per_node;
    kind.link_bandwidth *= d.random.real(0.1, 1);
    kind.nic_bandwidth *= d.random.real(0.1, 1);
    nodes.push_back(kind);
  }
  const std::uint32_t count = d.random.whole(1, 2);
  cluster::PlatformRequest request;
  for (const cluster::NodeKind& kind : nodes) request.nodes.push_back({&kind, count});
  request.fabric = d.pick({"rail", "leaf-spine"});
  request.oversubscription = d.random.whole(1, 4);
  d.sweep.platform = cluster::make_platform(request);
  d.sweep.gpus = per_node * count * std::uint32_t(nodes.size());
  d.sweep.gpus_per_node = per_node;
  d.sweep.gpu = nodes.front().gpu;
}

void draw_model(Draft& d) {
  d.layers = 2 * d.random.whole(1, 4);
  const auto set = [&](const char* key, const Texts& texts) { d.set("model", key, d.pick(texts)); };
  d.set("model", "name", "small");
  d.set("model", "layers", std::to_string(d.layers));
  set("hidden", {"256", "512", "1024"});
  d.set("model", "heads", "8");
  set("kv_heads", {"8", "4"});
  set("ffn", {"1024", "2048"});
  set("mlp", {"gelu", "swiglu"});
  set("vocabulary", {"1000", "32000"});
  set("sequence", {"256", "512"});
  set("tied_embeddings", {"false", "true"});
}

void draw_schedules(Draft& d) {
  if (d.draws(whole_catalog, 8)) {
    d.is_narrow = true;
    return d.set("", "schedule", "auto");
  }
  // Sweeps have a model, which is divided into whole layers.
  Texts names;
  for (const schedules::Entry& entry : schedules::catalog())
    if (!entry.placement({.devices = 2}).divides_layers()) names.emplace_back(entry.name);
  Texts some;
  for (std::uint32_t left = d.random.whole(1, 4); left > 0; --left)
    some.push_back(names[d.random.whole(0, std::uint32_t(names.size() - 1))]);
  if (d.random.flip()) some.emplace_back("1f1b");
  if (d.draws(searched_orders, 20)) some.emplace_back("searched");
  d.set("", "schedule", fmt::format("[{}]", fmt::join(some, ", ")));
}

// Draws jobs in which every device of the pipeline has a tp of its own.
void draw_devices(Draft& d) {
  d.gpus = d.sweep.gpus;
  Texts devices{"[2, 1]", "[1, 2]", "[1, 1]", "[1, 1, 1]"};
  std::string counts = "3";
  if (d.gpus > 4) {
    for (const char* const more : {"[4, 2]", "[2, 4]", "[1, 2, 2, 1]", "[4, 1, 1]"})
      devices.emplace_back(more);
    counts += ", 6";
  }
  d.open("parallel", "tp_by_device", devices, 4);
  d.set("", "global_batch", d.pick({"4", "8"}));
  d.sweep.search.push_back(fmt::format("gpus: [{}, {}]", counts, d.gpus));
}

// Draws sizes of parallelism, so that at least one layout uses the required number of GPUs.
void draw_sizes(Draft& d) {
  d.gpus = d.sweep.gpus;
  while (d.gpus > 4 && d.random.flip()) d.gpus /= 2;
  d.set("parallel", "dp", "auto");
  if (d.sweep.gpus > 2 && d.draws(tp_by_device, 12)) return draw_devices(d);
  d.open("parallel", "tp", {"1", "2", "4"});
  d.open("parallel", "pp", {"1", "2", "4"}, 3);
  d.set("", "global_batch", std::to_string(d.gpus * d.random.whole(1, 2)));
  d.sweep.search.push_back(!d.is_narrow && d.gpus > 2 && d.random.whole(0, 3) == 0
                               ? fmt::format("gpus: [{}, {}]", d.gpus / 2, d.gpus)
                               : fmt::format("gpus: {}", d.gpus));
  if (d.random.flip()) d.set("training", "reserved", "0");
}

// Formats the sections as YAML, one per line: {model: {name: small, ..}, ..}. A dotted key such as
// "experts.imbalance" belongs to an inner section.
std::string written(const Draft& d) {
  std::string text;
  for (const auto& [section, entries] : d.sections) {
    std::map<std::string, Texts> inner;
    Texts outer;
    for (const auto& [key, value] : entries) {
      const std::size_t point = key.find('.');
      if (point == std::string::npos)
        outer.push_back(key + ": " + value);
      else
        inner[key.substr(0, point)].push_back(key.substr(point + 1) + ": " + value);
    }
    for (const auto& [key, values] : inner)
      outer.push_back(fmt::format("{}: {{{}}}", key, fmt::join(values, ", ")));
    text += section.empty() ? fmt::format("{}\n", fmt::join(outer, "\n"))
                            : fmt::format("{}: {{{}}}\n", section, fmt::join(outer, ", "));
  }
  return text;
}

}  // namespace

std::vector<std::string_view> trait_names() {
  std::vector<std::string_view> names{mixed_gpus, searched_orders, whole_catalog, tp_by_device};
  for (const Trait& trait : traits()) names.push_back(trait.name);
  return names;
}

RandomSweep random_sweep(Random& random, std::size_t trait) {
  const std::vector<std::string_view> names = trait_names();
  Draft draft{
      .random = random, .required_trait = names[trait % names.size()], .sweep = {}, .sections = {}};
  draw_cluster(draft);
  draw_model(draft);
  draw_schedules(draft);
  draw_sizes(draft);
  // Sometimes traits that exclude each other are drawn together, which makes candidates illegal.
  constexpr std::size_t max_traits = 9;
  for (const Trait& candidate : traits())
    if (candidate.name == draft.required_trait || draft.sweep.traits.size() < max_traits)
      if (draft.draws(candidate.name, candidate.percent)) candidate.draw(draft);
  draft.sweep.text = written(draft);
  return std::move(draft.sweep);
}

}  // namespace pipewright::tests
