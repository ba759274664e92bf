#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/letters.hpp"
#include "sim/jobs/request/model_names.hpp"
#include "sim/jobs/torchtitan/rules.hpp"

namespace pipewright::jobs::torchtitan {
namespace {

// Model of torchtitan with the sizes of torchtitan/models/NAME/__init__.py at b5bcd76c: a model of
// the library with exactly these sizes, or the keys of its shape.
struct Flavor {
  std::string_view name;     // model.name
  std::string_view flavor;   // model.flavor, in small letters
  std::string_view library;  // empty: `shape` has the sizes
  std::string_view shape = {};
};

// Flavors whose shape is given have RMSNorm, SwiGLU and no biases, as all of these models.
constexpr std::string_view shape_of_all = "mlp=swiglu norm=rmsnorm biases=false sequence=4096";

constexpr std::array flavors{
    Flavor{"llama3", "debugmodel", "", "layers=6 hidden=256 heads=16 ffn=768 vocabulary=2048"},
    Flavor{"llama3", "1b", "",
           "layers=16 hidden=2048 heads=32 kv_heads=8 ffn=8192 vocabulary=128256 "
           "tied_embeddings=true"},
    Flavor{"llama3", "3b", "",
           "layers=28 hidden=3072 heads=24 kv_heads=8 ffn=8192 vocabulary=128256 "
           "tied_embeddings=true"},
    Flavor{"llama3", "8b", "llama-3-8b"},
    Flavor{"llama3", "70b", "llama-3-70b"},
    Flavor{"llama3", "405b", "llama-3-405b"},
    Flavor{"llama4", "17bx16e", "llama-4-scout"},
    Flavor{"llama4", "17bx128e", "llama-4-maverick"},
    Flavor{"deepseek_v3", "debugmodel", "",
           "layers=6 hidden=256 heads=16 ffn=1024 vocabulary=2048 latent.kv_rank=512 "
           "latent.nope_head_dim=128 latent.rope_head_dim=64 latent.value_head_dim=128 "
           "experts.count=8 experts.top_k=3 experts.ffn=256 experts.shared=2 "
           "experts.first_dense=1"},
    Flavor{"deepseek_v3", "16b", "",
           "layers=27 hidden=2048 heads=16 ffn=10944 vocabulary=102400 latent.kv_rank=512 "
           "latent.nope_head_dim=128 latent.rope_head_dim=64 latent.value_head_dim=128 "
           "experts.count=64 experts.top_k=6 experts.ffn=1408 experts.shared=2 "
           "experts.first_dense=1"},
    Flavor{"deepseek_v3", "236b", "deepseek-v2"},
    Flavor{"deepseek_v3", "671b", "deepseek-v3"},
    Flavor{"qwen3", "debugmodel", "",
           "layers=8 hidden=256 heads=16 kv_heads=8 head_dim=128 ffn=3072 vocabulary=2048 "
           "qk_layernorm=true tied_embeddings=true"},
    Flavor{"qwen3", "0.6b", "",
           "layers=28 hidden=1024 heads=16 kv_heads=8 head_dim=128 ffn=3072 vocabulary=151936 "
           "qk_layernorm=true tied_embeddings=true"},
    Flavor{"qwen3", "1.7b", "",
           "layers=28 hidden=2048 heads=16 kv_heads=8 head_dim=128 ffn=6144 vocabulary=151936 "
           "qk_layernorm=true tied_embeddings=true"},
    Flavor{"qwen3", "4b", "",
           "layers=36 hidden=2560 heads=32 kv_heads=8 head_dim=128 ffn=9728 vocabulary=151936 "
           "qk_layernorm=true tied_embeddings=true"},
    Flavor{"qwen3", "8b", "qwen3-8b"},
    Flavor{"qwen3", "14b", "",
           "layers=40 hidden=5120 heads=40 kv_heads=8 head_dim=128 ffn=17408 vocabulary=151936 "
           "qk_layernorm=true"},
    Flavor{"qwen3", "32b", "qwen3-32b"},
    Flavor{"qwen3", "30b-a3b", "qwen3-30b-a3b"},
    Flavor{"qwen3", "235b-a22b", "qwen3-235b-a22b"},
    Flavor{"gpt_oss", "20b", "gpt-oss-20b"},
    Flavor{"gpt_oss", "120b", "gpt-oss-120b"},
    Flavor{"kimi_k2_5", "moonlight-16b-a3b", "moonlight-16b"},
};

void set_shape(std::string_view shape, const Setting& from, Draft& draft) {
  while (!shape.empty()) {
    const std::size_t end = std::min(shape.find(' '), shape.size());
    const std::string_view entry = shape.substr(0, end);
    const std::size_t equals = entry.find('=');
    draft.set(fmt::format("model.{}", entry.substr(0, equals)),
              std::string(entry.substr(equals + 1)), from);
    shape.remove_prefix(std::min(end + 1, shape.size()));
  }
}

}  // namespace

void read_model(Draft& draft) {
  const Setting* const name = draft.find("model.name");
  const Setting* const flavor = draft.find("model.flavor");
  if (const std::string& known = draft.request().model; name == nullptr && !known.empty())
    return draft.set("model", known, "by its name");
  if (name == nullptr || flavor == nullptr || name->values.empty() || flavor->values.empty())
    return draft.lacks("model");
  const std::string flavor_name = base::lowercase(flavor->values.front());
  const auto row = std::ranges::find_if(flavors, [&](const Flavor& each) {
    return each.name == name->values.front() && each.flavor == flavor_name;
  });
  if (row == flavors.end()) {
    const std::string both = fmt::format("{}-{}", name->values.front(), flavor_name);
    draft.not_understood(*flavor, fmt::format("no flavor of {} whose sizes are known; {}",
                                              name->values.front(), model_advice(both)));
    return draft.lacks("model");
  }
  Setting from = *name;
  from.written = fmt::format("{}, {}", name->written, flavor->written);
  if (!row->library.empty()) return draft.set("model", std::string(row->library), from);
  draft.set("model.name", fmt::format("{}-{}", name->values.front(), flavor->values.front()), from);
  set_shape(row->shape, from, draft);
  set_shape(shape_of_all, from, draft);
}

}  // namespace pipewright::jobs::torchtitan
