// SPDX-FileCopyrightText: 2026 The flaggems authors
// SPDX-License-Identifier: Apache-2.0
//
// OpenCL in the manner of NVIDIA's driver, and the runtime compiler of its PTX: no code of LLVM's,
// parameters that are what the PTX says they are, local memory by a parameter, shared virtual
// memory that only those kernels reach that were told of it. Copies read and write memory of the
// host when it is their turn.
#include "opencl_driver.hpp"

extern "C" {

int clGetPlatformIDs(unsigned room, void** platforms, unsigned* count) {
  if (const int result = driverInit(0); result != ok) return told(result);
  CL_ENTER_ALWAYS();
  if (room > 0) platforms[0] = &platform;
  *count = 1;
  return 0;
}
int clGetDeviceIDs(void* of, u64 type, unsigned room, void** found, unsigned* count) {
  CL_ENTER_ALWAYS();
  if (of != &platform || type != cl::device_type_all) return invalid;
  for (unsigned k = 0; k < devices && k < room; ++k) found[k] = &gpus[k];
  *count = devices;
  return 0;
}
int clGetDeviceInfo(void* id, unsigned what, size room, void* to, size* bytes) {
  CL_ENTER_ALWAYS();
  const int device = device_of(id);
  if (device < 0) return no_device;
  const std::string extensions =
      "cl_khr_global_int32_base_atomics cl_khr_fp64 cl_khr_icd cl_nv_device_attribute_query";
  switch (what) {
    case cl::device_extensions: return tell(extensions, room, to, bytes);
    case cl::device_name:
      return tell("simulated " + std::string(rules.what) + " " + std::to_string(device), room, to,
                  bytes);
    case cl::device_max_compute_units: return tell(2U, room, to, bytes);
    case cl::device_max_work_group_size: return tell(size{rules.most_threads}, room, to, bytes);
    case cl::device_max_clock_frequency: return tell(1980U, room, to, bytes);
    case cl::device_max_mem_alloc_size: return tell(u64{sim().capacity / 4}, room, to, bytes);
    case cl::device_global_mem_size: return tell(u64{sim().capacity}, room, to, bytes);
    case cl::device_local_mem_size: return tell(u64{rules.most_shared}, room, to, bytes);
    case cl::device_svm_capabilities: return tell(u64{1}, room, to, bytes);
    case cl::device_compute_capability_major_nv: return tell(9U, room, to, bytes);
    case cl::device_compute_capability_minor_nv: return tell(0U, room, to, bytes);
    default: return invalid;
  }
}
void* clCreateContext(const std::intptr_t* properties, unsigned count, void* const* ids,
                      void (*)(const char*, const void*, size, void*), void*, int* result) {
  CL_MAKE();
  if (properties != nullptr || count != 1) return given(invalid, result);
  if (device_of(*ids) < 0) return given(no_device, result);
  auto* const context = made<sim_context>();
  context->device = device_of(*ids);
  return given(0, result, context);
}
void* clCreateCommandQueueWithProperties(void* of, void* id, const u64* properties, int* result) {
  CL_MAKE();
  auto* const context = as<sim_context>(of);
  if (context == nullptr) return given(no_context, result);
  if (device_of(id) != context->device) return given(no_device, result);
  if (properties[0] != cl::queue_properties || properties[1] != cl::queue_profiling_enable ||
      properties[2] != 0)
    return given(invalid, result);
  use(context->device);
  void* in = nullptr;
  if (const int refused = driverStreamCreateWithPriority(&in, 1, 0); refused != ok)
    return given(told(refused), result);
  auto* const queue = made<sim_queue>();
  queue->in = static_cast<stream*>(in);
  return given(0, result, queue);
}
int clReleaseCommandQueue(void* given_queue) {
  CL_ENTER_ALWAYS();
  auto* const queue = as<sim_queue>(given_queue);
  if (queue == nullptr) return no_queue;
  use(queue->in->device);
  return release(queue) ? told(driverStreamDestroy_v2(queue->in)) : 0;
}
int clFlush(void* given_queue) {
  CL_ENTER();
  return as<sim_queue>(given_queue) != nullptr ? 0 : int{no_queue};
}
int clFinish(void* given_queue) {
  CL_ENTER();
  auto* const queue = as<sim_queue>(given_queue);
  return queue != nullptr ? told(drain(*queue->in)) : int{no_queue};
}

// ---- memory

void* clCreateBuffer(void* of, u64 flags, size bytes, void* host, int* result) {
  CL_MAKE();
  auto* const context = as<sim_context>(of);
  if (context == nullptr) return given(no_context, result);
  if (flags != cl::mem_read_write || bytes == 0 || host != nullptr) return given(invalid, result);
  use(context->device);
  u64 address = 0;
  if (const int refused = driverMemAlloc_v2(&address, bytes); refused != ok)
    return given(told(refused), result);
  auto* const buffer = made<sim_buffer>();
  buffer->address = address;
  buffer->bytes = bytes;
  return given(0, result, buffer);
}
int clReleaseMemObject(void* handle) {
  CL_ENTER_ALWAYS();
  auto* const buffer = as<sim_buffer>(handle);
  if (buffer == nullptr) return no_buffer;
  use(0);
  return release(buffer) ? told(driverMemFree_v2(buffer->address)) : 0;
}
int clEnqueueReadBuffer(void* given_queue, void* handle, unsigned blocking, size at, size bytes,
                        void* to, unsigned count, void* const* waits, void** event) {
  CL_QUEUE();
  auto* const buffer = as<sim_buffer>(handle);
  if (buffer == nullptr) return no_buffer;
  if (at + bytes > buffer->bytes || bytes == 0 || to == nullptr) return invalid;
  const void* const from = pointer(buffer->address + at);
  const int result = queued(
      queue, [=] { return std::memcpy(to, from, bytes), int{ok}; }, event);
  return result != 0 || blocking == 0 ? result : told(drain(*queue->in));
}
int clEnqueueWriteBuffer(void* given_queue, void* handle, unsigned blocking, size at, size bytes,
                         const void* from, unsigned count, void* const* waits, void** event) {
  CL_QUEUE();
  auto* const buffer = as<sim_buffer>(handle);
  if (buffer == nullptr) return no_buffer;
  if (at + bytes > buffer->bytes || bytes == 0 || from == nullptr) return invalid;
  void* const to = pointer(buffer->address + at);
  const int result = queued(
      queue, [=] { return std::memcpy(to, from, bytes), int{ok}; }, event);
  return result != 0 || blocking == 0 ? result : told(drain(*queue->in));
}
int clEnqueueCopyBuffer(void* given_queue, void* source, void* target, size from_at, size to_at,
                        size bytes, unsigned count, void* const* waits, void** event) {
  CL_QUEUE();
  auto *const from = as<sim_buffer>(source), *const to = as<sim_buffer>(target);
  if (from == nullptr || to == nullptr) return no_buffer;
  if (from_at + bytes > from->bytes || to_at + bytes > to->bytes || bytes == 0) return invalid;
  if (from == to && from_at < to_at + bytes && to_at < from_at + bytes) return -8;  // they overlap
  return queued(
      queue,
      [=] {
        std::memcpy(pointer(to->address + to_at), pointer(from->address + from_at), bytes);
        return int{ok};
      },
      event);
}
static bool is_pattern(size bytes) {
  return bytes > 0 && bytes <= 128 && (bytes & (bytes - 1)) == 0;
}
static work filled(void* to, const void* pattern, size pattern_bytes, size bytes) {
  const auto* const first = static_cast<const unsigned char*>(pattern);
  return [=, own = std::vector<unsigned char>(first, first + pattern_bytes)] {
    for (size at = 0; at < bytes; at += own.size())
      std::memcpy(static_cast<unsigned char*>(to) + at, own.data(), own.size());
    return int{ok};
  };
}
int clEnqueueFillBuffer(void* given_queue, void* handle, const void* pattern, size pattern_bytes,
                        size at, size bytes, unsigned count, void* const* waits, void** event) {
  CL_QUEUE();
  auto* const buffer = as<sim_buffer>(handle);
  if (buffer == nullptr) return no_buffer;
  if (!is_pattern(pattern_bytes) || at % pattern_bytes != 0 || bytes % pattern_bytes != 0 ||
      at + bytes > buffer->bytes)
    return invalid;
  return queued(queue, filled(pointer(buffer->address + at), pattern, pattern_bytes, bytes), event);
}
// (Its alignment is 0, the largest type's.)
void* clSVMAlloc(void* of, u64 flags, size bytes, unsigned alignment) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  auto* const context = as<sim_context>(of);
  if (enter(__func__, false) != ok || sim().sticky != ok || context == nullptr) return nullptr;
  if (flags != cl::mem_read_write || bytes == 0 || alignment != 0) return nullptr;
  if (bytes > sim().capacity / 4) return nullptr;
  use(context->device);
  u64 address = 0;
  return driverMemAlloc_v2(&address, bytes) == ok ? pointer(address) : nullptr;
}
void clSVMFree(void* of, void* data) {
  const std::lock_guard<std::recursive_mutex> lock(sim().mutex);
  if (as<sim_context>(of) != nullptr) free_at_once(number(data));
}
int clEnqueueSVMFree(void* given_queue, unsigned pieces, void** data,
                     void (*free_them)(void*, unsigned, void**, void*), void*, unsigned count,
                     void* const* waits, void** event) {
  CL_QUEUE();
  if (pieces != 1 || free_them != nullptr) return invalid;
  return queued(
      queue, [address = number(*data)] { return free_at_once(address); }, event);
}
int clEnqueueSVMMemcpy(void* given_queue, unsigned blocking, void* to, const void* from, size bytes,
                       unsigned count, void* const* waits, void** event) {
  CL_QUEUE();
  if (!is_readable(to, bytes) || !is_readable(from, bytes) || bytes == 0) return invalid;
  const int result = queued(
      queue,
      [=] {
        if (!is_readable(to, bytes) || !is_readable(from, bytes)) return int{launch_failed};
        return std::memcpy(to, from, bytes), int{ok};
      },
      event);
  return result != 0 || blocking == 0 ? result : told(drain(*queue->in));
}
int clEnqueueSVMMemFill(void* given_queue, void* to, const void* pattern, size pattern_bytes,
                        size bytes, unsigned count, void* const* waits, void** event) {
  CL_QUEUE();
  if (!is_pattern(pattern_bytes) || number(to) % pattern_bytes != 0 || bytes % pattern_bytes != 0 ||
      !is_device_memory(number(to), bytes))
    return invalid;
  return queued(queue, filled(to, pattern, pattern_bytes, bytes), event);
}

