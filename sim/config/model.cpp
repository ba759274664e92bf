#include "sim/config/model.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/keys.hpp"
#include "sim/config/model_checks.hpp"
#include "sim/config/vision.hpp"

namespace pipewright::config {
namespace {

constexpr std::array<std::string_view, 3> loss_names{"none", "chosen", "all"};
constexpr std::array<std::string_view, 2> position_names{"rotary", "learned"};

// Reads a whole number from 0; read_count() starts at 1.
std::uint32_t read_number(const Field& field, std::string_view example) {
  return field.value.kind == Value::Kind::text && field.value.text == "0"
             ? 0
             : read_count(field, example);
}

// Reads a number of parameters, with or without a suffix: "8.03B" or 8.03e9.
double read_parameters(const Field& field) {
  constexpr std::string_view allowed = "a number of parameters, such as 8.03B";
  const std::string& text = read_text(field, allowed);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, value);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const double scale = unit == "T" ? 1e12 : unit == "B" ? 1e9 : unit == "M" ? 1e6 : 1;
  if (code != std::errc{} || !(value > 0) || (scale == 1 && !unit.empty()))
    throw wrong(field, allowed);
  return value * scale;
}

// Reads a pattern of layers such as "M*-(GE)" as one text per layer. Symbols in brackets are a
// single layer.
std::vector<std::string> read_pattern(const Field& field) {
  const Error refusal = wrong(
      field,
      "one symbol per layer, M, G, *, S, +, D, W, I, H, P, C, - or E, such as MEME*E (in quotes if "
      "it starts "
      "with * or -), or two in brackets, such as (GE)(*E): one for the mixer, followed by - or E");
  const auto is_among = [](char symbol, std::string_view set) {
    return set.find(symbol) != std::string_view::npos;
  };
  namespace symbols = layer_symbols;
  const std::string& text = read_text(field, "a pattern");
  std::vector<std::string> layers;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '(') {
      if (!is_among(text[i], symbols::mixers) && !is_among(text[i], symbols::feed_forwards))
        throw refusal;
      layers.emplace_back(1, text[i]);
      continue;
    }
    if (i + 3 >= text.size() || !is_among(text[i + 1], symbols::mixers) ||
        !is_among(text[i + 2], symbols::feed_forwards) || text[i + 3] != ')')
      throw refusal;
    layers.push_back(text.substr(i + 1, 2));
    i += 3;
  }
  return layers;
}

std::vector<std::string> read_notes(const Field& field) {
  std::vector<std::string> lines;
  for (const Field& line : items(field, "a text or a list of them"))
    lines.push_back(read_text(line, "a text"));
  return lines;
}

double read_dropout(const Field& field) {
  if (field.value.text == "0") return 0;
  const double part = read_positive_number(field, "a part from 0 to 1, such as 0.1,");
  if (part >= 1) throw wrong(field, "a part from 0 to 1, such as 0.1");
  return part;
}

using Latent = Model::Latent;
using Indexer = Model::Indexer;
using Compressed = Model::Compressed;
using Heads = Model::Heads;
using ShortConvolution = Model::ShortConvolution;
using Experts = Model::Experts;
using Mamba = Model::Mamba;
using LinearAttention = Model::LinearAttention;

// Largest values of model keys, far above any real model. They keep bytes, FLOP and the time to
// count them within range.
constexpr std::uint32_t max_width = 1U << 20U;  // vectors, heads, experts
constexpr std::uint32_t max_ffn = 1U << 24U;
constexpr std::uint32_t max_model_tokens = 1U << 28U;  // of a sample, and of a vocabulary

std::uint32_t check_extent(std::uint32_t limit, std::uint32_t value, const Field& field) {
  if (value > limit)
    throw wrong(field, fmt::format("a whole number of at most {}, far above any model's", limit));
  return value;
}
template <std::uint32_t limit>
std::uint32_t read_extent(const Field& field) {
  return check_extent(limit, read_count(field, "128"), field);
}
std::uint32_t read_extent_or_none(const Field& field) {
  return check_extent(max_width, read_number(field, "1"), field);
}

std::vector<std::uint32_t> read_ffn_by_layer(const Field& field) {
  std::vector<std::uint32_t> sizes;
  for (const Field& size : items(field, "a list of hidden sizes, such as [14336, 7168]"))
    sizes.push_back(check_extent(max_ffn, read_count(size, "14336"), size));
  return sizes;
}

