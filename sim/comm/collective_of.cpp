#include "sim/comm/collective_of.hpp"

namespace pipewright::comm {

using analysis::Operation;
using workload::Collective;

Collective collective_of(Operation operation) {
  switch (operation) {
    case Operation::all_reduce:
      return Collective::all_reduce;
    case Operation::all_gather:
      return Collective::all_gather;
    case Operation::reduce_scatter:
      return Collective::reduce_scatter;
    case Operation::all_to_all:
      return Collective::all_to_all;
    case Operation::broadcast:
      return Collective::broadcast;
    case Operation::send_recv:
      return Collective::send_recv;
    case Operation::pairwise:
      break;
  }
  return Collective::pairwise;
}

}  // namespace pipewright::comm
