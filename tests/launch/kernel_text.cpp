// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
#include <flaggems/kernels/softmax.hpp>
#include <flaggems/vendors/driver/kernel_text.hpp>
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

TEST(kernel_text, source_includes_every_text_and_names_one_instance) {
  const auto& instance = instance_of<flaggems_test::scaled_rows, fk::row_space>;
  const std::string source =
      source_of(kernel_texts::embedded()) + source_of(instance, "flaggems_entry");
  EXPECT_NE(source.find("#include <support/user_kernels.hpp>\n"), source.npos);
  EXPECT_NE(source.find("FLAGGEMS_INSTANCE(flaggems_entry, flaggems_test::scaled_rows, "
                        "flaggems::kernels::row_space"),
            source.npos)
      << source;
}

}  // namespace
