/*
 * A CUDA runtime that only writes down what it is asked, for tests where there is no GPU. It checks
 * what the real one does: memory is mapped when it is registered and taken back, and nothing is
 * registered twice.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define ERROR_INVALID 1
#define ERROR_NO_DEVICE 100
#define ERROR_NOT_READY 600

enum { MOST = 64 };

static struct {
  char* base;
  size_t bytes;
} registered[MOST];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char log_text[16384];
static int devices = 1;
static int current = 3;
static int fail_register_at = -1; /* which registration from now on fails */
static int fail_unregister;
static atomic_int busy;           /* events are not reached while this is set */
static atomic_int events;         /* made and not destroyed */
static int last;

static void note(const char* format, size_t value) {
  const size_t used = strlen(log_text);
  snprintf(log_text + used, sizeof log_text - used, format, value);
}

static int keep(int error) {
  last = error == 0 ? last : error;
  return error;
}

EXPORT const char* stub_log(void) { return log_text; }
EXPORT void stub_clear(void) { log_text[0] = '\0'; }
EXPORT void stub_devices(int count) { devices = count; }
EXPORT void stub_fail_register_at(int index) { fail_register_at = index; }
EXPORT void stub_fail_unregister(int fail) { fail_unregister = fail; }
EXPORT void stub_busy(int value) { atomic_store(&busy, value); }
EXPORT int stub_events(void) { return atomic_load(&events); }
EXPORT int stub_last(void) { return last; }

EXPORT size_t stub_registered_bytes(void) {
  size_t bytes = 0;
  for (int i = 0; i < MOST; i++) {
    bytes += registered[i].bytes;
  }
  return bytes;
}

EXPORT int cudaGetDeviceCount(int* count) {
  *count = devices;
  return keep(devices == 0 ? ERROR_NO_DEVICE : 0);
}

EXPORT int cudaGetDevice(int* device) {
  *device = current;
  return 0;
}

EXPORT int cudaSetDevice(int device) {
  note("device %zu\n", (size_t)device);
  current = device;
  return 0;
}

EXPORT int cudaDeviceSynchronize(void) {
  pthread_mutex_lock(&lock);
  note("drain %zu\n", (size_t)current);
  pthread_mutex_unlock(&lock);
  atomic_store(&busy, 0);
  return 0;
}

EXPORT int cudaHostRegister(void* base, size_t bytes, unsigned flags) {
  volatile char* touch = base;
  touch[0] = touch[0]; /* writable, to its end */
  touch[bytes - 1] = touch[bytes - 1];
  if (fail_register_at >= 0 && fail_register_at-- == 0) {
    return keep(ERROR_INVALID);
  }
  for (int i = 0; i < MOST; i++) {
    if (registered[i].bytes != 0 && (char*)base < registered[i].base + registered[i].bytes &&
        registered[i].base < (char*)base + bytes) {
      note("TWICE %zu\n", bytes);
      return keep(ERROR_INVALID);
    }
  }
  for (int i = 0; i < MOST; i++) {
    if (registered[i].bytes == 0) {
      registered[i].base = base;
      registered[i].bytes = bytes;
      note(flags == 1 ? "register %zu\n" : "register %zu WITHOUT PORTABLE\n", bytes);
      return 0;
    }
  }
  return keep(ERROR_INVALID);
}

EXPORT int cudaHostUnregister(void* base) {
  volatile char* touch = base;
  (void)touch[0]; /* still mapped */
  for (int i = 0; i < MOST; i++) {
    if (registered[i].base == base && registered[i].bytes != 0) {
      note(fail_unregister ? "unregister %zu FAILS\n" : "unregister %zu\n", registered[i].bytes);
      if (fail_unregister) {
        return keep(ERROR_INVALID);
      }
      registered[i].bytes = 0;
      return 0;
    }
  }
  note("UNKNOWN %zu\n", 0);
  return keep(ERROR_INVALID);
}

EXPORT int cudaGetLastError(void) {
  const int error = last;
  last = 0;
  return error;
}

EXPORT const char* cudaGetErrorString(int error) {
  return error == ERROR_NO_DEVICE ? "no CUDA-capable device is detected" : "invalid argument";
}

EXPORT int cudaEventCreateWithFlags(void** event, unsigned flags) {
  static int made;
  *event = &made;
  atomic_fetch_add(&events, 1);
  return flags == 2 ? 0 : keep(ERROR_INVALID);
}

EXPORT int cudaEventRecord(void* event, void* stream) {
  (void)event;
  pthread_mutex_lock(&lock);
  note("mark %zu\n", (size_t)stream);
  pthread_mutex_unlock(&lock);
  return 0;
}

EXPORT int cudaEventQuery(void* event) {
  (void)event;
  return atomic_load(&busy) ? keep(ERROR_NOT_READY) : 0;
}

EXPORT int cudaEventSynchronize(void* event) {
  (void)event;
  note("wait %zu\n", 0);
  atomic_store(&busy, 0);
  return 0;
}

EXPORT int cudaEventDestroy(void* event) {
  (void)event;
  atomic_fetch_sub(&events, 1);
  return 0;
}
