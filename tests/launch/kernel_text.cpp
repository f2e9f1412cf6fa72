// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernels/softmax.hpp>
#include <flaggems/vendors/driver/needed_text.hpp>
#include <support/user_kernels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace {

namespace fk = flaggems::kernels;
using flaggems::detail::instance_of;
using flaggems::detail::kernel_texts;

std::string embedded(const std::string& name) {
  const kernel_texts& all = kernel_texts::embedded();
  for (std::size_t k = 0; k < all.names.size(); ++k)
    if (all.names[k] == name) return all.texts[k];
  return {};
}
std::string file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool includes(const std::string& source, const std::string& name) {
  return source.find("#include <" + name + ">\n") != source.npos;
}

TEST(kernel_text, is_that_of_the_header) {
  for (const char* name : {"flaggems/config.hpp", "flaggems/kernels/prelude.hpp",
                           "flaggems/kernels/softmax.hpp", "flaggems/kernels/entry.hpp"}) {
    const std::string text = embedded(name);
    EXPECT_NE(text, "") << name;
    EXPECT_EQ(text, file(std::string(FLAGGEMS_TEST_SOURCE_DIR "/include/") + name)) << name;
  }
  EXPECT_EQ(embedded("support/user_kernels.hpp"),
            file(FLAGGEMS_TEST_SOURCE_DIR "/tests/support/user_kernels.hpp"));
}

// This program has many files, each of which carries the texts that it includes.
TEST(kernel_text, is_there_once) {
  const kernel_texts& all = kernel_texts::embedded();
  std::set<std::string> names(all.names.begin(), all.names.end());
  EXPECT_EQ(names.size(), all.names.size());
  const std::string raw(flaggems::detail::texts_begin, flaggems::detail::texts_end);
  const std::string start = std::string("flaggems/kernels/softmax.hpp") + '\0' + "// SPDX";
  EXPECT_NE(raw.find(start), raw.npos);
  EXPECT_EQ(raw.find(start), raw.rfind(start));
}

TEST(kernel_text, instances_are_named_with_their_arguments) {
  using kernel = fk::softmax<float, flaggems::bf16, float, false>;
  const auto& instance =
      instance_of<kernel, fk::row_space, fk::row_arg<float>, fk::row_target<flaggems::bf16>>;
  const std::string types(instance.types());
  EXPECT_EQ(types.find("flaggems::kernels::softmax<float, "), 0U) << types;
  EXPECT_NE(types.find(", flaggems::kernels::row_space, "), types.npos) << types;
  EXPECT_EQ(instance.argument_bytes(),
            std::to_string(sizeof(fk::row_space) + sizeof(fk::row_arg<float>) +
                           sizeof(fk::row_target<flaggems::bf16>)));
}

TEST(kernel_text, source_names_one_instance_behind_what_it_needs) {
  const auto& instance = instance_of<fk::softmax<float, float, float, false>, fk::row_space>;
  const std::string source =
      source_of(kernel_texts::embedded(), source_of(instance, "flaggems_entry"));
  for (const char* needed : {"flaggems/config.hpp", "flaggems/kernels/entry.hpp",
                             "flaggems/kernels/rows.hpp", "flaggems/kernels/softmax.hpp"})
    EXPECT_TRUE(includes(source, needed)) << needed;
  // Others of the library come in by those, if at all.
  EXPECT_NE(embedded("flaggems/kernels/value.hpp"), "");
  EXPECT_FALSE(includes(source, "flaggems/kernels/value.hpp")) << source;
  EXPECT_TRUE(includes(source, "support/user_kernels.hpp"));
  EXPECT_NE(source.find("FLAGGEMS_INSTANCE(flaggems_entry, flaggems::kernels::softmax<float, "),
            source.npos)
      << source;
}

TEST(kernel_text, names_are_found_where_they_are_declared) {
  kernel_texts texts;
  const auto add = [&](const char* name, const char* text) {
    texts.names.push_back(name);
    texts.texts.push_back(text);
  };
  add("flaggems/kernels/a.hpp", "struct node;");
  add("flaggems/kernels/b.hpp", "struct name##_fn { };\nusing kernels::row;");
  add("flaggems/kernels/c.hpp", "enum class order : int { up };\nusing row = int;");
  add("mine.hpp", "struct swish;");
  const auto which = [&](const char* lines) {
    std::string marks;
    for (const bool b : included_texts(texts, lines)) marks += b ? '1' : '0';
    return marks;
  };
  EXPECT_EQ(which("float, swish"), "0001");
  EXPECT_EQ(which("flaggems::kernels::node<int>"), "1001");
  EXPECT_EQ(which("flaggems::kernels::node<flaggems::kernels::add_fn>"), "1101");
  EXPECT_EQ(which("swish, flaggems::kernels::order::up"), "0011");
  EXPECT_EQ(which("flaggems::kernels::row"), "0011");
  EXPECT_EQ(which("flaggems::kernels::node<flaggems::kernels::unheard_of>"), "1111");
}

