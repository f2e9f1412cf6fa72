// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Warp groups in the SIMT emulator: mbarriers, named barriers, boxes on their way and pending
// products. What is asynchronous happens as late as it may: boxes arrive when a thread waits for
// their barrier, products and stores of boxes when they are awaited; memory that a box was asked
// for is uninitialised meanwhile. So code that waits too little reads what is not there.
#pragma once

#include <flaggems/kernel/lang/number.hpp>

#include <algorithm>
#include <functional>
#include <vector>

namespace flaggems::detail {

/// The state of a cluster's warp groups. Addresses are block << 20 | byte, as threads compute with
/// them. Members return false where threads are wrong, which the thread group raises.
class simt_warp_groups {
 public:
  static constexpr int group_threads = 128, block_shift = 20, names = 16;
  static constexpr u32 byte_mask = (1U << block_shift) - 1;
  static constexpr int product_rows = 64, product_bytes = 32;  // of terms
  static constexpr u32 piece_bytes = 16;                       // aligned; what swizzling moves

  /// A matrix in block-local memory; if `is_across`, of elements of 16 bits.
  struct operand {
    u64 descriptor;
    bool is_across;
  };
  /// 32 bytes of terms. An element is read as what it is multiplied as: a number of f32, or the
  /// bits of an integer if `is_integer`, whose sums are modulo 2^32.
  struct product {
    void* sums;
    int columns;
    operand a, b;
    const u32* rows;  // of a, each thread's words of two elements, instead of a descriptor; or null
    bool adds;
    int element_bytes;
    bool is_integer;
    u32 (*element)(const unsigned char*);
    int group, line;
  };

  void begin(int threads) {
    barriers_.clear();
    boxes_.clear();
    named_.assign(names * 8, {});
    if (static_cast<int>(lanes_.size()) < threads) lanes_.resize(static_cast<std::size_t>(threads));
    for (lane& l : lanes_) l = {};
    if (unfenced_pieces_ > 0) unfenced_.clear();
    unfenced_pieces_ = 0;
  }

  // ---- mbarriers
  void init_barrier(u32 at, u32 count) {
    if (mbarrier* b = find(at))
      *b = {at, count, count, 0, 0};
    else
      barriers_.push_back({at, count, count, 0, 0});
  }
  /// An arrival that expects bytes; false if there is no such barrier, or none is left to arrive.
  bool arrive(u32 at, u32 bytes) {
    mbarrier* const b = find(at);
    if (b == nullptr || b->pending == 0) return false;
    b->bytes += bytes;
    --b->pending;
    settle(*b);
    return true;
  }
  /// Whether the phase of this parity has ended. Boxes that the barrier counts arrive first: `land`
  /// writes one.
  template <class Land>
  bool has_ended(u32 at, u32 parity, const Land& land) {
    for (std::size_t k = 0; k < boxes_.size();) {
      if (boxes_[k].bar != at) {
        ++k;
        continue;
      }
      land(boxes_[k].to, boxes_[k].data);
      if (mbarrier* b = find(at)) {
        b->bytes -= static_cast<i64>(boxes_[k].data.size());
        settle(*b);
      }
      boxes_.erase(boxes_.begin() + static_cast<std::ptrdiff_t>(k));
    }
    const mbarrier* const b = find(at);
    return b != nullptr && (b->phase & 1) != parity;
  }
  void add_box(u32 to, u32 bar, const std::vector<unsigned char>& data) {
    boxes_.push_back({to, bar, data});
  }

  // ---- named barriers: the number of times that one has completed
  u64 completions(int block, u32 id) const { return name(block, id).completed; }
  /// False where threads disagree about how many there are.
  bool arrive_named(int block, u32 id, u32 threads) {
    named_barrier& b = named_[static_cast<std::size_t>(block) * names + id];
    if (b.arrived > 0 && b.threads != threads) return false;
    b.threads = threads;
    if (++b.arrived == threads) b.arrived = 0, ++b.completed;
    return true;
  }

  // ---- products
  void add_product(int thread, product p) {
    lane& self = at(thread);
    p.group = self.groups;
    self.products.push_back(p);
  }
  void commit(int thread) { ++at(thread).groups; }
  /// Runs all but the last `left` groups of products of a warp group; false, with the line, where
  /// its threads did not issue the same ones. `memory(byte, bytes, line)` is some of the
  /// block's, checked.
  template <class Memory>
  bool multiply(int first, int left, int& line, const Memory& memory) {
    const std::vector<product>& all = at(first).products;
    std::size_t due = 0;
    while (due < all.size() && all[due].group + left < at(first).groups) ++due;
    for (std::size_t k = 0; k < due; ++k) {
      line = all[k].line;
      for (int t = first; t < first + group_threads; ++t)
        if (at(t).products.size() <= k || !is_same(at(t).products[k], all[k])) return false;
      multiply_one(first, k, memory);
    }
    for (int t = first; t < first + group_threads; ++t) {
      std::vector<product>& own = at(t).products;
      own.erase(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(due));
    }
    return true;
  }

