// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// Binds typed operators to schemas. A family is a class with
//   static constexpr auto lines() { return std::tuple(FLAGGEMS_BIND(...), ...); }
// and a line is
//   FLAGGEMS_BIND(mine::scale, floating_types, "mine::scale(Tensor self, Scalar factor) -> Tensor")
// which binds mine::scale(stream, self, factor) and mine::scale(stream, self, out, factor) for
// these dtypes. The rest follows from the schema; line_facts has the words for what does not.
#pragma once

#include <flaggems/registry/line.hpp>
#include <flaggems/registry/results.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace flaggems::bindings {

/// Dtypes with a choice (`no_choice`).
template <class Types, class Choice>
struct with_choice {};

template <class Types>
struct bound_types {
  using list = Types;
  using choice = no_choice;
};
template <class Types, class Choice>
struct bound_types<with_choice<Types, Choice>> {
  using list = Types;
  using choice = Choice;
};

struct no_form {};

/// A line: Line gives its facts; the others are the typed operator's forms, lambdas without state.
template <class Types, class Line, class Create, class Write, class InPlace, bool PassesDtype>
struct bound {
  using types = typename bound_types<Types>::list;
  using choice = typename bound_types<Types>::choice;
  using create = Create;
  using write = Write;
  using in_place = InPlace;
  static constexpr bool passes_dtype = PassesDtype;
  static constexpr bool gives_views = false;
  static constexpr line_facts facts() { return Line{}(); }
};
/// A line of views: `create` makes them of an any_view, whatever its dtype.
template <class Line, class View>
struct bound_view {
  using choice = no_choice;
  using create = View;
  using write = no_form;
  using in_place = no_form;
  static constexpr bool passes_dtype = false;
  static constexpr bool gives_views = true;
  static constexpr line_facts facts() { return Line{}(); }
};

template <class Types, class Line, class Form, class InPlace = no_form>
constexpr auto bind(Line, Form, InPlace = {}) {
  return bound<Types, Line, Form, Form, InPlace, false>{};
}
template <class Line, class View>
constexpr auto bind_view(Line, View) {
  return bound_view<Line, View>{};
}
template <class Types, class Line, class Create, class Write>
constexpr auto bind_result(Line, Create, Write) {
  return bound<Types, Line, Create, Write, no_form, true>{};
}

/// A choice for a tensor of any of the dtypes that the program is compiled for.
template <const char* Name>
struct any_dtype {
  static constexpr std::string_view parameter = Name;
  template <class T, class D>
  using example = tensor_view<const T, D>;
  template <class T, class Dtypes, class D, class F>
  static void choose(const boxed<D>& source, const F& f) {
    visit(
        Dtypes{}, source.view().dtype(),
        [&](auto type) { f(source.view().template as<const typename decltype(type)::type>()); },
        Name);
  }
};

/// What is known of a line's parameters.
template <class Bound>
struct plan {
  static constexpr line_facts line = Bound::facts();
  static constexpr schema text = schema_of<Bound, form::functional, -1>::value;
  static constexpr int count = static_cast<int>(text.parameters.size());
  static constexpr int new_results = text.new_results();
  static constexpr bool has_in_place =
      !std::is_same_v<typename Bound::in_place, no_form> && may_be_in_place(text.name);
  /// What the results are: tensors, or tensors and integers, or a list of them, or a bool.
  static constexpr parameter_kind gives = [] {
    for (const schema_result& r : text.results)
      if (r.kind != parameter_kind::tensor) return r.kind;
    return parameter_kind::tensor;
  }();
  static constexpr bool has_out =
      line.has_out && new_results > 0 && !Bound::gives_views && gives == parameter_kind::tensor;

