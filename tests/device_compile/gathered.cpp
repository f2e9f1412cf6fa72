// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/copy/simt/interleaved.hpp>
#include <flaggems/kernel/family/copy/simt/shifted_rows.hpp>

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
using filled_u8 = fk::shift_rows<flaggems::u8, true>;
FLAGGEMS_INSTANCE(shifted_filled_u8, filled_u8, flaggems::u32, fk::shifted_source<flaggems::u8>,
                  fk::global_ptr<flaggems::u8>)
using turned_u16 = fk::shift_rows<flaggems::u16, false>;
FLAGGEMS_INSTANCE(shifted_turned_u16, turned_u16, flaggems::u32, fk::shifted_source<flaggems::u16>,
                  fk::global_ptr<flaggems::u16>)
using turns_u16 = fk::interleave_rows<flaggems::u16, 2>;
using turns_space_u16 = fk::interleaved_space<flaggems::u16, 2>;
FLAGGEMS_INSTANCE(interleaved_u16, turns_u16, turns_space_u16, fk::global_ptr<flaggems::u16>)
using turns_u64 = fk::interleave_rows<flaggems::u64, 3>;
using turns_space_u64 = fk::interleaved_space<flaggems::u64, 3>;
FLAGGEMS_INSTANCE(interleaved_u64, turns_u64, turns_space_u64, fk::global_ptr<flaggems::u64>)
