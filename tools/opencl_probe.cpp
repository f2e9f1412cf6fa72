// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// opencl-probe: what flaggems::opencl takes for granted of a driver that takes PTX (NVIDIA's),
// asked of this machine's. Each line is a question and what was found; "as expected" or "NOT AS
// EXPECTED" ends those that the library relies on, and the exit status is 0 if all are.
//
//   g++ -std=c++20 -O1 -Iinclude tools/opencl_probe.cpp -o opencl-probe -ldl -pthread
#include <flaggems/vendors/opencl.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

namespace fd = flaggems::detail;
namespace cl = flaggems::detail::cl;
using flaggems::i64;
using flaggems::u32;
using flaggems::u64;
using std::size_t;

// Kernels with the parameters of FLAGGEMS_INSTANCE's, or one more question each.
constexpr const char* source = R"(
typedef unsigned long long u64;
struct words { u64 at[COUNT]; };
// The kernel's own view of a launch: one row of six numbers, by the block that is asked for.
extern "C" __global__ void facts(const __grid_constant__ words w, u64 shared, u64 memory, u64 out, u64 block) {
  u64 generic, *const to = (u64*)out;
  asm("cvta.shared.u64 %0, %1;" : "=l"(generic) : "l"(shared));
  unsigned bytes, before, groups;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  asm("mov.b32 %0, %%envreg0;" : "=r"(before));
  asm("mov.b32 %0, %%envreg6;" : "=r"(groups));
  if (blockIdx.x == block && threadIdx.x == 0) {
    to[0] = w.at[0] + w.at[COUNT - 1]; to[1] = shared; to[2] = bytes; to[3] = memory;
    to[4] = before; to[5] = groups; to[6] = gridDim.x; to[7] = __isShared((void*)generic);
  }
  atomicAdd(to + 8, (u64)blockIdx.x);
  atomicAdd(to + 9, 1ull);
}
// All of the block's local memory is written and read, the last words of it, too.
extern "C" __global__ void reverse(const __grid_constant__ words w, u64 shared, u64 memory, u64 out, u64 bytes) {
  u64 generic;
  asm("cvta.shared.u64 %0, %1;" : "=l"(generic) : "l"(shared));
  u64 *const at = (u64*)generic, n = bytes / 8;
  for (u64 k = threadIdx.x; k < n; k += blockDim.x) at[k] = k + 1;
  __syncthreads();
  u64 sum = 0;
  for (u64 k = threadIdx.x; k < n; k += blockDim.x) sum += at[n - 1 - k];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0) atomicAdd((u64*)out, sum);
}
// Follows a pointer that stands in memory.
extern "C" __global__ void follow(const __grid_constant__ words w, u64 shared, u64 memory, u64 out, u64) {
  if (threadIdx.x == 0) **(u64**)out += 1;
}
extern "C" __global__ void __launch_bounds__(1024) wide(const __grid_constant__ words w, u64 shared, u64 memory, u64 out, u64) {
  atomicAdd((u64*)out, 1ull);
}
extern "C" __global__ void __launch_bounds__(256) bounded(const __grid_constant__ words w, u64 shared, u64 memory, u64 out, u64) {
  atomicAdd((u64*)out, 1ull);
}
)";
constexpr const char* kernels[] = {"facts", "reverse", "follow", "bounded", "wide"};

struct no_own_images : fd::opencl_ptx_api {};  // PTX as NVRTC makes it, or with what is said here
const fd::opencl_functions& call = fd::opencl_driver::get().functions();
int unexpected = 0;

void tell(const std::string& question, const std::string& found) {
  std::printf("%-66s %s\n", question.c_str(), found.c_str());
}
void expect(const std::string& question, bool is, const std::string& found) {
  tell(question, found + (is ? ", as expected" : ", NOT AS EXPECTED"));
  unexpected += is ? 0 : 1;
}
std::string result_of(int result) { return std::string(fd::opencl_error_text(result).view()); }

std::string ptx_of(int capability, int words, bool says_spaces) {
  const std::string target(fd::opencl_ptx_api::target_of(capability).view());
  std::vector<std::string> options = fd::opencl_ptx_api::compiler_options(target);
  options.push_back("-DCOUNT=" + std::to_string(words));
  fd::compiled_source made =
      fd::compiler_library<no_own_images>::get().compile({}, source, options, false);
  if (!made.failure.empty())
    tell("NVRTC", std::string(made.failure.view()) + ": " + made.log), ++unexpected;
  for (const char* kernel : kernels)
    if (says_spaces && !(fd::state_space_of_parameter(made.image, kernel, 1, ".shared") &&
                         fd::state_space_of_parameter(made.image, kernel, 2, ".global")))
      expect(std::string("the parameters of ") + kernel, false, "are not declared as thought");
  return made.image;
}

