// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// View operations on sizes, strides and offset, independent of the element type.
#pragma once

#include <flaggems/tensor/extents.hpp>

namespace flaggems::detail {

/// A view without its pointer: the element at indices i is at offset + sum(i[d] * strides[d]).
struct layout {
  shape sizes, strides;
  i64 offset = 0;

  [[nodiscard]] constexpr int rank() const noexcept { return sizes.rank(); }
};

/// The offset of element `index` of dimension `dim`; 0 in empty views, whose strides can be any
/// number.
[[nodiscard]] constexpr i64 offset_of(const layout& v, int dim, i64 index) noexcept {
  return v.sizes.numel() == 0 ? 0 : index * v.strides[dim];
}

/// Raises invalid_argument for impossible sizes, and shape_mismatch unless they have less than 2^63
/// bytes of elements, and as many strides, with which the elements span less than 2^63 bytes.
constexpr void check_layout(int_list sizes, int_list strides, i64 element_bytes, const char* op) {
  const i64 n = checked_numel(sizes, op);
  if (strides.size() != sizes.size()) [[unlikely]]
    raise_shapes(op, "as many strides as sizes", sizes, strides);
  if (n == 0) return;
  i64 lo = 0, hi = 0;  // in elements
  bool fits = true;
  for (int i = 0; i < sizes.size() && fits; ++i) {
    i64 reach = 0;
    fits = multiply(sizes[i] - 1, strides[i], reach) &&
           (reach < 0 ? add(lo, reach, lo) : add(hi, reach, hi));
  }
  i64 span = 0, bytes = 0;
  if (!multiply(n, element_bytes, bytes)) [[unlikely]]
    raise(errc::shape_mismatch, op, "fewer than 2^63 bytes of elements", to_string(sizes));
  fits = fits && !__builtin_sub_overflow(hi, lo, &span) && add(span, 1, span) &&
         multiply(span, element_bytes, bytes);
  if (!fits) [[unlikely]]
    raise_shapes(op, "sizes and strides that reach less than 2^63 bytes", sizes, strides);
}

[[nodiscard]] constexpr bool is_contiguous(int_list sizes, int_list strides) noexcept {
  i64 expected = 1;
  bool contiguous = true;
  for (int i = sizes.size() - 1; i >= 0; --i) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1) contiguous = contiguous && strides[i] == expected;
    expected *= sizes[i];
  }
  return contiguous;
}

/// `dim`, normalised; the view must have it. (Hot: operators call it some twenty times.)
[[nodiscard]] constexpr int existing_dim(i64 dim, int rank, const char* op) {
  const i64 found = dim < 0 ? dim + rank : dim;
  if (found < 0 || found >= rank) [[unlikely]]
    raise_dim(op, dim, rank);
  return static_cast<int>(found);
}

[[nodiscard]] constexpr layout slice(layout v, i64 dim_, i64 start, i64 end, i64 step) {
  const int dim = existing_dim(dim_, v.rank(), "slice");
  if (step <= 0) [[unlikely]]
    raise(errc::invalid_argument, "slice", "a positive step", text(step));
  const i64 size = v.sizes[dim];
  const auto clamp = [size](i64 i) {
    if (i < 0) i += size;
    return i < 0 ? 0 : i > size ? size : i;
  };
  start = clamp(start);
  end = clamp(end);
  const i64 length = end <= start ? 0 : (end - start - 1) / step + 1;
  v.offset += length == 0 ? 0 : offset_of(v, dim, start);
  v.sizes[dim] = length;
  // A single element needs no stride, which could overflow.
  if (length > 1) v.strides[dim] = wrapped_product(v.strides[dim], step);
  return v;
}