  static constexpr role role_at(int i) {
    return role_of(line, Bound::choice::parameter, text.parameters[static_cast<std::size_t>(i)]);
  }
  /// Whether it is a tensor, or a number in the place of one.
  static constexpr bool is_operand(int i) {
    const parameter& p = text.parameters[static_cast<std::size_t>(i)];
    return role_at(i) != role::no_tensor ||
           (p.kind == parameter_kind::scalar && line.rule != dtype_rule::same && p.name != "alpha");
  }
  /// Whether the typed operator has the parameter.
  static constexpr bool is_passed(int i) {
    const parameter& p = text.parameters[static_cast<std::size_t>(i)];
    return p.kind != parameter_kind::dtype && (!is_hint(p.name) || p.name == line.read_one) &&
           !must_be_false(p.name) && p.name != narrow_results;
  }
  static constexpr int passed = [] {
    int n = 0;
    for (int i = 0; i < count; ++i) n += is_passed(i) ? 1 : 0;
    return n;
  }();
  /// The schema's places of what is passed.
  static constexpr auto places = [] {
    std::array<int, static_cast<std::size_t>(passed)> all{};
    int n = 0;
    for (int i = 0; i < count; ++i)
      if (is_passed(i)) all[static_cast<std::size_t>(n++)] = i;
    return all;
  }();
  static constexpr int place_of(int k) { return places[static_cast<std::size_t>(k)]; }
  static constexpr int outputs_at = [] {
    if (line.outputs_at >= 0) return line.outputs_at;
    int after = 0;
    for (int k = 0; k < passed; ++k)
      if (is_operand(place_of(k))) after = k + 1;
    return after;
  }();
  /// Where options begin among what is passed.
  static constexpr int braced_at = [] {
    for (int k = 0; k < passed; ++k)
      if (!line.braced_from.empty() &&
          text.parameters[static_cast<std::size_t>(place_of(k))].name == line.braced_from)
        return k;
    return passed;
  }();
  static constexpr int choice_at = [] {
    for (int k = 0; k < passed; ++k)
      if (text.parameters[static_cast<std::size_t>(place_of(k))].name == Bound::choice::parameter)
        return k;
    return -1;
  }();
  /// The place of what makes results i32; else -1.
  static constexpr int narrow_at = text.find(narrow_results);
  /// Whether numbers do not decide the dtype: nothing does, or an argument may.
  static constexpr bool takes_any_number = line.rule == dtype_rule::same || Bound::passes_dtype;
  static constexpr bool has_scalars = [] {
    for (const parameter& p : text.parameters)
      if (p.kind == parameter_kind::scalar) return true;
    return false;
  }();
  static constexpr bool has_elements = [] {
    for (int i = 0; i < count; ++i)
      if (role_at(i) == role::element) return true;
    return false;
  }();
};

/// The type of a number for an operator of dtype T: of T's kind, because promotion has seen to
/// that; without (`AnyKind`) the operator takes any number (`Floating`) and decides itself.
template <class T, bool AnyKind, bool Floating>
using scalar_type =
    std::conditional_t<kind_number(dtype_of<T>) >= 2 || (Floating && AnyKind), f64,
                       std::conditional_t<std::is_same_v<T, bool> && !AnyKind, bool, i64>>;

/// Argument k of what is passed, as the typed operator takes it.
template <class Bound, int K, class T, bool Floating, class D>
auto unpack(const boxed<D>& v) {
  using P = plan<Bound>;
  constexpr int place = P::place_of(K);
  constexpr parameter p = P::text.parameters[static_cast<std::size_t>(place)];
  constexpr role r = P::role_at(place);
  using E = element_of_role<r, T>;
  const auto maybe = [&](auto value) {
    using V = decltype(value(v));
    if constexpr (p.optional)
      return v.is_none() ? std::optional<V>() : std::optional<V>(value(v));
    else
      return value(v);
  };
  if constexpr (Bound::gives_views && p.kind == parameter_kind::tensor)
    return v.view();
  else if constexpr (r == role::sizes)
    return sizes_of<T>(v.view());
  else if constexpr (r == role::any)
    return maybe([](const boxed<D>& x) { return x.view(); });
  else if constexpr (p.kind == parameter_kind::tensor &&
                     (p.written || p.name == P::line.updated_one ||
                      p.name == P::line.updated_other))
    return maybe([](const boxed<D>& x) { return x.view().template as<E>(); });
  else if constexpr (p.kind == parameter_kind::tensor)
    return maybe([](const boxed<D>& x) { return x.view().template as<const E>(); });
  else if constexpr (p.kind == parameter_kind::tensors && r == role::index)
    return v.views();
  else if constexpr (p.kind == parameter_kind::tensors)
    return views_of<std::conditional_t<p.written, E, const E>>(v);
  else if constexpr (p.kind == parameter_kind::integer)
    return maybe([](const boxed<D>& x) { return x.integer(); });
  else if constexpr (p.kind == parameter_kind::floating)
    return maybe([](const boxed<D>& x) { return x.number(); });
  else if constexpr (p.kind == parameter_kind::boolean)
    return maybe([](const boxed<D>& x) { return x.boolean(); });
  else if constexpr (p.kind == parameter_kind::scalar && kernels::is_complex<T> &&
                     P::line.rule != dtype_rule::same)
    return maybe([](const boxed<D>& x) { return x.complex_number(); });
  else if constexpr (p.kind == parameter_kind::scalar)
    return maybe([](const boxed<D>& x) {
      using Number = scalar_type<T, P::takes_any_number, Floating>;
      return std::is_same_v<Number, f64> ? static_cast<Number>(x.number())
                                         : static_cast<Number>(x.integer());
    });
  else if constexpr (p.kind == parameter_kind::integers)
    return v.integers();
  else if constexpr (p.kind == parameter_kind::numbers)
    return v.numbers();
  else if constexpr (p.kind == parameter_kind::booleans)
    return v.booleans();
  else if constexpr (p.kind == parameter_kind::string)
    return maybe([](const boxed<D>& x) { return text_argument{x.text()}; });
  else if constexpr (p.kind == parameter_kind::memory_format)
    return v.is_none() ? P::line.format_of_none : v.memory_format();
  else
    static_assert(p.kind == parameter_kind::generator, "flaggems: a parameter that is not passed");
}

