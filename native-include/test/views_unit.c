/*
 * Checksums, and copy-on-write views at the scale of a real step: which edits are dropped, how long it takes.
 * Argument: a directory of its own on a tmpfs. With a second argument it prints its measurements.
 */
#include "check.h"

#include "../batchweave.h"

static uint8_t *shared;
static uint8_t *view;
static int pagemap;
static size_t page_size;

enum { LENGTH = 16 << 20 };

static void check_clean(void) {
    bw_error error;
    CHECK_EQUAL(BW_OK, bw_views_clean(pagemap, view, LENGTH, &error));
    CHECK(memcmp(view, shared, LENGTH) == 0);
    memset(shared, shared[0] + 1, LENGTH); /* the next step at the same place */
    CHECK(memcmp(view, shared, LENGTH) == 0);
}

static void should_drop_every_edit(void) {
    check_clean();
    view[0] = 0xEE;
    check_clean();
    view[LENGTH - 1] = 0xEE;
    check_clean();
    for (size_t i = 0; i < LENGTH / 8; i += 2 * page_size) {
        view[i + 5] = 0xEE;
    }
    check_clean();
    for (size_t i = 0; i < LENGTH; i += 2 * page_size) {
        view[i + 5] = 0xEE;
    }
    check_clean();
    memset(view, 0xEE, LENGTH);
    check_clean();
}

/** U36: an edited page that was swapped out is not present, and must not be missed. */
static void should_drop_edits_that_were_paged_out(void) {
    view[3 * page_size] = 0xEE;
    view[4 * page_size] = 0xEE;
#ifdef MADV_PAGEOUT
    (void)madvise(view, LENGTH, MADV_PAGEOUT); /* without swap nothing happens */
#endif
    check_clean();
}

static void should_say_when_it_cannot_tell(void) {
    bw_error error;
    const int closed = dup(pagemap);
    CHECK(closed >= 0 && close(closed) == 0);
    CHECK_EQUAL(BW_ERROR_DIRTY, bw_views_clean(closed, view, LENGTH, &error));
    CHECK(strstr(error.text, "pagemap") != NULL);
    CHECK(bw_views_obstacle(-1, view, LENGTH) != NULL && bw_views_obstacle(closed, view, LENGTH) != NULL);
    CHECK(bw_views_obstacle(pagemap, view, LENGTH) == NULL);
    CHECK(!bw_page_is_private(0));
    CHECK(!bw_page_is_private((UINT64_C(1) << 63) | (UINT64_C(1) << 61)));
    CHECK(!bw_page_is_private((UINT64_C(1) << 62) | (UINT64_C(1) << 61)));
    CHECK(bw_page_is_private(UINT64_C(1) << 63));
    CHECK(bw_page_is_private(UINT64_C(1) << 62)); /* swapped, or under migration */
}

static void should_compute_the_same_checksum_in_every_way(void) {
    CHECK_EQUAL(0xE3069283u, bw_crc32c(0, "123456789", 9));
    CHECK_EQUAL(0u, bw_crc32c(0, "", 0));
    CHECK_EQUAL(0x8A9136AAu, bw_crc32c(0, memset(view, 0, 32), 32));
    for (size_t i = 0; i < 300; ++i) {
        view[i] = (uint8_t)(i * 7);
    }
    for (size_t begin = 0; begin < 9; ++begin) {
        for (size_t length = 0; length < 280; ++length) {
            const uint32_t software = ~bw_crc32c_software(~0u, view + begin, length);
            CHECK_EQUAL(software, bw_crc32c(0, view + begin, length));
            CHECK_EQUAL(software, bw_crc32c(bw_crc32c(0, view + begin, length / 3), view + begin + length / 3,
                    length - length / 3));
        }
    }
    check_clean();
}

static void measure(const char *what, size_t edited_every) {
    if (edited_every != 0) {
        for (size_t i = 0; i < LENGTH; i += edited_every) {
            view[i] ^= 1;
        }
    }
    const int64_t before_ns = bw_now_ns();
    bw_error error;
    CHECK_EQUAL(BW_OK, bw_views_clean(pagemap, view, LENGTH, &error));
    (void)printf("clean 16 MiB, %s: %lld us\n", what, (long long)((bw_now_ns() - before_ns) / 1000));
}

/** Makes huge pages of the ring where the system has them; nothing else may change by that. */
static void map(const char *path, bool huge) {
    const int writable = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(writable >= 0 && ftruncate(writable, LENGTH) == 0);
    shared = bw_ring_map(writable, LENGTH, BW_VIEWS_SHARED_WRITABLE);
    CHECK(shared != NULL && (uintptr_t)shared % BW_HUGE_PAGE == 0);
    memset(shared, 1, LENGTH);
    if (huge && madvise(shared, LENGTH, MADV_COLLAPSE) != 0) {
        (void)printf("no huge pages here: errno=%d, small ones twice\n", errno);
    }
    const int readable = open(path, O_RDONLY);
    CHECK(readable >= 0);
    view = bw_ring_map(readable, LENGTH, BW_VIEWS_PRIVATE);
    CHECK(view != NULL && (uintptr_t)view % BW_HUGE_PAGE == 0);
    CHECK(close(readable) == 0 && close(writable) == 0 && unlink(path) == 0);
}

static void unmap(void) {
    CHECK(munmap(view, LENGTH) == 0 && munmap(shared, LENGTH) == 0);
}

int main(int count, char **arguments) {
    CHECK(count >= 2);
    char path[BW_PATH_CAPACITY];
    CHECK(bw_path_join(path, sizeof path, arguments[1], "ring-0.data"));
    pagemap = open("/proc/self/pagemap", O_RDONLY);
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    for (int huge = 0; huge < 2; ++huge) {
        map(path, huge != 0);
        should_say_when_it_cannot_tell();
        should_drop_every_edit();
        should_drop_edits_that_were_paged_out();
        should_compute_the_same_checksum_in_every_way();
        unmap();
        if (count > 2) {
            map(path, huge != 0);
            (void)printf("%s pages\n", huge != 0 ? "huge" : "small");
            CHECK(memcmp(view, shared, LENGTH) == 0);
            measure("nothing edited", 0);
            measure("one page in 64 edited", 64 * page_size);
            measure("all edited", page_size);
            const int64_t before_ns = bw_now_ns();
            const uint32_t crc = bw_crc32c(0, view, LENGTH);
            (void)printf("crc32c %08x: %lld MB/s\n", crc, (long long)(LENGTH * INT64_C(1000) / (bw_now_ns() - before_ns)));
            unmap();
        }
    }
    CHECK(close(pagemap) == 0);
    return 0;
}
