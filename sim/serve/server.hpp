#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace pipewright::serve {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;         // 0: a free one
  std::filesystem::path project;  // absolute; whose files scenarios may name
  std::string scenario;           // the text that the page begins with
  std::size_t jobs = 1;           // simulations at a time
  // Called once requests are taken, with the address that opens the page.
  std::function<void(const std::string& address)> ready;
};

// Serves the page until SIGINT, SIGTERM or SIGHUP. Throws std::runtime_error where it cannot
// listen.
void serve(const Options& options);

}  // namespace pipewright::serve
