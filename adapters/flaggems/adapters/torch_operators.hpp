// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Operators of the registry in PyTorch's dispatcher: in the place of ATen's, where back ends
// implement them, so that autograd stays PyTorch's; and those that ATen lacks under their own names
// (torch.ops.flaggems). For libtorch 1.13 and later.
#pragma once

#include <flaggems/adapters/torch.hpp>
#include <flaggems/adapters/torch_operators/arguments.hpp>
#include <flaggems/adapters/torch_operators/autocast.hpp>
#include <flaggems/adapters/torch_operators/gradients.hpp>
#include <flaggems/adapters/torch_operators/outputs.hpp>
#include <flaggems/registry/registry.hpp>

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flaggems {

/// A tensor of PyTorch's in the place of ours, which ends; undefined if it has none.
template <class Device>
[[nodiscard]] at::Tensor to_torch(any_tensor<Device>&& x, int device_index) {
  if (!x.has_value()) return {};
  const any_view<Device> v = x.view();
  return detail::torch_of_view(v, device_index, std::move(x), true);
}

/// A call that has reached an operator of ours, for the log.
struct torch_call {
  std::string_view op;                   ///< "aten::add.Tensor"
  c10::ArrayRef<c10::IValue> arguments;  ///< as the schema has them
  std::string_view left_because;         ///< why it was left to ATen; empty: ours ran
  /// "aten::add.Tensor(Float[4, 8], Float[8], 1)", and why it was left.
  [[nodiscard]] std::string to_string() const {
    std::string r(op);
    const auto put_tensor = [&r](const at::Tensor& t) {
      if (!t.defined()) return void(r += "None");
      r += c10::toString(t.scalar_type());
      r += '[';
      for (i64 i = 0; i < t.dim(); ++i) (r += i > 0 ? ", " : "") += std::to_string(t.size(i));
      r += ']';
    };
    const auto has_tensor = [](c10::ArrayRef<c10::IValue> list) {
      return std::any_of(list.begin(), list.end(), [](const auto& v) { return v.isTensor(); });
    };
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const c10::IValue& v = arguments[i];
      r += i == 0 ? "(" : ", ";
      if (v.isTensor())
        put_tensor(v.toTensor());
      else if (v.isTensorList() || (v.isList() && has_tensor(v.toListRef())))
        for (const c10::IValue& t : v.toListRef())
          put_tensor(t.isTensor() ? t.toTensor() : at::Tensor()), r += ' ';
      else if (v.isInt())
        r += std::to_string(v.toInt());
      else if (v.isDouble())
        r += std::to_string(v.toDouble());
      else if (v.isBool())
        r += v.toBool() ? "True" : "False";
      else
        r += v.isNone() ? "None" : v.tagKind();
    }
    r += ')';
    if (!left_because.empty()) (r += ", left to ATen: ") += left_because;
    return r;
  }
};

/// Which operators of the registry are registered, and who is told of their calls.
struct torch_operator_options {
  /// "add" with all its overloads, "add.Tensor", "flaggems::silu_and_mul"; empty: all.
  std::vector<std::string> include{};
  std::vector<std::string> exclude{};
  bool in_place_of_aten = true;  ///< those that ATen has
  bool own = true;               ///< those of other namespaces
  /// What ours refuse is ATen's, with a warning at the first call of each operator; else it raises.
  bool fall_back = false;
  /// Called on the thread of the call, after ours has run or before ATen's.
  std::function<void(const torch_call&)> log{};
};