[[nodiscard]] constexpr layout narrow(const layout& v, i64 dim_, i64 start, i64 length) {
  const int dim = existing_dim(dim_, v.rank(), "narrow");
  const i64 size = v.sizes[dim];
  if (start < -size || start > size) [[unlikely]]
    raise(errc::out_of_range, "narrow", "a start in [" + text(-size) + ", " + text(size) + "]",
          text(start));
  if (start < 0) start += size;
  if (length < 0 || length > size - start) [[unlikely]]
    raise(errc::out_of_range, "narrow", "a length in [0, " + text(size - start) + "]",
          text(length));
  return slice(v, dim, start, start + length, 1);
}

[[nodiscard]] constexpr layout select(layout v, i64 dim_, i64 index) {
  const int dim = existing_dim(dim_, v.rank(), "select");
  const i64 size = v.sizes[dim];
  if (index < -size || index >= size) [[unlikely]]
    raise_index("select", dim, index, size);
  v.offset += offset_of(v, dim, index < 0 ? index + size : index);
  v.sizes.erase(dim);
  v.strides.erase(dim);
  return v;
}

[[nodiscard]] constexpr layout permute(const layout& v, int_list dims, const char* op) {
  if (dims.size() != v.rank()) [[unlikely]]
    raise_shapes(op, "one entry for each dimension", v.sizes, dims);
  layout r = v;
  u32 seen = 0;
  for (int i = 0; i < v.rank(); ++i) {
    const int dim = normalize_dim(dims[i], v.rank(), op);
    if ((seen >> dim & 1u) != 0) [[unlikely]]
      raise_sizes(op, "each dimension once", dims);
    seen |= 1u << dim;
    r.sizes[i] = v.sizes[dim];
    r.strides[i] = v.strides[dim];
  }
  return r;
}

/// In place, as is `t`: on operators' hot path copying a layout costs more.
constexpr void transpose(layout& v, i64 dim0, i64 dim1) {
  const int a = normalize_dim(dim0, v.rank(), "transpose");
  const int b = normalize_dim(dim1, v.rank(), "transpose");
  const i64 size = v.sizes[a], stride = v.strides[a];
  v.sizes[a] = v.sizes[b];
  v.sizes[b] = size;
  v.strides[a] = v.strides[b];
  v.strides[b] = stride;
}

constexpr void t(layout& v) {
  if (v.rank() > 2) [[unlikely]]
    raise_sizes("t", "at most 2 dimensions", v.sizes);
  if (v.rank() == 2) transpose(v, 0, 1);
}

[[nodiscard]] constexpr layout movedim(const layout& v, i64 source, i64 destination) {
  const int from = normalize_dim(source, v.rank(), "movedim");
  const int to = normalize_dim(destination, v.rank(), "movedim");
  if (v.rank() == 0) return v;
  layout r = v;
  r.sizes.erase(from);
  r.strides.erase(from);
  r.sizes.insert(to, v.sizes[from]);
  r.strides.insert(to, v.strides[from]);
  return r;
}

[[nodiscard]] constexpr layout expand(const layout& v, int_list sizes, i64 element_bytes,
                                      const char* op) {
  const int added = sizes.size() - v.rank();
  if (added < 0 || sizes.size() > max_rank) [[unlikely]]
    raise_shapes(op, "at least as many sizes as dimensions, and at most 8", v.sizes, sizes);
  layout r;
  r.offset = v.offset;
  for (int i = 0; i < sizes.size(); ++i) {
    const i64 have = i < added ? 1 : v.sizes[i - added];
    const i64 want = sizes[i] == -1 && i >= added ? have : sizes[i];
    if (want < 0 || (have != want && have != 1)) [[unlikely]]
      raise_shapes(op, "sizes equal to the view's, or its size to be 1 (-1: keep)", v.sizes, sizes);
    r.sizes.push_back(want);
    r.strides.push_back(i < added || have != want ? 0 : v.strides[i - added]);
  }
  check_layout(r.sizes, r.strides, element_bytes, op);
  return r;
}

