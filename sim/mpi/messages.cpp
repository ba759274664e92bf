#include "sim/mpi/messages.hpp"

#include <climits>
#include <set>
#include <stdexcept>
#include <utility>

namespace pipewright::mpi {
namespace {

bool is_done(MPI_Request& request) {
  int done = 0;
  // An error is a rank's death, which its silence tells as well.
  return MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
}

}  // namespace

void Messages::send(Message message) {
  if (message.text.size() > INT_MAX) throw std::logic_error("a line of 2 GiB is too long for MPI");
  Moving& moving = leaving_.emplace_back(Moving{std::move(message)});
  const std::string& text = moving.message.text;
  const int sent =
      MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, moving.message.rank,
                static_cast<int>(moving.message.kind), MPI_COMM_WORLD, &moving.request);
  if (sent != MPI_SUCCESS || is_done(moving.request)) leaving_.pop_back();
}

void Messages::notice() {
  int is_there = 0;
  MPI_Message message{};
  MPI_Status status;
  const auto probe = [&] {
    const int probed =
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &message, &status);
    return probed == MPI_SUCCESS && is_there != 0;
  };
  while (probe()) {
    int size = 0;
    MPI_Get_count(&status, MPI_CHAR, &size);
    Moving& moving = arriving_.emplace_back();
    moving.message.rank = status.MPI_SOURCE;
    moving.message.kind = static_cast<Message::Kind>(status.MPI_TAG);
    moving.message.text.resize(static_cast<std::size_t>(size));
    if (MPI_Imrecv(moving.message.text.data(), size, MPI_CHAR, &message, &moving.request) !=
        MPI_SUCCESS)
      arriving_.pop_back();
  }
}

std::vector<Message> Messages::collect() {
  notice();
  leaving_.remove_if([](Moving& moving) { return is_done(moving.request); });
  std::vector<Message> come;
  std::set<int> in_between;  // ranks of which an earlier message is still under way
  for (auto at = arriving_.begin(); at != arriving_.end();) {
    if (in_between.contains(at->message.rank) || !is_done(at->request)) {
      in_between.insert(at->message.rank);
      ++at;
      continue;
    }
    come.push_back(std::move(at->message));
    at = arriving_.erase(at);
  }
  return come;
}

}  // namespace pipewright::mpi
