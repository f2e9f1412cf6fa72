// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/copy/simt/gathered.hpp>

#include <flaggems/kernel/block/simt/entry.hpp>

namespace fk = flaggems::kernels;

using padded_u16 = fk::strided_source<flaggems::u16, true>;
FLAGGEMS_INSTANCE(gathered_padded_u16, fk::gather_vectors<padded_u16>, flaggems::u32, padded_u16,
                  fk::global_ptr<flaggems::u16>)
using strided_u8 = fk::strided_source<flaggems::u8, false>;
FLAGGEMS_INSTANCE(gathered_strided_u8, fk::gather_vectors<strided_u8>, flaggems::u32, strided_u8,
                  fk::global_ptr<flaggems::u8>)
using joined_u32 = fk::joined_source<flaggems::u32>;
FLAGGEMS_INSTANCE(gathered_joined_u32, fk::gather_vectors<joined_u32>, flaggems::u32, joined_u32,
                  fk::global_ptr<flaggems::u32>)