template <auto member, std::uint32_t limit = max_width>
constexpr auto extent = into<member, read_extent<limit>>({ValueType::count});
template <auto member>
constexpr auto extent_or_none = into<member, read_extent_or_none>({ValueType::count});

constexpr std::array latent_table{
    Key<Latent>{{.name = "query_rank",
                 .help = "rank of compressed queries; 0: not compressed",
                 .default_value = "0"},
                extent_or_none<&Latent::query_rank>},
    Key<Latent>{{.name = "kv_rank", .help = "rank of compressed keys and values", .required = true},
                extent<&Latent::kv_rank>},
    Key<Latent>{{.name = "nope_head_dim",
                 .help = "size of the part of a head without position",
                 .required = true},
                extent<&Latent::nope_head_dim>},
    Key<Latent>{{.name = "rope_head_dim",
                 .help = "size of the part of a head with rotary position",
                 .required = true},
                extent<&Latent::rope_head_dim>},
    Key<Latent>{{.name = "value_head_dim", .help = "size of a head's value", .required = true},
                extent<&Latent::value_head_dim>},
};

constexpr std::array indexer_table{
    Key<Indexer>{{.name = "heads", .help = "number of heads of the indexer", .required = true},
                 extent<&Indexer::heads>},
    Key<Indexer>{{.name = "head_dim", .help = "size of a head", .default_value = "128"},
                 extent<&Indexer::head_dim>},
    Key<Indexer>{{.name = "top_k",
                  .help = "number of keys, or of compressed keys, that a query attends to",
                  .unit = "tokens",
                  .default_value = "all keys"},
                 extent<&Indexer::top_k, max_model_tokens>},
    Key<Indexer>{{.name = "loss",
                  .help = "keys whose attention scores the indexer learns",
                  .default_value = "chosen"},
                 choice<&Indexer::loss, loss_names>},
};

constexpr std::array compressed_table{
    Key<Compressed>{{.name = "query_rank", .help = "rank of compressed queries", .required = true},
                    extent<&Compressed::query_rank>},
    Key<Compressed>{{.name = "output_rank",
                     .help = "rank of the results of each group of heads",
                     .required = true},
                    extent<&Compressed::output_rank>},
    Key<Compressed>{{.name = "output_groups",
                     .help = "number of groups of heads with a result of that rank",
                     .default_value = "1"},
                    extent<&Compressed::output_groups>},
    Key<Compressed>{{.name = "ratio",
                     .help = "tokens per compressed key in layers with an indexer (I)",
                     .unit = "tokens",
                     .default_value = "4"},
                    extent<&Compressed::ratio>},
    Key<Compressed>{{.name = "heavy_ratio",
                     .help = "tokens per compressed key in layers without an indexer (H)",
                     .unit = "tokens",
                     .default_value = "128"},
                    extent<&Compressed::heavy_ratio>},
};

constexpr std::array heads_table{
    Key<Heads>{{.name = "heads", .help = "number of attention heads", .default_value = "heads"},
               extent<&Heads::heads>},
    Key<Heads>{{.name = "kv_heads",
                .help = "number of heads of keys and values",
                .default_value = "kv_heads"},
               extent<&Heads::kv_heads>},
    Key<Heads>{{.name = "head_dim",
                .help = "size of a head's queries and keys",
                .default_value = "head_dim"},
               extent<&Heads::head_dim>},
    Key<Heads>{
        {.name = "value_head_dim", .help = "size of a head's value", .default_value = "head_dim"},
        extent<&Heads::value_head_dim>},
};

