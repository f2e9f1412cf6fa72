// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// What tests say to a simulated driver, whichever vendor's.
#include "machine.hpp"

using namespace flaggems_simulated;

extern "C" {

void flaggems_sim_register(const char* types, flaggems_sim_entry entry) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  sim().entries[types] = entry;
}
void flaggems_sim_fail(const char* name, int nth, int result) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  sim().sticky = ok;
  if (nth <= 0)
    sim().faults.clear();
  else
    sim().faults[name] = {nth, result};
}
void flaggems_sim_capacity(long bytes) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  sim().capacity = static_cast<size>(bytes);
}
void flaggems_sim_shut(bool shut) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  memory_access::protect(shut ? PROT_NONE : PROT_READ | PROT_WRITE);
}
long flaggems_sim_live(const char* what) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  const std::string asked = what;
  const machine& m = sim();
  long bytes = 0;
  for (const auto& [address, n] : m.allocations) bytes += static_cast<long>(n);
  return asked == "bytes"         ? bytes
         : asked == "allocations" ? static_cast<long>(m.allocations.size())
         : asked == "pinned"      ? static_cast<long>(m.pinned.size())
         : asked == "streams"     ? static_cast<long>(m.streams.size())
         : asked == "events"      ? static_cast<long>(m.events.size())
         : asked == "modules"     ? static_cast<long>(m.modules.size())
         : asked == "graphs"      ? static_cast<long>(m.graphs.size())
         : asked == "objects"     ? user_object::count
                                  : -1;
}
int flaggems_sim_finish() {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  for (stream* s : sim().streams) drain(*s);
  for (stream& s : sim().default_streams) drain(s);
  return sim().sticky;
}
long flaggems_sim_calls(const char* name) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  return sim().calls[name];
}

}  // extern "C"
