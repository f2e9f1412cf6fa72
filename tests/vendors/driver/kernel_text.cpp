// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernel/family/row/programs/softmax.hpp>
#include <flaggems/kernel/family/row/staged.hpp>
#include <flaggems/vendors/driver/kernel_text.hpp>
#include <support/user_kernels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fk = flaggems::kernels;
template <class Out>
using operands =
    fk::row_operands<fk::operands<fk::row_arg<float>>, fk::operands<fk::row_target<Out>>>;
using softmax = fk::softmax_program<float, false>;
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
  for (const char* name : {"flaggems/config.hpp", "flaggems/kernel/lang/prelude.hpp",
                           "flaggems/kernel/family/row/programs/softmax.hpp",
                           "flaggems/kernel/block/simt/entry.hpp"}) {
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
  std::string start = "flaggems/kernel/family/row/programs/softmax.hpp";
  start.push_back('\0');
  start += "// SPDX";
  EXPECT_NE(raw.find(start), raw.npos);
  EXPECT_EQ(raw.find(start), raw.rfind(start));
}

TEST(kernel_text, instances_are_named_with_their_arguments) {
  using kernel = fk::staged_row_program<softmax, operands<flaggems::bf16>>;
  const auto& instance =
      instance_of<kernel, fk::row_space, fk::row_arg<float>, fk::row_target<flaggems::bf16>>;
  const std::string types(instance.types());
  EXPECT_EQ(types.find("flaggems::kernels::staged_row_program<"), 0U) << types;
  EXPECT_NE(types.find(", flaggems::kernels::row_space, "), types.npos) << types;
  EXPECT_EQ(instance.argument_bytes(),
            std::to_string(sizeof(fk::row_space) + sizeof(fk::row_arg<float>) +
                           sizeof(fk::row_target<flaggems::bf16>)));
}

TEST(kernel_text, source_names_one_instance_behind_what_it_needs) {
  const auto& instance =
      instance_of<fk::staged_row_program<softmax, operands<float>>, fk::row_space>;
  const std::string source =
      source_of(kernel_texts::embedded(), source_of(instance, "flaggems_entry"));
  for (const char* needed :
       {"flaggems/config.hpp", "flaggems/kernel/block/simt/entry.hpp",
        "flaggems/kernel/expr/rows.hpp", "flaggems/kernel/family/row/programs/softmax.hpp"})
    EXPECT_TRUE(includes(source, needed)) << needed;
  // Others of the library come in by those, if at all.
  EXPECT_NE(embedded("flaggems/kernel/lang/value.hpp"), "");
  EXPECT_FALSE(includes(source, "flaggems/kernel/lang/value.hpp")) << source;
  EXPECT_TRUE(includes(source, "support/user_kernels.hpp"));
  EXPECT_NE(source.find("FLAGGEMS_INSTANCE(flaggems_entry, flaggems::kernels::staged_row_program<"),
            source.npos)
      << source;
}

TEST(kernel_text, names_are_found_where_they_are_declared) {
  kernel_texts texts;
  const auto add = [&](const char* name, const char* text) {
    texts.names.push_back(name);
    texts.texts.push_back(text);
  };
  add("flaggems/kernel/a.hpp", "struct node;");
  add("flaggems/kernel/b.hpp", "struct name##_fn { };\nusing kernels::row;");
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

// A table's rows are declared by a macro of another header.
TEST(kernel_text, rows_of_tables_bring_their_table) {
  kernel_texts texts;
  texts.names = {"flaggems/kernel/functors.hpp", "flaggems/kernel/tables/a.hpp",
                 "flaggems/kernel/tables/b.hpp"};
  texts.texts = {"#define ROW(name, formula) struct name##_fn { };",
                 "TABLE(ROW) ROW(ceil, up(a)) ROW(floor, down(a))", "ROW(ceiling, ceil)"};
  EXPECT_EQ(included_texts(texts, "flaggems::kernels::ceil_fn"),
            (std::vector<bool>{true, true, false}));
  EXPECT_EQ(included_texts(texts, "flaggems::kernels::ceiling_fn"),
            (std::vector<bool>{true, false, true}));
}

TEST(kernel_text, a_family_brings_its_side_for_threads) {
  kernel_texts texts;
  texts.names = {"flaggems/kernel/family/scan/scan.hpp",
                 "flaggems/kernel/family/scan/simt/scan.hpp",
                 "flaggems/kernel/family/scan/simt/other.hpp"};
  texts.texts = {"struct scan;", "void share_row();", "struct other;"};
  EXPECT_EQ(included_texts(texts, "flaggems::kernels::scan<float>"),
            (std::vector<bool>{true, true, false}));
}

}  // namespace
