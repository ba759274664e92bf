#include "analysis/measured/memory/allocation_kind.hpp"

#include <array>
#include <string_view>

namespace pipewright::analysis {
namespace {

using trace::MemoryCategory;

// torch.profiler's categories of memory (torch/profiler/_memory_profiler.py).
struct Named {
  std::string_view name;
  MemoryCategory category;
};
constexpr std::array profiler_categories{Named{"PARAMETER", MemoryCategory::weights},
                                         Named{"GRADIENT", MemoryCategory::gradients},
                                         Named{"OPTIMIZER_STATE", MemoryCategory::optimizer},
                                         Named{"ACTIVATION", MemoryCategory::activations}};

// A stack is of the first mark that one of its frames has: an optimizer that makes its state in
// its step is called by no forward pass, and a buffer of gradients is made by a constructor.
struct Mark {
  std::string_view file;  // a part of the file's name; empty: any
  std::string_view name;  // of the function, or a part of it; empty: any
  MemoryCategory category;
};
constexpr std::array marks{
    Mark{"torch/optim/", "", MemoryCategory::optimizer},
    Mark{"/optimizer/", "step", MemoryCategory::optimizer},
    Mark{"/optimizer/", "init_state", MemoryCategory::optimizer},
    Mark{"distrib_optimizer.py", "", MemoryCategory::optimizer},
    Mark{"apex/optimizers/", "", MemoryCategory::optimizer},
    Mark{"deepspeed/ops/adam/", "", MemoryCategory::optimizer},
    Mark{"param_and_grad_buffer.py", "", MemoryCategory::gradients},
    Mark{"", "AccumulateGrad", MemoryCategory::gradients},
    Mark{"", "forward", MemoryCategory::activations},
    Mark{"torch/nn/modules/", "__init__", MemoryCategory::weights},
    Mark{"torch/nn/modules/module.py", "_apply", MemoryCategory::weights},
    Mark{"torch/nn/modules/module.py", "to_empty", MemoryCategory::weights},
    Mark{"tensor_parallel/layers.py", "_initialize_affine_weight", MemoryCategory::weights},
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const PickleValue* frames_of(const Pickle& pickle, const PickleValue& entry) {
  if (const PickleValue* const frames = pickle.find(entry, "frames")) return frames;
  // Until PyTorch 2.1 blocks have a history, of which the first is what they hold.
  const PickleValue* const history = pickle.find(entry, "history");
  if (history == nullptr || history->items.empty()) return nullptr;
  return pickle.find(pickle.at(history->items.front()), "frames");
}

}  // namespace

std::optional<MemoryCategory> allocation_kind(const Pickle& pickle, const PickleValue& entry) {
  const PickleValue* const names = pickle.find(pickle.root(), "categories");
  const PickleValue* const number = pickle.find(entry, "category");
  if (names != nullptr && number != nullptr && number->kind == PickleValue::Kind::integer &&
      number->integer >= 0 && number->integer < static_cast<std::int64_t>(names->items.size()))
    for (const Named& one : profiler_categories)
      if (pickle.at(names->items[static_cast<std::size_t>(number->integer)]).text == one.name)
        return one.category;

  const PickleValue* const frames = frames_of(pickle, entry);
  if (frames == nullptr) return std::nullopt;
  for (const Mark& mark : marks)
    for (const std::uint32_t place : frames->items) {
      const PickleValue& frame = pickle.at(place);
      if (has(pickle.text(frame, "filename"), mark.file) &&
          has(pickle.text(frame, "name"), mark.name))
        return mark.category;
    }
  return std::nullopt;
}

}  // namespace pipewright::analysis
