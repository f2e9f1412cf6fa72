#!/bin/sh
# SPDX-FileCopyrightText: 2026 The flaggems authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the GGUF fuzzer with clang under ASan and UBSan and runs it: run.sh [SECONDS [WORKDIR]].
# Exit status 0: no crash, leak, undefined behaviour or input slower than 10 s.
set -eu
seconds=${1:-600}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${2:-$(mktemp -d)}
cxx=${CXX:-clang++}
flags="-std=c++20 -O1 -g1 -I$root/include -I$root/examples -I$root/tests"
mkdir -p "$work/corpus" "$work/seeds"
# shellcheck disable=SC2086
"$cxx" $flags -DFLAGGEMS_FUZZ_SEEDS "$root/tests/fuzz/gguf_fuzzer.cpp" -o "$work/seeder"
# shellcheck disable=SC2086
"$cxx" $flags -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
  "$root/tests/fuzz/gguf_fuzzer.cpp" -o "$work/gguf_fuzzer"
"$work/seeder" --write-seeds "$work/seeds"
exec "$work/gguf_fuzzer" -max_total_time="$seconds" -max_len=8192 -timeout=10 -rss_limit_mb=2048 \
  -dict="$root/tests/fuzz/gguf.dict" -print_final_stats=1 -artifact_prefix="$work/" \
  "$work/corpus" "$work/seeds"