  // ---- stores of boxes
  using deferred = std::function<void()>;
  void add_store(int thread, deferred store) { at(thread).stores.push_back(std::move(store)); }
  void await_stores(int thread, int left) {
    std::vector<deferred>& all = at(thread).stores;
    while (static_cast<int>(all.size()) > left) {
      const deferred next = std::move(all.front());
      all.erase(all.begin());
      next();
    }
  }
  [[nodiscard]] bool has_stores(int thread) const { return !at(thread).stores.empty(); }

  // ---- copies of threads, which land when they are awaited
  void add_copy(int thread, deferred copy) {
    at(thread).copies.push_back({at(thread).copy_groups, std::move(copy)});
  }
  void commit_copies(int thread) { ++at(thread).copy_groups; }
  void await_copies(int thread, int left) {
    std::vector<pending_copy>& all = at(thread).copies;
    while (!all.empty() && all.front().group + left < at(thread).copy_groups) {
      const deferred next = std::move(all.front().run);
      all.erase(all.begin());
      next();
    }
  }

  // ---- fences: from its write to its writer's fence, neither products nor the copy engine see it
  void note_write(int thread, u32 to, u32 bytes) {
    std::vector<u32>& own = at(thread).unfenced;
    for (u32 piece = to / piece_bytes; piece <= (to + bytes - 1) / piece_bytes; ++piece) {
      if (std::find(own.begin(), own.end(), piece) != own.end()) continue;
      own.push_back(piece);
      if (unfenced_.size() <= piece) unfenced_.resize(std::size_t{piece} + 1);
      ++unfenced_[piece];
      ++unfenced_pieces_;
    }
  }
  void fence(int thread) {
    std::vector<u32>& own = at(thread).unfenced;
    for (u32 piece : own) --unfenced_[piece];
    unfenced_pieces_ -= own.size();
    own.clear();
  }
  /// Whether all threads that wrote to some memory have fenced it.
  [[nodiscard]] bool is_fenced(u32 from, u32 bytes) const {
    if (unfenced_pieces_ == 0) return true;
    for (u32 piece = from / piece_bytes; piece <= (from + bytes - 1) / piece_bytes; ++piece)
      if (piece < unfenced_.size() && unfenced_[piece] > 0) return false;
    return true;
  }
  /// The same of what a product reads of a block's memory.
  [[nodiscard]] bool is_fenced(int block, const product& p) const {
    if (unfenced_pieces_ == 0) return true;
    return (p.rows != nullptr || is_fenced(block, p.a, product_rows, p.element_bytes)) &&
           is_fenced(block, p.b, p.columns, p.element_bytes);
  }

 private:
  struct mbarrier {
    u32 at, count, pending;
    i64 bytes;
    u32 phase;
  };
  struct box {
    u32 to, bar;
    std::vector<unsigned char> data;
  };
  struct named_barrier {
    u32 threads = 0, arrived = 0;
    u64 completed = 0;
  };
  struct pending_copy {
    int group;
    deferred run;
  };
  struct lane {
    std::vector<product> products{};  // pending
    int groups = 0;
    std::vector<deferred> stores{};
    std::vector<pending_copy> copies{};
    int copy_groups = 0;
    std::vector<u32> unfenced{};  // pieces that it has written since its last fence
  };

  lane& at(int thread) { return lanes_[static_cast<std::size_t>(thread)]; }
  const lane& at(int thread) const { return lanes_[static_cast<std::size_t>(thread)]; }
  const named_barrier& name(int block, u32 id) const {
    return named_[static_cast<std::size_t>(block) * names + id];
  }
  mbarrier* find(u32 where) {
    for (mbarrier& b : barriers_)
      if (b.at == where) return &b;
    return nullptr;
  }
  static void settle(mbarrier& b) {
    if (b.pending == 0 && b.bytes == 0) b.pending = b.count, ++b.phase;
  }
  static bool is_same(const product& x, const product& y) {
    return x.a.descriptor == y.a.descriptor && x.b.descriptor == y.b.descriptor &&
           x.a.is_across == y.a.is_across && x.b.is_across == y.b.is_across &&
           x.columns == y.columns && x.adds == y.adds && x.element == y.element &&
           x.element_bytes == y.element_bytes && x.is_integer == y.is_integer &&
           x.group == y.group && (x.rows == nullptr) == (y.rows == nullptr);
  }