// The lines of a text that stay, if a source includes it and says these words.
std::string kept(const std::string& text, const std::string& words) {
  kernel_texts all;
  all.names = {"flaggems/kernels/unused.hpp", "flaggems/kernels/a.hpp"};
  all.texts = {"struct unused;\n", text.c_str()};
  const flaggems::detail::needed_texts needed(all, "#include <flaggems/kernels/a.hpp>\n" + words);
  EXPECT_EQ(needed.names.size(), 1U);
  const std::string rest = needed.texts.at(0);
  EXPECT_EQ(std::count(rest.begin(), rest.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
  std::string lines, line;
  for (std::istringstream all_lines(rest); std::getline(all_lines, line);)
    if (line.find_first_not_of(" \\") != line.npos) lines += line + '\n';
  return lines;
}

TEST(needed_text, is_what_is_said_by_what_is_needed) {
  const std::string first =
                        "namespace n {\ntemplate <class T, int N = (1 < 2)>\nT first(T x) {\n"
                        "  return second<T>{x};\n}\n",
                    second = "template <class T>\nstruct alignas(16) second {\n  T x;\n};\n",
                    third = "inline constexpr int third[size] = {1, 2};\n",
                    fourth = "template <>\nusing fourth = first<int>;\n", end = "}\n";
  const std::string all = first + second + third + fourth + end;
  EXPECT_EQ(kept(all, ""), "namespace n {\n" + end);
  EXPECT_EQ(kept(all, "second"), "namespace n {\n" + second + end);
  EXPECT_EQ(kept(all, "first"), first + second + end);
  EXPECT_EQ(kept(all, "third // second"), "namespace n {\n" + third + end);
  EXPECT_EQ(kept(all, "fourth"), first + second + fourth + end);
}

TEST(needed_text, has_members_that_are_said_or_have_no_name) {
  const std::string begin =
                        "struct s : base {\n public:\n  s(int a) : base(a) {}\n  int a = 1, b;\n"
                        "  bool operator<(s) const { return true; }\n  void declared();\n",
                    one = "  int one() const {\n    return two('\"', \"// }\");\n  }\n",
                    two = "  template <class T = t<(1 > 2)>>\n  int two() { return 2; }\n",
                    end = "};\n";
  EXPECT_EQ(kept(begin + one + two + end, "s"), begin + end);
  EXPECT_EQ(kept(begin + one + two + end, "s two"), begin + two + end);
  EXPECT_EQ(kept(begin + one + two + end, "s one"), begin + one + two + end);
  EXPECT_EQ(kept(begin + one + two + end, "one"), "");
}

TEST(needed_text, has_what_is_used_without_its_name) {
  for (const char* text : {"v operator+(v a, v b) { return a; }\n", "enum order { up, down };\n",
                           "static_assert(sizeof(int) == 4);\n", "FLAGGEMS_TEXT(\"a\");\n",
                           "extern __align__(16) int memory[];\n", "constexpr int a = 1, b = 2;\n",
                           "#if 1\n#endif\n", "#define MACRO a\n"}) {
    EXPECT_EQ(kept(text, ""), text);
    EXPECT_EQ(kept(std::string(text) + "struct unsaid {};\n", ""), text);
  }
}

TEST(needed_text, has_the_macros_and_the_rows_of_tables_that_are_said) {
  const std::string macro = "#define CALL(x) \\\n  f(x)\n", f = "int f();\n";
  EXPECT_EQ(kept(macro + f, ""), macro);
  EXPECT_EQ(kept(macro + f, "CALL"), macro + f);
  EXPECT_EQ(kept(f + "struct s {\n#if A\n  int x = f();\n#endif\n};\n", "s").substr(0, f.size()),
            f);
  const std::string head = "#define FLAGGEMS_TABLE(RULE) \\\n", exp = "  RULE(exp, exp(a)) \\\n",
                    log = "  RULE(log, log(a))\n", both = "int exp();\nint log();\n",
                    use = "FLAGGEMS_TABLE(RULE)\n#undef RULE\n";
  EXPECT_EQ(kept(head + exp + log + both + use, ""), head + use);
  EXPECT_EQ(kept(head + exp + log + both + use, "exp_fn"), head + exp + "int exp();\n" + use);
  EXPECT_EQ(kept(head + exp + log + both + use, "log_fn"), head + log + "int log();\n" + use);
}

TEST(needed_text, has_all_of_what_is_not_the_librarys) {
  kernel_texts all;
  const std::string mine = "struct mine { int f() { return g(); } };\n";
  all.names = {"mine.hpp", "flaggems/kernels/a.hpp"};
  all.texts = {mine.c_str(), "int g();\nint h();\n"};
  const flaggems::detail::needed_texts needed(
      all, "#include <mine.hpp>\n#include <flaggems/kernels/a.hpp>\n");
  ASSERT_EQ(needed.texts.size(), 2U);
  EXPECT_EQ(needed.texts[0], mine);
  EXPECT_EQ(needed.texts[1], std::string("int g();\n\n"));
}

}  // namespace
