// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Everything for programs that run on the host: tensors, devices, launches and all operators. Other
// vendors (vendors/*.hpp), file formats (tensor/npy.hpp, tensor/safetensors.hpp) and adapters are
// included beside it; narrow headers compile faster.
#pragma once

#include <flaggems/device/check_device.hpp>
#include <flaggems/device/checks.hpp>
#include <flaggems/device/concept.hpp>
#include <flaggems/device/execution.hpp>
#include <flaggems/device/graph.hpp>
#include <flaggems/device/launch_config.hpp>
#include <flaggems/device/memory_pool.hpp>
#include <flaggems/device/pool_block.hpp>
#include <flaggems/device/pool_cache.hpp>
#include <flaggems/device/pool_record.hpp>
#include <flaggems/device/pools.hpp>
#include <flaggems/device/properties.hpp>
#include <flaggems/device/stream.hpp>
#include <flaggems/device/tensor.hpp>
#include <flaggems/device/transfer.hpp>
#include <flaggems/error.hpp>
#include <flaggems/launch/hooks.hpp>
#include <flaggems/launch/host_launch.hpp>
#include <flaggems/launch/implementation.hpp>
#include <flaggems/launch/launch.hpp>
#include <flaggems/launch/streaming.hpp>
#include <flaggems/launch/tensor_map.hpp>
#include <flaggems/launch/tuning.hpp>
#include <flaggems/ops/activation.hpp>
#include <flaggems/ops/arithmetic.hpp>
#include <flaggems/ops/arrange.hpp>
#include <flaggems/ops/attention.hpp>
#include <flaggems/ops/cat.hpp>
#include <flaggems/ops/checks.hpp>
#include <flaggems/ops/copy.hpp>
#include <flaggems/ops/creation.hpp>
#include <flaggems/ops/cross_entropy.hpp>
#include <flaggems/ops/embedding.hpp>
#include <flaggems/ops/expr.hpp>
#include <flaggems/ops/gemm.hpp>
#include <flaggems/ops/gemm_epilogue.hpp>
#include <flaggems/ops/gemm_packed.hpp>
#include <flaggems/ops/gemm_prologue.hpp>
#include <flaggems/ops/group_norm.hpp>
#include <flaggems/ops/index_select.hpp>
#include <flaggems/ops/multinomial.hpp>
#include <flaggems/ops/native_norm.hpp>
#include <flaggems/ops/nodes.hpp>
#include <flaggems/ops/norm.hpp>
#include <flaggems/ops/pad.hpp>
#include <flaggems/ops/pointwise.hpp>
#include <flaggems/ops/promotion.hpp>
#include <flaggems/ops/quantized_linear.hpp>
#include <flaggems/ops/reduce.hpp>
#include <flaggems/ops/rotary.hpp>
#include <flaggems/ops/rows.hpp>
#include <flaggems/ops/scan.hpp>
#include <flaggems/ops/softmax.hpp>
#include <flaggems/ops/sort.hpp>
#include <flaggems/ops/stack.hpp>
#include <flaggems/ops/topk.hpp>
#include <flaggems/ops/triangle.hpp>
#include <flaggems/ops/views.hpp>
#include <flaggems/tensor/any_view.hpp>
#include <flaggems/tensor/dtype.hpp>
#include <flaggems/tensor/extents.hpp>
#include <flaggems/tensor/layout.hpp>
#include <flaggems/tensor/limits.hpp>
#include <flaggems/tensor/memory_format.hpp>
#include <flaggems/tensor/optional.hpp>
#include <flaggems/tensor/overlap.hpp>
#include <flaggems/tensor/print.hpp>
#include <flaggems/tensor/view.hpp>
#include <flaggems/vendors/host.hpp>
#include <flaggems/version.hpp>