/// The generator, by reference.
template <class D>
philox_generator& generator_of(const boxed<D>& v, std::string_view op) {
  if (v.is_none()) [[unlikely]]
    raise(errc::invalid_argument, op, "a generator: there is none of the device's own", "None");
  return v.generator();
}

/// The functions of a line for a dtype.
template <class Bound, class D, class T, class Dtypes>
struct instance_functions {
  using P = plan<Bound>;
  using frame = call_frame<D>;

  /// Calls f with the arguments: those before the outputs, `outs`, those after, options in braces.
  template <class F, class Arguments, class... Outs>
  static decltype(auto) apply(const F& f, Arguments& arguments, Outs&... outs) {
    constexpr int at = sizeof...(Outs) == 0 ? P::braced_at : P::outputs_at;
    return [&]<int... Before, int... After, int... Options>(std::integer_sequence<int, Before...>,
                                                            std::integer_sequence<int, After...>,
                                                            std::integer_sequence<int, Options...>)
        ->decltype(auto) {
      if constexpr (sizeof...(Options) > 0) {
        braced<std::decay_t<std::tuple_element_t<P::braced_at + Options, Arguments>>...> options{
            {std::get<P::braced_at + Options>(arguments)...}};
        return f(std::get<Before>(arguments)..., outs..., std::get<at + After>(arguments)...,
                 options);
      } else {
        return f(std::get<Before>(arguments)..., outs..., std::get<at + After>(arguments)...);
      }
    }
    (std::make_integer_sequence<int, at>{}, std::make_integer_sequence<int, P::braced_at - at>{},
     std::make_integer_sequence<int, P::passed - P::braced_at>{});
  }

  template <int K, bool Floating, class Chosen>
  static decltype(auto) argument(const frame& f, Chosen& chosen) {
    const boxed<D>& v = f.arguments[P::place_of(K)];
    if constexpr (K == P::choice_at)
      return static_cast<Chosen&>(chosen);
    else if constexpr (P::text.parameters[static_cast<std::size_t>(P::place_of(K))].kind ==
                       parameter_kind::generator)
      return generator_of(v, P::text.name);
    else
      return unpack<Bound, K, T, Floating>(v);
  }

  /// Calls body with the tuple of arguments, for each of the types that a choice and numbers have.
  template <class Body>
  static void with_arguments(const frame& f, const Body& body) {
    const auto chosen = [&](auto&& choice) {
      const auto numbers = [&]<bool Floating>(std::bool_constant<Floating>) {
        [&]<int... K>(std::integer_sequence<int, K...>) {
          std::tuple<decltype(argument<K, Floating>(f, choice))...> all{
              argument<K, Floating>(f, choice)...};
          body(all);
        }
        (std::make_integer_sequence<int, P::passed>{});
      };
      if constexpr (P::has_scalars && P::takes_any_number && kind_number(dtype_of<T>) < 2) {
        bool floating = false;
        for (int i = 0; i < P::count; ++i)
          floating = floating || f.arguments[i].kind() == boxed_kind::floating;
        if (floating) return numbers(std::true_type{});
      }
      numbers(std::false_type{});
    };
    if constexpr (P::choice_at >= 0)
      Bound::choice::template choose<T, Dtypes>(f.arguments[P::place_of(P::choice_at)], chosen);
    else
      chosen(std::nullopt);
  }

