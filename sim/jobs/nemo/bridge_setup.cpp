#include "sim/jobs/nemo/bridge_setup.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "sim/jobs/nemo/model_objects.hpp"
#include "sim/jobs/python/builtins.hpp"
#include "sim/jobs/request/draft.hpp"

namespace pipewright::jobs::nemo {
namespace {

using python::Attribute;
using python::Object;
using ObjectPtr = std::shared_ptr<Object>;

const Named* last_entry(const std::vector<Named>& named, std::string_view path) {
  const auto it = std::find_if(named.rbegin(), named.rend(),
                               [&](const Named& entry) { return entry.path == path; });
  return it == named.rend() ? nullptr : &*it;
}

bool says(const std::vector<Named>& named, std::string_view path, bool otherwise) {
  const Named* const entry = last_entry(named, path);
  return entry == nullptr || entry->values.empty() ? otherwise : !is_off(entry->values.front());
}

// Applies what Megatron-Bridge does to a configuration before training.
class BridgeSetup {
 public:
  BridgeSetup(Object& config, std::vector<Named>& named) : config_(config), named_(named) {}

  void apply() {
    read_precision_defaults();
    read_overlap();
    read_recomputation();
    read_offloading();
    read_vocabulary();
    read_expert_ranks();
  }

 private:
  Object* section(std::string_view name) {
    Attribute* const attribute = config_.find(name);
    const auto* const object =
        attribute == nullptr ? nullptr : std::get_if<ObjectPtr>(&attribute->value);
    return object == nullptr ? nullptr : object->get();
  }

  void erase(std::string_view path) {
    std::erase_if(named_, [&](const Named& entry) { return entry.path == path; });
  }

  // MixedPrecisionConfig.setup() copies the precision's settings to `ddp`, defaults included.
  void read_precision_defaults() {
    Object* const precision = section("mixed_precision");
    Attribute* const reduce =
        precision == nullptr ? nullptr : precision->find("grad_reduce_in_fp32");
    if (reduce == nullptr || reduce->order > 0) return;
    if (const std::optional<std::string> text = python::text_of(reduce->value))
      named_.push_back({.path = "mixed_precision.grad_reduce_in_fp32",
                        .values = {*text},
                        .written = precision->written,
                        .origin = precision->origin});
  }

  // CommOverlapConfig.setup() overlaps the collectives of data parallelism unless a setting
  // excludes it, whatever `ddp` says, and overlaps those of tensor parallelism only with sequence
  // parallelism.
  void read_overlap() {
    const Object* const overlap = section("comm_overlap");
    if (overlap == nullptr || python::last_part(overlap->made_by) != "CommOverlapConfig") return;
    if (says(named_, "ddp.use_distributed_optimizer", true))
      for (const char* const name : {"overlap_grad_reduce", "overlap_param_gather"}) {
        const std::string path = fmt::format("comm_overlap.{}", name);
        const Named* const own = last_entry(named_, path);
        if (own != nullptr && own->values != std::vector<std::string>{"None"}) continue;
        named_.push_back({.path = path,
                          .values = {"True"},
                          .written = overlap->written,
                          .origin = overlap->origin});
      }
    if (!says(named_, "model.sequence_parallel", false)) erase("comm_overlap.tp_comm_overlap");
  }

  // Modules are recomputed only with the granularity `selective`.
  void read_recomputation() {
    const Named* const granularity = last_entry(named_, "model.recompute_granularity");
    const bool is_selective =
        granularity != nullptr && granularity->values == std::vector<std::string>{"selective"};
    if (!is_selective) erase("model.recompute_modules");
    if (granularity == nullptr || is_off(granularity->values.front()))
      for (const char* const path : {"model.recompute_method", "model.recompute_num_layers"})
        erase(path);
  }

  // Experts that are divided among ranks are not cut by tensor parallelism unless the recipe says
  // so (models/transformer_config.py), other than in Megatron-LM.
  void read_expert_ranks() {
    const Named* const ep = last_entry(named_, "model.expert_model_parallel_size");
    const Named* const etp = last_entry(named_, "model.expert_tensor_parallel_size");
    const bool has_own = etp != nullptr && etp->values != std::vector<std::string>{"None"};
    if (has_own || ep == nullptr || is_off(ep->values.front()) ||
        ep->values == std::vector<std::string>{"1"})
      return;
    named_.push_back({.path = "model.expert_tensor_parallel_size",
                      .values = {"1"},
                      .written = ep->written,
                      .origin = ep->origin});
  }

  // Layers keep their activations on the host only with `cpu_offloading`.
  void read_offloading() {
    if (!says(named_, "model.cpu_offloading", false)) erase("model.cpu_offloading_num_layers");
    erase("model.cpu_offloading");
  }

  // The tokenizer's vocabulary replaces that of a model only where the configuration asks for it,
  // or where the model has none (training/setup.py, _validate_and_set_vocab_size).
  void read_vocabulary() {
    const Object* const model = section("model");
    const bool has_none = model != nullptr && describes_model(*model) &&
                          last_entry(named_, "model.vocab_size") == nullptr;
    if (!has_none && !says(named_, "tokenizer.use_tokenizer_vocab_size", false))
      erase("tokenizer.vocab_size");
    // Copies of settings of other sections.
    for (const char* const path :
         {"optimizer.bf16", "optimizer.fp16", "optimizer.overlap_param_gather",
          "tokenizer.tensor_model_parallel_size"})
      erase(path);
  }

  Object& config_;
  std::vector<Named>& named_;
};

}  // namespace

void apply_bridge_setup(Object& config, std::vector<Named>& named) {
  BridgeSetup(config, named).apply();
}

}  // namespace pipewright::jobs::nemo