namespace detail {

inline std::string_view without_aten(std::string_view key) {
  if (key.starts_with("aten::")) key.remove_prefix(6);
  return key;
}
inline bool is_named(std::string_view key, std::string_view name) {
  name = without_aten(name);
  return key == name || key.substr(0, key.rfind('.')) == name;
}

/// Whether a schema has a tensor, and nothing that PyTorch gives and we do not take. Views are
/// ATen's to give, whose tensors know what they are views of.
constexpr bool suits_torch(const schema& s) {
  for (const schema_result& r : s.results)
    if (r.is_view) return false;
  bool has_tensor = false;
  for (const parameter& p : s.parameters) {
    if (p.kind == parameter_kind::generator) return false;
    has_tensor = has_tensor || p.kind <= parameter_kind::tensors;
  }
  return has_tensor;
}

/// An operator of the registry as a boxed kernel of PyTorch's.
template <class Device>
struct torch_kernel final : c10::OperatorKernel {
  using log_function = std::function<void(const torch_call&)>;
  /// `replaces`: stands before ATen's, to which it leaves what it does not take. `t`: of one with
  /// outputs, the form that makes new results; null if there is none.
  torch_kernel(const registered_operator<Device>& r, const registered_operator<Device>* t,
               bool is_before_aten, bool may_fall_back, std::string key,
               std::shared_ptr<const log_function> f)
      : op(&r),
        twin(t),
        replaces(is_before_aten),
        falls_back(may_fall_back),
        name(std::move(key)),
        log(std::move(f)) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  c10::Stack* stack) const {
    const schema& s = op->schema();
    const std::size_t n = s.parameters.size();
    const c10::ArrayRef<c10::IValue> values(stack->data() + (stack->size() - n), n);
    any_tensor<Device> made[max_results];
    any_results<Device> made_otherwise;  // with integers, a list or a bool
    int device_index = 0;
    {
      const torch_arguments<Device> arguments(s, values);
      if (!arguments.left_because.empty()) [[unlikely]] {
        if (replaces && arguments.is_atens())
          return leave(handle, keys, stack, values, arguments.left_because);
        if (replaces && (falls_back || arguments.obstructed == nullptr))
          return refuse(handle, keys, stack, values, arguments.left_because);
        if (arguments.obstructed != nullptr)
          raise_obstacle<Device>(arguments.obstacle, *arguments.obstructed,
                                 arguments.device_index());
        raise(errc::invalid_argument, name, "arguments as the schema has them",
              arguments.left_because);
      }
      device_index = arguments.device_index();
      const std::span<any_tensor<Device>> results(made, static_cast<std::size_t>(s.new_results()));
      const auto stream = torch_stream<Device>(device_index);
      const auto run = [&] {
        if (replaces && op->form() == bindings::form::out)
          torch_write(
              *op, twin, arguments, values, stream,
              [&](any_tensor<Device>&& x) { return to_torch(std::move(x), device_index); },
              [](const at::Tensor& from, const at::Tensor& to) { to.copy_(from); });
        else if (s.gives_tensors())
          op->call(stream, arguments.list(n), results);
        else
          op->call(stream, arguments.list(n), made_otherwise);
      };
      if (!replaces) {
        run();
      } else if (const auto reason = arguments.other_dtype(); op->promotes() && !reason.empty()) {
        return refuse(handle, keys, stack, values, reason);
      } else if (twin == nullptr && op->form() == bindings::form::out &&
                 arguments.repeats_into(s.results.size())) {
        return refuse(handle, keys, stack, values, "an output to be resized");
      } else if (!falls_back) {
        run();
      } else {
        // Nothing is written before an operator raises. ATen's takes more types, and says what is
        // wrong as PyTorch's users know it.
        std::optional<error> refused;
        try {
          run();
        } catch (const error& e) {
          if (e.code() == errc::out_of_memory || e.code() == errc::driver_error) throw;
          refused = e;
        }
        if (refused) return refuse(handle, keys, stack, values, refused->what());
      }
    }
    if (*log) (*log)({name, values, {}});
    put_results(s, values, made, std::move(made_otherwise), device_index, stack);
  }

  const registered_operator<Device>*op, *twin;
  bool replaces, falls_back;
  mutable std::atomic<bool> has_warned{false};
  std::string name;
  std::shared_ptr<const log_function> log;

 private:
  /// A call that ours do not take: ATen's, which is said once, or an error.
  FLAGGEMS_COLD void refuse(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                            c10::Stack* stack, c10::ArrayRef<c10::IValue> values,
                            std::string_view reason) const {
    if (!falls_back)
      raise(errc::not_supported, name, "a call that ours take (others: fall_back)", reason);
    if (!has_warned.exchange(true))
      TORCH_WARN(name, " was left to ATen, which is said once: ", std::string(reason));
    leave(handle, keys, stack, values, reason);
  }
  FLAGGEMS_COLD void leave(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                           c10::Stack* stack, c10::ArrayRef<c10::IValue> values,
                           std::string_view reason) const {
    if (*log) (*log)({name, values, reason});
    handle.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER,
                                                      c10::DispatchKey::BackendSelect),
                           stack);
  }
  /// The arguments on the stack make room for the results: new tensors, and arguments written.
  void put_results(const schema& s, c10::ArrayRef<c10::IValue> values, any_tensor<Device>* made,
                   any_results<Device>&& made_otherwise, int device_index,
                   c10::Stack* stack) const {
    c10::SmallVector<c10::IValue, max_results> results;
    std::size_t written = 0;
    for (std::size_t i = 0; i < values.size() && !replaces; ++i)
      if (s.parameters[i].written) {
        const at::Tensor& t = values[i].toTensor();
        if (!t.is_inference()) t.unsafeGetTensorImpl()->bump_version();
      }
    if (!s.gives_tensors()) made = made_otherwise.tensors.data();
    auto number = made_otherwise.integers.begin();
    for (const schema_result& r : s.results) {
      if (r.kind == parameter_kind::boolean) {
        results.emplace_back(made_otherwise.truth);
        continue;
      }
      if (r.kind == parameter_kind::integer) {
        results.emplace_back(*number++);
        continue;
      }
      if (r.kind == parameter_kind::tensors) {
        c10::List<at::Tensor> list;
        for (any_tensor<Device>& x : made_otherwise.tensors)
          list.push_back(to_torch(std::move(x), device_index));
        results.emplace_back(std::move(list));
        continue;
      }
      if (!r.written) {
        results.emplace_back(to_torch(std::move(*made++), device_index));
        continue;
      }
      while (!s.parameters[written].written) ++written;
      results.push_back(values[written++]);
    }
    stack->erase(stack->end() - static_cast<std::ptrdiff_t>(values.size()), stack->end());
    for (c10::IValue& r : results) stack->push_back(std::move(r));
  }
};

}  // namespace detail

