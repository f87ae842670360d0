/*
 * Attaches and closes over and over in one process, with a step taken in between, and checks that nothing is
 * left: no descriptor, no mapping. Arguments: directory, stream, session, rounds, local readers. Prints the
 * median and the longest time of one attach in microseconds.
 */
#include "check.h"

#include "../batchweave.h"

#include <dirent.h>

static int open_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while (readdir(folder) != NULL) {
        ++count;
    }
    CHECK(closedir(folder) == 0);
    return count;
}

static int mappings(void) {
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    char line[1024];
    while (fgets(line, sizeof line, maps) != NULL) {
        count += strstr(line, "/dev/shm") != NULL || strstr(line, "ring-") != NULL ? 1 : 0;
    }
    CHECK(fclose(maps) == 0);
    return count;
}

static int compare(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left;
    const int64_t b = *(const int64_t *)right;
    return a < b ? -1 : a > b ? 1 : 0;
}

int main(int count, char **arguments) {
    CHECK(count == 6);
    const int rounds = atoi(arguments[4]);
    int64_t *times = (int64_t *)calloc((size_t)rounds, sizeof *times);
    CHECK(times != NULL && rounds > 0);
    bw_options options;
    bw_options_init(&options);
    options.directory = arguments[1];
    options.stream = arguments[2];
    options.group = "train";
    options.session = arguments[3];
    options.local_readers = (uint32_t)atoi(arguments[5]);
    options.next_step = 0;
    const int descriptors = open_descriptors();
    for (int i = 0; i < rounds; ++i) {
        bw_error error;
        bw_client *client = NULL;
        const int64_t before_ns = bw_now_ns();
        bw_status status = bw_attach(&options, 30 * BW_SECOND_NS, &client, &error);
        times[i] = (bw_now_ns() - before_ns) / 1000;
        bw_lease lease;
        if (status == BW_OK) {
            status = bw_next(client, 30 * BW_SECOND_NS, &lease, &error);
        }
        if (status == BW_OK) {
            status = bw_release(&lease, &error);
        }
        if (status != BW_OK) {
            (void)fprintf(stderr, "%s %s\n", bw_status_name(status), error.text);
        }
        CHECK_EQUAL(BW_OK, status);
        bw_close(client);
        CHECK_EQUAL(descriptors, open_descriptors());
        CHECK_EQUAL(0, mappings());
    }
    qsort(times, (size_t)rounds, sizeof *times, compare);
    (void)printf("p50=%lld max=%lld\n", (long long)times[rounds / 2], (long long)times[rounds - 1]);
    free(times);
    return 0;
}
