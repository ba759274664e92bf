#pragma once

#include "sim/serve/questions.hpp"

// Questions of the served page that take longer than a run; see serve::Options.
namespace pipewright::cli {

void answer_served_search(const serve::Question& question, const serve::Workspace& workspace,
                          const serve::SendLine& send);

void answer_served_goodput(const serve::Question& question, const serve::Workspace& workspace,
                           const serve::SendLine& send);

}  // namespace pipewright::cli
