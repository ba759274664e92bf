#include "sim/config/vision.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "sim/config/model_checks.hpp"

namespace pipewright::config {
namespace {

using Vision = Model::Vision;
using Projector = Vision::Projector;

// Largest width of the encoder, far above any real one.
constexpr std::uint32_t max_vision_width = 1U << 20U;
template <std::uint32_t limit>
std::uint32_t read_vision_count(const Field& field) {
  const std::uint32_t value = read_count(field, "1152");
  if (value > limit)
    throw wrong(field, fmt::format("a whole number of at most {}, far above any model's", limit));
  return value;
}
template <std::uint32_t limit>
std::uint32_t read_vision_number(const Field& field) {
  return field.value.kind == Value::Kind::text && field.value.text == "0"
             ? 0
             : read_vision_count<limit>(field);
}
template <auto member, std::uint32_t limit = max_vision_width>
constexpr auto vision_count = into<member, read_vision_count<limit>>({ValueType::count});
template <auto member, std::uint32_t limit = max_vision_width>
constexpr auto vision_number = into<member, read_vision_number<limit>>({ValueType::count});

constexpr std::array projector_table{
    Key<Projector>{{.name = "ffn",
                    .help = "hidden size of the projector's MLP; 0: a single matrix",
                    .default_value = "0"},
                   vision_number<&Projector::ffn>},
    Key<Projector>{{.name = "merge",
                    .help = "side of a square of patches that become one token",
                    .unit = "patches",
                    .default_value = "2"},
                   vision_count<&Projector::merge, 64>},
    Key<Projector>{{.name = "averages",
                    .help = "the patches of a token are averaged instead of concatenated",
                    .default_value = "false"},
                   flag<&Projector::averages>},
    Key<Projector>{{.name = "count",
                    .help = "number of projectors of this shape, more than one with DeepStack",
                    .default_value = "1"},
                   vision_count<&Projector::count, max_layers>},
};

constexpr std::array vision_table{
    Key<Vision>{{.name = "layers", .help = "number of layers", .required = true},
                vision_count<&Vision::layers, max_layers>},
    Key<Vision>{{.name = "hidden", .help = "hidden size", .required = true},
                vision_count<&Vision::hidden>},
    Key<Vision>{{.name = "heads", .help = "number of attention heads", .required = true},
                vision_count<&Vision::heads>},
    Key<Vision>{{.name = "head_dim", .help = "size of a head", .default_value = "hidden / heads"},
                vision_count<&Vision::head_dim>},
    Key<Vision>{{.name = "ffn", .help = "hidden size of the MLP", .default_value = "4 hidden"},
                vision_count<&Vision::ffn>},
    Key<Vision>{{.name = "mlp",
                 .help = "type of the MLP, with two matrices or three",
                 .default_value = "gelu"},
                choice<&Vision::gated, mlp_names>},
    Key<Vision>{{.name = "norm", .help = "type of the norms", .default_value = "layernorm"},
                choice<&Vision::norm, norm_names>},
    Key<Vision>{{.name = "post_norms",
                 .help = "additional norms after attention and MLP",
                 .default_value = "false"},
                flag<&Vision::post_norms>},
    Key<Vision>{{.name = "biases",
                 .help = "matrices with a bias (none, all, those of queries, keys and values, or "
                         "those of attention)",
                 .default_value = "true"},
                choice<&Vision::biases, bias_names>},
    Key<Vision>{{.name = "qk_layernorm",
                 .help = "norms of the queries and keys of each head",
                 .default_value = "false"},
                flag<&Vision::qk_layernorm>},
    Key<Vision>{{.name = "rotary",
                 .help = "rotary positions of patches in each layer",
                 .default_value = "false"},
                flag<&Vision::rotary>},
    Key<Vision>{{.name = "positions",
                 .help = "number of learned positions, which are added to patches; 0: none",
                 .default_value = "0"},
                vision_number<&Vision::positions>},
    Key<Vision>{
        {.name = "patch_size", .help = "side of a patch", .unit = "pixels", .default_value = "14"},
        vision_count<&Vision::patch_size, 4096>},
    Key<Vision>{{.name = "temporal_patch_size",
                 .help = "number of frames in a patch",
                 .unit = "frames",
                 .default_value = "1"},
                vision_count<&Vision::temporal_patch_size, 4096>},
    Key<Vision>{{.name = "channels", .help = "number of colours of a pixel", .default_value = "3"},
                vision_count<&Vision::channels, 4096>},
    Key<Vision>{{.name = "window",
                 .help = "number of patches in a window, which limits attention; 0: none",
                 .unit = "patches",
                 .default_value = "0"},
                vision_number<&Vision::window, 1U << 28U>},
    Key<Vision>{{.name = "full_attention_every",
                 .help = "every n-th layer has full attention instead of a window; default: none",
                 .unit = "layers"},
                vision_count<&Vision::full_attention_every, max_layers>},
    Key<Vision>{{.name = "projector",
                 .help = "products that make tokens of the language model from patches"},
                map_of<&Vision::projector, projector_table>},
};

}  // namespace

Vision read_vision(const Field& field) {
  Vision vision = read_map<vision_table>(field);
  if (vision.head_dim == 0) {
    if (vision.hidden % vision.heads != 0)
      throw Error(field.value.origin,
                  fmt::format("{}.hidden is {}, which {} heads do not divide", field.name,
                              vision.hidden, vision.heads),
                  field.name)
          .suggest("give head_dim");
    vision.head_dim = vision.hidden / vision.heads;
  }
  if (vision.ffn == 0) vision.ffn = 4 * vision.hidden;
  return vision;
}

std::vector<KeyRow> vision_keys() { return rows_of(vision_table); }

}  // namespace pipewright::config
