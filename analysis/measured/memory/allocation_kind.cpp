#include "analysis/measured/memory/allocation_kind.hpp"

#include <array>
#include <string_view>

namespace pipewright::analysis {
namespace {

using trace::MemoryCategory;

// Maps a memory category of torch.profiler (torch/profiler/_memory_profiler.py) to ours.
struct ProfilerCategory {
  std::string_view name;
  MemoryCategory category;
};
constexpr std::array profiler_categories{
    ProfilerCategory{"PARAMETER", MemoryCategory::weights},
    ProfilerCategory{"GRADIENT", MemoryCategory::gradients},
    ProfilerCategory{"OPTIMIZER_STATE", MemoryCategory::optimizer},
    ProfilerCategory{"ACTIVATION", MemoryCategory::activations}};

// Patterns of stack frames that reveal the purpose of an allocation. The first pattern in this list
// that any frame matches decides, so the order matters: state that an optimizer creates in its step
// is not an activation, and a gradient buffer is made by a constructor.
struct FrameMark {
  std::string_view file;  // Part of the file name; empty for any.
  std::string_view name;  // Part of the function name; empty for any.
  MemoryCategory category;
};
constexpr std::array frame_marks{
    FrameMark{"torch/optim/", "", MemoryCategory::optimizer},
    FrameMark{"/optimizer/", "step", MemoryCategory::optimizer},
    FrameMark{"/optimizer/", "init_state", MemoryCategory::optimizer},
    FrameMark{"distrib_optimizer.py", "", MemoryCategory::optimizer},
    FrameMark{"apex/optimizers/", "", MemoryCategory::optimizer},
    FrameMark{"deepspeed/ops/adam/", "", MemoryCategory::optimizer},
    FrameMark{"param_and_grad_buffer.py", "", MemoryCategory::gradients},
    FrameMark{"", "AccumulateGrad", MemoryCategory::gradients},
    FrameMark{"", "forward", MemoryCategory::activations},
    FrameMark{"torch/nn/modules/", "__init__", MemoryCategory::weights},
    FrameMark{"torch/nn/modules/module.py", "_apply", MemoryCategory::weights},
    FrameMark{"torch/nn/modules/module.py", "to_empty", MemoryCategory::weights},
    FrameMark{"tensor_parallel/layers.py", "_initialize_affine_weight", MemoryCategory::weights},
};

bool contains_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const PickleValue* stack_frames(const Pickle& pickle, const PickleValue& entry) {
  if (const PickleValue* const frames = pickle.find(entry, "frames")) return frames;
  // PyTorch 2.1 and older store the frames in a list `history` of a block; its first entry
  // describes the current content of the block.
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
    for (const ProfilerCategory& profiler_category : profiler_categories)
      if (pickle.at(names->items[static_cast<std::size_t>(number->integer)]).text ==
          profiler_category.name)
        return profiler_category.category;

  const PickleValue* const frames = stack_frames(pickle, entry);
  if (frames == nullptr) return std::nullopt;
  for (const FrameMark& mark : frame_marks)
    for (const std::uint32_t index : frames->items) {
      const PickleValue& frame = pickle.at(index);
      if (contains_part(pickle.text(frame, "filename"), mark.file) &&
          contains_part(pickle.text(frame, "name"), mark.name))
        return mark.category;
    }
  return std::nullopt;
}

}  // namespace pipewright::analysis
