#include "sim/config/huggingface/layout.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace pipewright::config::huggingface {
namespace {

// The two parts of a layer as symbols of `layer_symbols`: how it mixes tokens, and its MLP or
// experts. 0: the layer lacks the part.
struct LayerSymbols {
  char mixer = '*';
  char feed_forward = '-';
};
using LayerList = std::vector<LayerSymbols>;

// A word in config.json for a layer's part, and the equivalent symbol of `layer_symbols`.
struct Word {
  std::string_view name;
  char symbol;
};
constexpr std::array attention_words{
    Word{"full_attention", '*'},    Word{"attention", '*'},         Word{"global", '*'},
    Word{"sliding_attention", 'S'}, Word{"chunked_attention", 'S'}, Word{"linear_attention", 'G'}};
constexpr std::array feed_forward_words{Word{"dense", '-'}, Word{"sparse", 'E'}, Word{"moe", 'E'}};
constexpr std::array block_words{Word{"mamba", 'M'}, Word{"attention", '*'}, Word{"mlp", '-'},
                                 Word{"moe", 'E'}};
constexpr std::array mixed_words{Word{"attention", '*'}, Word{"full_attention", '*'},
                                 Word{"mamba", 'M'}, Word{"conv", 'C'}};
constexpr std::array indexer_words{Word{"full", '*'}, Word{"shared", '+'}};
constexpr std::array compressed_ratios{Word{"0", 'W'}, Word{"4", 'I'}, Word{"128", 'H'}};
constexpr std::array sparse_words{Word{"deepseek_sparse_attention", '*'}};
constexpr std::array numbered_attention{Word{"1", '*'}};  // 0: lightning attention
constexpr std::array numbered_windows{Word{"0", '*'}, Word{"1", 'S'}};
constexpr std::array numbered_experts{Word{"0", '-'}, Word{"1", 'E'}};
constexpr std::array numbered_chunks{Word{"0", '*'}, Word{"1", 'S'}};

template <std::size_t size>
char symbol_of(const std::string& text, const std::array<Word, size>& words, const Config& config,
               std::string_view key) {
  for (const Word& word : words)
    if (word.name == text) return word.symbol;
  std::string allowed;
  for (const Word& word : words)
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", word.name);
  throw refusal(config, key,
                fmt::format("{} has a layer {}, which is not understood", key, in_quotes(text)))
      .allow(allowed);
}

// Sets one symbol of every layer from a list of words in config.json; returns false if there is no
// such list. The list may be longer, with layers of multi-token prediction at its end.
template <std::size_t size>
bool set_by_list(Config& config, std::string_view key, const std::array<Word, size>& words,
                 char LayerSymbols::*member, LayerList& layers) {
  const Config::Match match = config.find({key});
  if (!match || match.value->kind != Value::Kind::list || match.value->items.empty()) return false;
  const auto list = config.list({key}, layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i)
    layers[i].*member = symbol_of(list->value[i], words, config, key);
  return true;
}

// Marks the layers from index `first` on as having a sliding window, except every `step`-th layer
// of the model; step 0: no exception.
void set_window(LayerList& layers, std::size_t first, std::uint32_t step) {
  for (std::size_t i = first; i < layers.size(); ++i)
    layers[i].mixer = step > 0 && (i + 1) % step == 0 ? '*' : 'S';
}

void add_chunks(Config& config, LayerList& layers, Shape& shape) {
  const auto chunk = config.number({"attention_chunk_size"});
  constexpr std::uint32_t default_chunk = 8192;  // of Llama4TextConfig
  const Number size = chunk.value_or(Number{default_chunk, config.origin()});
  if (size.value == 0 || (!chunk && config.has({"attention_chunk_size"}))) return;
  if (!set_by_list(config, "layer_types", attention_words, &LayerSymbols::mixer, layers) &&
      !set_by_list(config, "no_rope_layers", numbered_chunks, &LayerSymbols::mixer, layers))
    set_window(layers, 0, config.number({"no_rope_layer_interval"}, 4).value);
  shape.set("attention_chunk_size", size.value, size.origin);
}

void add_windows(Config& config, const Family& family, LayerList& layers, Shape& shape) {
  if (family.type == "llama4") return add_chunks(config, layers, shape);
  const bool is_null = config.has({"sliding_window"}) && !config.find({"sliding_window"});
  auto window = config.number({"sliding_window"});
  if (!window && family.window > 0 && !is_null) window = Number{family.window, config.origin()};
  const bool is_used = config.flag({"use_sliding_window"}, !family.window_is_optional);
  const auto first = config.number({"max_window_layers"});
  const auto step = config.number({"sliding_window_pattern", "full_attention_interval"});
  const bool is_listed =
      set_by_list(config, "layer_types", attention_words, &LayerSymbols::mixer, layers) ||
      set_by_list(config, "hybrid_layer_pattern", numbered_windows, &LayerSymbols::mixer, layers) ||
      set_by_list(config, "attn_type_list", numbered_attention, &LayerSymbols::mixer, layers);
  if (!is_listed) {
    if (!is_used || !window || window->value == 0) return;
    if (family.window_is_optional)
      set_window(layers, first ? first->value : 0, 0);
    else
      set_window(layers, 0, step ? step->value : family.full_every);
  }
  if (std::ranges::none_of(layers, [](const LayerSymbols& layer) { return layer.mixer == 'S'; }))
    return;
  if (!window || window->value == 0)
    throw refusal(config, "layer_types",
                  "layer_types has layers of sliding_attention, which need the key sliding_window");
  shape.set("sliding_window", window->value, window->origin);
}

// Returns the indices of layers at a key, a list or a text such as "3,4,5"; no value if the key is
// missing.
std::optional<std::vector<std::string>> layer_indices(Config& config, std::string_view key) {
  const Config::Match match = config.find({key});
  if (!match) return std::nullopt;
  if (match.value->kind == Value::Kind::list) return config.list({key}, 0)->value;
  std::vector<std::string> indices;
  std::string index;
  for (const char c : match.value->text + ",")
    if (c != ',')
      index += c == ' ' ? std::string() : std::string(1, c);
    else if (!index.empty())
      indices.push_back(std::exchange(index, {}));
  return indices;
}

// Returns the index of the last layer that may have experts; no value if there is no such key, or
// -1, which stands for the last layer.
std::optional<std::uint32_t> last_with_experts(Config& config) {
  const Config::Match match = config.find({"moe_layer_end_index"});
  if (!match || match.value->text == "-1") return std::nullopt;
  return config.number({"moe_layer_end_index"})->value;
}

// Finds the layers that have experts, by the keys of all families: a list, the number of dense
// layers at the start, a period, and the indices of dense layers.
void set_experts(Config& config, LayerList& layers) {
  for (LayerSymbols& layer : layers) layer.feed_forward = 'E';
  const auto dense_if = [&](const auto& is_dense) {
    for (std::size_t i = 0; i < layers.size(); ++i)
      if (is_dense(i)) layers[i].feed_forward = '-';
  };
  if (set_by_list(config, "mlp_layer_types", feed_forward_words, &LayerSymbols::feed_forward,
                  layers) ||
      set_by_list(config, "moe_layer_freq", numbered_experts, &LayerSymbols::feed_forward,
                  layers)) {
    config.find({"first_k_dense_replace", "moe_layer_freq"});
    return;
  }
  const auto step = [&](std::string_view key) {
    return std::max(1U, config.number({key}, 1).value);
  };
  const std::uint32_t first = config
                                  .number({"first_k_dense_replace", "num_dense_layers",
                                           "moe_layer_start_index", "moe_layer_num_skipped"},
                                          0)
                                  .value;
  const std::uint32_t from_start = step("moe_layer_freq");
  const std::uint32_t from_end = std::max(
      {step("decoder_sparse_step"), step("moe_layer_interval"), step("interleave_moe_layer_step")});
  dense_if(
      [&](std::size_t i) { return i < first || i % from_start != 0 || (i + 1) % from_end != 0; });
  if (const auto last = last_with_experts(config))
    dense_if([&](std::size_t i) { return i > *last; });
  const std::uint32_t period = step("expert_layer_period");
  const std::uint32_t offset = config.number({"expert_layer_offset"}, 0).value;
  dense_if([&](std::size_t i) { return i % period != offset % period; });
  if (const auto dense = config.list({"mlp_only_layers"}, 0))
    dense_if([&](std::size_t i) {
      return std::ranges::find(dense->value, std::to_string(i)) != dense->value.end();
    });
  for (const std::string_view key : {"moe_layers", "moe_layers_enum"})
    if (const auto sparse = layer_indices(config, key); sparse && !sparse->empty())
      dense_if([&](std::size_t i) {
        return std::ranges::find(*sparse, std::to_string(i)) == sparse->end();
      });
}

// Finds the layers that have Mamba or a short convolution instead of attention, by a list, by the
// indices of layers with attention (LFM2) or by their period (Jamba).
void set_mixed(Config& config, LayerList& layers) {
  if (set_by_list(config, "layer_types", mixed_words, &LayerSymbols::mixer, layers) ||
      set_by_list(config, "layers_block_type", mixed_words, &LayerSymbols::mixer, layers)) {
    config.find({"full_attn_idxs", "attn_layer_period", "attn_layer_offset"});
    return;
  }
  if (const auto attention = layer_indices(config, "full_attn_idxs")) {
    for (std::size_t i = 0; i < layers.size(); ++i)
      if (std::ranges::find(*attention, std::to_string(i)) == attention->end())
        layers[i].mixer = 'C';
    return;
  }
  if (!config.find({"attn_layer_period"}))
    throw Error(config.origin(), "layer_types is missing in config.json: type of each layer");
  const std::uint32_t period = std::max(1U, config.number({"attn_layer_period"}, 1).value);
  const std::uint32_t offset = config.number({"attn_layer_offset"}, 0).value;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (i % period != offset % period) layers[i].mixer = 'M';
}

// Finds the layers that have Kimi delta attention. The config counts layers from 1.
void set_kimi(Config& config, LayerList& layers) {
  Config inner = config.part("linear_attn_config");
  const auto deltas = layer_indices(inner, "kda_layers");
  if (!deltas)
    throw Error(inner.origin(), "kda_layers is missing: numbers of layers with delta attention");
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (std::ranges::find(*deltas, std::to_string(i + 1)) != deltas->end()) layers[i].mixer = 'G';
}

// Finds the layers that use the choice of keys of an earlier layer's indexer, by a list or by a
// period after the first layers, as in GlmMoeDsaConfig.
void set_indexers(Config& config, LayerList& layers) {
  set_by_list(config, "layer_types", sparse_words, &LayerSymbols::mixer, layers);
  if (set_by_list(config, "indexer_types", indexer_words, &LayerSymbols::mixer, layers)) {
    config.find({"index_topk_freq", "index_skip_topk_offset", "index_topk_pattern"});
    return;
  }
  const std::uint32_t period = std::max(1U, config.number({"index_topk_freq"}, 1).value);
  const std::uint32_t offset = config.number({"index_skip_topk_offset"}, 2).value;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (i + 1 > offset && (i + 1 - offset) % period != 0) layers[i].mixer = '+';
}

// Finds the kinds of compressed attention by the tokens per compressed key of each layer.
void set_compressed(Config& config, LayerList& layers, Shape& shape) {
  if (!set_by_list(config, "compress_ratios", compressed_ratios, &LayerSymbols::mixer, layers))
    throw Error(
        config.origin(),
        "compress_ratios is missing in config.json: tokens per compressed key of each layer");
  shape.set("sliding_window", config.required_number({"sliding_window"}));
}

// Finds the layers that have a gated delta net, by a list or a period. All layers keep their MLP or
// experts.
void set_linear(Config& config, const Family& family, LayerList& layers) {
  const std::uint32_t every =
      std::max(1U, config.number({"full_attention_interval"}, family.full_every).value);
  if (set_by_list(config, "layer_types", attention_words, &LayerSymbols::mixer, layers)) return;
  for (std::size_t i = 0; i < layers.size(); ++i)
    layers[i].mixer = (i + 1) % every == 0 ? '*' : 'G';
}

void set_hybrid(Config& config, LayerList& layers) {
  const auto set_single = [&](std::size_t i, char symbol) {
    const bool feeds = symbol == '-' || symbol == 'E';
    layers[i] = feeds ? LayerSymbols{0, symbol} : LayerSymbols{symbol, 0};
  };
  if (const auto blocks = config.list({"layers_block_type"}, layers.size())) {
    for (std::size_t i = 0; i < layers.size(); ++i)
      set_single(i, symbol_of(blocks->value[i], block_words, config, "layers_block_type"));
    return;
  }
  const Config::Match match = config.find({"hybrid_override_pattern"});
  if (!match)
    throw Error(config.origin(), "hybrid_override_pattern is missing: type of each layer");
  constexpr std::string_view allowed = "one symbol per layer, M, *, - or E, such as M-M*-";
  const Field field{*match.value, std::string(match.key)};
  const std::string& symbols = read_text(field, allowed);
  if (symbols.size() < layers.size() || symbols.find_first_not_of("M*-E") != std::string::npos)
    throw wrong(field, allowed);
  for (std::size_t i = 0; i < layers.size(); ++i) set_single(i, symbols[i]);
}

// Returns the period n if every n-th layer has no sliding window and all others have one; 0 if all
// layers have one; no value if the layers are irregular.
std::optional<std::uint32_t> rule_of_windows(const LayerList& layers) {
  const auto is_full = [](const LayerSymbols& layer) { return layer.mixer == '*'; };
  const auto first = std::ranges::find_if(layers, is_full);
  if (first == layers.end()) return 0;
  const auto step = static_cast<std::size_t>(first - layers.begin()) + 1;
  if (step < 2) return std::nullopt;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (is_full(layers[i]) != ((i + 1) % step == 0)) return std::nullopt;
  return static_cast<std::uint32_t>(step);
}

// Rule for which layers have experts: after the first `first` layers, every `every`-th one.
struct ExpertRule {
  std::size_t first = 0;
  std::size_t every = 1;
};
std::optional<ExpertRule> rule_of_experts(const LayerList& layers) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < layers.size() && places.size() < 2; ++i)
    if (layers[i].feed_forward == 'E') places.push_back(i);
  const std::size_t every = places.size() < 2 ? 1 : places[1] - places[0];
  if (places.empty() || places[0] + 1 < every) return std::nullopt;
  const std::size_t first = places[0] + 1 - every;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool has_experts = i >= first && (i - first + 1) % every == 0;
    if (has_experts != (layers[i].feed_forward == 'E')) return std::nullopt;
  }
  return ExpertRule{first, every};
}

