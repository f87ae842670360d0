/*
 * What a C rank pays for a step that is ready: bw_next and a look at each of its slices, then bw_release of
 * the clean step whose pages it has read. The daemon's side is the one of the C tests, in this process.
 * Arguments: a directory of its own on a tmpfs, rounds, a number of bw_views. Prints a line for each round:
 * nanoseconds of taking, of releasing, of asking the kernel for the state of the region's pages (what releasing
 * cannot do without where views are private), of reading the clock.
 */
#include "../../../../native-include/test/check.h"

#undef BW_STEP
#define BW_STEP(name) ((void)(name))

#include "../../../../native-include/test/fake_daemon.h"

#include <time.h>

static int64_t now_ns(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static unsigned read_pages(const bw_lease *lease) {
    unsigned sum = 0;
    for (uint64_t at = 0; at < lease->region_length; at += FAKE_PAGE) {
        sum += ((const volatile uint8_t *)lease->region)[at];
    }
    return sum;
}

static int64_t pagemap_ns(int pagemap, const bw_lease *lease, uint64_t *entries) {
    const size_t length = (size_t)(lease->region_length / FAKE_PAGE * 8);
    const off_t at = (off_t)((uintptr_t)lease->region / FAKE_PAGE * 8);
    const int64_t begin = now_ns();
    CHECK(pread(pagemap, entries, length, at) == (ssize_t)length);
    return now_ns() - begin;
}

int main(int count, char **arguments) {
    CHECK(count == 4);
    const uint64_t rounds = (uint64_t)strtoull(arguments[2], NULL, 10);
    bw_error error;
    fake_start(arguments[1], 8, 1);
    bw_options options = fake_options();
    options.views = (bw_views)strtol(arguments[3], NULL, 10);
    bw_client *client = NULL;
    CHECK_EQUAL(BW_OK, bw_attach(&options, INT64_C(10000000000), &client, &error));
    const int pagemap = open("/proc/self/pagemap", O_RDONLY);
    uint64_t *entries = (uint64_t *)malloc(FAKE_REGION / FAKE_PAGE * 8);
    CHECK(pagemap >= 0 && entries != NULL);
    unsigned sum = 0;
    for (uint64_t n = 0; n < rounds; ++n) {
        fake_publish(n, (int64_t)n);
        bw_lease lease;
        bw_slice slice;
        const int64_t begin = now_ns();
        CHECK(bw_next(client, INT64_C(1000000000), &lease, &error) == BW_OK);
        for (uint32_t i = 0; i < lease.own_count; ++i) {
            CHECK(bw_own_slice(client, &lease, i, &slice, &error) == BW_OK);
            sum += slice.data[0];
        }
        const int64_t taken = now_ns();
        sum += read_pages(&lease);
        const int64_t kernel = pagemap_ns(pagemap, &lease, entries);
        const int64_t read = now_ns();
        CHECK(bw_release(&lease, &error) == BW_OK);
        const int64_t released = now_ns();
        const int64_t clock = now_ns() - released;
        (void)printf("%lld %lld %lld %lld\n", (long long)(taken - begin), (long long)(released - read),
                (long long)kernel, (long long)clock);
    }
    bw_close(client);
    free(entries);
    (void)close(pagemap);
    fake_stop();
    return sum == 1 ? 2 : 0;
}
