#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/search/space/sweep.hpp"

// The first lines between a coordinator and a worker.
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

std::string to_line(const Handshake& handshake);
std::string to_line(const HandshakeReply& reply);
Handshake read_handshake(std::string_view line);             // throws std::runtime_error
HandshakeReply read_handshake_reply(std::string_view line);  // likewise

}  // namespace pipewright::search
