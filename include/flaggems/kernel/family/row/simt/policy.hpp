// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// How row programs run in registers: threads of a block, and what is prefetched, by the operands
// beside a row. The numbers were chosen on H100 and H200 GPUs.
#pragma once

#include <flaggems/kernel/family/row/contract.hpp>

namespace flaggems::kernels {

/// By default, of rows without parameters. T is the first input's type, W are the parameters'.
template <class Program, class T, int Vectors, int Rows, bool Aligned, class... W>
struct register_policy {
  static constexpr int max_threads = Rows > 1 ? 128 : Vectors < 8 ? 512 : 1024, min_blocks = 0;
  static constexpr bool blocks = false;  // a thread group is a block
  static constexpr bool same_offset = false, keeps_parameters = false, hoisted = false,
                        early = false, batched = false, pipelined = false;
};
/// The most threads of a block that has parameters.
template <int Vectors, int Rows, bool Aligned>
inline constexpr int parameter_threads = Rows > 1                                    ? 128
                                         : Vectors < 4 || (Vectors == 4 && !Aligned) ? 512
                                                                                     : 1024;
/// With one parameter.
template <class Program, class T, int Vectors, int Rows, bool Aligned, class W>
struct register_policy<Program, T, Vectors, Rows, Aligned, W> {
  static constexpr bool updates = Program::traits.has_updates;
  static constexpr int max_threads = parameter_threads<Vectors, Rows, Aligned>;
  static constexpr int min_blocks = Rows > 1                            ? (Aligned ? 8 : 2)
                                    : updates&& Vectors == 2 && Aligned ? 2
                                    : Vectors < 4 && Aligned            ? 3
                                                                        : 1;
  static constexpr bool blocks = false, same_offset = false, keeps_parameters = false,
                        hoisted = Vectors == 8 && Aligned, early = updates, batched = false,
                        pipelined = false;
};
/// With two. Of Rows > 1 where thread groups are blocks, of windows that begin anywhere and no
/// outer dimensions but one, every width-th begins alike, and in the result as in the input. So do
/// all that a block works on, if the number of blocks is a multiple of width: parameters of 16 bits
/// are read once then. (With wider elements, blocks that begin anew were faster.)
template <class Program, class T, int Vectors, int Rows, bool Aligned, class W, class X>
struct register_policy<Program, T, Vectors, Rows, Aligned, W, X> {
  static constexpr bool same_offset = Vectors > 1 && Rows > 1;
  static constexpr int max_threads = parameter_threads<Vectors, (same_offset ? 1 : Rows), Aligned>;
  static constexpr int min_blocks = !same_offset && Rows > 1  ? (Aligned ? 8 : 2)
                                    : Vectors == 2 && Aligned ? 2
                                                              : 1;
  // (With many parameters, threads that hold two aligned vectors are those of few rows.)
  static constexpr bool blocks = Vectors == 8 || (Vectors == 2 && Aligned);
  // Elements of 16 bits, which are widened, leave no registers for it.
  static constexpr bool hoisted = Vectors == 8 && Aligned && sizeof(T) > 2;
  static constexpr bool keeps_parameters = same_offset && sizeof(T) == 2;
  static constexpr bool pipelined = Vectors == 4 && Aligned && sizeof(T) == 2 && sizeof(W) == 2;
  static constexpr bool early = true, batched = Vectors > 1;
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/row/simt/policy.hpp");