  template <class Result, class Arguments>
  static auto created(const frame& f, Arguments& all) {
    return apply(
        [&](auto&... x) {
          if constexpr (Bound::passes_dtype)
            return typename Bound::create{}(std::type_identity<Result>{}, f.stream, x...);
          else
            return typename Bound::create{}(f.stream, x...);
        },
        all);
  }
  /// Whether results have another dtype if it is given.
  static constexpr bool has_default_dtype =
      Bound::passes_dtype && P::has_elements && P::narrow_at < 0;
  static constexpr bool may_be_given = P::line.has_bool_results || !std::is_same_v<T, bool>;
  using default_dtype =
      std::conditional_t<P::narrow_at >= 0, i64, std::conditional_t<has_default_dtype, void, T>>;

  static void create(const frame& f) {
    with_arguments(f, [&](auto& all) {
      if constexpr (P::gives != parameter_kind::tensor) {
        take<D>(f.any, created<T>(f, all));
      } else if constexpr (P::new_results == 0) {
        static_cast<void>(created_in_arguments(f, all));
      } else if constexpr (P::narrow_at >= 0) {
        if (f.arguments[P::narrow_at].boolean())
          take<D>(f.results, created<i32>(f, all));
        else
          take<D>(f.results, created<i64>(f, all));
      } else if constexpr (has_default_dtype) {
        using R = decltype(created<void>(f, all));
        if constexpr (!may_be_given)
          take<D>(f.results, created<void>(f, all));
        else if constexpr (std::is_same_v<typename result_types<R>::list, type_list<T>>)
          take<D>(f.results, created<T>(f, all));
        else if (f.with_dtype)
          take<D>(f.results, created<T>(f, all));
        else
          take<D>(f.results, created<void>(f, all));
      } else {
        take<D>(f.results, created<T>(f, all));
      }
    });
  }
  template <class Arguments>
  static int created_in_arguments(const frame& f, Arguments& all) {
    apply([&](auto&... x) { typename Bound::create{}(f.stream, x...); }, all);
    return 0;
  }

  static void in_place(const frame& f) {
    with_arguments(f, [&](auto& all) {
      auto self = f.arguments[0].view().template as<T>();
      [&]<std::size_t... K>(std::index_sequence<K...>) {
        typename Bound::in_place{}(f.stream, self, std::get<1 + K>(all)...);
      }
      (std::make_index_sequence<static_cast<std::size_t>(P::passed) - 1>{});
    });
  }

  static void write(const frame& f) {
    with_arguments(f, [&](auto& all) {
      using R = decltype(created<default_dtype>(f, all));
      const auto into = [&]<class... E>(type_list<E...>) {
        [&]<std::size_t... K>(std::index_sequence<K...>) {
          std::tuple<tensor_view<E, D>...> outs{
              f.arguments[static_cast<std::size_t>(P::count) + K].view().template as<E>()...};
          apply([&](auto&... x) { typename Bound::write{}(f.stream, x...); }, all,
                std::get<K>(outs)...);
        }
        (std::index_sequence_for<E...>{});
      };
      using by_default = typename result_types<R>::list;
      if constexpr (P::narrow_at >= 0)
        if (f.arguments[P::narrow_at].boolean()) return into(type_list<i32>{});
      if constexpr (has_default_dtype && may_be_given && !std::is_same_v<by_default, type_list<T>>)
        if (f.with_dtype) return into(type_list<T>{});
      into(by_default{});
    });
  }

  template <class... E>
  static constexpr void put_results(instance<D>& to, type_list<E...>) {
    int k = 0;
    ((to.results[k++] = dtype_of<E>), ...);
  }
  static constexpr instance<D> all() {
    instance<D> r;
    r.create = &create;
    r.may_be_given = may_be_given;
    if constexpr (P::new_results > 0) put_results(r, typename decltype(types_of_results())::type{});
    if constexpr (P::has_in_place)
      if constexpr (kind_number(first_result()) <= kind_number(dtype_of<T>) &&
                    !(is_complex(dtype_of<T>) && is_floating_point(first_result())))
        r.in_place = &in_place;
    if constexpr (P::has_out) r.write = &write;
    return r;
  }
  static constexpr dtype first_result() {
    instance<D> r;
    put_results(r, typename decltype(types_of_results())::type{});
    return r.results[0];
  }
  /// (A choice does not change the dtypes of results; nor do numbers.)
  static auto types_of_results() {
    const auto results = []<class Chosen>(std::type_identity<Chosen>) {
      return []<int... K>(std::integer_sequence<int, K...>) {
        using arguments = std::tuple<decltype(argument<K, false>(std::declval<const frame&>(),
                                                                 std::declval<Chosen&>()))...>;
        using R = decltype(created<default_dtype>(std::declval<const frame&>(),
                                                  std::declval<arguments&>()));
        return std::type_identity<typename result_types<R>::list>{};
      }
      (std::make_integer_sequence<int, P::passed>{});
    };
    if constexpr (P::choice_at >= 0)
      return results(std::type_identity<typename Bound::choice::template example<T, D>>{});
    else
      return results(std::type_identity<std::nullopt_t>{});
  }
};

