#include <fmt/format.h>

#include "sim/jobs/megatron/megatron.hpp"

namespace pipewright::jobs::megatron {

bool has_argument_defaults(const Draft& draft) {
  const Framework framework = draft.request().framework;
  return framework == Framework::megatron || framework == Framework::deepspeed;
}

Job read(Request request) {
  const bool shaped = request.model.empty();
  Draft draft(std::move(request));
  const Request& asked = draft.request();
  const bool named = draft.find("hidden_size") != nullptr || asked.framework == Framework::megatron;
  if (!shaped)
    draft.set("model", config::make_text(asked.model, {.source = asked.name}), "by its name");
  else if (named)
    draft.set("model.name", asked.name, "the file's");
  else
    draft.lacks("model");
  read_flags(flags(), draft, has_argument_defaults(draft) && (named || !shaped));
  read_model(draft);
  read_parallel(draft);
  read_schedule(draft);
  read_training(draft);
  draft.find("use_mcore_models");
  draft.sort_rest(has_no_effect);
  if (shaped && named)
    for (const char* const key : {"model.hidden", "model.heads", "model.sequence"})
      if (draft.at(key) == nullptr) draft.lacks(key);
  return draft.take();
}

}  // namespace pipewright::jobs::megatron
