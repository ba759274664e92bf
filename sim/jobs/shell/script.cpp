#include "sim/jobs/shell/script.hpp"

#include "sim/config/text/plain_text.hpp"
#include "sim/jobs/shell/batch.hpp"
#include "sim/jobs/shell/evaluator.hpp"
#include "sim/jobs/shell/scan.hpp"

namespace pipewright::jobs {

void read_script(std::string_view text, const std::string& name, Script& script) {
  config::check_plain_text(text, {.source = name, .line = 1, .column = 1}, true, "a script");
  read_batch_lines(text, name, script);
  set_batch_variables(script);
  Evaluator(script, name).run_file(text);
}

}  // namespace pipewright::jobs
