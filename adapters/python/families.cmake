# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# What the Python package is compiled of; its judges have the same families.
set(FLAGGEMS_PYTHON_DEVICES "host"
    CACHE STRING "Device types of the Python package: host, cuda, hip")
set(FLAGGEMS_PYTHON_DTYPES "f64;f32;f16;bf16;i64;i32;i16;i8;u8;bool"
    CACHE STRING "Element types that the Python package is compiled for")
set(FLAGGEMS_PYTHON_FAMILIES
    "activation;activation_backward;arithmetic;arrange;attention;bitwise;comparison;creation;experts;fused;gemm;higher;index;linalg;loss;order;pointwise;random;recurrent;reduce;rounding;row;scan;scatter;serving;special;statistics;trigonometric;unary;views;window"
    CACHE STRING "Families of operators in the Python package")