class device {
 public:
  explicit device(const fd::opencl_driver::device& d) : id_(d.id), capability_(d.capability) {
    int result = 0;
    context_ = call.clCreateContext.call(nullptr, 1, &id_, nullptr, nullptr, &result);
    static constexpr u64 properties[] = {cl::queue_properties, cl::queue_profiling_enable, 0};
    queue_ = call.clCreateCommandQueueWithProperties.call(context_, id_, properties, &result);
    out_ = static_cast<u64*>(allocate(row_bytes));
    expect("a context, a queue and shared virtual memory",
           context_ != nullptr && queue_ != nullptr && out_ != nullptr, result_of(result));
  }
  void ask() {
    tell_properties();
    if (queue_ == nullptr || out_ == nullptr) return;
    const std::string ptx = ptx_of(capability_, 3, true);
    void* const program = build("PTX without a zero at its end is built", ptx, true);
    build("PTX with a zero at its end is built", ptx + '\0', false);
    build("nothing but words is built", "no image", false);
    if (program == nullptr) return;
    ask_of_parameters(program);
    ask_of_local_memory(program);
    ask_of_blocks(program);
    ask_of_pointers(program);
    ask_of_sizes(program);
    ask_of_marks();
  }

 private:
  static constexpr size_t row_words = 10, row_bytes = row_words * sizeof(u64);
  struct launch {
    size_t words = 3, local = 1024, groups = 1, items = 32;
    u64 block = 0;
    void* buffer = nullptr;
  };

  void* allocate(size_t bytes) const {
    return call.clSVMAlloc.call(context_, cl::mem_read_write, bytes, 0);
  }
  void tell_properties() const {
    const auto& driver = fd::opencl_driver::get();
    tell("device", driver.words(id_, cl::device_name));
    tell("version, driver", driver.words(id_, 0x102f) + ", " + driver.words(id_, 0x102d));
    tell("extensions", driver.words(id_, cl::device_extensions));
    tell("compute capability", std::to_string(capability_));
    tell("lanes of a warp", std::to_string(driver.number<u32>(id_, 0x4003)));
    tell("local memory, bytes", std::to_string(driver.number<u64>(id_, cl::device_local_mem_size)));
    tell("parameters, bytes", std::to_string(driver.number<size_t>(id_, 0x1017)));
    tell("work-items a group",
         std::to_string(driver.number<size_t>(id_, cl::device_max_work_group_size)));
    tell("shared virtual memory, bits",
         std::to_string(driver.number<u64>(id_, cl::device_svm_capabilities)));
  }
  void* build(const char* question, const std::string& image, bool is_expected) const {
    const auto* data = reinterpret_cast<const unsigned char*>(image.data());
    const size_t bytes = image.size();
    int status = 0, result = 0;
    void* const program =
        call.clCreateProgramWithBinary.call(context_, 1, &id_, &bytes, &data, &status, &result);
    if (program != nullptr)
      result = call.clBuildProgram.call(program, 1, &id_, "", nullptr, nullptr);
    char log[512] = {};
    if (program != nullptr)
      call.clGetProgramBuildInfo.call(program, id_, cl::program_build_log, sizeof(log) - 1, log,
                                      nullptr);
    const std::string found =
        (program == nullptr ? "creating it: " : "building it: ") + result_of(result) + ' ' + log;
    if (is_expected)
      expect(question, result == 0, found);
    else
      tell(question, found);
    return result == 0 ? program : nullptr;
  }
  void* kernel_of(void* program, const char* name) const {
    int result = 0;
    void* const kernel = call.clCreateKernel.call(program, name, &result);
    if (kernel == nullptr) expect(std::string("the kernel ") + name, false, result_of(result));
    return kernel;
  }
  /// The first result that is none, of a launch that is done.
  int run(void* kernel, const launch& how, u64* out, const std::vector<void*>& known) const {
    std::vector<u64> words(how.words);
    for (size_t k = 0; k < how.words; ++k) words[k] = 100 + k;
    if (const int refused = call.clSetKernelExecInfo.call(
            kernel, cl::kernel_exec_info_svm_ptrs, known.size() * sizeof(void*), known.data());
        refused != 0 && !known.empty())
      return refused;
    const struct {
      size_t bytes;
      const void* value;
    } arguments[] = {{8 * how.words, words.data()},
                     {how.local, nullptr},
                     {sizeof(void*), &how.buffer},
                     {sizeof(out), &out},
                     {sizeof(how.block), &how.block}};
    u32 index = 0;
    for (const auto& one : arguments)
      if (const int refused = call.clSetKernelArg.call(kernel, index++, one.bytes, one.value);
          refused != 0)
        return refused;
    const size_t global = how.groups * how.items;
    const int result = call.clEnqueueNDRangeKernel.call(queue_, kernel, 1, nullptr, &global,
                                                        &how.items, 0, nullptr, nullptr);
    const int finished = call.clFinish.call(queue_);
    return result != 0 ? result : finished;
  }
  std::array<u64, row_words> row() const {
    std::array<u64, row_words> there{};
    call.clEnqueueSVMMemcpy.call(queue_, 1, there.data(), out_, row_bytes, 0, nullptr, nullptr);
    return there;
  }
  int run_for_row(void* kernel, const launch& how, std::array<u64, row_words>& found) const {
    const unsigned char zero = 0;
    call.clEnqueueSVMMemFill.call(queue_, out_, &zero, 1, row_bytes, 0, nullptr, nullptr);
    const int result = run(kernel, how, out_, {out_});
    found = row();
    return result;
  }