/// Operators of registry<Device> in PyTorch, from construction to destruction; neither may meet
/// calls of them on other threads. ATen's stay behind ours: tensors of another device or layout,
/// given or new, and masks as indices are ATen's. What else ours do not take (a dtype that the
/// registry was not compiled for) raises; with `fall_back` that is ATen's, too, and the log says
/// why. Outputs get the sizes of the results. Operators of other namespaces always raise; those
/// that have a rule carry gradients (torch_operators/gradients.hpp), the others refuse tensors that
/// require them.
/// With `Device` meta they are functions for PyTorch's tensors without elements, so that
/// torch.compile and torch.export see the operators that another object has for a device.
///
/// Not registered, and listed by `left_out`: operators that ATen composes of others, whose
/// gradients come from those; operators without a tensor among their arguments; those that take a
/// generator; views; _to_copy; as_strided_copy and as_strided_scatter, whose offsets ATen counts
/// from the first element of the memory; and those that this libtorch lacks or has with other
/// parameters.
template <class Device = host>
class torch_operators {
 public:
  struct omission {
    std::string name, reason;
  };

  /// Raises not_supported if a name of `include` names nothing that can be registered, with the
  /// reason.
  explicit torch_operators(torch_operator_options options = {})
      : options_(std::move(options)),
        log_(std::make_shared<const std::function<void(const torch_call&)>>(
            std::move(options_.log))) {
    for (const auto family : registry<Device>::families())
      for (const registered_operator<Device>& op : family()) consider(op, family());
    for (const std::string& name : options_.include) require(name);
  }
  torch_operators(torch_operators&&) = default;
  torch_operators& operator=(torch_operators&&) = default;

  /// The names that are registered, as "aten::exp".
  [[nodiscard]] const std::vector<std::string>& registered() const noexcept { return registered_; }
  [[nodiscard]] const std::vector<omission>& left_out() const noexcept { return left_out_; }

