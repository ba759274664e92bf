#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/report/search/rows.hpp"
#include "sim/sweep/sweep.hpp"

// What a coordinator and its workers say to each other: one line of JSON each, first a handshake
// and its reply, then tasks and their answers.
namespace pipewright::search {

// What a worker is to know before any task. Without facts it is asked for them.
struct Handshake {
  std::string sweep;  // its text
  std::optional<std::vector<ClusterFacts>> facts;
};

// A worker that has no facts to tell is ready.
struct HandshakeReply {
  std::optional<std::vector<ClusterFacts>> facts;
  std::string error;  // what is wrong with the sweep or its clusters; empty: nothing
};

struct Task {
  enum class Kind : std::uint8_t { assess, simulate };
  std::uint64_t id = 0;
  Kind kind = Kind::assess;
  analysis::Basis basis = analysis::Basis::order;  // to assess: what bounds are to rest on
  std::vector<std::uint64_t> candidates;           // of one layout or more; to simulate: one
};

struct Answer {
  std::uint64_t id = 0;                      // of the task
  std::vector<analysis::CandidateRow> rows;  // one for each of its candidates
};

std::string to_line(const Handshake& handshake);
std::string to_line(const HandshakeReply& reply);
std::string to_line(const Task& task);
std::string to_line(const Answer& answer);

// These throw std::runtime_error for what is no such message.
Handshake read_handshake(std::string_view line);
HandshakeReply read_handshake_reply(std::string_view line);
Task read_task(std::string_view line);
Answer read_answer(std::string_view line);

}  // namespace pipewright::search