// Describes the layers by periods (full_attention_every, experts.every) instead of a list of all
// layers. Returns false if they are irregular.
bool add_rules(const Config& config, const LayerList& layers, const Layout& layout, Shape& shape) {
  const auto is_irregular = [](const LayerSymbols& layer) {
    return (layer.mixer != '*' && layer.mixer != 'S') || layer.feed_forward == 0;
  };
  if (std::ranges::any_of(layers, is_irregular)) return false;
  const auto full = layout.windows ? rule_of_windows(layers) : 0;
  const auto experts = layout.experts ? rule_of_experts(layers) : ExpertRule{};
  if (!full || !experts) return false;
  if (*full > 0) shape.set("full_attention_every", *full, config.origin());
  const auto set = [&](std::string_view path, std::size_t value, std::size_t default_value) {
    if (value != default_value) shape.set(path, static_cast<std::uint32_t>(value), config.origin());
  };
  set("experts.first_dense", experts->first, 0);
  set("experts.every", experts->every, 1);
  return true;
}

// Returns the layers as a pattern, with a symbol for layers of attention without a window.
std::string pattern_of(const LayerList& layers, char attention) {
  std::string pattern;
  for (const LayerSymbols& layer : layers) {
    const char mixer = layer.mixer == '*' ? attention : layer.mixer;
    if (mixer != 0 && layer.feed_forward != 0)
      pattern += fmt::format("({}{})", mixer, layer.feed_forward);
    else
      pattern += mixer != 0 ? mixer : layer.feed_forward;
  }
  return pattern;
}

