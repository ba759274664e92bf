#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace pipewright::serve {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;         // 0: a free port
  std::filesystem::path project;  // absolute folder of the files that scenarios may name
  std::string scenario;           // initial text of the page
  std::size_t jobs = 1;           // simulations at a time
  // Function that is called with the address of the page once the server accepts requests.
  std::function<void(const std::string& address)> ready;
};

// Serves the page until SIGINT, SIGTERM or SIGHUP. Throws std::runtime_error if it cannot listen.
void serve(const Options& options);

}  // namespace pipewright::serve
