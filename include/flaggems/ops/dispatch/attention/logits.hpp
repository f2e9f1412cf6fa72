// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Launches of what the logits of an indexer are made of, and of plans of attention.
#pragma once

#include <flaggems/kernel/family/attention/logits.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/tuning.hpp>

namespace flaggems::detail {

template <class S, class From, class T>
void launch_paged_lines(const char* op, const S& stream, i64 sequences, i64 n,
                        const kernels::paged_lines<From>& from, T* to, f32* scales) {
  launch_config config;
  config.op = op;
  config.tiles = sequences * n;
  if (config.tiles == 0) return;
  config.work = work_of(1, config.tiles, from.size);
  config.threads = tuning<families::attention, device_of<S>>::threads;
  launch<kernels::read_paged_lines<From, T>>(stream, config, sequences, n, from, to, scales);
}

template <class S, class T>
void launch_e2m1_lines(const char* op, const S& stream, i64 lines, i64 bytes, const u8* from,
                       const i32* scales, T* to) {
  launch_config config;
  config.op = op;
  config.tiles = lines;
  if (lines * bytes == 0) return;
  config.work = work_of(2, lines, bytes);
  config.threads = tuning<families::attention, device_of<S>>::threads;
  launch<kernels::read_e2m1_lines<T>>(stream, config, lines, bytes, from, scales, to);
}

/// A launch of one tile, with a thread for each of n numbers.
template <class Kernel, class S, class... Args>
void launch_plan(const char* op, const S& stream, const Args&... args) {
  launch_config config;
  config.op = op;
  config.tiles = 1;
  config.work = 0;
  config.threads = tuning<families::attention, device_of<S>>::threads;
  launch<Kernel>(stream, config, args...);
}

/// The compute units that plans share work out among.
template <class S>
inline constexpr i64 planned_units = tuning<families::any, device_of<S>>::units;

}  // namespace flaggems::detail
