#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "sim/serve/questions.hpp"

namespace pipewright::serve {

// Answers a question of the page in a process of its own; see questions.hpp.
using Answer = void (*)(const Question&, const Workspace&, const SendLine&);

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;         // 0: a free port
  std::filesystem::path project;  // absolute folder of the files that scenarios may name
  std::string scenario;           // initial text of the page
  std::size_t jobs = 1;           // simulations at a time
  // {text, edits, budget} -> {"progress": ..} several times a second, and {"search": {page, text,
  // best}}: the page of the results, their report, and the best candidate as a scenario.
  Answer answer_search = nullptr;
  // {text, seeds} -> {"done": share}, and {"goodput": {page, text}}.
  Answer answer_goodput = nullptr;
  // Function that is called once the server accepts requests, with the address of the page, and
  // with one that opens it once.
  std::function<void(const std::string& address, const std::string& once)> ready;
};

// Serves the page until SIGINT, SIGTERM or SIGHUP. Throws std::runtime_error if it cannot listen.
void serve(const Options& options);

}  // namespace pipewright::serve