/// Sizes with at most one -1, which is replaced so that the product is `numel`.
[[nodiscard]] constexpr shape infer_size(int_list sizes, i64 numel, const char* op) {
  shape r = sizes;
  int unknown = -1;
  for (int i = 0; i < r.rank(); ++i) {
    if (r[i] != -1) continue;
    if (unknown >= 0) [[unlikely]]
      raise_sizes(op, "at most one size of -1", sizes);
    unknown = i;
    r[i] = 1;
  }
  const i64 known = checked_numel(r, op);
  if (unknown >= 0 && known == 0) [[unlikely]]
    raise(errc::shape_mismatch, op, "no size of 0 if one is -1, which could then be any",
          to_string(sizes));
  const bool fits = unknown < 0 ? known == numel : numel % known == 0;
  if (!fits) [[unlikely]]
    raise(errc::shape_mismatch, op, "sizes with " + text(numel) + " elements", to_string(sizes));
  if (unknown >= 0) r[unknown] = numel / known;
  return r;
}

/// The strides of `v` under other sizes with as many elements; false if there are none (at::view).
[[nodiscard]] constexpr bool view_strides(const layout& v, const shape& sizes, shape& strides) {
  strides = contiguous_strides(sizes);
  if (v.sizes.numel() == 0) {
    if (v.sizes == sizes) strides = v.strides;
    return true;
  }
  int next = sizes.rank() - 1;  // dimensions of the result, from the last to the first
  i64 chunk = 1, made = 1;      // elements in the uniformly strided run, old and new
  i64 base = v.rank() == 0 ? 1 : v.strides[v.rank() - 1];
  for (int i = v.rank() - 1; i >= 0; --i) {
    chunk *= v.sizes[i];
    const bool ends =
        i == 0 || (v.sizes[i - 1] != 1 && v.strides[i - 1] != wrapped_product(chunk, base));
    if (!ends) continue;
    while (next >= 0 && (made < chunk || sizes[next] == 1)) {
      strides[next] = wrapped_product(made, base);
      made *= sizes[next--];
    }
    if (made != chunk) return false;
    if (i > 0) {
      base = v.strides[i - 1];
      chunk = made = 1;
    }
  }
  return next == -1 || v.rank() == 0;
}

[[nodiscard]] constexpr layout reshape(const layout& v, int_list sizes, const char* op) {
  layout r;
  r.offset = v.offset;
  r.sizes = infer_size(sizes, v.sizes.numel(), op);
  if (!view_strides(v, r.sizes, r.strides)) [[unlikely]]
    raise(errc::invalid_argument, op,
          "sizes that need no copy of a view of sizes " + to_string(v.sizes) + " and strides " +
              to_string(v.strides),
          to_string(sizes));
  return r;
}

[[nodiscard]] constexpr layout squeeze(const layout& v, u32 dims) {
  layout r;
  r.offset = v.offset;
  for (int i = 0; i < v.rank(); ++i) {
    if (v.sizes[i] == 1 && (dims >> i & 1u) != 0) continue;
    r.sizes.push_back(v.sizes[i]);
    r.strides.push_back(v.strides[i]);
  }
  return r;
}

[[nodiscard]] constexpr layout unsqueeze(layout v, i64 dim_) {
  const int dim = normalize_dim(dim_, v.rank() + 1, "unsqueeze");
  const i64 stride = dim < v.rank() ? wrapped_product(v.sizes[dim], v.strides[dim]) : 1;
  v.sizes.insert(dim, 1);
  v.strides.insert(dim, stride);
  return v;
}

[[nodiscard]] constexpr layout flip(layout v, int_list dims) {
  if (dims.size() == 0) return v;
  const u32 mask = normalize_dims(dims, v.rank(), "flip");
  for (int i = 0; i < v.rank(); ++i) {
    if ((mask >> i & 1u) == 0 || v.sizes[i] < 2) continue;
    v.offset += offset_of(v, i, v.sizes[i] - 1);
    v.strides[i] = wrapped_product(v.strides[i], -1);
  }
  return v;
}

