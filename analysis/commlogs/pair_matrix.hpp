#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

// Bandwidth and latency between GPUs on an otherwise idle network, in bytes/s and seconds.
namespace pipewright::analysis {

// Pairs of a sending and a receiving GPU that are equally far apart and whose routes have the same
// link classes, bandwidth and latency. The figures are those of an idle network.
struct PairClass {
  // Distance of the pair: "in a node", "same rail", "other rail" or "between nodes".
  std::string where;
  std::string links;     // Link classes of the route: "nic + leaf-spine".
  double bandwidth = 0;  // Bandwidth of the narrowest link.
  double latency = 0;    // Latency of the whole route, in seconds.
  std::uint64_t pairs = 0;
  std::string sender;  // Sender and receiver of the first pair of the class.
  std::string receiver;

  // Returns the bandwidth of a message of this size, including its latency, or the bandwidth of an
  // endless message if `bytes` is 0.
  double reached(std::uint64_t bytes) const {
    if (bytes == 0) return bandwidth;
    const auto count = static_cast<double>(bytes);
    return count / (latency + count / bandwidth);
  }
};

struct PairMatrix {
  static constexpr std::uint32_t itself = std::numeric_limits<std::uint32_t>::max();

  std::vector<std::string> names;    // GPUs or nodes.
  std::vector<std::uint32_t> nodes;  // Node of each row.
  // Ordered by bandwidth from high to low, then by latency from low to high.
  std::vector<PairClass> classes;
  // Class of each pair, row by row; senders are rows, receivers are columns. Empty if only a sample
  // of the pairs was examined.
  std::vector<std::uint32_t> class_of;
  std::uint64_t pairs = 0;  // Number of pairs examined.

  std::size_t size() const { return names.size(); }
  bool is_whole() const { return !class_of.empty(); }
  std::uint32_t at(std::size_t sender, std::size_t receiver) const {
    return class_of[sender * size() + receiver];
  }
};

// Rates under a permutation: every GPU sends to one GPU and receives from one, all at once, and the
// flows share links in a max-min fair way.
struct PermutationFigures {
  double slowest = 0;  // Rate of the slowest flow.
  double total = 0;    // Sum of all flows.
  double alone = 0;    // Sum of all flows if each had the network for itself.
  std::uint32_t slowest_sender = 0;
  std::uint32_t slowest_receiver = 0;
  // Saturated link that limits the slowest flow, and the number of flows over it.
  std::string link;
  std::string link_class;
  double link_bandwidth = 0;
  std::uint32_t link_flows = 0;

  std::vector<std::uint32_t> receiver_of;
};

// Bandwidths that the network sustains while all GPUs send at once.
struct Contention {
  // Bisection as `platform show` computes it: GPUs send along rails, each to the GPUs at its
  // position in other nodes.
  double bisection = 0;
  // Total rate if every GPU of the first half sends to every GPU of the second half, all at the
  // same rate.
  double all_pairs = 0;
  PermutationFigures half_shift;  // GPU i sends to GPU i + n/2.
  PermutationFigures worst;       // The permutation with the lowest total among those tried.
  std::string worst_from;         // Starting permutation of the search that found the worst one.
  std::uint64_t tried = 0;
  // Lower bound of the slowest flow's rate, valid for every permutation; 0 if unknown, when only a
  // sample of the pairs was examined.
  double slowest_bound = 0;
};

// Reduces a matrix of GPUs to one of nodes. Each pair of nodes, and each node with itself, gets the
// class of its pair of GPUs with the lowest bandwidth, then with the highest latency.
PairMatrix by_node(const PairMatrix& by_gpu);

// A rectangle of cells of one class. `right` and `bottom` are exclusive.
struct CellBlock {
  std::uint32_t number = 0;  // Number of the class, or PairMatrix::itself.
  std::size_t left = 0;
  std::size_t top = 0;
  std::size_t right = 0;
  std::size_t bottom = 0;
};

// Cuts a whole matrix into blocks, ordered by class. The first block covers the whole matrix in its
// most frequent class; all other blocks lie on top of it.
std::vector<CellBlock> cut_into_blocks(const PairMatrix& matrix);

// Returns a matrix of at most `max_rows` GPUs or nodes, picked at equal distances from `matrix`.
PairMatrix sample_rows(const PairMatrix& matrix, std::size_t max_rows);

}  // namespace pipewright::analysis