// ---- tables

template <class T, class... Ts>
constexpr bool is_one_of(type_list<Ts...>) {
  return (std::is_same_v<T, Ts> || ...);
}

template <class Bound, class D, class... Ts>
constexpr operator_facts<D> facts_of(type_list<Ts...>) {
  using P = plan<Bound>;
  operator_facts<D> r;
  r.rule = P::line.rule;
  r.new_results = P::new_results;
  r.gives = P::gives;
  r.gives_views = Bound::gives_views;
  r.converts = P::line.sized_by.empty() && !Bound::gives_views;
  r.same_outputs = P::line.same_outputs;
  r.passes_dtype = Bound::passes_dtype;
  r.float_if_none = P::text.find(P::line.float_if_none);
  r.narrow_parameter = P::narrow_at;
  r.encoded_result = P::line.encoded_result;
  for (int i = 0; i < P::count; ++i)
    if (P::text.parameters[static_cast<std::size_t>(i)].kind == parameter_kind::dtype)
      r.dtype_parameter = i;
  const auto put = [&]<class T>(std::type_identity<T>) {
    if constexpr (Bound::gives_views)
      for (instance<D>& one : r.instances)
        one = instance_functions<Bound, D, u8, type_list<Ts...>>::all();
    else if constexpr (is_one_of<T>(typename Bound::types{}))
      r.instances[static_cast<int>(dtype_of<T>)] =
          instance_functions<Bound, D, T, type_list<Ts...>>::all();
  };
  (put(std::type_identity<Ts>{}), ...);
  return r;
}
template <class Bound, class D, class Dtypes>
inline constexpr operator_facts<D> facts_table = facts_of<Bound, D>(Dtypes{});

/// What an entry checks of its arguments.
template <class Bound, form Form, int Alias>
inline constexpr auto slots_of = [] {
  constexpr const schema& s = schema_of<Bound, Form, Alias>::value;
  std::array<slot, s.parameters.size() + 1> r{};  // not empty
  for (std::size_t i = 0; i < s.parameters.size(); ++i) {
    const bool output = static_cast<int>(i) >= plan<Bound>::count;
    const bool number = s.parameters[i].kind == parameter_kind::scalar &&
                        plan<Bound>::line.rule != dtype_rule::same;
    const bool alpha = s.parameters[i].name == "alpha";
    // Where nothing is promoted, a complex number has no tensor's dtype.
    const u32 complex = number ? 1u << static_cast<unsigned>(boxed_kind::complex_number) : 0u;
    r[i] = {accepted(s.parameters[i]) | complex,
            output ? role::output : plan<Bound>::role_at(static_cast<int>(i)),
            number && !alpha,
            number && alpha,
            must_be_false(s.parameters[i].name),
            !output &&
                (s.parameters[i].written || s.parameters[i].name == plan<Bound>::line.updated_one ||
                 s.parameters[i].name == plan<Bound>::line.updated_other)};
  }
  return r;
}();

template <class Bound, form Form, int Alias, class D, class Dtypes>
constexpr registered_operator<D> entry_of() {
  return {schema_of<Bound, Form, Alias>::value, Bound::facts().number, Form,
          slots_of<Bound, Form, Alias>.data(), facts_table<Bound, D, Dtypes>};
}

template <class Bound>
inline constexpr int alias_count = [] {
  int n = 0;
  for (const std::string_view name : Bound::facts().other_names) n += name.empty() ? 0 : 1;
  return n;
}();
/// Whether there is an in-place form under a name (of `other_names`; -1: its own).
template <class Bound, int Alias>
inline constexpr bool has_in_place = plan<Bound>::has_in_place &&
                                     (Alias < 0 ||
                                      may_be_in_place(Bound::facts().other_names[Alias]));
template <class Bound>
inline constexpr int entry_count = []<int... K>(std::integer_sequence<int, K...>) {
  return ((1 + (has_in_place<Bound, K - 1> ? 1 : 0) + (plan<Bound>::has_out ? 1 : 0)) + ...);
}
(std::make_integer_sequence<int, 1 + alias_count<Bound>>{});