  void ask_of_parameters(void* program) const {
    std::array<u64, row_words> found{};
    const int result = run_for_row(kernel_of(program, "facts"), {}, found);
    expect("a struct of 24 bytes by value", result == 0 && found[0] == 202,
           result_of(result) + ", " + std::to_string(found[0]));
    for (const size_t words : {size_t{120}, size_t{500}}) {
      const bool is_relied_on = 8 * words <= flaggems::kernels::most_argument_bytes;
      void* const larger = build("PTX of a larger struct is built",
                                 ptx_of(capability_, static_cast<int>(words), true), is_relied_on);
      if (larger == nullptr) continue;
      launch how;
      how.words = words;
      const int given = run_for_row(kernel_of(larger, "facts"), how, found);
      const bool is_good = given == 0 && found[0] == 2 * 100 + words - 1;
      const std::string question = "a struct of " + std::to_string(8 * words) + " bytes by value";
      if (is_relied_on)
        expect(question, is_good, result_of(given));
      else
        tell(question, result_of(given) + (is_good ? ", right" : ", wrong"));
    }
    void* const unsaid =
        build("PTX that does not say what pointers are to", ptx_of(capability_, 3, false), false);
    if (unsaid == nullptr) return;
    void* const kernel = kernel_of(unsaid, "facts");
    tell("... its second parameter as local memory",
         result_of(call.clSetKernelArg.call(kernel, 1, 1024, nullptr)));
    void* const none = nullptr;
    tell("... its third as a buffer",
         result_of(call.clSetKernelArg.call(kernel, 2, sizeof(none), &none)));
  }
  void ask_of_local_memory(void* program) const {
    std::array<u64, row_words> found{};
    const int result = run_for_row(kernel_of(program, "facts"), {}, found);
    expect("a local pointer is an address in shared memory", result == 0 && found[7] == 1,
           std::to_string(found[1]) + " of " + std::to_string(found[2]) + " dynamic bytes");
    expect("it is aligned to 16", found[1] % 16 == 0, std::to_string(found[1] % 16));
    void* const kernel = kernel_of(program, "reverse");
    const size_t all =
        static_cast<size_t>(fd::opencl_driver::get().number<u64>(id_, cl::device_local_mem_size));
    const size_t most = all - fd::opencl_ptx_api::bytes_of_driver;
    for (const size_t bytes : {size_t{1024}, most - 1024, most, all, all + 1024, size_t{2} * all}) {
      launch how;
      how.items = 256;
      how.local = bytes;
      how.block = bytes;
      const int given = run_for_row(kernel, how, found);
      const u64 n = bytes / 8, right = n * (n + 1) / 2;
      const std::string question = std::to_string(bytes) + " bytes of local memory";
      const std::string said = result_of(given) + (found[0] == right ? ", right" : ", wrong");
      if (bytes <= most)
        expect(question, given == 0 && found[0] == right, said);
      else
        tell(question + (bytes > all ? ", more than the device says" : ", all of it"), said);
      if (given != 0 && call.clFinish.call(queue_) != 0) return;  // nothing runs any more
    }
  }
  void ask_of_blocks(void* program) const {
    void* const kernel = kernel_of(program, "facts");
    for (const size_t groups : {size_t{1}, size_t{57}, size_t{65535}, size_t{65536},
                                size_t{1} << 20, size_t{5'000'000}}) {
      std::array<u64, row_words> found{};
      launch how;
      how.groups = groups;
      how.block = groups - 1;
      const int result = run_for_row(kernel, how, found);
      // Each work-item adds.
      const u64 items = u64{groups} * how.items;
      expect(std::to_string(groups) + " groups are one grid",
             result == 0 && found[6] == groups && found[9] == items &&
                 found[8] == u64{groups} * (groups - 1) / 2 * how.items,
             result_of(result) + ", gridDim " + std::to_string(found[6]) + ", envreg0 " +
                 std::to_string(found[4]) + ", envreg6 " + std::to_string(found[5]));
    }
  }
  void ask_of_pointers(void* program) const {
    void* const kernel = kernel_of(program, "follow");
    for (const bool is_told : {true, false}) {
      auto* const number = static_cast<u64*>(allocate(8));
      auto* const pointer = static_cast<u64*>(allocate(8));
      const u64 seven = 7, address = reinterpret_cast<u64>(number);
      call.clEnqueueSVMMemcpy.call(queue_, 1, number, &seven, 8, 0, nullptr, nullptr);
      call.clEnqueueSVMMemcpy.call(queue_, 1, pointer, &address, 8, 0, nullptr, nullptr);
      std::vector<void*> known = {out_, pointer};
      if (is_told) known.push_back(number);
      const int result = run(kernel, {}, pointer, known);
      u64 there = 0;
      call.clEnqueueSVMMemcpy.call(queue_, 1, &there, number, 8, 0, nullptr, nullptr);
      const std::string found = result_of(result) + ", " + std::to_string(there);
      if (is_told)
        expect("a pointer in memory, of which the driver was told", result == 0 && there == 8,
               found);
      else
        tell("... of which it was not told", found);
    }
    int result = 0;
    launch how;
    how.buffer = call.clCreateBuffer.call(context_, cl::mem_read_write, 4096, nullptr, &result);
    std::array<u64, row_words> found{};
    result = run_for_row(kernel_of(program, "facts"), how, found);
    expect("a buffer's address by the third parameter", result == 0 && found[3] != 0,
           result_of(result) + ", " + std::to_string(found[3]));
  }
  void ask_of_sizes(void* program) const {
    for (const char* name : {"bounded", "wide"}) {
      size_t said = 0;
      void* const kernel = kernel_of(program, name);
      call.clGetKernelWorkGroupInfo.call(kernel, id_, cl::kernel_work_group_size, sizeof(said),
                                         &said, nullptr);
      tell(std::string("work-items of a group of ") + name + ", says the driver",
           std::to_string(said));
      const size_t bound = std::string(name) == "wide" ? 1024 : 256;
      for (const size_t items : {size_t{256}, size_t{512}, size_t{1024}}) {
        std::array<u64, row_words> found{};
        launch how;
        how.items = items;
        const int result = run_for_row(kernel, how, found);
        const std::string question = std::to_string(items) + " work-items of " + name;
        const std::string ran = result_of(result) + ", " + std::to_string(found[0]) + " ran";
        if (items <= bound)
          expect(question, result == 0 && found[0] == items, ran);
        else
          tell(question, ran);
      }
    }
  }
  void ask_of_marks() const {
    void* mark = nullptr;
    call.clEnqueueMarkerWithWaitList.call(queue_, 0, nullptr, &mark);
    call.clFlush.call(queue_);
    int status = -1, times = 0;
    for (; times < 1'000'000 && status != 0; ++times)
      call.clGetEventInfo.call(mark, cl::event_command_execution_status, sizeof(status), &status,
                               nullptr);
    expect("a mark in an idle queue is reached", status == 0,
           "asked " + std::to_string(times) + " times");
  }

