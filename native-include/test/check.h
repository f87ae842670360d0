/*
 * What the C tests share: CHECK, and BW_STEP as a place to die. With BW_KILL_AT=name[:count] in the
 * environment the process sends itself SIGKILL when it comes to that step for the count-th time. Include
 * it before any other header.
 */
#ifndef BATCHWEAVE_TEST_CHECK_H
#define BATCHWEAVE_TEST_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE /* of Linux 6.1 */
#define MADV_COLLAPSE 25
#endif

/** Called at every step, when set. */
static void (*bw_test_hook)(const char *name) = NULL;

static inline void bw_test_step(const char *name) {
    static int count = 0;
    if (bw_test_hook != NULL) {
        bw_test_hook(name);
    }
    const char *wanted = getenv("BW_KILL_AT");
    const size_t length = strlen(name);
    if (wanted == NULL || strncmp(wanted, name, length) != 0 || (wanted[length] != '\0' && wanted[length] != ':')) {
        return;
    }
    const int at = wanted[length] == ':' ? atoi(wanted + length + 1) : 1;
    if (++count == at) {
        (void)raise(SIGKILL);
    }
}

#define BW_STEP(name) bw_test_step(name)

/** Ends the test with a message unless `condition` holds. */
#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

/** Ends the test unless two integers are equal, and says what they are. */
#define CHECK_EQUAL(expected, actual)                                                                      \
    do {                                                                                                   \
        const long long expected_value = (long long)(expected);                                            \
        const long long actual_value = (long long)(actual);                                                \
        if (expected_value != actual_value) {                                                              \
            (void)fprintf(stderr, "%s:%d: %s is %lld instead of %lld\n", __FILE__, __LINE__, #actual,      \
                    actual_value, expected_value);                                                         \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

#endif