constexpr std::array experts_table{
    Key<Experts>{{.name = "count", .help = "number of routed experts of a layer", .required = true},
                 extent<&Experts::count>},
    Key<Experts>{{.name = "top_k", .help = "experts per token", .default_value = "1"},
                 extent<&Experts::top_k>},
    Key<Experts>{{.name = "ffn", .help = "hidden size of an expert", .required = true},
                 extent<&Experts::ffn, max_ffn>},
    Key<Experts>{{.name = "shared",
                  .help = "number of shared experts, which every token visits",
                  .default_value = "0"},
                 extent_or_none<&Experts::shared>},
    Key<Experts>{
        {.name = "shared_ffn", .help = "hidden size of a shared expert", .default_value = "ffn"},
        extent<&Experts::shared_ffn, max_ffn>},
    Key<Experts>{{.name = "latent",
                  .alias = "moe_latent_size",
                  .help = "input and output size of latent experts",
                  .default_value = "hidden"},
                 extent<&Experts::latent>},
    Key<Experts>{{.name = "groups",
                  .help = "number of groups of experts, for group-limited routing",
                  .default_value = "1"},
                 extent<&Experts::groups>},
    Key<Experts>{{.name = "top_groups",
                  .help = "groups per token, for group-limited routing",
                  .default_value = "groups"},
                 extent<&Experts::top_groups>},
    Key<Experts>{
        {.name = "capacity_factor",
         .help =
             "tokens of the busiest expert relative to the mean over experts; experts with this "
             "key drop tokens and pad their buffers",
         .default_value = "1"},
        within<&Experts::capacity_factor, "a factor", "a factor of at least 1", 1, unlimited>},
    Key<Experts>{{.name = "first_dense",
                  .help = "number of dense layers at the start",
                  .default_value = "0"},
                 extent_or_none<&Experts::first_dense>},
    Key<Experts>{{.name = "every",
                  .help = "every n-th layer has experts; 2: every other layer",
                  .default_value = "1"},
                 extent<&Experts::every>},
};

constexpr std::array mamba_table{
    Key<Mamba>{{.name = "heads", .help = "number of heads of the state space", .required = true},
               extent<&Mamba::heads>},
    Key<Mamba>{{.name = "head_dim", .help = "size of a head", .default_value = "64"},
               extent<&Mamba::head_dim>},
    Key<Mamba>{{.name = "groups",
                .help = "number of groups of heads that share B and C",
                .default_value = "8"},
               extent<&Mamba::groups>},
    Key<Mamba>{{.name = "state", .help = "size of a head's state", .default_value = "128"},
               extent<&Mamba::state>},
    Key<Mamba>{{.name = "conv", .help = "width of the convolution in tokens", .default_value = "4"},
               extent<&Mamba::conv>},
    Key<Mamba>{{.name = "step_rank",
                .help = "rank of the steps of Mamba-1, which has one step per channel; 0: Mamba-2",
                .default_value = "0"},
               extent_or_none<&Mamba::step_rank>},
    Key<Mamba>{{.name = "norm",
                .help = "norm before the output projection, or of steps, B and C in Mamba-1",
                .default_value = "true"},
               flag<&Mamba::norm>},
};

constexpr std::array linear_table{
    Key<LinearAttention>{
        {.name = "key_heads", .help = "number of heads of queries and of keys", .required = true},
        extent<&LinearAttention::key_heads>},
    Key<LinearAttention>{
        {.name = "value_heads", .help = "number of heads of values", .required = true},
        extent<&LinearAttention::value_heads>},
    Key<LinearAttention>{{.name = "key_head_dim", .help = "size of a key", .default_value = "128"},
                         extent<&LinearAttention::key_head_dim>},
    Key<LinearAttention>{
        {.name = "value_head_dim", .help = "size of a value", .default_value = "128"},
        extent<&LinearAttention::value_head_dim>},
    Key<LinearAttention>{
        {.name = "conv", .help = "width of the convolution in tokens", .default_value = "4"},
        extent<&LinearAttention::conv>},
    Key<LinearAttention>{
        {.name = "decay_rank",
         .help = "rank of the products that give each channel a decay, as in Kimi delta attention; "
                 "0: a decay per head",
         .default_value = "0"},
        extent_or_none<&LinearAttention::decay_rank>},
    Key<LinearAttention>{{.name = "gate_rank",
                          .help = "rank of the products for the output gate; 0: one full matrix",
                          .default_value = "0"},
                         extent_or_none<&LinearAttention::gate_rank>},
};

constexpr std::array convolution_table{
    Key<ShortConvolution>{
        {.name = "channels", .help = "number of channels", .default_value = "hidden"},
        extent<&ShortConvolution::channels>},
    Key<ShortConvolution>{
        {.name = "width", .help = "width of the convolution in tokens", .default_value = "3"},
        extent<&ShortConvolution::width>},
    Key<ShortConvolution>{{.name = "bias",
                           .help = "biases of the convolution and of both projections",
                           .default_value = "false"},
                          flag<&ShortConvolution::bias>},
};

