#include "pin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define CUDA_SUCCESS 0
#define CUDA_ERROR_NOT_READY 600
#define CUDA_HOST_REGISTER_PORTABLE 1u
#define CUDA_EVENT_DISABLE_TIMING 2u
#define CUDA_STREAM_LEGACY ((void*)1)

/* POSIX lets a data pointer of dlsym be a function; ISO C does not say how. */
static bool bind_one(bwpy_pin* pin, void* library, void* function, const char* name) {
  void* found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  if (found == NULL && pin->why[0] == '\0') {
    snprintf(pin->why, sizeof pin->why, "the CUDA runtime has no %s", name);
  }
  return found != NULL;
}

bool bwpy_pin_bind(bwpy_pin* pin, const char* library, size_t chunk_bytes) {
  memset(pin, 0, sizeof *pin);
  pin->chunk_bytes = chunk_bytes;
  void* loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (loaded == NULL) {
    snprintf(pin->why, sizeof pin->why, "the CUDA runtime is not loaded: library=%.180s", library);
    return false;
  }
  const struct {
    void* function;
    const char* name;
  } names[] = {{&pin->device_count, "cudaGetDeviceCount"},
               {&pin->device, "cudaGetDevice"},
               {&pin->set_device, "cudaSetDevice"},
               {&pin->device_synchronize, "cudaDeviceSynchronize"},
               {&pin->host_register, "cudaHostRegister"},
               {&pin->host_unregister, "cudaHostUnregister"},
               {&pin->last_error, "cudaGetLastError"},
               {&pin->error_text, "cudaGetErrorString"},
               {&pin->event_create, "cudaEventCreateWithFlags"},
               {&pin->event_record, "cudaEventRecord"},
               {&pin->event_query, "cudaEventQuery"},
               {&pin->event_synchronize, "cudaEventSynchronize"},
               {&pin->event_destroy, "cudaEventDestroy"}};
  bool bound = true;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    bound = bind_one(pin, loaded, names[i].function, names[i].name) && bound;
  }
  if (!bound) {
    dlclose(loaded);
  }
  return bound; /* bound: the library stays loaded, mappings may live until the process ends */
}

/* The runtime keeps a failure for the next one who asks; that must not be torch. */
static bool failed(bwpy_pin* pin, const char* call, int error, size_t offset, size_t length) {
  (void)pin->last_error();
  snprintf(pin->why, sizeof pin->why, "%s failed: error=%d (%.80s) offset=%zu bytes=%zu", call,
           error, pin->error_text(error), offset, length);
  return false;
}

static size_t chunk_at(const bwpy_pin* pin, size_t offset, size_t length) {
  return length - offset < pin->chunk_bytes ? length - offset : pin->chunk_bytes;
}

/* Unregisters the chunks below `end`; all are tried. */
static bool unregister_below(bwpy_pin* pin, void* base, size_t end, size_t length) {
  bool all = true;
  for (size_t offset = 0; offset < end; offset += chunk_at(pin, offset, length)) {
    const int error = pin->host_unregister((char*)base + offset);
    if (error != CUDA_SUCCESS) {
      (void)pin->last_error();
      all = false;
    }
  }
  return all;
}

bool bwpy_pin_register(bwpy_pin* pin, void* base, size_t length) {
  int devices = 0;
  pin->why[0] = '\0';
  int error = pin->device_count(&devices);
  if (error != CUDA_SUCCESS || devices == 0) {
    (void)failed(pin, "cudaGetDeviceCount", error, 0, length);
    return false;
  }
  for (size_t offset = 0; offset < length; offset += chunk_at(pin, offset, length)) {
    const size_t chunk = chunk_at(pin, offset, length);
    error = pin->host_register((char*)base + offset, chunk, CUDA_HOST_REGISTER_PORTABLE);
    if (error != CUDA_SUCCESS) {
      (void)failed(pin, "cudaHostRegister", error, offset, chunk);
      (void)unregister_below(pin, base, offset, length);
      return false;
    }
  }
  if (pin->device(&pin->rank_device) != CUDA_SUCCESS) {
    (void)pin->last_error();
    pin->rank_device = 0;
  }
  return true;
}

bool bwpy_pin_unregister(bwpy_pin* pin, void* base, size_t length) {
  return unregister_below(pin, base, length, length);
}

static bool record(bwpy_pin* pin, void** event, void* stream) {
  if (pin->event_create(event, CUDA_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
    *event = NULL;
    (void)pin->last_error();
    return false;
  }
  if (pin->event_record(*event, stream) != CUDA_SUCCESS) {
    (void)pin->last_error();
    return false;
  }
  return true;
}

bool bwpy_pin_mark_now(bwpy_pin* pin, uintptr_t stream, bwpy_pin_mark* mark) {
  memset(mark, 0, sizeof *mark);
  if (record(pin, &mark->events[0], CUDA_STREAM_LEGACY) &&
      (stream == 0 || record(pin, &mark->events[1], (void*)stream))) {
    return true;
  }
  bwpy_pin_forget(pin, mark);
  return false;
}

bool bwpy_pin_passed(bwpy_pin* pin, bwpy_pin_mark* mark, bool wait) {
  for (size_t i = 0; i < 2; i++) {
    if (mark->events[i] == NULL) {
      continue;
    }
    const int error = wait ? pin->event_synchronize(mark->events[i])
                           : pin->event_query(mark->events[i]);
    if (error == CUDA_ERROR_NOT_READY) {
      (void)pin->last_error();
      return false;
    }
  }
  return true;
}

void bwpy_pin_forget(bwpy_pin* pin, bwpy_pin_mark* mark) {
  for (size_t i = 0; i < 2; i++) {
    if (mark->events[i] != NULL) {
      (void)pin->event_destroy(mark->events[i]);
      mark->events[i] = NULL;
    }
  }
}

void bwpy_pin_drain(bwpy_pin* pin) {
  int current = pin->rank_device;
  (void)pin->device(&current);
  if (current != pin->rank_device) {
    (void)pin->set_device(pin->rank_device);
  }
  if (pin->device_synchronize() != CUDA_SUCCESS) {
    (void)pin->last_error();
  }
  if (current != pin->rank_device) {
    (void)pin->set_device(current);
  }
}