  void* id_;
  int capability_;
  void *context_ = nullptr, *queue_ = nullptr;
  u64* out_ = nullptr;
};

}  // namespace

int main(int count, char** arguments) {
  if (count > 2 || (count == 2 && std::string(arguments[1]) != "--compile")) {
    std::printf(
        "usage: opencl-probe [--compile]\n  --compile: makes the PTX for capability 8.0 "
        "alone, where there is no GPU\n");
    return 2;
  }
  const auto& driver = fd::opencl_driver::get();
  tell("NVRTC", std::string(fd::compiler_library<no_own_images>::get().version()));
  if (count == 2) {
    for (const int words : {3, 120, 500})
      tell("bytes of PTX", std::to_string(ptx_of(80, words, true).size()));
    return unexpected > 0 ? 1 : 0;
  }
  int asked = 0;
  for (int k = 0; k < driver.device_count(); ++k) {
    tell("device " + std::to_string(k), driver.words(driver.at(k).id, cl::device_name));
    if (driver.at(k).capability > 0) {
      device(driver.at(k)).ask();
      ++asked;
    }
  }
  if (asked == 0) {
    std::printf("no device that takes PTX%s%s\n", driver.reason().empty() ? "" : ": ",
                driver.reason().c_str());
    return 77;
  }
  std::printf("%d not as expected\n", unexpected);
  return unexpected > 0 ? 1 : 0;
}
