/* SPDX-FileCopyrightText: 2026 The flaggems authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The operators in C, by TVM-FFI's C interface: ffi_from_c LIBRARY, that of the Python package. Any
 * language that calls C does the same. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

static TVMFFIAny none(void) {
  TVMFFIAny a;
  memset(&a, 0, sizeof a);
  return a;
}
static TVMFFIAny integer(int64_t value) {
  TVMFFIAny a = none();
  a.type_index = kTVMFFIInt;
  a.v_int64 = value;
  return a;
}
static TVMFFIAny text(const char* value) {
  TVMFFIAny a = none();
  a.type_index = kTVMFFIRawStr;
  a.v_c_str = value;
  return a;
}
static TVMFFIAny tensor(DLTensor* value) {
  TVMFFIAny a = none();
  a.type_index = kTVMFFIDLTensorPtr;
  a.v_ptr = value;
  return a;
}

/* [call] */
static TVMFFIObjectHandle operator_named(const char* name) {
  const TVMFFIByteArray key = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  return TVMFFIFunctionGetGlobal(&key, &function) == 0 ? function : NULL;
}

/* out = softmax(x, dim): nothing is allocated. */
static int softmax(DLTensor* x, int64_t dim, DLTensor* out) {
  static TVMFFIObjectHandle function = NULL;
  if (function == NULL) function = operator_named("flaggems.softmax.int_out");
  if (function == NULL) return -1;
  TVMFFIAny arguments[4] = {tensor(x), integer(dim), none(),
                            tensor(out)}; /* self, dim, dtype, out */
  TVMFFIAny result = none();
  return TVMFFIFunctionCall(function, arguments, 4, &result);
}
/* [/call] */

static void print_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return;
  const TVMFFIErrorCell* cell = (const TVMFFIErrorCell*)((const char*)error + sizeof(TVMFFIObject));
  printf("%.*s: %.*s\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size,
         cell->message.data);
  TVMFFIObjectDecRef(error);
}

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "usage: ffi_from_c LIBRARY\n"), 2;
  /* [load] */
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
  TVMFFISafeCallType begin;
  *(void**)&begin = dlsym(library, "__tvm_ffi_register_operators");
  TVMFFIAny prefix = text("flaggems."), schemas = none();
  if (begin == NULL || begin(NULL, &prefix, 1, &schemas) != 0) return print_error(), 1;
  /* [/load] */
  if (schemas.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(schemas.v_obj);

  float values[2][3] = {{0, 1, 2}, {3, 3, 3}}, results[2][3] = {{0}};
  int64_t sizes[2] = {2, 3};
  DLTensor x = {values, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, sizes, NULL, 0};
  DLTensor out = {results, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, sizes, NULL, 0};
  if (softmax(&x, -1, &out) != 0) return print_error(), 1;
  for (int i = 0; i < 2; ++i)
    printf("%.4f %.4f %.4f\n", results[i][0], results[i][1], results[i][2]);
  if (fabsf(results[0][2] - 0.6652f) > 1e-4f || fabsf(results[1][0] - 1.0f / 3) > 1e-6f) return 1;

  if (softmax(&x, 5, &out) == 0) return 1; /* a dimension that x does not have */
  print_error();
  return 0;
}