 private:
  [[nodiscard]] static std::string full_name(const schema& s) {
    return (s.space.empty() ? "aten::" : "") + std::string(s.key());
  }
  [[nodiscard]] bool is_wanted(const schema& s) const {
    // ATen has functions of its own for meta.
    if (s.space.empty() ? !options_.in_place_of_aten || detail::has_no_elements<Device>
                        : !options_.own)
      return false;
    const auto names = [&](const std::vector<std::string>& list) {
      for (const std::string& name : list)
        if (detail::is_named(s.key(), name)) return true;
      return false;
    };
    return (options_.include.empty() || names(options_.include)) && !names(options_.exclude);
  }
  /// Why ATen's operator stays; empty if ours may stand before it.
  [[nodiscard]] static const char* obstacle(const schema& s) {
    if (!detail::suits_torch(s))
      return "has no tensor among its arguments, takes a generator, or gives views";
    if (!s.space.empty()) return "";
    const auto theirs = c10::Dispatcher::singleton().findSchema(
        {"aten::" + std::string(s.name), std::string(s.overload)});
    if (!theirs) return "this libtorch does not have it";
    const auto& arguments = theirs->schema().arguments();
    bool same = arguments.size() == s.parameters.size() &&
                theirs->schema().returns().size() == s.results.size();
    for (std::size_t i = 0; same && i < arguments.size(); ++i)
      same = arguments[i].name() == s.parameters[i].name;
    if (!same) return "this libtorch has it with other parameters";
    if (s.name.starts_with("as_strided"))
      return "ATen counts from the first element of the memory, ours from that of the tensor";
    // The only one with a tensor: libtorch tells it by the options, but for new_* and *_like.
    if (s.name == "_to_copy") return "ATen has a kernel of its own where ours would stand";
    if (theirs->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd))
      return "ATen composes it of others, from which its gradients come";
    return "";
  }
  void consider(const registered_operator<Device>& op,
                std::span<const registered_operator<Device>> family) {
    const schema& s = op.schema();
    if (!is_wanted(s)) return;
    const std::string name = full_name(s);
    if (const std::string_view reason = obstacle(s); !reason.empty()) {
      left_out_.push_back({name, std::string(reason)});
      return;
    }
    const bool replaces = s.space.empty();
    auto kernel =
        torch::CppFunction::makeFromBoxedFunctor(std::make_unique<detail::torch_kernel<Device>>(
            op, detail::torch_twin_of(op, family), replaces, options_.fall_back, name, log_));
    if (replaces) {
      // Below autograd and before all back ends: so ATen's kernels stay where they are.
      library("aten", torch::Library::IMPL, c10::DispatchKey::BackendSelect)
          .impl(std::string(s.key()).c_str(), std::move(kernel));
    } else {
      add_own(s, std::move(kernel));
    }
    registered_.push_back(name);
  }
  /// An operator that ATen lacks, with its gradients and what autocast does.
  void add_own(const schema& s, torch::CppFunction kernel) {
    constexpr c10::DispatchKey there = torch_device<Device>::key;
    constexpr c10::DeviceType type = torch_device<Device>::type;
    auto& own = library(s.space, torch::Library::FRAGMENT, std::nullopt);
    if (!c10::Dispatcher::singleton().findSchema(
            {std::string(s.space) + "::" + std::string(s.name), std::string(s.overload)}))
      own.def(std::string(s.text).c_str());
    const auto add = [&](c10::DispatchKey key, torch::CppFunction&& f) {
      own.impl(std::string(s.key()).c_str(), torch::dispatch(key, std::move(f)));
    };
    add(there, std::move(kernel));
    const auto autograd = c10::getAutogradKeyFromBackend(c10::toBackendComponent(there));
    if (const auto* rule = detail::find_gradient_rule(s))
      add(autograd, torch::CppFunction::makeFromBoxedFunctor(
                        std::make_unique<detail::torch_gradient_kernel>(s, *rule)));
    else if (detail::has_no_elements<Device>)  // libtorch 1.13 falls through to others, not to it
      add(autograd, torch::CppFunction::makeFallthrough());
    if constexpr (detail::has_autocast(type))
      if (const auto* rule = detail::find_autocast_rule(s))
        add(at::autocast::get_autocast_dispatch_key_from_device_type(type),
            torch::CppFunction::makeFromBoxedFunctor(
                std::make_unique<detail::torch_autocast_kernel>(type, rule->policy,
                                                                rule->tensors)));
  }
  void require(const std::string& name) const {
    for (const std::string& one : registered_)
      if (detail::is_named(detail::without_aten(one), name)) return;
    const char* reason = "no operator that the program was linked with";
    for (const omission& one : left_out_)
      if (detail::is_named(detail::without_aten(one.name), name)) reason = one.reason.c_str();
    raise(errc::not_supported, "torch_operators", detail::text(name.c_str()) + " to be registered",
          reason);
  }
  using optional_key = std::conditional_t<
      std::is_constructible_v<torch::Library, torch::Library::Kind, std::string,
                              std::optional<c10::DispatchKey>, const char*, uint32_t>,
      std::optional<c10::DispatchKey>, c10::optional<c10::DispatchKey>>;
  torch::Library& library(std::string_view space, torch::Library::Kind kind,
                          std::optional<c10::DispatchKey> key) {
    for (auto& one : libraries_)
      if (one.space == space) return *one.library;
    optional_key same;
    if (key) same = *key;
    libraries_.push_back(
        {std::string(space),
         std::make_unique<torch::Library>(kind, std::string(space), same, __FILE__, __LINE__)});
    return *libraries_.back().library;
  }

  struct named_library {
    std::string space;
    std::unique_ptr<torch::Library> library;
  };
  torch_operator_options options_;
  std::shared_ptr<const std::function<void(const torch_call&)>> log_;
  std::vector<named_library> libraries_;
  std::vector<std::string> registered_;
  std::vector<omission> left_out_;
};

}  // namespace flaggems

/// Registers operators of registry<Device> when the program or library is loaded, as by
/// torch.ops.load_library: FLAGGEMS_TORCH_LIBRARY(flaggems::host, .in_place_of_aten = false). Once
/// a line.
#define FLAGGEMS_TORCH_LIBRARY(Device, ...) FLAGGEMS_TORCH_LIBRARY_AT(__LINE__, Device, __VA_ARGS__)
#define FLAGGEMS_TORCH_LIBRARY_AT(line, ...) FLAGGEMS_TORCH_LIBRARY_OBJECT(line, __VA_ARGS__)
#define FLAGGEMS_TORCH_LIBRARY_OBJECT(line, Device, ...)                            \
  static const ::flaggems::torch_operators<Device> flaggems_torch_operators_##line( \
      ::flaggems::torch_operator_options{__VA_ARGS__})
