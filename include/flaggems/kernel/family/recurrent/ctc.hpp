// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Connectionist temporal classification: sums over all alignments of a sequence of labels to steps,
// in logarithms. A block takes a sequence and goes through its steps; threads share out places.
#pragma once

#include <flaggems/kernel/family/reduce/reduce.hpp>
#include <flaggems/kernel/math/math.hpp>

namespace flaggems::kernels {

/// log(exp(a) + exp(b) + exp(c)).
template <class C>
FLAGGEMS_INLINE C log_of_sum(C a, C b, C c) {
  const C greatest = max_of(a, max_of(b, c));
  if (!(greatest > lowest<C>())) return greatest;
  return greatest + log(exp(a - greatest) + exp(b - greatest) + exp(c - greatest));
}

/// Sequences of labels, with blanks around each: place s of labels l has a blank where s is even,
/// else l[s / 2].
template <class T, class J>
struct ctc_sequences {
  i64 steps, batch, classes, places, blank;  // places: those of the longest labels
  global_ptr<const T> log_probs;             // [steps, batch, classes]
  i64 step, sequence, class_step;            // from an element to the next
  global_ptr<const J> targets;
  i64 label_step;
  global_ptr<const i64> lengths;  // [3, batch]: of steps, of labels, and where labels begin

  FLAGGEMS_INLINE i64 steps_of(i64 b) const { return lengths[b]; }
  FLAGGEMS_INLINE i64 labels_of(i64 b) const { return lengths[batch + b]; }
  FLAGGEMS_INLINE i64 label(i64 b, i64 s) const {
    if (s % 2 == 0) return blank;
    return static_cast<i64>(targets[lengths[2 * batch + b] + s / 2 * label_step]);
  }
  FLAGGEMS_INLINE bool is_class(i64 label) const { return label >= 0 && label < classes; }
  /// The logarithm of a label's probability at a step; of none that there is, of 0.
  template <class C>
  FLAGGEMS_INLINE C log_prob(i64 t, i64 b, i64 label) const {
    if (!is_class(label)) return lowest<C>();
    return number_cast<C>(log_probs[t * step + b * sequence + label * class_step]);
  }
};

/// alpha[b, t, s] = the logarithm of the probability of all beginnings that reach place s at step
/// t, and losses[b] = less that of all alignments.
template <class T, class J>
struct ctc_forward {
  using C = compute_type<T>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, ctc_sequences<T, J> p, global_ptr<C> alpha,
                                  global_ptr<C> losses) {
    const auto rows = block.template scratch<C>(2 * p.places);
    block.for_each_tile(p.batch, [&](i64 b) FLAGGEMS_LAMBDA {
      const i64 steps = p.steps_of(b), labels = p.labels_of(b), places = 2 * labels + 1;
      const global_ptr<C> own = alpha + b * p.steps * p.places;
      for (i64 t = 0; t < p.steps; ++t) {
        const auto now = rows.from(t % 2 * p.places), before = rows.from((t + 1) % 2 * p.places);
        block.for_each(p.places, [&](i64 s) FLAGGEMS_LAMBDA {
          C v = lowest<C>();
          if (t < steps && s < places && (t > 0 || s < 2)) {
            const i64 label = p.label(b, s);
            v = p.template log_prob<C>(t, b, label);
            if (t > 0) {
              const bool skips = s > 1 && p.label(b, s - 2) != label;
              v = v + log_of_sum(before.read(s), s > 0 ? before.read(s - 1) : lowest<C>(),
                                 skips ? before.read(s - 2) : lowest<C>());
            }
          }
          now.write(s, v);
          own[t * p.places + s] = v;
        });
        block.sync();
        if (t + 1 == steps) {
          block.single([&]() FLAGGEMS_LAMBDA {
            const C other = labels > 0 ? now.read(places - 2) : lowest<C>();
            losses[b] = -log_of_sum(now.read(places - 1), other, lowest<C>());
          });
        }
      }
      block.single([&]() FLAGGEMS_LAMBDA {
        if (steps == 0) losses[b] = labels == 0 ? C(0) : -lowest<C>();
      });
      block.sync();
    });
  }
};

/// The gradient of each label that occurs in its sequence, of the log probabilities; the others are
/// there: exp(log_probs) times the loss's. Of a place's labels the first one's thread sums up all.
template <class T, class J>
struct ctc_backward {
  using C = compute_type<T>;

  template <class Block>
  FLAGGEMS_INLINE static void run(Block& block, ctc_sequences<T, J> p, global_ptr<const C> alpha,
                                  global_ptr<const C> losses, global_ptr<const T> grad,
                                  i64 grad_step, i32 zero_infinity, global_ptr<T> out) {
    const auto rows = block.template scratch<C>(2 * p.places);
    const auto next = block.template scratch<i64>(p.places);  // the next place of a label, or -1
    const auto first = block.template scratch<i64>(p.places);
    block.for_each_tile(p.batch, [&](i64 b) FLAGGEMS_LAMBDA {
      const i64 steps = p.steps_of(b), labels = p.labels_of(b), places = 2 * labels + 1;
      const C loss = losses[b], by = number_cast<C>(grad[b * grad_step]);
      if (zero_infinity != 0 && loss == -lowest<C>()) return;  // the same for the whole block
      block.for_each(places, [&](i64 s) FLAGGEMS_LAMBDA {
        const i64 label = p.label(b, s);
        i64 k = s + 1;
        while (k < places && p.label(b, k) != label) ++k;
        next.write(s, k < places ? k : -1);
        i64 j = 0;
        while (j < s && p.label(b, j) != label) ++j;
        first.write(s, j == s ? 1 : 0);
      });
      block.sync();
      for (i64 t = steps - 1; t >= 0; --t) {
        const auto now = rows.from(t % 2 * p.places), behind = rows.from((t + 1) % 2 * p.places);
        block.for_each(places, [&](i64 s) FLAGGEMS_LAMBDA {
          const i64 label = p.label(b, s);
          C v = lowest<C>();
          if (t + 1 < steps) {
            const bool skips = s + 2 < places && p.label(b, s + 2) != label;
            v = p.template log_prob<C>(t, b, label) +
                log_of_sum(behind.read(s), s + 1 < places ? behind.read(s + 1) : lowest<C>(),
                           skips ? behind.read(s + 2) : lowest<C>());
          } else if (s + 2 >= places) {
            v = p.template log_prob<C>(t, b, label);
          }
          now.write(s, v);
        });
        block.sync();
        const global_ptr<const C> own = alpha + (b * p.steps + t) * p.places;
        block.for_each(places, [&](i64 s) FLAGGEMS_LAMBDA {
          const i64 label = p.label(b, s);
          if (first.read(s) == 0 || !p.is_class(label)) return;
          C all = lowest<C>();
          for (i64 k = s; k >= 0; k = next.read(k))
            all = log_of_sum(all, own[k] + now.read(k), lowest<C>());
          const C x = p.template log_prob<C>(t, b, label);
          out[(t * p.batch + b) * p.classes + label] =
              number_cast<T>((exp(x) - exp(all + loss - x)) * by);
        });
      }
      block.sync();
    });
  }
};

}  // namespace flaggems::kernels

FLAGGEMS_TEXT("flaggems/kernel/family/recurrent/ctc.hpp");