[[nodiscard]] constexpr layout flatten(const layout& v, i64 start_dim, i64 end_dim) {
  const int first = normalize_dim(start_dim, v.rank(), "flatten");
  const int last = normalize_dim(end_dim, v.rank(), "flatten");
  if (first > last) [[unlikely]]
    raise(errc::invalid_argument, "flatten", "start_dim <= end_dim",
          text(start_dim) + " and " + text(end_dim));
  if (v.rank() == 0) return reshape(v, {1}, "flatten");
  if (first == last) return v;
  shape sizes;
  for (int i = 0; i < v.rank(); ++i) {
    if (i <= first || i > last)
      sizes.push_back(v.sizes[i]);
    else
      sizes[first] *= v.sizes[i];
  }
  return reshape(v, sizes, "flatten");
}

[[nodiscard]] constexpr layout unflatten(const layout& v, i64 dim_, int_list sizes) {
  const int dim = existing_dim(dim_, v.rank(), "unflatten");
  if (sizes.size() == 0) [[unlikely]]
    raise_sizes("unflatten", "at least one size", sizes);
  const shape inner = infer_size(sizes, v.sizes[dim], "unflatten");
  if (v.rank() - 1 + inner.rank() > max_rank) [[unlikely]]
    raise_rank("unflatten", v.rank() - 1 + inner.rank());
  layout r = v;
  r.sizes.erase(dim);
  r.strides.erase(dim);
  i64 stride = v.strides[dim];
  for (int i = inner.rank() - 1; i >= 0; --i) {
    r.sizes.insert(dim, inner[i]);
    r.strides.insert(dim, stride);
    stride = wrapped_product(stride, inner[i]);
  }
  // A dimension of size 0 may be split into any sizes.
  (void)checked_numel(r.sizes, "unflatten");
  return r;
}

[[nodiscard]] constexpr layout diagonal(const layout& v, i64 offset, i64 dim1, i64 dim2) {
  const int a = existing_dim(dim1, v.rank(), "diagonal");
  const int b = existing_dim(dim2, v.rank(), "diagonal");
  if (a == b) [[unlikely]]
    raise(errc::invalid_argument, "diagonal", "two different dimensions",
          text(dim1) + " and " + text(dim2));
  // Compared before subtracting: the offset can be any number.
  const i64 rows = v.sizes[a], columns = v.sizes[b];
  i64 length = 0;
  if (offset >= 0 && offset < columns)
    length = columns - offset < rows ? columns - offset : rows;
  else if (offset < 0 && offset > -rows)
    length = rows + offset < columns ? rows + offset : columns;
  layout r = v;
  if (length > 0) r.offset += offset >= 0 ? offset_of(v, b, offset) : offset_of(v, a, -offset);
  const int high = a > b ? a : b, low = a > b ? b : a;
  r.sizes.erase(high);
  r.sizes.erase(low);
  r.strides.erase(high);
  r.strides.erase(low);
  r.sizes.push_back(length);
  i64 stride = 1;
  // Fits if there are elements.
  if (length > 1 && !add(v.strides[a], v.strides[b], stride)) stride = 1;
  r.strides.push_back(stride);
  return r;
}

[[nodiscard]] constexpr layout unfold(layout v, i64 dim_, i64 window, i64 step) {
  const int dim = normalize_dim(dim_, v.rank(), "unfold");
  const i64 size = v.rank() == 0 ? 1 : v.sizes[dim];
  if (window < 0 || window > size) [[unlikely]]
    raise(errc::invalid_argument, "unfold", "a window of 0 to " + text(size) + " elements",
          text(window));
  if (step <= 0) [[unlikely]]
    raise(errc::invalid_argument, "unfold", "a positive step", text(step));
  const i64 stride = v.rank() == 0 ? 1 : v.strides[dim];
  if (v.rank() > 0) {
    v.sizes[dim] = (size - window) / step + 1;
    // A single window needs no stride, which could overflow.
    if (v.sizes[dim] > 1) v.strides[dim] = wrapped_product(stride, step);
  }
  v.sizes.push_back(window);
  v.strides.push_back(stride);
  return v;
}

}  // namespace flaggems::detail
