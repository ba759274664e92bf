#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/sweep/sweep.hpp"

// Messages between a coordinator and its workers, each a line of JSON: first a handshake and its
// reply, then tasks and their answers.
namespace pipewright::search {

// The first message to a worker. Without facts, it asks the worker to determine the facts about the
// sweep's clusters.
struct Handshake {
  std::string sweep;  // its text
  std::optional<std::vector<ClusterFacts>> facts;
};

// The reply to a handshake. Without facts and without an error it says that the worker is ready.
struct HandshakeReply {
  std::optional<std::vector<ClusterFacts>> facts;
  std::string error;  // fault of the sweep or of its clusters, or empty
};

struct Task {
  enum class Kind : std::uint8_t { assess, simulate };
  std::uint64_t id = 0;
  Kind kind = Kind::assess;
  analysis::Basis basis = analysis::Basis::order;  // basis of the bounds, for Kind::assess
  std::vector<std::uint64_t> candidates;           // a single one for Kind::simulate
};

struct Answer {
  std::uint64_t id = 0;                      // id of the task
  std::vector<analysis::CandidateRow> rows;  // one for each candidate of the task
};

std::string to_line(const Handshake& handshake);
std::string to_line(const HandshakeReply& reply);
std::string to_line(const Task& task);
std::string to_line(const Answer& answer);

// Parse a message from its line. They throw std::runtime_error for a line that is no message of
// this kind.
Handshake read_handshake(std::string_view line);
HandshakeReply read_handshake_reply(std::string_view line);
Task read_task(std::string_view line);
Answer read_answer(std::string_view line);

}  // namespace pipewright::search
