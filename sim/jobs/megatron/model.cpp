#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/numbers.hpp"
#include "sim/config/text/library.hpp"
#include "sim/config/text/yaml.hpp"
#include "sim/jobs/megatron/megatron.hpp"
#include "sim/jobs/megatron/rules.hpp"
#include "sim/jobs/request/model_names.hpp"
#include "sim/jobs/request/python_list.hpp"

namespace pipewright::jobs::megatron {
namespace {

// Vocabulary sizes of tokenizers, by a substring of the tokenizer's name; longer substrings come
// first.
struct Tokenizer {
  std::string_view part;
  std::string_view tokens;
};
constexpr std::array tokenizers{
    Tokenizer{"GPT2BPETokenizer", "50257"}, Tokenizer{"nemotron_2_256k", "256000"},
    Tokenizer{"Llama-3", "128256"},         Tokenizer{"llama-3", "128256"},
    Tokenizer{"Llama3", "128256"},          Tokenizer{"llama3", "128256"},
    Tokenizer{"Llama-2", "32000"},          Tokenizer{"Llama2Tokenizer", "32000"},
    Tokenizer{"Mixtral", "32000"},          Tokenizer{"mixtral", "32000"},
    Tokenizer{"DeepSeek-V3", "129280"},     Tokenizer{"DeepSeek-V2", "102400"},
    Tokenizer{"Qwen3", "151936"},           Tokenizer{"Qwen2.5", "152064"},
    Tokenizer{"gpt-oss", "201088"},
};

// Regular pattern of expert layers: dense layers at the start, then one layer with experts in every
// `every` layers.
struct Frequency {
  std::uint64_t first_dense = 0;
  std::uint64_t every = 1;
};
// Finds the regular pattern of a list with 1 for layers with experts. Empty if the list is
// irregular.
std::optional<Frequency> frequency_of(const std::vector<std::int64_t>& layers) {
  std::size_t begin = 0;
  while (begin < layers.size() && layers[begin] == 0) ++begin;
  if (begin == layers.size()) return std::nullopt;
  for (std::size_t every = 1; every <= layers.size(); ++every) {
    // The last layer of each group of `every` layers has experts, as scenarios define it.
    for (std::size_t dense = begin + 1 >= every ? begin + 1 - every : 0; dense <= begin; ++dense) {
      bool fits = true;
      for (std::size_t i = dense; i < layers.size() && fits; ++i)
        fits = (layers[i] != 0) == ((i - dense + 1) % every == 0);
      if (fits) return Frequency{dense, every};
    }
  }
  return std::nullopt;
}

}  // namespace

void read_vocabulary(Draft& draft) {
  const Setting* const type = draft.find("tokenizer_type");
  const Setting* const model = draft.find("tokenizer_model");
  if (const Setting* const padded = draft.find("padded_vocab_size")) {
    draft.set("model.vocabulary", fmt::format("{}", whole_number(*padded)), *padded);
    draft.set("training.vocabulary_multiple", "1", "the vocabulary is already padded");
    return;
  }
  if (const Setting* const size = draft.find("vocab_size")) {
    draft.set("model.vocabulary", fmt::format("{}", whole_number(*size)), *size);
    return;
  }
  for (const Setting* const from : {model, type}) {
    if (from == nullptr || from->values.empty()) continue;
    for (const Tokenizer& entry : tokenizers)
      if (from->values.front().find(entry.part) != std::string::npos) {
        draft.set("model.vocabulary", std::string(entry.tokens), *from);
        return;
      }
  }
  const std::string named =
      model == nullptr || model->values.empty() ? "" : model_named(model->values.front());
  if (!named.empty()) {
    const config::Value library =
        config::read_yaml_file(config::library_file("models", named, ".yaml").string());
    if (const config::Value* const size = config::find(library, "vocabulary"))
      return draft.set("model.vocabulary", size->text, *model);
  }
  if (draft.at("model.hidden") != nullptr && draft.known("model.vocabulary") == nullptr)
    draft.lacks("model.vocabulary");
}

void read_mlp(Draft& draft) {
  for (const char* const name : {"swiglu", "quick_geglu"})
    if (const Setting* const gated = draft.find(name); gated != nullptr && draft.on(name))
      draft.set("model.mlp", "swiglu", *gated);
  if (const Setting* const squared = draft.find("squared_relu");
      squared != nullptr && draft.on("squared_relu"))
    draft.set("model.mlp", "gelu", *squared);
  const config::Value* const mlp = draft.at("model.mlp");
  const bool is_gated = mlp != nullptr && mlp->text == "swiglu";
  if (const auto ffn = draft.count("ffn_hidden_size")) {
    draft.set("model.ffn", fmt::format("{}", *ffn), *draft.find("ffn_hidden_size"));
    return;
  }
  const std::uint64_t hidden = draft.count_at("model.hidden", 0);
  if (hidden == 0 || !has_argument_defaults(draft)) return;
  // arguments.py: int((4 * hidden_size * 2 / 3) / 64) * 64
  const std::uint64_t ffn = is_gated ? hidden * 8 / 3 / 64 * 64 : 4 * hidden;
  draft.set("model.ffn", fmt::format("{}", ffn),
            is_gated ? "8/3 of --hidden-size by --swiglu" : "4 times --hidden-size");
}

void read_attention(Draft& draft) {
  const bool grouped = draft.on("group_query_attention");
  if (const auto groups = draft.count("num_query_groups")) {
    const Setting& setting = *draft.find("num_query_groups");
    if (grouped || !has_argument_defaults(draft))
      draft.set("model.kv_heads", fmt::format("{}", *groups), setting);
    else
      draft.without_effect(setting, "without --group-query-attention");
  } else if (grouped) {
    draft.set("model.kv_heads", "1", "--group-query-attention without --num-query-groups");
  }
  if (const Setting* const norms = draft.find("qk_layernorm");
      norms != nullptr && draft.on("qk_layernorm") && !draft.on("multi_latent_attention"))
    draft.set("model.qk_layernorm", "true", *norms);
  if (const Setting* const bias = draft.find("add_qkv_bias");
      bias != nullptr && draft.on("add_qkv_bias")) {
    const config::Value* const biases = draft.at("model.biases");
    if (biases != nullptr && biases->text == "false") draft.set("model.biases", "qkv", *bias);
  }
  if (const Setting* const softmax = draft.find("softmax_type"))
    draft.set("model.attention_sinks",
              draft.text("softmax_type", "vanilla") == "learnable" ? "true" : "false", *softmax);
  if (const Setting* const window = draft.find("window_size");
      window != nullptr && !window->values.empty() && !is_off(window->values.front())) {
    // Window such as "(128,0)" or "128,0": the first number is the number of keys before the
    // query's own key.
    std::string left;
    for (const std::string& part : window->values) left += part + ",";
    std::erase_if(left, [](char c) { return c == '(' || c == ')' || c == '[' || c == ' '; });
    Setting first = *window;
    first.values = {left.substr(0, left.find(','))};
    draft.set("model.sliding_window", fmt::format("{}", whole_number(first) + 1), *window);
  }
  if (const Setting* const skip = draft.find("window_attn_skip_freq");
      skip != nullptr && !skip->values.empty() && draft.at("model.sliding_window") != nullptr) {
    if (skip->values.front().find('[') == std::string::npos)
      draft.set("model.full_attention_every", fmt::format("{}", whole_number(*skip)), *skip);
    else
      draft.not_understood(*skip,
                           "only a whole number N is read, for one layer in N without a window");
  }
}

void read_latent(Draft& draft) {
  struct Part {
    std::string_view flag, key, otherwise;
  };
  constexpr std::array parts{Part{"kv_lora_rank", "kv_rank", "32"},
                             Part{"qk_head_dim", "nope_head_dim", "128"},
                             Part{"qk_pos_emb_head_dim", "rope_head_dim", "64"},
                             Part{"v_head_dim", "value_head_dim", "128"}};
  const bool is_latent = draft.on("multi_latent_attention");
  const auto rank = draft.count("q_lora_rank");
  if (is_latent && rank)
    draft.set("model.latent.query_rank", fmt::format("{}", *rank), *draft.find("q_lora_rank"));
  for (const Part& part : parts) {
    const auto value = draft.count(part.flag);
    if (!is_latent) continue;
    const std::string key = fmt::format("model.latent.{}", part.key);
    if (value)
      draft.set(key, fmt::format("{}", *value), *draft.find(part.flag));
    else if (draft.known(key) == nullptr)
      draft.set(key, std::string(part.otherwise), fmt::format("without {}", flag_of(part.flag)));
  }
  // Sizes of latent attention replace the head size and the number of KV heads, in a model of the
  // library too.
  if (draft.at("model.latent") == nullptr) return;
  draft.drop("model.head_dim");
  draft.drop("model.kv_heads");
}

namespace {

std::uint64_t known_count(const Draft& draft, std::string_view key, std::uint64_t otherwise) {
  const config::Value* const value = draft.known(key);
  return value == nullptr ? otherwise
                          : base::parse_number<std::uint64_t>(value->text).value_or(otherwise);
}

// Width of the shared experts together that the library's model has; 0 if it has none.
std::uint64_t known_shared_ffn(const Draft& draft) {
  return known_count(draft, "model.experts.shared", 0) *
         known_count(draft, "model.experts.shared_ffn", known_count(draft, "model.experts.ffn", 0));
}

// Sets a number of the pattern of expert layers unless it is the one without the key.
void set_pattern(Draft& draft, std::string_view key, std::uint64_t value, std::uint64_t without,
                 const Setting& from) {
  if (value != known_count(draft, key, without)) draft.set(key, fmt::format("{}", value), from);
}

}  // namespace

void read_experts(Draft& draft) {
  const bool has = has_experts(draft);
  const Setting* const frequency = draft.find("moe_layer_freq");
  const auto ffn = draft.count("moe_ffn_hidden_size");
  const auto shared = draft.count("moe_shared_expert_intermediate_size");
  const Setting* const capacity = draft.find("moe_expert_capacity_factor");
  const bool pads = draft.on("moe_pad_expert_input_to_capacity");
  // DeepSpeed's layers of experts pad their buffers to a capacity unless they drop nothing.
  const Setting* const padded = draft.find("moe_train_capacity_factor");
  const bool drops_nothing = draft.on("disable_moe_token_dropping");
  if (!has) return;
  if (padded != nullptr && !padded->values.empty() && !drops_nothing)
    draft.set("model.experts.capacity_factor", padded->values.front(), *padded);
  if (ffn)
    draft.set("model.experts.ffn", fmt::format("{}", *ffn), *draft.find("moe_ffn_hidden_size"));
  else if (const config::Value* const dense = draft.at("model.ffn");
           dense != nullptr && draft.known("model.experts.ffn") == nullptr)
    draft.set("model.experts.ffn", dense->text, "as --ffn-hidden-size");
  if (shared && *shared > 0 && *shared != known_shared_ffn(draft)) {
    const Setting& setting = *draft.find("moe_shared_expert_intermediate_size");
    draft.set("model.experts.shared", "1", setting);
    draft.set("model.experts.shared_ffn", fmt::format("{}", *shared), setting);
  }
  if (draft.at("training.experts.shared_overlap") != nullptr &&
      draft.known("model.experts.shared") == nullptr) {
    draft.drop("training.experts.shared_overlap");
    draft.without_effect(*draft.find("moe_shared_expert_overlap"),
                         "the model has no shared experts");
  }
  if (capacity != nullptr && !capacity->values.empty() && !is_off(capacity->values.front())) {
    const double factor = base::parse_number<double>(capacity->values.front()).value_or(1);
    if (factor <= 0)
      draft.without_effect(*capacity, "experts drop nothing, as without it");
    else if (pads)
      draft.set("model.experts.capacity_factor", capacity->values.front(), *capacity);
    else if (factor < 1)
      draft.not_understood(*capacity, "a capacity below the mean number of tokens is not modelled");
    else
      draft.set("training.experts.drop_above", capacity->values.front(), *capacity);
  }
  if (frequency == nullptr || frequency->values.empty()) return;
  // A configuration gives the items of a list, a script the words of an expression.
  const bool is_list =
      frequency->values.size() > 1 && std::ranges::all_of(frequency->values, [](const auto& value) {
        return base::parse_number<std::int64_t>(value).has_value();
      });
  const std::string text = is_list ? fmt::format("[{}]", fmt::join(frequency->values, ","))
                                   : fmt::format("{}", fmt::join(frequency->values, ""));
  if (text.find('[') == std::string::npos) {
    const std::uint64_t every = whole_number(*frequency);
    set_pattern(draft, "model.experts.first_dense", 0, 0, *frequency);
    set_pattern(draft, "model.experts.every", std::max<std::uint64_t>(every, 1), 1, *frequency);
    if (every <= 1) return;
    draft.assume(
        fmt::format("the last layer of each {} has experts; by --moe-layer-freq it is the "
                    "first",
                    every));
    return;
  }
  const auto layers = python_list(text);
  const auto pattern = layers ? frequency_of(*layers) : std::nullopt;
  if (!pattern)
    return draft.not_understood(*frequency,
                                "only dense layers at the start, then one layer in N with "
                                "experts, are read");
  set_pattern(draft, "model.experts.first_dense", pattern->first_dense, 0, *frequency);
  set_pattern(draft, "model.experts.every", pattern->every, 1, *frequency);
}

void read_mamba(Draft& draft) {
  struct Part {
    std::string_view flag, key, otherwise;
  };
  constexpr std::array parts{Part{"mamba_head_dim", "head_dim", "64"},
                             Part{"mamba_num_groups", "groups", "8"},
                             Part{"mamba_state_dim", "state", "128"}};
  const config::Value* const pattern = draft.at("model.pattern");
  const bool has = pattern != nullptr && pattern->text.find('M') != std::string::npos;
  const auto heads = draft.count("mamba_num_heads");
  for (const Part& part : parts) {
    const auto value = draft.count(part.flag);
    if (has && value)
      draft.set(fmt::format("model.mamba.{}", part.key), fmt::format("{}", *value),
                *draft.find(part.flag));
  }
  if (!has) return;
  if (heads)
    return draft.set("model.mamba.heads", fmt::format("{}", *heads),
                     *draft.find("mamba_num_heads"));
  if (draft.known("model.mamba.heads") != nullptr) return;
  // Formula of mamba_mixer.py: d_inner is 2 * hidden_size, split into heads of mamba_head_dim.
  const std::uint64_t dim = std::max<std::uint64_t>(draft.count_at("model.mamba.head_dim", 64), 1);
  draft.set("model.mamba.heads", fmt::format("{}", 2 * draft.count_at("model.hidden", 0) / dim),
            "2 x --hidden-size / --mamba-head-dim");
}

void read_linear_attention(Draft& draft) {
  struct Part {
    std::string_view flag, key, otherwise;
  };
  constexpr std::array parts{Part{"linear_num_key_heads", "key_heads", "16"},
                             Part{"linear_num_value_heads", "value_heads", "32"},
                             Part{"linear_key_head_dim", "key_head_dim", ""},
                             Part{"linear_value_head_dim", "value_head_dim", ""},
                             Part{"linear_conv_kernel_dim", "conv", ""}};
  const config::Value* const pattern = draft.at("model.pattern");
  const bool has = pattern != nullptr && pattern->text.find('G') != std::string::npos;
  for (const Part& part : parts) {
    const auto value = draft.count(part.flag);
    const std::string key = fmt::format("model.linear_attention.{}", part.key);
    if (!has) continue;
    if (value)
      draft.set(key, fmt::format("{}", *value), *draft.find(part.flag));
    else if (!part.otherwise.empty() && draft.known(key) == nullptr)
      draft.set(key, std::string(part.otherwise), fmt::format("without {}", flag_of(part.flag)));
  }
}

// Reads the layers. In a hybrid pattern such as "M-M-|M*/MM/MM", a | ends a stage and each / starts
// a module of multi-token prediction.
void read_layers(Draft& draft) {
  const Setting* pattern = draft.find("hybrid_layer_pattern");
  const Setting* const older = draft.find("hybrid_override_pattern");
  if (pattern == nullptr) pattern = older;
  const Setting* const layers = draft.find("num_layers");
  if (pattern == nullptr || pattern->values.empty()) {
    if (layers != nullptr && !layers->values.empty())
      draft.set("model.layers", fmt::format("{}", whole_number(*layers)), *layers);
    return;
  }
  std::string text = pattern->values.front();
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto modules = std::ranges::count(text, '/');
  std::string main = text.substr(0, slash);
  std::string symbols;
  config::Value stages{.kind = config::Value::Kind::list, .origin = pattern->origin};
  std::size_t since = 0;
  for (const char c : main + "|") {
    if (c != '|') {
      symbols += c;
      ++since;
      continue;
    }
    stages.items.push_back(config::make_text(fmt::format("{}", since), pattern->origin));
    since = 0;
  }
  draft.set("model.pattern", symbols, *pattern);
  if (stages.items.size() > 1) draft.set("partition", std::move(stages), pattern->written);
  if (modules > 0) draft.set("model.mtp_layers", fmt::format("{}", modules), *pattern);
}

// Reads the sizes of the indexers of sparse attention, which have no default; returns false if one
// is missing. Without a weight of the loss nothing trains them.
bool read_indexer(Draft& draft) {
  struct Size {
    std::string_view flag, key;
  };
  for (const auto& [flag, key] :
       {Size{"dsa_indexer_n_heads", "heads"}, Size{"dsa_indexer_head_dim", "head_dim"},
        Size{"dsa_indexer_topk", "top_k"}}) {
    const auto value = draft.count(flag);
    if (!value) return false;
    draft.set(fmt::format("model.indexer.{}", key), fmt::format("{}", *value), *draft.find(flag));
  }
  const bool is_sparse = draft.on("dsa_indexer_use_sparse_loss");
  const bool has_loss = draft.fraction("dsa_indexer_loss_coeff", 0) > 0;
  draft.set("model.indexer.loss",
            !has_loss   ? "none"
            : is_sparse ? "chosen"
                        : "all",
            "as --dsa-indexer-loss-coeff and --dsa-indexer-use-sparse-loss say");
  if (const Setting* const period = draft.find("dsa_indexer_topk_freq");
      period != nullptr && whole_number(*period) > 1)
    draft.not_understood(*period, "every layer is predicted with an indexer of its own");
  return true;
}

// Reads gated delta nets between layers of attention. Each layer has two symbols, one for its MLP
// or experts.
void read_linear_pattern(Draft& draft) {
  const Setting* const variant = draft.find("experimental_attention_variant");
  const Setting* const frequency = draft.find("linear_attention_freq");
  if (variant == nullptr || variant->values.empty() || is_off(variant->values.front())) return;
  if (variant->values.front() == "dsa" && read_indexer(draft)) return;
  if (variant->values.front() != "gated_delta_net" || frequency == nullptr ||
      frequency->values.empty())
    return draft.not_modelled(
        *variant, Changes::time_and_memory,
        variant->values.front().starts_with("dsa")
            ? "an indexer would choose the keys of each query; attention to all keys is predicted"
            : "attention of another kind than is predicted");
  const std::uint64_t layers = std::min<std::uint64_t>(draft.count_at("model.layers", 0), 10'000);
  std::vector<std::int64_t> linear;
  if (frequency->values.front().find('[') != std::string::npos) {
    linear = python_list(frequency->values.front()).value_or(linear);
  } else {
    const std::uint64_t every = std::max<std::uint64_t>(whole_number(*frequency), 1);
    for (std::uint64_t i = 0; i < layers; ++i) linear.push_back((i + 1) % every == 0 ? 0 : 1);
  }
  std::string symbols;
  for (const std::int64_t entry : linear) {
    symbols += entry != 0 ? 'G' : '*';
    symbols += has_experts(draft) ? 'E' : '-';
  }
  if (symbols.empty())
    return draft.not_understood(*frequency, "the layers of linear attention are not known");
  draft.set("model.pattern", symbols, *variant);
  config::Value& model = *config::find(draft.tree(), "model");
  std::erase_if(model.entries, [](const config::Entry& entry) { return entry.key == "layers"; });
}

void read_positions(Draft& draft) {
  if (const Setting* const rope = draft.find("use_rotary_position_embeddings");
      rope != nullptr && draft.on("use_rotary_position_embeddings"))
    draft.set("model.positions", "rotary", *rope);
  const Setting* const type = draft.find("position_embedding_type");
  if (type == nullptr || draft.text("position_embedding_type") != "none") return;
  if (config::Value* const model = config::find(draft.tree(), "model"))
    std::erase_if(model->entries, [](const config::Entry& e) { return e.key == "positions"; });
  const config::Value* const pattern = draft.at("model.pattern");
  if (pattern == nullptr || pattern->text.find('*') != std::string::npos)
    draft.not_modelled(*type, Changes::time,
                       "attention without positions; that with rotary ones is predicted");
  else
    draft.without_effect(*type, "no layer has attention");
}

void read_sequence(Draft& draft) {
  const Setting* sequence = draft.find("seq_length");
  const Setting* const positions = draft.find("max_position_embeddings");
  if (sequence == nullptr && !has_argument_defaults(draft)) sequence = positions;
  if (sequence != nullptr && positions != nullptr && has_argument_defaults(draft) &&
      draft.count("max_position_embeddings").value_or(UINT64_MAX) < whole_number(*sequence))
    throw refusal(*positions,
                  fmt::format("max_position_embeddings must be greater than or equal to seq_length "
                              "({})",
                              whole_number(*sequence)));
  if (sequence != nullptr && !sequence->values.empty())
    draft.set("model.sequence", fmt::format("{}", whole_number(*sequence)), *sequence);
}

void read_mtp(Draft& draft) {
  if (const auto modules = draft.count("mtp_num_layers");
      modules && *modules > 0 && draft.at("model.mtp_layers") == nullptr)
    draft.set("model.mtp_layers", fmt::format("{}", *modules), *draft.find("mtp_num_layers"));
}

}  // namespace pipewright::jobs::megatron