// ---- events

int clEnqueueMarkerWithWaitList(void* given_queue, unsigned count, void* const* waits,
                                void** event) {
  CL_QUEUE();
  return queued(
      queue, [] { return int{ok}; }, event);
}
int clEnqueueBarrierWithWaitList(void* given_queue, unsigned count, void* const* waits,
                                 void** event) {
  CL_ENTER();
  auto* const queue = as<sim_queue>(given_queue);
  if (queue == nullptr) return no_queue;
  if ((count > 0) != (waits != nullptr)) return -57;  // CL_INVALID_EVENT_WAIT_LIST
  for (unsigned k = 0; k < count; ++k) {
    auto* const e = as<sim_event>(waits[k]);
    if (e == nullptr) return no_event;
    if (e->last->in == nullptr || e->last->in == queue->in) continue;
    enqueue(queue->in, [last = e->last] { return run_up_to(*last), int{ok}; });
  }
  return queued(
      queue, [] { return int{ok}; }, event);
}
int clWaitForEvents(unsigned count, void* const* events) {
  CL_ENTER();
  if (count == 0) return invalid;
  for (unsigned k = 0; k < count; ++k) {
    auto* const e = as<sim_event>(events[k]);
    if (e == nullptr) return no_event;
    const std::shared_ptr<mark> last = e->last;
    run_up_to(*last);
  }
  return sim().sticky != ok ? -14 : 0;  // CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
}
int clGetEventInfo(void* event, unsigned what, size room, void* to, size* bytes) {
  CL_ENTER_ALWAYS();
  auto* const e = as<sim_event>(event);
  if (e == nullptr) return no_event;
  if (what != cl::event_command_execution_status) return invalid;
  stream* const in = e->last->in;
  int status = in == nullptr ? 0 : 3;
  // Time passes: more is done than one asks for meanwhile.
  for (int k = 0; k < 2 && in != nullptr && !in->queue.empty(); ++k) run_first(*in);
  if (sim().sticky != ok) status = told(sim().sticky);
  return tell(status, room, to, bytes);
}
int clGetEventProfilingInfo(void* event, unsigned what, size room, void* to, size* bytes) {
  CL_ENTER();
  auto* const e = as<sim_event>(event);
  if (e == nullptr) return no_event;
  if (what != cl::profiling_command_end) return invalid;
  if (e->last->in != nullptr) return -7;  // CL_PROFILING_INFO_NOT_AVAILABLE
  return tell(1000 * e->last->time, room, to, bytes);
}
int clRetainEvent(void* event) {
  CL_ENTER_ALWAYS();
  auto* const e = as<sim_event>(event);
  return e != nullptr ? ++e->users, 0 : int{no_event};
}
int clReleaseEvent(void* event) {
  CL_ENTER_ALWAYS();
  auto* const e = as<sim_event>(event);
  return e != nullptr ? release(e), 0 : int{no_event};
}

