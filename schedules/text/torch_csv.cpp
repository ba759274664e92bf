#include "schedules/text/torch_csv.hpp"

#include <iterator>

#include <fmt/format.h>

namespace pipewright::schedules {

std::string to_torch_csv(const Schedule& schedule) {
  if (schedule.weight_versions > 1)
    throw Error(
        fmt::format("{}: PyTorch's CSV cannot say which weight version a pass uses; its "
                    "schedules have one",
                    schedule.name));
  if (schedule.routes.count() > 1)
    throw Error(fmt::format("{}: PyTorch's CSV cannot put a stage on two ranks", schedule.name));
  if (schedule.iterations > 1)
    throw Error(fmt::format("{}: PyTorch's CSV holds one iteration, not {}", schedule.name,
                            schedule.iterations));
  std::string text;
  for (const Program& program : schedule.programs) {
    const char* comma = "";
    for (PassCursor at(program); !at.done(); at.next()) {
      const Pass pass = at.pass();
      fmt::format_to(std::back_inserter(text), "{}{}{}{}", comma, pass.stage, letter(pass.kind),
                     pass.microbatch);
      comma = ",";
    }
    text += "\r\n";
  }
  return text;
}

}  // namespace pipewright::schedules
