// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// A kernel that loads boxes by a tensor map.
#pragma once

#include <flaggems/kernel/block/simt/tensor_map.hpp>

namespace flaggems_test {

/// Writes a matrix box by box: to[tile] are the elements of box `tile`, those outside of it 0.
struct copy_boxes {
  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, const flaggems::kernels::tensor_map& map,
                                  flaggems::kernels::global_ptr<float> to, flaggems::i64 across) {
    namespace fk = flaggems::kernels;
    using flaggems::i32, flaggems::i64, flaggems::u32;
    const i64 size = map.box_elements();
    const i64 down = (static_cast<i64>(map.sizes[1]) + map.box[1] - 1) / map.box[1];
    // [boxes]
    const auto box = block.template scratch<float>(size);
    fk::box_loads<Block> loads(block);
    block.for_each_tile(across * down, [&](i64 tile) FLAGGEMS_LAMBDA {
      const fk::box_corner<2> first = {{static_cast<i32>(tile % across * map.box[0]),
                                        static_cast<i32>(tile / across * map.box[1])}};
      loads.template load<float>(map, box, first);
      loads.wait();
      block.for_each(size, [&](i64 i) FLAGGEMS_LAMBDA {
        const u32 at = fk::swizzled(static_cast<u32>(4 * i), map.swizzle);
        to[tile * size + i] = box.read(at / 4);
      });
      block.sync();
    });
    // [/boxes]
  }
};

}  // namespace flaggems_test

FLAGGEMS_TEXT("support/box_kernels.hpp");