// ---- programs and kernels

void* clCreateProgramWithSource(void* of, unsigned count, const char** lines, const size* sizes,
                                int* result) {
  CL_MAKE();
  auto* const context = as<sim_context>(of);
  if (context == nullptr) return given(no_context, result);
  if (count != 1 || sizes != nullptr) return given(invalid, result);
  auto* const program = made<sim_program>();
  program->device = context->device;
  program->is_source = true;
  program->text = lines[0];
  return given(0, result, program);
}
void* clCreateProgramWithBinary(void* of, unsigned count, void* const* ids, const size* sizes,
                                const unsigned char** images, int* status, int* result) {
  CL_MAKE();
  auto* const context = as<sim_context>(of);
  if (context == nullptr) return given(no_context, result);
  if (count != 1 || sizes[0] == 0 || images[0] == nullptr) return given(invalid, result);
  if (device_of(ids[0]) != context->device) return given(no_device, result);
  const std::string text(reinterpret_cast<const char*>(images[0]), sizes[0]);
  *status = text.find(".version ") != text.npos && text.find(".target sm_") != text.npos &&
                    text.find('\0') == text.npos
                ? 0
                : int{no_binary};
  if (*status != 0) return given(*status, result);
  auto* const program = made<sim_program>();
  program->device = context->device;
  program->text = text;
  return given(0, result, program);
}
int clBuildProgram(void* handle, unsigned count, void* const* ids, const char* options,
                   void (*notify)(void*, void*), void*) {
  CL_ENTER();
  auto* const program = as<sim_program>(handle);
  if (program == nullptr) return no_program;
  if (count != 1 || device_of(ids[0]) != program->device || notify != nullptr) return invalid;
  if (*options != '\0') return bad_options;  // "-x spir", of another driver
  if (!program->is_source) {
    const std::string head = rules.image_head;
    const size end = program->text.find('\n');
    if (program->text.rfind(head, 0) != 0)
      return program->log = "ptxas fatal: simulated, not by the simulated compiler", build_failure;
    use(program->device);
    if (const int refused =
            driverModuleLoadData(&program->native, program->text.substr(0, end).c_str());
        refused != ok)
      return told(refused);
  }
  program->is_built = true;
  return 0;
}
int clGetProgramBuildInfo(void* handle, void* id, unsigned what, size room, void* to, size* bytes) {
  CL_ENTER_ALWAYS();
  auto* const program = as<sim_program>(handle);
  if (program == nullptr) return no_program;
  if (device_of(id) != program->device || what != cl::program_build_log) return invalid;
  return tell(program->log, room, to, bytes);
}
int clReleaseProgram(void* handle) {  // its kernels keep what they need
  CL_ENTER_ALWAYS();
  auto* const program = as<sim_program>(handle);
  return program != nullptr ? release(program), 0 : int{no_program};
}
void* clCreateKernel(void* handle, const char* name, int* result) {
  CL_MAKE();
  auto* const program = as<sim_program>(handle);
  if (program == nullptr) return given(no_program, result);
  if (!program->is_built) return given(not_built, result);
  void* code = nullptr;
  std::vector<parameter> parameters;
  if (program->is_source) {
    if (std::strcmp(name, "where") != 0) return given(no_kernel_name, result);
    parameters = {{false, true}, {false, true}};
  } else {
    use(program->device);
    if (const int refused = driverModuleGetFunction(&code, program->native, name); refused != ok)
      return given(told(refused), result);
    parameters = parameters_of(program->text, name);
  }
  auto* const kernel = made<sim_kernel>();
  const size bound = program->text.find(".maxntid ");
  if (bound != std::string::npos)
    kernel->most_threads = std::atoi(program->text.c_str() + bound + 9);
  kernel->device = program->device;
  kernel->code = static_cast<function*>(code);
  kernel->is_set.resize(parameters.size());
  kernel->values.resize(parameters.size());
  kernel->parameters = std::move(parameters);
  return given(0, result, kernel);
}
int clReleaseKernel(void* handle) {
  CL_ENTER_ALWAYS();
  auto* const kernel = as<sim_kernel>(handle);
  return kernel != nullptr ? release(kernel), 0 : int{no_kernel};
}
int clSetKernelArg(void* handle, unsigned index, size bytes, const void* value) {
  CL_ENTER();
  auto* const kernel = as<sim_kernel>(handle);
  if (kernel == nullptr) return no_kernel;
  if (index >= kernel->parameters.size()) return bad_index;
  const parameter& p = kernel->parameters[index];
  if (p.is_local) {
    if (value != nullptr) return bad_value;
    if (bytes == 0) return bad_size;
    kernel->local = bytes;
  } else {
    if (value == nullptr) return bad_value;
    const size pack =
        kernel->code == nullptr ? 0 : (size(kernel->code->entry(-1, 0, 0, 0, nullptr)) + 7) / 8 * 8;
    if (bytes != (index == 0 && kernel->code != nullptr && pack <= 960 ? pack : 8)) return bad_size;
    void* buffer = nullptr;
    if (p.is_buffer) std::memcpy(&buffer, value, sizeof(buffer));
    if (buffer != nullptr && as<sim_buffer>(buffer) == nullptr) return no_buffer;
    const auto* const first = static_cast<const unsigned char*>(value);
    kernel->values[index].assign(first, first + bytes);
  }
  kernel->is_set[index] = true;
  return 0;
}
int clSetKernelExecInfo(void* handle, unsigned what, size bytes, const void* value) {
  CL_ENTER();
  auto* const kernel = as<sim_kernel>(handle);
  if (kernel == nullptr) return no_kernel;
  if (what != cl::kernel_exec_info_svm_ptrs || bytes == 0 || bytes % sizeof(void*) != 0 ||
      value == nullptr)
    return invalid;
  std::vector<u64> addresses(bytes / sizeof(void*));
  std::memcpy(addresses.data(), value, bytes);
  for (const u64 address : addresses)
    if (sim().allocations.count(address) == 0) return invalid;
  kernel->told_of = {addresses.begin(), addresses.end()};
  return 0;
}
int clGetKernelWorkGroupInfo(void* handle, void* id, unsigned what, size room, void* to,
                             size* bytes) {
  CL_ENTER();
  auto* const kernel = as<sim_kernel>(handle);
  if (kernel == nullptr) return no_kernel;
  if (device_of(id) != kernel->device) return no_device;
  if (what != cl::kernel_work_group_size) return invalid;
  return tell(size{256}, room, to, bytes);  // as NVIDIA's driver says of all kernels
}
int clEnqueueNDRangeKernel(void* given_queue, void* handle, unsigned rank, const size* first,
                           const size* global, const size* local, unsigned count,
                           void* const* waits, void** event) {
  CL_QUEUE();
  auto* const kernel = as<sim_kernel>(handle);
  if (kernel == nullptr) return no_kernel;
  if (kernel->device != queue->in->device) return no_context;
  if (rank != 1) return bad_rank;
  if (first != nullptr || *global == 0) return invalid;
  if (*local == 0 || *local > static_cast<size>(kernel->most_threads) || *global % *local != 0)
    return bad_group;
  for (const bool is_set : kernel->is_set)
    if (!is_set) return not_all_set;
  if (kernel->local + bytes_of_driver > rules.most_shared || *global / *local > rules.most_blocks)
    return cl::out_of_resources;
  int later = ok;
  takes_fault(rules.late_launch, later);
  std::set<u64> reached = kernel->told_of;
  std::vector<sim_buffer*> buffers;
  for (size k = 0; k < kernel->parameters.size(); ++k) {
    void* buffer = nullptr;
    if (kernel->parameters[k].is_buffer)
      std::memcpy(&buffer, kernel->values[k].data(), sizeof(buffer));
    buffers.push_back(as<sim_buffer>(buffer));
    if (buffers.back() != nullptr) reached.insert(buffers.back()->address);
  }
  if (kernel->code == nullptr)
    return queued(
        queue,
        [=] { return std::memcpy(pointer(buffers[1]->address), &buffers[0]->address, 8), int{ok}; },
        event);
  long slice = 0;
  std::memcpy(&slice, kernel->values[4].data(), 8);
  if (static_cast<long>(kernel->local) < exchange_bytes) return cl::out_of_resources;
  const long scratch = slice > 0 ? slice : static_cast<long>(kernel->local) - exchange_bytes;
  const size pack = size(kernel->code->entry(-1, 0, 0, 0, nullptr));
  const long blocks = static_cast<long>(*global / *local);
  const int threads = static_cast<int>(*local);
  const flaggems_sim_entry entry = kernel->code->entry;
  return queued(
      queue,
      [=, copied = kernel->values[0]]() mutable {
        if (later != ok) return later;
        const only_these memory(reached);
        void* words = copied.data();
        if (copied.size() < pack) {
          std::memcpy(&words, copied.data(), 8);
          if (!is_device_memory(number(words), pack)) return int{launch_failed};
        }
        void* arguments[] = {words};
        return entry(blocks, 1, threads, scratch, arguments);
      },
      event);
}

}  // extern "C"
