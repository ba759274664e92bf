#pragma once

#include <string>

#include "analysis/trace/rows.hpp"

namespace pipewright::analysis {

// What a timeline shows besides passes, as varints (varints.hpp) that lanes.js decodes after the
// passes of row_columns.hpp: transfers, collectives, optimizer's steps, waits within passes, paths,
// idle times and the critical path, in this order. Times are integer ticks. All is signed but what
// is called a count or a number. Where a value can be foretold from what was decoded before, its
// difference to that is stored, so that gzip leaves next to nothing of most columns.
//
// A place is a pass's position on its device, from 1 on; 0 stands for none.
//
//   transfers to each device, by the place of the pass that takes them, first those that none does
//                                 one count a device
//   then column by column, "before" being the transfer of the same kind before to the same device:
//     kind                        less that of the transfer before, of whatever kind
//     taker's place               less that before of whatever kind
//     source                      less that before
//     maker's place               less that before
//     bytes                       less those before
//     stage, microbatch           less those before; only of transfers that no pass takes
//     end - the taker's ready     or the end itself
//     posted - the maker's end    or posted - end
//     start - posted
//   collectives of each device    one count a device; then column by column
//     kind                        number
//     stage, iteration, bytes     less those of the collective before on the device
//     posted - posted before, start - posted, end - start
//   steps of each device          one count a device; then column by column
//     iteration, start - end before, reduced - start, synchronized - reduced,
//     updated - synchronized, end - updated, gathering
//   stages                        a count; then of each stage and device, numbers:
//     stage, device, and the waits within an F, I, W, B and R
//   paths                         a count; then of each, numbers:
//     traffic, source, destination, stage, link + 1 (0: none), alone
//   idle times of each device     one count a device; then column by column, "next" being the
//                                 device's first pass that starts later:
//     cause                       number
//     place of next               less that of the idle time before
//     start - end of the idle time before, or of the pass before if that is later
//     end - what it waits for: the start of next; of input, rendezvous and transfer when next's
//       input is posted, starts and ends; of a blocked send when the pass before is released
//     stage, microbatch           less those of next
//   critical path                 a count; then column by column
//     part                        number
//     device, place, stage, microbatch, end    less those of the piece before; each starts where
//                                              that ends, the first at 0
//     link + 1                    number
std::string lane_columns(const trace::Trace& trace, double ticks_per_s);

}  // namespace pipewright::analysis