constexpr std::array model_table{
    Key<Model>{{.name = "name", .help = "name of the model; default: name of the file"},
               text<&Model::name, "a name">},
    Key<Model>{{.name = "source", .help = "source of the numbers"}, {[](const Field& f, Model&) {
                 read_text(f, "a text that names the source of the numbers");
               }}},
    Key<Model>{{.name = "parameters",
                .help = "published number of parameters, such as 8.03B; a check of the other keys"},
               into<&Model::published, read_parameters>({ValueType::number})},
    Key<Model>{{.name = "layers",
                .help = "number of layers; with a pattern: its first layers",
                .default_value = "length of the pattern"},
               extent<&Model::layers, max_layers>},
    Key<Model>{
        {.name = "pattern",
         .alias = "hybrid_layer_pattern",
         .help =
             "layer types of a hybrid, one symbol per layer: M Mamba, G gated delta "
             "net, * attention, S attention with the sliding window, + latent "
             "attention, D latent attention with an indexer, W compressed attention to a window "
             "alone, I to compressed keys that an indexer chooses, H to heavily compressed keys, "
             "P attention beside Mamba, "
             "C short convolution, - MLP, E experts; two in brackets are one layer, (GE)"},
        into<&Model::pattern, read_pattern>({ValueType::text})},
    Key<Model>{
        {.name = "mtp_layers",
         .alias = "mtp_num_layers",
         .help = "number of modules of multi-token prediction, each with one additional layer",
         .default_value = "0"},
        extent_or_none<&Model::mtp_layers>},
    Key<Model>{{.name = "mtp_use_repeated_layer",
                .help = "one module of multi-token prediction that runs mtp_layers times, with "
                        "the same weights",
                .default_value = "false"},
               flag<&Model::mtp_use_repeated_layer>},
    Key<Model>{{.name = "hidden", .alias = "hidden_size", .help = "hidden size", .required = true},
               extent<&Model::hidden>},
    Key<Model>{
        {.name = "heads", .help = "number of attention heads; required if a layer has attention"},
        extent<&Model::heads>},
    Key<Model>{{.name = "kv_heads",
                .help = "number of heads of keys and values",
                .default_value = "heads"},
               extent<&Model::kv_heads>},
    Key<Model>{{.name = "head_dim", .help = "size of a head", .default_value = "hidden / heads"},
               extent<&Model::head_dim>},
    Key<Model>{{.name = "value_head_dim",
                .help = "size of a head's value, if not that of its query and key",
                .default_value = "head_dim"},
               extent<&Model::value_head_dim>},
    Key<Model>{{.name = "keys_as_values",
                .help = "keys are values, too, in attention without a window",
                .default_value = "false"},
               flag<&Model::keys_as_values>},
    Key<Model>{{.name = "ffn",
                .help = "hidden size of the MLP",
                .default_value = "4 hidden; required with swiglu"},
               extent<&Model::ffn, max_ffn>},
    Key<Model>{{.name = "ffn_by_layer",
                .help = "hidden sizes of the MLPs where they differ, one for each layer with an "
                        "MLP; layers have attention or an MLP or both"},
               into<&Model::ffn_by_layer, read_ffn_by_layer>({ValueType::count, true})},
    Key<Model>{{.name = "mlp",
                .help = "type of the MLP, with two matrices or three",
                .default_value = "gelu"},
               choice<&Model::gated, mlp_names>},
    Key<Model>{{.name = "norm", .help = "type of the norms", .default_value = "layernorm"},
               choice<&Model::norm, norm_names>},
    Key<Model>{{.name = "post_norms",
                .help = "additional norms after attention and MLP",
                .default_value = "false"},
               flag<&Model::post_norms>},
    Key<Model>{{.name = "residual_streams",
                .alias = "mhc_num_residual_streams",
                .help = "hidden states of a token between layers, which hyper-connections mix",
                .default_value = "1"},
               extent<&Model::residual_streams>},
    Key<Model>{{.name = "biases",
                .help = "matrices with a bias (none, all, those of queries, keys and values, or "
                        "those of attention)",
                .default_value = "true"},
               choice<&Model::biases, bias_names>},
    Key<Model>{{.name = "qk_layernorm",
                .help = "norms of the queries and keys of each head",
                .default_value = "false"},
               flag<&Model::qk_layernorm>},
    Key<Model>{{.name = "output_gate",
                .alias = "attention_output_gate",
                .help = "gate on the result of attention, computed with the first product",
                .default_value = "false"},
               flag<&Model::output_gate>},
    Key<Model>{{.name = "dropout",
                .help = "probability of dropout; its masks are stored",
                .default_value = "0"},
               into<&Model::dropout, read_dropout>({ValueType::number})},
    Key<Model>{{.name = "vocabulary",
                .alias = "vocab",
                .help = "number of tokens in the vocabulary",
                .required = true},
               extent<&Model::vocabulary, max_model_tokens>},
    Key<Model>{{.name = "tied_embeddings",
                .help = "a single matrix for input and output embedding",
                .default_value = "false"},
               flag<&Model::tied_embeddings>},
    Key<Model>{{.name = "positions", .help = "position encoding", .default_value = "rotary"},
               choice<&Model::learned_positions, position_names>},
    Key<Model>{{.name = "sequence", .help = "number of tokens in a sample", .required = true},
               extent<&Model::sequence, max_model_tokens>},
    Key<Model>{{.name = "sliding_window",
                .help = "number of keys that a query attends to, including its own; default: all",
                .unit = "tokens"},
               extent<&Model::sliding_window, max_model_tokens>},
    Key<Model>{{.name = "attention_chunk_size",
                .help = "chunk length of chunked attention, instead of a sliding window",
                .unit = "tokens"},
               {[](const Field& f, Model& m) {
                  if (m.sliding_window > 0) throw wrong(f, "either this or sliding_window");
                  m.sliding_window = read_extent<max_model_tokens>(f);
                  m.chunked = true;
                },
                {ValueType::count}}},
    Key<Model>{{.name = "full_attention_every",
                .help = "every n-th layer has full attention instead of a window; default: none",
                .unit = "layers"},
               count<&Model::full_attention_every, "2">},
    Key<Model>{{.name = "attention_sinks",
                .help = "a learned number in the softmax of each head, as in gpt-oss",
                .default_value = "false"},
               flag<&Model::attention_sinks>},
    Key<Model>{{.name = "sliding", .help = "heads of layers with the sliding window (S)"},
               map_of<&Model::sliding, heads_table>},
    Key<Model>{{.name = "latent", .help = "sizes of multi-head latent attention"},
               map_of<&Model::latent, latent_table>},
    Key<Model>{{.name = "indexer",
                .help = "sizes of indexers, which choose keys for latent or compressed attention"},
               map_of<&Model::indexer, indexer_table>},
    Key<Model>{{.name = "compressed", .help = "sizes of compressed attention (W, I, H)"},
               map_of<&Model::compressed, compressed_table>},
    Key<Model>{{.name = "experts", .help = "number, sizes and routing of experts"},
               map_of<&Model::experts, experts_table>},
    Key<Model>{{.name = "mamba", .help = "sizes of Mamba layers"},
               map_of<&Model::mamba, mamba_table>},
    Key<Model>{{.name = "linear_attention", .help = "sizes of gated delta nets"},
               map_of<&Model::linear_attention, linear_table>},
    Key<Model>{{.name = "short_convolution", .help = "sizes of short convolutions"},
               map_of<&Model::short_convolution, convolution_table>},
    Key<Model>{{.name = "vision", .help = "encoder of images, which a run has with modules.vision"},
               section<&Model::vision, read_vision, vision_keys>},
    Key<Model>{{.name = "notes", .help = "notes about the numbers"},
               {[](const Field& f, Model& m) { m.notes = read_notes(f); }}},
};

// Returns whether all values of a map come from the same file, without overrides.
bool is_from_file(const Value& map, const std::string& source) {
  return std::ranges::all_of(map.entries, [&](const Entry& entry) {
    const Value& value = entry.value;
    return value.kind == Value::Kind::map ? is_from_file(value, source)
                                          : value.origin.source == source;
  });
}

}  // namespace

Model read_model(const Field& field) {
  const Value map = model_tree(field);
  const Field whole{map, field.name};
  Model model;
  model.origin = field.value.origin;
  read_keys<Model>(whole, model_table, model);
  complete(model, whole);
  // The published number of parameters is dropped if overrides change the file's model, because it
  // holds only for the original.
  if (!is_from_file(map, model.published.origin.source)) model.published = {};
  if (model.name.empty() && field.value.kind == Value::Kind::text) model.name = model_label(field);
  return model;
}

std::vector<KeyRow> model_keys() { return rows_of(model_table); }

}  // namespace pipewright::config
