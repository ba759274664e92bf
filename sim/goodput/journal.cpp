#include "sim/goodput/journal.hpp"

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "sim/process/channel.hpp"

namespace pipewright::goodput {

using analysis::GoodputOutcome;
using nlohmann::json;

std::string to_line(const JournalEntry& entry) {
  json outcomes = json::array();
  for (const GoodputOutcome& one : entry.outcomes)
    outcomes.push_back({one.seed, one.parts, one.interruptions, one.corruptions, one.stragglers,
                        one.checkpoints, one.reached});
  return json{{"variant", entry.variant}, {"outcomes", outcomes}}.dump();
}

JournalEntry entry_of(const std::string& line) {
  const json value = json::parse(line);
  JournalEntry entry{.variant = value.at("variant"), .outcomes = {}};
  for (const json& one : value.at("outcomes"))
    entry.outcomes.push_back({.seed = one.at(0),
                              .parts = one.at(1),
                              .interruptions = one.at(2),
                              .corruptions = one.at(3),
                              .stragglers = one.at(4),
                              .checkpoints = one.at(5),
                              .reached = one.at(6)});
  return entry;
}

Journal::Journal(std::filesystem::path path, const std::string& question, Start start)
    : path_(std::move(path)) {
  try {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(fmt::format("cannot write: {}", std::strerror(errno)));
    if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0)
      fail("another run writes its results here; wait for its end, or give this one another file");
    read(question);
    if (start == Start::anew && !entries_.empty())
      fail("an earlier run has left seeds here; go on with them (--resume), or remove this file");
    if (ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) fail(std::strerror(errno));
    if (size_ == 0)
      write_line(json{{"pipewright_goodput", 1}, {"question", question}}.dump(
          -1, ' ', false, json::error_handler_t::replace));
  } catch (...) {
    if (descriptor_ >= 0) close(descriptor_);
    throw;
  }
}

Journal::~Journal() { close(descriptor_); }

void Journal::fail(const std::string& why) const {
  throw std::runtime_error(fmt::format("{}: {}", path_.string(), why));
}

void Journal::read(const std::string& question) {
  process::LineReader lines;
  std::size_t number = 0;
  for (bool more = true; more;) {
    more = lines.read_from(descriptor_);
    while (const std::optional<std::string> line = lines.next()) {
      ++number;
      try {
        if (number > 1)
          entries_.push_back(entry_of(*line));
        else if (json::parse(*line).at("question") != question)
          fail(
              "these are the results of another scenario, or of other options; resume with the "
              "ones "
              "that they are of, or give this run another file");
      } catch (const json::exception& error) {
        throw std::runtime_error(fmt::format("{}:{}: no results of pipewright goodput: {}",
                                             path_.string(), number, error.what()));
      }
      size_ += line->size() + 1;
    }
  }
}

void Journal::append(const JournalEntry& entry) { write_line(to_line(entry)); }

void Journal::write_line(std::string line) {
  line += '\n';
  ssize_t count = 0;
  do {
    count = write(descriptor_, line.data(), line.size());
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(line.size()))
    fail(fmt::format("cannot write: {}; what it has is whole, and --resume goes on from there",
                     std::strerror(count < 0 ? errno : ENOSPC)));
  size_ += line.size();
}

}  // namespace pipewright::goodput