template <class Family, class D, class Dtypes>
constexpr auto entries_of() {
  return []<class... Bound>(std::type_identity<std::tuple<Bound...>>) {
    std::array<registered_operator<D>, (entry_count<Bound> + ...)> all{};
    std::size_t n = 0;
    const auto put_forms = [&]<class B, int Alias>(std::type_identity<B>,
                                                   std::integral_constant<int, Alias>) {
      all[n++] = entry_of<B, form::functional, Alias, D, Dtypes>();
      if constexpr (has_in_place<B, Alias>)
        all[n++] = entry_of<B, form::in_place, Alias, D, Dtypes>();
      if constexpr (plan<B>::has_out) all[n++] = entry_of<B, form::out, Alias, D, Dtypes>();
    };
    const auto put = [&]<class B, int... K>(std::type_identity<B> one,
                                            std::integer_sequence<int, K...>) {
      (put_forms(one, std::integral_constant<int, K - 1>{}), ...);
    };
    (put(std::type_identity<Bound>{}, std::make_integer_sequence<int, 1 + alias_count<Bound>>{}),
     ...);
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.schema().key() < b.schema().key(); });
    for (std::size_t k = 1; k < all.size(); ++k)
      if (all[k - 1].schema().key() == all[k].schema().key())
        detail::raise_schema("operators of different names", all[k].schema().key());
    return all;
  }(std::type_identity<decltype(Family::lines())>{});
}
template <class Family, class D, class Dtypes>
inline constexpr auto operator_table = entries_of<Family, D, Dtypes>();

}  // namespace flaggems::bindings

/// A typed operator as a value.
#define FLAGGEMS_BOUND(...) [](auto&&... x) -> decltype(auto) { return __VA_ARGS__(x...); }
/// One that takes the dtype of its result as a template argument.
#define FLAGGEMS_BOUND_RESULT(...)                                                \
  []<class Result>(::std::type_identity<Result>, auto&&... x) -> decltype(auto) { \
    return __VA_ARGS__<Result>(x...);                                             \
  }
#define FLAGGEMS_LINE(...) [] { return ::flaggems::bindings::line_facts(__VA_ARGS__); }

/// A line: the typed operator, the dtypes that it has (a type_list, or with_choice), and its
/// schema, with words or without: FLAGGEMS_BIND(flaggems::mm, floating_types, "mm(...) -> Tensor").
#define FLAGGEMS_BIND(function, types, ...) \
  ::flaggems::bindings::bind<types>(FLAGGEMS_LINE(__VA_ARGS__), FLAGGEMS_BOUND(function))
/// The same with function_, the in-place form.
#define FLAGGEMS_BIND_IN_PLACE(function, types, ...)                                      \
  ::flaggems::bindings::bind<types>(FLAGGEMS_LINE(__VA_ARGS__), FLAGGEMS_BOUND(function), \
                                    FLAGGEMS_BOUND(function##_))
/// The same for function<T>(...), where T is the result's dtype, which ScalarType gives.
#define FLAGGEMS_BIND_RESULT(function, types, ...) \
  ::flaggems::bindings::bind_result<types>(        \
      FLAGGEMS_LINE(__VA_ARGS__), FLAGGEMS_BOUND_RESULT(function), FLAGGEMS_BOUND(function))

/// A line of views, of any dtype: what it gives of an any_view x and the arguments a (an any_view;
/// an any_tensor where it may have to copy, in the order of `stream`), and its schema:
/// FLAGGEMS_BIND_VIEW(x.permute(a...), "permute(Tensor(a) self, int[] dims) -> Tensor(a)").
#define FLAGGEMS_BIND_VIEW(gives, ...)                                                   \
  ::flaggems::bindings::bind_view(FLAGGEMS_LINE(__VA_ARGS__),                            \
                                  []([[maybe_unused]] const auto& stream, const auto& x, \
                                     [[maybe_unused]] const auto&... a) { return gives; })

/// Compiles the operators of a family for a device and these element types. In namespace scope of
/// one source file of a program.
#define FLAGGEMS_REGISTRY_FAMILY(Family, Device, ...)                          \
  template <>                                                                  \
  ::std::span<const ::flaggems::registered_operator<Device>>                   \
  flaggems::bindings::family_operators<Family, Device>::get() {                \
    return operator_table<Family, Device, ::flaggems::type_list<__VA_ARGS__>>; \
  }                                                                            \
  static_assert(true)