constexpr std::uint32_t max_layers = 10'000;  // far above any model's

// Returns the number of layers from its key, or else the length of the list of layers.
Number layer_count(Config& config) {
  if (const auto count = config.number({"num_hidden_layers", "n_layer", "num_layers"}))
    return *count;
  if (const auto blocks = config.list({"layers_block_type", "layer_types"}, 1))
    return {static_cast<std::uint32_t>(blocks->value.size()), blocks->origin};
  return config.required_number({"num_hidden_layers"});
}

}  // namespace

Layout add_layout(Config& config, const Family& family, Shape& shape) {
  const Number count = layer_count(config);
  if (count.value == 0 || count.value > max_layers)
    throw Error(count.origin, fmt::format("num_hidden_layers is {}", count.value))
        .allow(fmt::format("1 to {}", max_layers));
  const auto experts =
      config.number({"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"});
  LayerList layers(count.value);
  if (family.layers == Family::Layers::compressed)
    set_compressed(config, layers, shape);
  else if (family.indexer)
    set_indexers(config, layers);
  else if (family.layers == Family::Layers::transformer)
    add_windows(config, family, layers, shape);
  if (family.layers == Family::Layers::linear) set_linear(config, family, layers);
  if (family.layers == Family::Layers::mixed) set_mixed(config, layers);
  if (family.layers == Family::Layers::kimi) set_kimi(config, layers);
  if (family.layers == Family::Layers::parallel)
    for (LayerSymbols& layer : layers) layer.mixer = 'P';
  if (family.layers == Family::Layers::hybrid)
    set_hybrid(config, layers);
  else if (experts && experts->value > (family.single_is_mlp ? 1U : 0U))
    set_experts(config, layers);
  if (family.layers == Family::Layers::mamba) layers.assign(layers.size(), LayerSymbols{'M', 0});

  Layout layout;
  for (const LayerSymbols& layer : layers) {
    layout.mlps = layout.mlps || layer.feed_forward == '-';
    layout.experts = layout.experts || layer.feed_forward == 'E';
    layout.linear = layout.linear || layer.mixer == 'G';
    layout.mamba = layout.mamba || layer.mixer == 'M' || layer.mixer == 'P';
    layout.convolutions = layout.convolutions || layer.mixer == 'C';
    layout.windows = layout.windows || layer.mixer == 'S';
    layout.attention =
        layout.attention || std::string_view("*S+PWIH").find(layer.mixer) != std::string_view::npos;
  }
  const bool has_rules = !(layout.windows && family.window_has_heads);
  if (has_rules && add_rules(config, layers, layout, shape)) {
    shape.set("layers", count.value, count.origin);
  } else {
    const bool is_latent = static_cast<bool>(config.find({"kv_lora_rank"}));
    shape.set("pattern",
              pattern_of(layers, family.indexer ? 'D'
                                 : is_latent    ? '+'
                                                : '*'),
              count.origin);
  }
  return layout;
}

}  // namespace pipewright::config::huggingface
