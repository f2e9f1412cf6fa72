// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// The dtypes that lines of the families name.
#pragma once

#include <flaggems/tensor/dtype.hpp>

namespace flaggems::operator_families {

/// What has an order and arithmetic, bool too.
using numeric_types = type_list<f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool>;
/// The same without bool.
using arithmetic_types = type_list<f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64>;
/// What has complex numbers, too.
using inexact_types = type_list<f64, f32, f16, bf16, c64, c128>;
using numeric_or_complex_types =
    type_list<f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool, c64, c128>;
using arithmetic_or_complex_types =
    type_list<f64, f32, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, c64, c128>;
/// The parts of complex numbers.
using part_types = type_list<f64, f32>;
/// Integers; and bool, too.
using whole_types = type_list<i8, i16, i32, i64, u8, u16, u32, u64>;
using bit_types = type_list<i8, i16, i32, i64, u8, u16, u32, u64, bool>;
/// What elements are moved of: all but complex numbers.
using stored_types =
    type_list<f64, f32, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, u8, u16, u32, u64, bool>;

}  // namespace flaggems::operator_families