  /// The byte of element (line, term) that a descriptor of 128-byte swizzled rows leads to.
  static u32 byte_of(const operand& x, int line, int term, int element_bytes) {
    const auto field = [&](int shift) {
      return static_cast<u32>(x.descriptor >> shift & 0x3FFF) << 4;
    };
    const u32 leading = field(16), stride = field(32);
    const auto part = [](int i) { return static_cast<u32>(i); };
    const u32 offset =
        x.is_across ? part(line / 64) * leading + part(term / 8) * stride + part(term % 8) * 128 +
                          part(line % 64) * 2
                    : part(line / 8) * stride + part(line % 8) * 128 + part(term * element_bytes);
    const u32 at = field(0) + offset;
    return at ^ ((at >> 7 & 7) << 4);
  }
  [[nodiscard]] bool is_fenced(int block, const operand& x, int lines, int element_bytes) const {
    const u32 memory = static_cast<u32>(block) << block_shift;
    const int together = static_cast<int>(piece_bytes) / element_bytes;  // elements of a piece
    const int next_line = x.is_across ? together : 1, next_term = x.is_across ? 1 : together;
    for (int i = 0; i < lines; i += next_line)
      for (int q = 0; q < product_bytes / element_bytes; q += next_term)
        if (!is_fenced(memory | byte_of(x, i, q, element_bytes), piece_bytes)) return false;
    return true;
  }
  template <class Memory>
  void multiply_one(int first, std::size_t k, const Memory& memory) {
    const product& p = at(first).products[k];
    const int terms = product_bytes / p.element_bytes;
    const auto place = [terms](int line, int term) {
      const int number = line * terms + term;
      return static_cast<std::size_t>(number);
    };
    const auto decoded = [&](const operand& x, int lines) {
      std::vector<u32> values(place(lines, 0));
      for (int i = 0; i < lines; ++i)
        for (int q = 0; q < terms; ++q)
          values[place(i, q)] =
              p.element(memory(byte_of(x, i, q, p.element_bytes), p.element_bytes, p.line));
      return values;
    };
    // Registers are read now, so a thread that overwrote them too early is found out.
    const auto of_registers = [&] {
      std::vector<u32> values(place(product_rows, 0));
      for (int t = 0; t < group_threads; ++t)
        for (int e = 0; e < 8; ++e) {
          const int row = t / 32 * 16 + t % 32 / 4 + e / 2 % 2 * 8;
          const int q = e / 4 * 8 + t % 4 * 2 + e % 2;
          const unsigned char* const own =
              reinterpret_cast<const unsigned char*>(at(first + t).products[k].rows);
          values[place(row, q)] = p.element(own + 2 * e);
        }
      return values;
    };
    const std::vector<u32> a = p.rows != nullptr ? of_registers() : decoded(p.a, product_rows);
    const std::vector<u32> b = decoded(p.b, p.columns);
    const auto add_all = [&]<class C>(C) {
      for (int t = 0; t < group_threads; ++t) {
        C* const sums = static_cast<C*>(at(first + t).products[k].sums);
        for (int j = 0; j < p.columns / 8; ++j)
          for (int e = 0; e < 4; ++e) {
            const int row = t / 32 * 16 + t % 32 / 4 + e / 2 * 8,
                      column = 8 * j + t % 4 * 2 + e % 2;
            C sum = p.adds ? sums[4 * j + e] : C(0);
            const u32* const x = a.data() + row * terms;
            const u32* const y = b.data() + column * terms;
            for (int q = 0; q < terms; ++q)
              sum += kernels::bit_cast<C>(x[q]) * kernels::bit_cast<C>(y[q]);
            sums[4 * j + e] = sum;
          }
      }
    };
    p.is_integer ? add_all(u32{}) : add_all(f32{});
  }

  std::vector<mbarrier> barriers_;
  std::vector<box> boxes_;
  std::vector<named_barrier> named_;  // [block][id]
  std::vector<lane> lanes_;
  std::vector<u16> unfenced_;  // of each piece, the threads that have written it since their fences
  std::size_t unfenced_pieces_ = 0;  // of all threads
};

}  // namespace flaggems::detail
